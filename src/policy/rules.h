/*
 * policy/rules: may this tool run?  Pure: rules by tool-name glob, the first that matches
 * decides; none: allow.
 */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include "base/str.h"

enum policy_verdict { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };

struct policy_rule {
	str tool; /* glob */
	enum policy_verdict verdict;
};

/* *rule is the glob that decided, "" when none did. */
enum policy_verdict policy_decide(const struct policy_rule *rules, size_t n, str tool,
				  str *rule);

#endif

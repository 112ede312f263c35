/*
 * policy/rules: rules as somebody wrote them, in plain data.
 */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include "base/str.h"

enum policy_verdict { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };

/* An argument of a call, and what it must look like. */
struct policy_arg {
	str name, pattern;
};

struct policy_rule {
	str tool; /* glob */
	enum policy_verdict verdict;
	const struct policy_arg *args; /* all must match */
	size_t args_n;
};

#endif

/*
 * policy/internal: what the files of the engine share.
 */
#ifndef POLICY_INTERNAL_H
#define POLICY_INTERNAL_H

#include "policy/line.h"
#include "policy/policy.h"
#include "text/regex.h"

struct pattern {
	str text;
	struct regex *re;
	str ops; /* shell operators that it names, one after the other */
	str name; /* of the argument it is for */
};

struct tool_rule {
	str tool;
	enum policy_verdict verdict;
	struct pattern *args;
	size_t args_n;
};

/* Lives in its own arena. */
struct policy {
	struct arena arena;
	struct policy_opt opt;
	struct tool_rule *rules;
	struct pattern *deny, *allow;
};

/* Judging one line. */
struct judging {
	const struct policy *p;
	struct arena *a;
	struct line line;
	str cwd; /* where it starts; "" not known */
	struct policy_part *parts; /* one a command of the line, in order */
	struct regex_room *room;
	bool *gave_up; /* of each allow pattern */
	struct policy_decision *out;
};

/* DENY with rule and reason, or false. */
bool policy_denied(struct judging *j);

/* ALLOW with rule, or false with a reason. */
bool policy_allowed(struct judging *j);

/* The operators of a shell that a pattern names literally, in their order. */
str policy_ops(struct arena *a, str pattern);

#endif

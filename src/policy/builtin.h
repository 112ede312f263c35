/*
 * policy/builtin: what no command may do, whoever asks for it: the deny rules that come with
 * the program, so that they get better with it.
 */
#ifndef POLICY_BUILTIN_H
#define POLICY_BUILTIN_H

#include "policy/line.h"

/* MAYBE: it depends on a value that is known only when it runs. */
enum builtin_hit { HIT_NO, HIT_MAYBE, HIT_YES };

struct builtin_rule {
	const char *name, *what;
	enum builtin_hit (*hit)(const struct line *l, const struct line_cmd *c);
};

extern const struct builtin_rule builtin_rules[];
extern const size_t builtin_rules_n;

#endif

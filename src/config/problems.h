/*
 * config/problems: the list of everything that is wrong with a configuration, one line
 * each, so that a person mends it in one go.  Values are never quoted: they may be secret.
 */
#ifndef CONFIG_PROBLEMS_H
#define CONFIG_PROBLEMS_H

#include "base/buf.h"

#define PROBLEMS_MAX 50

struct yaml;

struct problems {
	struct buf text;
	size_t n;
	str file; /* shown before line and column */
};

void problems_init(struct problems *p, struct arena *a, str file);

/* "file:line:column: name: sentence"; at NULL: "name: sentence"; an empty name is left
 * out.  Lines over PROBLEMS_MAX are only counted. */
void problem_add(struct problems *p, const struct yaml *at, str name, const char *fmt, ...)
	PRINTF(4, 5);

#endif

/*
 * text/toml: reading TOML 1.0 into a tree in an arena.
 *
 * Keys keep the order in which they were first written.  Dates and times are kept as
 * checked text, with an upper-case T and Z.  Pure; text is borrowed during the call only.
 *
 * Limits  text 16 MiB, nesting 64, 64 parts in one dotted key.
 */
#ifndef TEXT_TOML_H
#define TEXT_TOML_H

#include "base/arena.h"
#include "base/err.h"

enum toml_type {
	TOML_STRING,
	TOML_INT,
	TOML_FLOAT,
	TOML_BOOL,
	TOML_DATETIME, /* with an offset */
	TOML_DATETIME_LOCAL,
	TOML_DATE_LOCAL,
	TOML_TIME_LOCAL,
	TOML_ARRAY,
	TOML_TABLE,
};

struct toml {
	enum toml_type type;
	str s; /* string, date or time; NUL-terminated */
	int64_t i; /* TOML_INT */
	double d; /* TOML_FLOAT */
	bool b; /* TOML_BOOL */
	str key; /* when a member of a table */
	struct toml *child; /* first element or member */
	struct toml *next; /* sibling */
	size_t n; /* elements or members */
	int line; /* where it was written, from 1 */
};

/* *out is the root table.  E_INVAL with "line N, column M: ..."; E_LIMIT. */
int toml_read(struct toml **out, struct arena *a, str text, struct err *e) MUSTUSE;

/* The member of that name; NULL when there is none, v is NULL or no table. */
const struct toml *toml_get(const struct toml *v, const char *key);

/* "a string", "an integer", ...: what v is, for messages. */
const char *toml_type_text(enum toml_type type);

#endif

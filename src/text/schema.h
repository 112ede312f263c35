/*
 * text/schema: does a JSON value fit a JSON Schema?  Pure.
 *
 * The vocabularies of drafts 06 and 07 and of 2019-09 and 2020-12, as far as they decide about
 * values: everything but "content…" and $vocabulary.  What is no
 * keyword is ignored, and so is a keyword that makes no sense (a pattern that is none).
 * References lead to places inside the document only: one to elsewhere is never fetched and
 * allows everything.  Numbers are compared exactly, also between integers and reals.
 *
 * Threads  any.
 * Limits   work, memory, depth and patterns are bounded: no schema and no value takes longer than
 *          some tens of milliseconds or more than some tens of MiB, which are given back.
 */
#ifndef TEXT_SCHEMA_H
#define TEXT_SCHEMA_H

#include "text/json.h"

struct schema_opt {
	const char *name; /* what the value is called in messages: "arguments"; NULL nothing */
	bool formats; /* "format" is held to as well, where it is a common one */
};

/* E_INVAL it does not: one line that says where and what is wanted there, for whoever made the
 * value ("arguments.items[3].kind: must be one of a, b").  E_LIMIT it took too much work or memory:
 * nothing is known.  A schema that is none allows everything.  opt may be NULL. */
int schema_check_as(const struct schema_opt *opt, const struct json *schema,
		    const struct json *value, struct err *e) MUSTUSE;

static inline MUSTUSE int schema_check(const struct json *schema, const struct json *value,
				       struct err *e)
{
	return schema_check_as(NULL, schema, value, e);
}

/* What a reference in the schema root leads to, in that document; NULL when that is nowhere, or
 * would have to be fetched.  It is taken as standing in root itself, whatever it is in. */
const struct json *schema_follow(const struct json *root, str ref, struct arena *a);

/* The text of an object without those members that are null though the schema names them, does
 * not require them and allows no null there; also in objects that are named members of it.
 * Everything else stays as it is, byte for byte.  text itself when there is none. */
str schema_drop_nulls(const struct json *schema, str text, struct arena *a);

#endif

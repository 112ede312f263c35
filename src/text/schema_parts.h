/*
 * text/schema_parts: what the files of the validator share.
 */
#ifndef TEXT_SCHEMA_PARTS_H
#define TEXT_SCHEMA_PARTS_H

#include "text/regex.h"
#include "text/schema.h"

#define SCHEMA_SAID_MAX 200 /* bytes of a message */

/* Where in the value: a member or an element of what is above. */
struct schema_spot {
	const struct schema_spot *up; /* NULL: the value itself */
	str key;
	size_t at;
	bool member;
	int depth;
};

/* Why something does not fit. */
struct schema_fault {
	str where, what; /* "must be …", "is …" */
	str instead; /* ", not …" */
	int depth;
	bool type, constant; /* it is the wrong thing altogether */
};

struct schema_pattern {
	struct schema_pattern *next;
	str source;
	struct regex *re; /* NULL: it is none */
};

/* The resources that evaluation came through, innermost first. */
struct schema_scope {
	const struct schema_scope *up;
	const struct json *resource;
};

struct schema_run {
	const struct json *root;
	const struct json *base; /* the resource within root that "#" means */
	const struct schema_scope *scope;
	const struct schema_opt *opt;
	struct arena *a;
	size_t memory; /* bytes that a may have; 0: any */
	int64_t left; /* of the work */
	size_t regex_left;
	bool spent;
	bool old; /* draft-07 and before: nothing beside a $ref counts */
	int depth, quiet;
	struct schema_pattern *patterns;
	struct regex_room *room;
	struct schema_fault fault; /* the last one */
};

/* One schema at one value. */
struct schema_at {
	const struct json *schema, *value;
	const struct schema_spot *spot;
	uint64_t *seen; /* a bit for each member or element that was looked at; NULL: no need */
};

/* Take n off the work that is left; false: nothing is, and all that follows is in vain. */
bool schema_spend(struct schema_run *k, size_t n);

/* Does value fit schema?  What was looked at is added to seen, unless that is NULL. */
bool schema_eval(struct schema_run *k, const struct json *schema, const struct json *value,
		 const struct schema_spot *spot, uint64_t *seen);

/* The same at the value, and the place, that at has. */
bool schema_here(struct schema_run *k, const struct schema_at *at, const struct json *schema);

/* Note what is wrong; false. */
bool schema_fault(struct schema_run *k, const struct schema_spot *spot, const char *fmt, ...)
	PRINTF(3, 4);

/* The member of an object; NULL when v is none or has none. */
const struct json *schema_member(struct schema_run *k, const struct json *v, str key);

/* schema_ref: what a reference leads to, NULL when that is nothing in the document; *base
 * becomes the resource that it is in. */
const struct json *schema_resolve(struct schema_run *k, str ref, const struct json **base);
/* The same of a $dynamicRef: the outermost resource that has such an anchor counts. */
const struct json *schema_resolve_dynamic(struct schema_run *k, str ref,
					  const struct json **base);
/* The same of a $recursiveRef, as 2019-09 has it: the outermost that says $recursiveAnchor. */
const struct json *schema_resolve_recursive(struct schema_run *k, str ref,
					    const struct json **base);
/* Is it a resource of its own, with a name? */
bool schema_is_resource(const struct schema_run *k, const struct json *v);

/* schema_value */
bool schema_equal(struct schema_run *k, const struct json *x, const struct json *y);
int schema_compare(const struct json *x, const struct json *y); /* numbers: -1, 0, 1 */
bool schema_multiple(const struct json *x, const struct json *of);
bool schema_unique(struct schema_run *k, const struct json *list, size_t *first, size_t *again);
bool schema_has_type(const struct json *v, str type);
const char *schema_kind(const struct json *v); /* "a string" */
/* At most so many bytes of it, for people; "" while nothing is said. */
str schema_shown(struct schema_run *k, const struct json *v, size_t max);

/* schema_pattern: does the pattern stand in the text?  One that is none, or takes too long, does. */
bool schema_matches(struct schema_run *k, str pattern, str text);

/* schema_format: what is wanted ("an e-mail address") when text is none of the format, else
 * NULL, also of a format that is not known. */
const char *schema_format_wanted(str format, str text);

/* schema_assert, schema_choice: the keywords that need nothing of the walk. */
typedef bool schema_keyword_fn(struct schema_run *k, const struct schema_at *at,
			       const struct json *kw);
schema_keyword_fn schema_kw_type, schema_kw_enum, schema_kw_const, schema_kw_limit,
	schema_kw_multiple, schema_kw_length, schema_kw_count, schema_kw_members,
	schema_kw_pattern, schema_kw_format, schema_kw_unique, schema_kw_required,
	schema_kw_dependent_required, schema_kw_any, schema_kw_one;

#endif

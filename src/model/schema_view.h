/*
 * model/schema_view: a sub-schema as those who map it down look at it: itself, what it refers
 * to and the parts of its allOf together, what may be chosen between in it, and which values
 * it lists.  Pure.
 *
 * Owns     nothing: views point into the schema, and what has to be made is in their arena.
 */
#ifndef MODEL_SCHEMA_VIEW_H
#define MODEL_SCHEMA_VIEW_H

#include "text/json.h"

#define VIEW_MAX 24

enum {
	VIEW_STRING = 1,
	VIEW_INTEGER = 2,
	VIEW_NUMBER = 4,
	VIEW_BOOLEAN = 8,
	VIEW_ARRAY = 16,
	VIEW_OBJECT = 32,
};

struct view {
	struct arena *a;
	const struct json *root;
	const struct json *part[VIEW_MAX];
	size_t n;
	size_t own; /* that many parts' descriptions count */
	const struct json *key; /* what it is, to know it again */
	const struct json **choice; /* two or more, else none; nulls are out already */
	size_t choices;
	const struct json *values; /* an array: nothing else may be; NULL anything */
	str lead; /* to be said before the description */
	unsigned only; /* these types count whatever is said; 0: what is said */
	bool nullable;
};

/* A view of nothing yet, within the document root. */
struct view view_of(const struct json *root, struct arena *a);

/* s as one more part, with all that belongs to it.  What is no object schema adds nothing. */
void view_add(struct view *v, const struct json *s);

/* What is chosen between: the lists of its parts, or list (elements or members), n of them.  One
 * that is left alone becomes a part. */
void view_choose(struct view *v);
void view_choose_of(struct view *v, const struct json **list, size_t n);

/* An alternative is what it says and what is said of all of them. */
void view_under(struct view *v, const struct view *all);

/* When all parts are there: nulls and values. */
void view_settle(struct view *v);

/* The keyword of the first part that has it, NULL when none does. */
const struct json *view_keyword(const struct view *v, const char *name);

/* Of the numbers under that name in all parts the smallest or greatest, NULL when none is there. */
const struct json *view_tightest(const struct view *v, const char *name, bool smallest);

/* Its types but null, said or implied, as bits; VIEW_STRING when there is nothing to go by. */
unsigned view_types(const struct view *v);

/* "integer" of VIEW_INTEGER. */
const char *view_type_name(unsigned type);

/* Is it of that type?  VIEW_NUMBER has the integers too. */
bool view_value_is(const struct json *value, unsigned type);

#endif

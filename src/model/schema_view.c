/*
 * Views of sub-schemas.  Nothing is written here; what a view leaves out (not, contains, …)
 * is left to the check of what the model then writes.
 */
#include "model/schema_view.h"

#include "text/schema.h"

static const struct {
	const char *name;
	unsigned bits;
} types[] = {
	{ "string", VIEW_STRING },   { "integer", VIEW_INTEGER }, { "number", VIEW_NUMBER },
	{ "boolean", VIEW_BOOLEAN }, { "array", VIEW_ARRAY },     { "object", VIEW_OBJECT },
};

struct view view_of(const struct json *root, struct arena *a)
{
	return (struct view){ .a = a, .root = root };
}

static bool has_part(const struct view *v, const struct json *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->part[i] == s)
			return true;
	return false;
}

void view_add(struct view *v, const struct json *s)
{
	static const char *const refs[] = { "$ref", "$dynamicRef", "$recursiveRef" };
	const struct json *all = json_get(s, "allOf");

	if (!json_is(s, JSON_OBJECT) || v->n == VIEW_MAX || has_part(v, s))
		return;
	v->part[v->n++] = s;
	for (size_t i = 0; i < COUNT(refs); i++)
		if (json_str(s, refs[i]).n)
			view_add(v, schema_follow(v->root, json_str(s, refs[i]), v->a));
	if (json_is(all, JSON_ARRAY))
		for (const struct json *p = all->child; p; p = p->next)
			view_add(v, p);
	v->own = v->n;
	v->key = v->part[v->n - 1];
}

const struct json *view_keyword(const struct view *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct json *found = json_get(v->part[i], name);
		if (found)
			return found;
	}
	return NULL;
}

const struct json *view_tightest(const struct view *v, const char *name, bool smallest)
{
	const struct json *best = NULL;

	for (size_t i = 0; i < v->n; i++) {
		const struct json *n = json_get(v->part[i], name);
		if (!json_is(n, JSON_INT) && !json_is(n, JSON_REAL))
			continue;
		if (!best || (smallest ? n->d < best->d : n->d > best->d))
			best = n;
	}
	return best;
}

/* ---- choices ------------------------------------------------------------------------ */

static bool null_schema(const struct json *s)
{
	const struct json *list = json_get(s, "enum");

	return str_eq(json_str(s, "type"), S("null")) ||
	       json_is(json_get(s, "const"), JSON_NULL) ||
	       (json_is(list, JSON_ARRAY) && list->n == 1 && json_is(list->child, JSON_NULL));
}

void view_choose_of(struct view *v, const struct json **list, size_t n)
{
	const struct json **kept = NEWN(v->a, const struct json *, n + 1);
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (null_schema(list[i]))
			v->nullable = true;
		else if (json_is(list[i], JSON_OBJECT))
			kept[k++] = list[i];
	}
	if (k == 1)
		view_add(v, kept[0]);
	if (k < 2)
		return;
	v->choice = kept;
	v->choices = k;
}

static void choose_from(struct view *v, const struct json *list)
{
	const struct json **of;
	size_t n = 0;

	if (!json_is(list, JSON_ARRAY) || v->choices)
		return;
	of = NEWN(v->a, const struct json *, list->n + 1);
	for (const struct json *m = list->child; m; m = m->next)
		of[n++] = m;
	view_choose_of(v, of, n);
}

/* One that is left alone may bring a list of its own. */
void view_choose(struct view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		choose_from(v, json_get(v->part[i], "anyOf"));
		choose_from(v, json_get(v->part[i], "oneOf"));
	}
}

void view_under(struct view *v, const struct view *all)
{
	size_t own = v->own;
	const struct json *key = v->key;

	for (size_t i = 0; i < all->n && v->n < VIEW_MAX; i++)
		if (!has_part(v, all->part[i]))
			v->part[v->n++] = all->part[i];
	v->own = own;
	v->key = key;
}

/* ---- values ------------------------------------------------------------------------- */

static struct json *empty_list(struct arena *a)
{
	struct json *list = NEW(a, struct json);

	list->type = JSON_ARRAY;
	return list;
}

static void append(struct arena *a, struct json *list, struct json **last,
		   const struct json *value)
{
	struct json *copy = NEW(a, struct json);

	*copy = *value;
	copy->next = NULL;
	if (*last)
		(*last)->next = copy;
	else
		list->child = copy;
	*last = copy;
	list->n++;
}

/* The values of one schema that lists some: of a constant itself. */
static const struct json *listed(const struct view *v, bool *one)
{
	const struct json *constant = view_keyword(v, "const"), *list = view_keyword(v, "enum");

	*one = constant != NULL;
	if (constant)
		return constant;
	return json_is(list, JSON_ARRAY) && list->n ? list : NULL;
}

static void append_all(struct arena *a, struct json *to, struct json **last,
		       const struct json *values, bool one)
{
	for (const struct json *m = one ? values : values->child; m; m = one ? NULL : m->next)
		append(a, to, last, m);
}

/* Alternatives that are nothing but values are one list of them. */
static const struct json *chosen_values(const struct view *v)
{
	struct json *list = empty_list(v->a), *last = NULL;
	bool one;

	for (size_t i = 0; i < v->choices; i++) {
		struct view c = view_of(v->root, v->a);
		view_add(&c, v->choice[i]);
		const struct json *values = listed(&c, &one);
		if (!values)
			return NULL;
		append_all(v->a, list, &last, values, one);
	}
	return v->choices ? list : NULL;
}

static bool says_null(const struct json *s)
{
	const struct json *t = json_get(s, "type");

	if (json_bool(s, "nullable", false) || null_schema(s))
		return true;
	if (json_is(t, JSON_ARRAY))
		for (const struct json *m = t->child; m; m = m->next)
			if (str_eq(json_text(m), S("null")))
				return true;
	return false;
}

void view_settle(struct view *v)
{
	bool one;
	const struct json *values = listed(v, &one), *m;

	for (size_t i = 0; i < v->n; i++)
		v->nullable = v->nullable || says_null(v->part[i]);
	if (!values) {
		v->values = chosen_values(v);
		if (v->values)
			v->choices = 0;
	} else {
		struct json *list = empty_list(v->a), *last = NULL;
		append_all(v->a, list, &last, values, one);
		v->values = list;
	}
	for (m = v->values ? v->values->child : NULL; m; m = m->next)
		v->nullable = v->nullable || json_is(m, JSON_NULL);
}

/* ---- types -------------------------------------------------------------------------- */

/* Some write them in capitals. */
static bool same_word(str s, const char *word)
{
	for (size_t i = 0; i < s.n; i++, word++)
		if (!*word || (s.p[i] | 32) != *word)
			return false;
	return !*word;
}

static unsigned bits_of(str name)
{
	for (size_t i = 0; i < COUNT(types); i++)
		if (same_word(name, types[i].name))
			return types[i].bits == VIEW_NUMBER ? VIEW_NUMBER | VIEW_INTEGER
							    : types[i].bits;
	return 0;
}

static unsigned said(const struct json *t)
{
	unsigned bits = 0;

	if (!json_is(t, JSON_ARRAY))
		return bits_of(json_text(t));
	for (const struct json *m = t->child; m; m = m->next)
		bits |= bits_of(json_text(m));
	return bits;
}

static unsigned implied(const struct view *v)
{
	static const struct {
		const char *keyword;
		unsigned bits;
	} rows[] = {
		{ "properties", VIEW_OBJECT },
		{ "additionalProperties", VIEW_OBJECT },
		{ "required", VIEW_OBJECT },
		{ "patternProperties", VIEW_OBJECT },
		{ "items", VIEW_ARRAY },
		{ "prefixItems", VIEW_ARRAY },
		{ "minItems", VIEW_ARRAY },
		{ "uniqueItems", VIEW_ARRAY },
		{ "minimum", VIEW_NUMBER },
		{ "maximum", VIEW_NUMBER },
		{ "multipleOf", VIEW_NUMBER },
		{ "exclusiveMinimum", VIEW_NUMBER },
		{ "exclusiveMaximum", VIEW_NUMBER },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (view_keyword(v, rows[i].keyword))
			return rows[i].bits;
	return VIEW_STRING;
}

bool view_value_is(const struct json *value, unsigned type)
{
	switch (value->type) {
	case JSON_STRING:
		return type & VIEW_STRING;
	case JSON_INT:
		return type & (VIEW_INTEGER | VIEW_NUMBER);
	case JSON_REAL:
		return type & VIEW_NUMBER;
	case JSON_TRUE:
	case JSON_FALSE:
		return type & VIEW_BOOLEAN;
	case JSON_ARRAY:
		return type & VIEW_ARRAY;
	case JSON_OBJECT:
		return type & VIEW_OBJECT;
	case JSON_NULL:
		break;
	}
	return false;
}

/* The narrowest types that have all values. */
static unsigned types_of_values(const struct json *values)
{
	unsigned bits = 0;

	for (const struct json *m = values ? values->child : NULL; m; m = m->next) {
		if (json_is(m, JSON_INT))
			bits |= VIEW_INTEGER;
		else
			for (size_t i = 0; i < COUNT(types); i++)
				if (view_value_is(m, types[i].bits))
					bits |= types[i].bits;
	}
	return bits;
}

unsigned view_types(const struct view *v)
{
	unsigned bits = 0, values = types_of_values(v->values);

	for (size_t i = 0; i < v->n; i++) {
		unsigned here = said(json_get(v->part[i], "type"));
		if (here)
			bits = bits & here ? bits & here : bits ? bits : here;
	}
	if (!bits)
		bits = values ? values : implied(v);
	else if (bits & values)
		bits &= values;
	if (bits & VIEW_NUMBER)
		bits &= ~(unsigned)VIEW_INTEGER;
	return v->only ? v->only : bits;
}

const char *view_type_name(unsigned type)
{
	for (size_t i = 0; i < COUNT(types); i++)
		if (types[i].bits == type)
			return types[i].name;
	return "string";
}

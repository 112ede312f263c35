/*
 * Mapping JSON Schema down.  A sub-schema is looked at as a view: itself, what it refers to,
 * and the parts of its allOf, so that keywords and properties are found in any of them.
 */
#include "model/schema.h"

#define VIEW_MAX 16
#define DEPTH_MAX 12 /* of nested sub-schemas */
#define REPEAT_MAX 2 /* of one that contains itself */

struct walk {
	struct buf *b;
	const struct json *root;
	bool bare;
	int nodes;
	const struct json *path[DEPTH_MAX + 1]; /* what is being written, outermost first */
};

struct view {
	const struct json *part[VIEW_MAX];
	size_t n;
};

/* "#/$defs/name": the value there, or NULL.  "~1" and "~0" stand for "/" and "~". */
static const struct json *resolve(const struct json *root, str ref)
{
	str step;

	if (!str_starts(ref, S("#")))
		return NULL;
	(void)str_cut(&ref, '/');
	while (ref.n && root) {
		char name[128];
		size_t n = 0;
		step = str_cut(&ref, '/');
		for (size_t i = 0; i < step.n && n < sizeof name - 1; i++, n++) {
			name[n] = step.p[i];
			if (step.p[i] == '~' && i + 1 < step.n)
				name[n] = step.p[++i] == '1' ? '/' : '~';
		}
		name[n] = 0;
		root = json_get(root, name);
	}
	return root;
}

static void add_part(const struct walk *w, struct view *v, const struct json *s)
{
	const struct json *all = json_get(s, "allOf");
	str ref = json_str(s, "$ref");

	if (!json_is(s, JSON_OBJECT) || v->n == VIEW_MAX)
		return;
	for (size_t i = 0; i < v->n; i++)
		if (v->part[i] == s)
			return;
	v->part[v->n++] = s;
	if (ref.n)
		add_part(w, v, resolve(w->root, ref));
	if (json_is(all, JSON_ARRAY))
		for (const struct json *p = all->child; p; p = p->next)
			add_part(w, v, p);
}

static const struct json *keyword(const struct view *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct json *found = json_get(v->part[i], name);
		if (found)
			return found;
	}
	return NULL;
}

static bool null_schema(const struct json *s)
{
	return str_eq(json_str(s, "type"), S("null")) ||
	       json_is(json_get(s, "const"), JSON_NULL);
}

static str type_of_value(const struct json *v)
{
	if (json_is(v, JSON_INT))
		return S("integer");
	if (json_is(v, JSON_REAL))
		return S("number");
	if (json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE))
		return S("boolean");
	return S("string");
}

/* The type, said or implied; *nullable when null is one of several. */
static str type_of(const struct view *v, bool *nullable)
{
	const struct json *t = keyword(v, "type");
	str type = json_text(t);

	if (json_is(t, JSON_ARRAY))
		for (const struct json *m = t->child; m; m = m->next) {
			if (str_eq(json_text(m), S("null")))
				*nullable = true;
			else if (!type.n)
				type = json_text(m);
		}
	if (str_eq(type, S("null")))
		type = (str){ 0 };
	if (type.n)
		return type;
	if (keyword(v, "properties"))
		return S("object");
	if (keyword(v, "items") || keyword(v, "prefixItems"))
		return S("array");
	if (keyword(v, "const"))
		return type_of_value(keyword(v, "const"));
	if (json_at(keyword(v, "enum"), 0))
		return type_of_value(json_at(keyword(v, "enum"), 0));
	return S("string");
}

static void write_schema(struct walk *w, const struct json *s, int depth);

/* ---- keywords ----------------------------------------------------------------------- */

/* Only strings may be enumerated. */
static void write_enum(struct walk *w, const struct view *v)
{
	const struct json *list = keyword(v, "enum"), *one = keyword(v, "const");
	bool any = false;

	if (!json_is(list, JSON_ARRAY))
		list = NULL;
	for (const struct json *m = list ? list->child : one; m; m = list ? m->next : NULL) {
		if (!json_text(m).n)
			continue;
		if (!any) {
			buf_json_key(w->b, "enum");
			buf_add(w->b, S("["));
		} else {
			buf_add(w->b, S(","));
		}
		buf_json(w->b, json_text(m));
		any = true;
	}
	if (any)
		buf_add(w->b, S("]"));
}

static bool known_format(str type, str format)
{
	static const struct {
		const char *type, *format;
	} rows[] = {
		{ "string", "date-time" }, { "string", "enum" },  { "integer", "int32" },
		{ "integer", "int64" },    { "number", "float" }, { "number", "double" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (str_eq(type, str_of(rows[i].type)) &&
		    str_eq(format, str_of(rows[i].format)))
			return true;
	return false;
}

static void write_limits(struct walk *w, const struct view *v, str type)
{
	static const struct {
		const char *type, *name;
	} rows[] = {
		{ "integer", "minimum" }, { "integer", "maximum" },  { "number", "minimum" },
		{ "number", "maximum" },  { "string", "minLength" }, { "string", "maxLength" },
		{ "array", "minItems" },  { "array", "maxItems" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct json *n = keyword(v, rows[i].name);
		if (!str_eq(type, str_of(rows[i].type)))
			continue;
		if (!json_is(n, JSON_INT) && !json_is(n, JSON_REAL))
			continue;
		buf_json_key(w->b, rows[i].name);
		json_write(w->b, n);
	}
}

/* Is this the first part of v that has the property? */
static bool first_with(const struct view *v, size_t part, str name)
{
	for (size_t i = 0; i < part; i++) {
		const struct json *p = json_get(v->part[i], "properties");
		for (const struct json *m = json_is(p, JSON_OBJECT) ? p->child : NULL; m;
		     m = m->next)
			if (str_eq(m->key, name))
				return false;
	}
	return true;
}

static bool has_property(const struct view *v, str name)
{
	return !first_with(v, v->n, name);
}

static void write_properties(struct walk *w, const struct view *v, int depth)
{
	buf_json_key(w->b, "properties");
	buf_add(w->b, S("{"));
	for (size_t i = 0, n = 0; i < v->n; i++) {
		const struct json *p = json_get(v->part[i], "properties");
		if (!json_is(p, JSON_OBJECT))
			continue;
		for (const struct json *m = p->child; m; m = m->next) {
			if (w->nodes > SCHEMA_NODES || !first_with(v, i, m->key))
				continue;
			if (n++)
				buf_add(w->b, S(","));
			buf_json(w->b, m->key);
			buf_add(w->b, S(":"));
			write_schema(w, m, depth + 1);
		}
	}
	buf_add(w->b, S("}"));
}

static void write_required(struct walk *w, const struct view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n && w->nodes <= SCHEMA_NODES; i++) {
		const struct json *r = json_get(v->part[i], "required");
		if (!json_is(r, JSON_ARRAY))
			continue;
		for (const struct json *m = r->child; m; m = m->next) {
			if (!has_property(v, json_text(m)))
				continue;
			if (n++ == 0) {
				buf_json_key(w->b, "required");
				buf_add(w->b, S("["));
			} else {
				buf_add(w->b, S(","));
			}
			buf_json(w->b, json_text(m));
		}
	}
	if (n)
		buf_add(w->b, S("]"));
}

static void write_items(struct walk *w, const struct view *v, int depth)
{
	const struct json *items = keyword(v, "items");

	if (json_is(items, JSON_ARRAY))
		items = json_at(items, 0);
	if (!json_is(items, JSON_OBJECT))
		items = json_at(keyword(v, "prefixItems"), 0);
	buf_json_key(w->b, "items");
	write_schema(w, items, depth + 1);
}

/* ---- sub-schemas -------------------------------------------------------------------- */

static void write_typed(struct walk *w, const struct view *v, int depth, bool nullable)
{
	str type = type_of(v, &nullable);
	str description = json_text(keyword(v, "description"));
	str format = json_text(keyword(v, "format"));

	buf_add(w->b, S("{"));
	buf_json_member(w->b, "type", type);
	if (description.n)
		buf_json_member(w->b, "description", description);
	if (nullable && !w->bare) {
		buf_json_key(w->b, "nullable");
		buf_add(w->b, S("true"));
	}
	if (!w->bare) {
		if (known_format(type, format))
			buf_json_member(w->b, "format", format);
		write_limits(w, v, type);
	}
	if (str_eq(type, S("string")))
		write_enum(w, v);
	if (str_eq(type, S("array")))
		write_items(w, v, depth);
	if (str_eq(type, S("object")) && keyword(v, "properties")) {
		write_properties(w, v, depth);
		write_required(w, v);
	}
	buf_add(w->b, S("}"));
}

static void write_alternatives(struct walk *w, const struct json *list, int depth)
{
	size_t n = 0;

	buf_add(w->b, S("{"));
	buf_json_key(w->b, "anyOf");
	buf_add(w->b, S("["));
	for (const struct json *m = list->child; m; m = m->next) {
		if (null_schema(m))
			continue;
		if (n++)
			buf_add(w->b, S(","));
		write_schema(w, m, depth + 1);
	}
	buf_add(w->b, S("]}"));
}

/* Is v inside itself too often?  Otherwise it is noted on the path. */
static bool repeats(struct walk *w, const struct view *v, int depth)
{
	int n = 0;

	w->path[depth] = v->part[v->n - 1];
	for (int i = 0; i < depth; i++)
		n += w->path[i] == w->path[depth];
	return n >= REPEAT_MAX;
}

static void write_schema(struct walk *w, const struct json *s, int depth)
{
	struct view v = { 0 };
	const struct json *list, *only = NULL;
	size_t n = 0;
	bool nullable = false;

	if (depth > DEPTH_MAX || ++w->nodes > SCHEMA_NODES || !json_is(s, JSON_OBJECT)) {
		buf_add(w->b, S("{\"type\":\"string\"}"));
		return;
	}
	add_part(w, &v, s);
	if (repeats(w, &v, depth)) {
		buf_add(w->b, S("{\"type\":\"string\"}"));
		return;
	}
	list = keyword(&v, "anyOf");
	if (!json_is(list, JSON_ARRAY))
		list = keyword(&v, "oneOf");
	if (json_is(list, JSON_ARRAY) && !keyword(&v, "properties"))
		for (const struct json *m = list->child; m; m = m->next) {
			if (null_schema(m))
				nullable = true;
			else if (n++ == 0)
				only = m;
		}
	if (n > 1 && !w->bare) {
		write_alternatives(w, list, depth);
		return;
	}
	if (only)
		add_part(w, &v, only);
	write_typed(w, &v, depth, nullable);
}

void schema_write_plain(struct buf *b, const struct json *root, bool bare)
{
	struct walk w = { .b = b, .root = root, .bare = bare, .path = { root } };
	struct view v = { 0 };

	add_part(&w, &v, root);
	buf_add(b, S("{"));
	buf_json_member(b, "type", S("object"));
	write_properties(&w, &v, 0);
	write_required(&w, &v);
	buf_add(b, S("}"));
}

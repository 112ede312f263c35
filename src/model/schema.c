/*
 * Mapping JSON Schema down.  A sub-schema is written from its view (schema_view); what its words
 * cannot say goes into its description (schema_words).
 *
 * An object whose properties differ from one alternative to the next is written with all of
 * them, since anyOf has to stand alone where it is known, and at the top it is never: wider than
 * meant, but nothing that fits is kept from being said.
 */
#include "model/schema.h"

#include "model/schema_view.h"
#include "model/schema_words.h"

#define DEPTH_MAX 12 /* of nested sub-schemas */
#define REPEAT_MAX 2 /* of one that contains itself */
#define SOURCE_MAX 64
#define MERGE_DEPTH 4 /* of alternatives within alternatives */
#define WRITTEN_MAX ((size_t)4 << 20)

struct walk {
	struct buf *b;
	const struct json *root;
	bool bare;
	int nodes;
	const struct json *path[DEPTH_MAX + 2]; /* what is being written, outermost first */
};

/* Where properties of an object are named. */
struct source {
	const struct json *properties, *required;
	size_t choice; /* 0: they always count, else in that alternative */
};

struct sources {
	struct source v[SOURCE_MAX];
	size_t n, choices;
};

static void write_view(struct walk *w, struct view *v, int depth);
static void write_schema(struct walk *w, const struct json *s, int depth);

static struct view new_view(const struct walk *w)
{
	return view_of(w->root, w->b->a);
}

static void write_leaf(struct walk *w, const char *type)
{
	buf_fmt(w->b, "{\"type\":\"%s\"", type);
	if (str_is(str_of(type), "array"))
		buf_add(w->b, S(",\"items\":{\"type\":\"string\"}"));
	buf_add(w->b, S("}"));
}

/* ---- where properties come from ----------------------------------------------------- */

static void add_source(struct sources *s, const struct json *schema, size_t choice)
{
	const struct json *p = json_get(schema, "properties"),
			  *r = json_get(schema, "required");

	if (s->n == SOURCE_MAX)
		return;
	s->v[s->n++] = (struct source){
		.properties = json_is(p, JSON_OBJECT) ? p : NULL,
		.required = json_is(r, JSON_ARRAY) ? r : NULL,
		.choice = choice,
	};
}

static void collect(struct sources *s, const struct view *v, size_t choice, int depth);

/* What counts on a condition only. */
static void collect_one(struct sources *s, const struct view *v, const struct json *schema,
			size_t choice, int depth)
{
	struct view c = view_of(v->root, v->a);

	if (!json_is(schema, JSON_OBJECT) || depth > MERGE_DEPTH || s->n == SOURCE_MAX)
		return;
	view_add(&c, schema);
	view_choose(&c);
	collect(s, &c, choice, depth);
}

static void collect_conditions(struct sources *s, const struct view *v, const struct json *part,
			       int depth)
{
	static const char *const names[] = { "then", "else" };
	static const char *const maps[] = { "dependentSchemas", "dependencies" };

	for (size_t i = 0; i < COUNT(names); i++)
		collect_one(s, v, json_get(part, names[i]), SIZE_MAX, depth + 1);
	for (size_t i = 0; i < COUNT(maps); i++) {
		const struct json *map = json_get(part, maps[i]);
		for (const struct json *m = json_is(map, JSON_OBJECT) ? map->child : NULL; m;
		     m = m->next)
			collect_one(s, v, m, SIZE_MAX, depth + 1);
	}
}

static void collect(struct sources *s, const struct view *v, size_t choice, int depth)
{
	for (size_t i = 0; i < v->n; i++) {
		add_source(s, v->part[i], choice);
		collect_conditions(s, v, v->part[i], depth);
	}
	for (size_t i = 0; i < v->choices; i++)
		collect_one(s, v, v->choice[i], choice ? choice : i + 1, depth + 1);
	if (!choice)
		s->choices = v->choices;
}

static const struct json *member(const struct json *object, str name)
{
	for (const struct json *m = object ? object->child : NULL; m; m = m->next)
		if (str_eq(m->key, name))
			return m;
	return NULL;
}

/* Was it in a source before this one? */
static bool known(const struct sources *s, size_t before, str name)
{
	for (size_t i = 0; i < before; i++)
		if (member(s->v[i].properties, name))
			return true;
	return false;
}

static bool requires(const struct sources *s, size_t choice, str name)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct json *r = s->v[i].choice == choice ? s->v[i].required : NULL;
		for (const struct json *m = r ? r->child : NULL; m; m = m->next)
			if (str_eq(json_text(m), name))
				return true;
	}
	return false;
}

/* Always, or whichever alternative is taken. */
static bool required(const struct sources *s, str name)
{
	if (requires(s, 0, name))
		return true;
	for (size_t i = 1; i <= s->choices; i++)
		if (!requires(s, i, name))
			return false;
	return s->choices > 0;
}

/* Does every alternative say something of it? */
static bool everywhere(const struct sources *s, str name)
{
	for (size_t i = 1; i <= s->choices; i++) {
		bool found = false;
		for (size_t k = 0; k < s->n && !found; k++)
			found = s->v[k].choice == i && member(s->v[k].properties, name);
		if (!found)
			return false;
	}
	return s->choices > 0;
}

/* All that is said of one property: what always counts, and between what the alternatives say of
 * it is a choice.  false: it may not be there. */
static bool property_view(const struct sources *s, str name, struct view *v)
{
	const struct json *choice[SOURCE_MAX];
	bool allowed = false, all = everywhere(s, name);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct json *p = s->v[i].choice ? NULL : member(s->v[i].properties, name);
		allowed = allowed || (p && !json_is(p, JSON_FALSE));
		view_add(v, p);
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct json *p = member(s->v[i].properties, name);
		if (!p || json_is(p, JSON_FALSE) || !s->v[i].choice)
			continue;
		/* What counts at times only must not narrow what counts always. */
		if (!v->n || (all && s->v[i].choice != SIZE_MAX))
			choice[n++] = p;
		allowed = true;
	}
	if (n)
		view_choose_of(v, choice, n);
	view_choose(v);
	return allowed;
}

/* ---- objects and arrays ------------------------------------------------------------- */

/* The names of what was written. */
static size_t write_properties(struct walk *w, const struct sources *s, int depth, str *names)
{
	size_t n = 0;

	buf_json_key(w->b, "properties");
	buf_add(w->b, S("{"));
	for (size_t i = 0; i < s->n; i++) {
		const struct json *p = s->v[i].properties;
		for (const struct json *m = p ? p->child : NULL; m; m = m->next) {
			struct view v = new_view(w);
			if (w->nodes > SCHEMA_NODES || known(s, i, m->key) ||
			    !property_view(s, m->key, &v))
				continue;
			if (n)
				buf_add(w->b, S(","));
			buf_json(w->b, m->key);
			buf_add(w->b, S(":"));
			names[n++] = m->key;
			write_view(w, &v, depth + 1);
		}
	}
	buf_add(w->b, S("}"));
	return n;
}

static void write_required(struct walk *w, const struct sources *s, const str *names, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!required(s, names[i]))
			continue;
		if (!any)
			buf_json_key(w->b, "required");
		buf_add(w->b, any ? S(",") : S("["));
		buf_json(w->b, names[i]);
		any = true;
	}
	if (any)
		buf_add(w->b, S("]"));
}

static void write_object(struct walk *w, const struct view *v, int depth, bool always)
{
	struct sources s = { 0 };
	size_t n = 0;

	collect(&s, v, 0, 0);
	for (size_t i = 0; i < s.n; i++)
		n += s.v[i].properties ? s.v[i].properties->n : 0;
	if (!n && !always)
		return;
	str *names = NEWN(w->b->a, str, n + 1);
	n = write_properties(w, &s, depth, names);
	write_required(w, &s, names, n);
}

/* A list of one schema each is one of any of them. */
static void write_items(struct walk *w, const struct view *v, int depth)
{
	const struct json *items = view_keyword(v, "items"),
			  *each = view_keyword(v, "prefixItems");
	struct view element = new_view(w);
	const struct json **list;
	size_t n = 0;

	if (json_is(items, JSON_ARRAY)) {
		each = items;
		items = view_keyword(v, "additionalItems");
	}
	buf_json_key(w->b, "items");
	if (!json_is(each, JSON_ARRAY)) {
		write_schema(w, items, depth + 1);
		return;
	}
	list = NEWN(w->b->a, const struct json *, each->n + 1);
	for (const struct json *m = each->child; m; m = m->next)
		list[n++] = m;
	if (json_is(items, JSON_OBJECT))
		list[n++] = items;
	view_choose_of(&element, list, n);
	view_choose(&element);
	write_view(w, &element, depth + 1);
}

/* ---- keywords ----------------------------------------------------------------------- */

static bool listed_before(const struct json *list, const struct json *value)
{
	for (const struct json *m = list->child; m != value; m = m->next)
		if (str_eq(json_text(m), value->s))
			return true;
	return false;
}

/* Only strings may be enumerated, and none that is empty. */
static void write_enum(struct walk *w, const struct view *v)
{
	size_t n = 0;

	for (const struct json *m = v->values ? v->values->child : NULL; m; m = m->next) {
		if (!json_text(m).n || listed_before(v->values, m))
			continue;
		if (n == 0)
			buf_json_key(w->b, "enum");
		buf_add(w->b, n++ ? S(",") : S("["));
		buf_json(w->b, m->s);
	}
	if (n)
		buf_add(w->b, S("]"));
}

static void write_number(struct walk *w, const char *name, const struct json *n)
{
	if (!n)
		return;
	buf_json_key(w->b, name);
	json_write(w->b, n);
}

/* One of the ends of a number: of what is listed, or said, or said to be just out of reach. */
static void write_end(struct walk *w, const struct view *v, unsigned type, bool low)
{
	const char *name = low ? "minimum" : "maximum";
	const char *exclusive = low ? "exclusiveMinimum" : "exclusiveMaximum";
	const struct json *best = NULL, *said = view_tightest(v, name, !low), *open;
	struct json next;

	for (const struct json *m = v->values ? v->values->child : NULL; m; m = m->next)
		if (view_value_is(m, type) &&
		    (!best || (low ? m->d < best->d : m->d > best->d)))
			best = m;
	if (best) {
		write_number(w, name, best);
		return;
	}
	open = json_is(view_keyword(v, exclusive), JSON_TRUE)
		       ? said
		       : view_tightest(v, exclusive, !low);
	if (open && type == VIEW_INTEGER && json_is(open, JSON_INT) &&
	    open->i != (low ? INT64_MAX : INT64_MIN)) {
		next = *open;
		next.i += low ? 1 : -1;
		next.d = (double)next.i;
		open = &next;
	}
	if (open && (!said || (low ? open->d > said->d : open->d < said->d)))
		said = open;
	write_number(w, name, said);
}

static void write_limits(struct walk *w, const struct view *v, unsigned type)
{
	static const struct {
		unsigned type;
		const char *name;
		bool smallest;
	} rows[] = {
		{ VIEW_STRING, "minLength", false },
		{ VIEW_STRING, "maxLength", true },
		{ VIEW_ARRAY, "minItems", false },
		{ VIEW_ARRAY, "maxItems", true },
	};

	if (type & (VIEW_INTEGER | VIEW_NUMBER)) {
		write_end(w, v, type, true);
		write_end(w, v, type, false);
	}
	for (size_t i = 0; i < COUNT(rows); i++)
		if (type == rows[i].type)
			write_number(w, rows[i].name,
				     view_tightest(v, rows[i].name, rows[i].smallest));
}

static str own_description(const struct view *v)
{
	for (size_t i = 0; i < v->own; i++)
		if (json_str(v->part[i], "description").n)
			return json_str(v->part[i], "description");
	return S("");
}

static void write_description(struct walk *w, const struct view *v, unsigned type)
{
	struct buf b = buf_in(v->a, WRITTEN_MAX);
	str own = own_description(v), words = schema_words(v, type, w->bare);

	buf_add(&b, v->lead);
	if (own.n && !str_eq(own, v->lead))
		buf_fmt(&b, "%s%.*s", b.n ? " " : "", STRF(own));
	if (words.n)
		buf_fmt(&b, b.n ? " (%.*s)" : "%.*s", STRF(words));
	if (b.n)
		buf_json_member(w->b, "description", buf_str(&b));
}

/* ---- sub-schemas -------------------------------------------------------------------- */

static unsigned first_of(unsigned bits)
{
	return bits & -bits;
}

static void write_typed(struct walk *w, const struct view *v, int depth)
{
	unsigned type = first_of(view_types(v));
	str format = json_text(view_keyword(v, "format"));

	buf_add(w->b, S("{"));
	buf_json_member(w->b, "type", str_of(view_type_name(type)));
	write_description(w, v, type);
	if (v->nullable && !w->bare) {
		buf_json_key(w->b, "nullable");
		buf_add(w->b, S("true"));
	}
	if (!w->bare) {
		if (schema_format_known(type, format))
			buf_json_member(w->b, "format", format);
		write_limits(w, v, type);
	}
	if (type == VIEW_STRING)
		write_enum(w, v);
	if (type == VIEW_ARRAY)
		write_items(w, v, depth);
	if (type == VIEW_OBJECT)
		write_object(w, v, depth, false);
	buf_add(w->b, S("}"));
}

/* Alternatives, written one by one (the first alone where there is no anyOf); those that are written alike are one. */
struct any {
	struct buf *to;
	struct buf b; /* what they are written into meanwhile */
	size_t from[SOURCE_MAX], end[SOURCE_MAX], n;
};

static void any_begin(struct walk *w, struct any *x)
{
	x->to = w->b;
	x->n = 0;
	x->b = buf_in(w->b->a, WRITTEN_MAX);
	w->b = &x->b;
}

static void any_next(struct any *x, size_t from)
{
	for (size_t i = 0; i < x->n; i++)
		if (str_eq(str_sub(buf_str(&x->b), x->from[i], x->end[i]),
			   str_sub(buf_str(&x->b), from, x->b.n)))
			return;
	if (x->n == SOURCE_MAX)
		return;
	x->from[x->n] = from;
	x->end[x->n++] = x->b.n;
}

static void any_end(struct walk *w, struct any *x)
{
	w->b = x->to;
	if (x->b.full)
		w->b->full = true;
	if (x->n > 1)
		buf_add(w->b, S("{\"anyOf\":["));
	for (size_t i = 0; i < x->n; i++) {
		buf_add(w->b, i ? S(",") : S(""));
		buf_add(w->b, str_sub(buf_str(&x->b), x->from[i], x->end[i]));
	}
	if (x->n > 1)
		buf_add(w->b, S("]}"));
}

static void write_choices(struct walk *w, const struct view *v, int depth)
{
	struct any x;

	any_begin(w, &x);
	for (size_t i = 0; i < (w->bare ? 1 : v->choices); i++) {
		struct view c = new_view(w);
		size_t from = x.b.n;
		view_add(&c, v->choice[i]);
		view_choose(&c);
		view_under(&c, v);
		c.lead = i ? S("") : v->lead.n ? v->lead : own_description(v);
		c.nullable = i == 0 && v->nullable;
		write_view(w, &c, depth + 1);
		any_next(&x, from);
	}
	any_end(w, &x);
}

static void write_each_type(struct walk *w, const struct view *v, int depth)
{
	unsigned bits = view_types(v);
	struct any x;

	any_begin(w, &x);
	for (unsigned bit = 1; bit <= VIEW_OBJECT; bit <<= 1) {
		struct view c = *v;
		size_t from = x.b.n;
		if (!(bits & bit))
			continue;
		c.only = bit;
		if (from) { /* said once is enough */
			c.own = 0;
			c.lead = S("");
			c.nullable = false;
		}
		write_typed(w, &c, depth);
		any_next(&x, from);
	}
	any_end(w, &x);
}

/* Is v inside itself too often?  Otherwise it is noted on the path. */
static bool repeats(struct walk *w, const struct view *v, int depth)
{
	int n = 0;

	w->path[depth] = v->key;
	for (int i = 0; i < depth; i++)
		n += w->path[i] == v->key;
	return v->key && n >= REPEAT_MAX;
}

/* Do its alternatives differ in properties, not in kind? */
static bool merges(const struct walk *w, const struct view *v)
{
	if (view_keyword(v, "properties"))
		return true;
	for (size_t i = 0; w->bare && i < v->choices; i++) {
		struct view c = new_view(w);
		view_add(&c, v->choice[i]);
		if (!view_keyword(&c, "properties"))
			return false;
	}
	return w->bare;
}

static void write_view(struct walk *w, struct view *v, int depth)
{
	unsigned bits;

	if (depth > DEPTH_MAX || ++w->nodes > SCHEMA_NODES) {
		write_leaf(w, "string");
		return;
	}
	view_settle(v);
	if (repeats(w, v, depth)) {
		write_leaf(w, view_type_name(first_of(view_types(v))));
		return;
	}
	if (v->choices && merges(w, v)) {
		v->only = VIEW_OBJECT;
		write_typed(w, v, depth);
		return;
	}
	if (v->choices) {
		write_choices(w, v, depth);
		return;
	}
	bits = view_types(v);
	if (bits != first_of(bits) && !w->bare)
		write_each_type(w, v, depth);
	else
		write_typed(w, v, depth);
}

static void write_schema(struct walk *w, const struct json *s, int depth)
{
	struct view v = new_view(w);

	view_add(&v, s);
	view_choose(&v);
	write_view(w, &v, depth);
}

void schema_write_plain(struct buf *b, const struct json *root, bool bare)
{
	struct walk w = { .b = b, .root = root, .bare = bare, .path = { root } };
	struct view v = new_view(&w);

	view_add(&v, root);
	view_choose(&v);
	buf_add(b, S("{"));
	buf_json_member(b, "type", S("object"));
	write_object(&w, &v, 0, true);
	buf_add(b, S("}"));
}

/*
 * Nulls that a model wrote where it meant to leave a parameter out.  They are cut out of the
 * text, so that all else keeps its spelling: numbers too large for any type, and the order.
 */
#include "text/schema_parts.h"

#define DEPTH_MAX 32

struct cut {
	struct arena *a;
	const struct json *root;
	str text;
	struct buf out;
	size_t done; /* of text, already in out */
	size_t i;
	bool any;
};

static void blanks(struct cut *c)
{
	while (c->i < c->text.n && memchr(" \t\r\n", c->text.p[c->i], 4))
		c->i++;
}

/* Past the string that begins here. */
static void pass_string(struct cut *c)
{
	for (c->i++; c->i < c->text.n && c->text.p[c->i] != '"'; c->i++)
		if (c->text.p[c->i] == '\\')
			c->i++;
	c->i++;
}

/* Past the value that begins here; the text is known to be JSON. */
static void pass_value(struct cut *c)
{
	int depth = 0;

	while (c->i < c->text.n) {
		char ch = c->text.p[c->i];
		if (ch == '"') {
			pass_string(c);
			if (depth == 0)
				return;
			continue;
		}
		if (ch == '{' || ch == '[') {
			depth++;
		} else if (ch == '}' || ch == ']') {
			if (depth == 0)
				return;
			if (--depth == 0) {
				c->i++;
				return;
			}
		} else if (depth == 0 && memchr(", \t\r\n", ch, 5)) {
			return;
		}
		c->i++;
	}
}

static const struct json *followed(const struct cut *c, const struct json *schema)
{
	struct schema_run k = { .root = c->root, .base = c->root, .a = c->a, .left = 1000 };

	for (int i = 0; i < 8 && json_is(json_get(schema, "$ref"), JSON_STRING); i++) {
		const struct json *base = k.base;
		schema = schema_resolve(&k, json_str(schema, "$ref"), &base);
		k.base = base;
	}
	return json_is(schema, JSON_OBJECT) ? schema : NULL;
}

static bool requires(const struct json *schema, str key)
{
	const struct json *r = json_get(schema, "required");

	if (json_is(r, JSON_ARRAY))
		for (const struct json *m = r->child; m; m = m->next)
			if (str_eq(json_text(m), key))
				return true;
	return false;
}

static bool takes_null(const struct cut *c, const struct json *property)
{
	const struct json null = { .type = JSON_NULL };
	/* It is judged in its document, to which its references belong. */
	struct schema_run k = { .root = c->root, .base = c->root, .a = c->a, .left = 1000 };
	const struct schema_spot spot = { 0 };

	k.quiet = 1;
	return schema_eval(&k, property, &null, &spot, NULL) || k.spent;
}

static void cut_object(struct cut *c, const struct json *schema, int depth);

/* Past a member whose value begins here; true when it is to go. */
static bool member(struct cut *c, const struct json *schema, str key, int depth)
{
	struct schema_run k = { .a = c->a, .left = 1000000 };
	const struct json *p = schema_member(&k, json_get(schema, "properties"), key);

	if (p && c->text.p[c->i] == '{') {
		cut_object(c, followed(c, p), depth + 1);
		return false;
	}
	bool null = c->text.p[c->i] == 'n';
	pass_value(c);
	return null && p && !requires(schema, key) && !takes_null(c, p);
}

static str key_text(struct cut *c, str token)
{
	struct json *v;

	if (!memchr(token.p, '\\', token.n))
		return str_sub(token, 1, token.n - 1);
	return json_read(&v, c->a, token, NULL) == OK ? json_text(v) : S("");
}

/* From the "{" here past its end.  A member that goes takes one comma with it: the one before
 * it, or when it is the first that is left, the one after it. */
static void cut_object(struct cut *c, const struct json *schema, int depth)
{
	bool kept = false;
	size_t from;

	if (!schema || depth > DEPTH_MAX) {
		pass_value(c);
		return;
	}
	from = ++c->i; /* where the member begins, with the comma before it */
	while (c->i < c->text.n) {
		blanks(c);
		if (c->text.p[c->i] == '}')
			break;
		size_t key_at = c->i;
		pass_string(c);
		str key = key_text(c, str_sub(c->text, key_at, c->i));
		blanks(c);
		c->i++; /* the colon */
		blanks(c);
		bool gone = member(c, schema, key, depth);
		size_t end = c->i;
		blanks(c);
		bool comma = c->i < c->text.n && c->text.p[c->i] == ',';
		if (gone) {
			buf_add(&c->out, str_sub(c->text, c->done, kept ? from : key_at));
			c->done = !kept && comma ? c->i + 1 : end;
			c->any = true;
		}
		kept = kept || !gone;
		from = c->i;
		c->i += comma;
	}
	c->i++;
}

str schema_drop_nulls(const struct json *schema, str text, struct arena *a)
{
	struct cut c = { .a = a, .root = schema, .text = text };

	if (!str_has(text, S("null")))
		return text;
	c.out = buf_in(a, text.n + 1);
	blanks(&c);
	if (c.i == text.n || text.p[c.i] != '{')
		return text;
	cut_object(&c, followed(&c, schema), 0);
	if (!c.any)
		return text;
	buf_add(&c.out, str_sub(text, c.done, text.n));
	return buf_str(&c.out);
}

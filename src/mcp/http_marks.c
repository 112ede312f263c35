/*
 * Marks: a walk over the properties of a schema, and one over the arguments of a call.
 */
#include "mcp/http_marks.h"

#include "mcp/http_cfg.h"
#include "text/base64.h"

#include <string.h>

#define MARKS_MAX 64
#define DEPTH_MAX 16

struct walk {
	struct arena *a;
	struct mcp_mark *first, **tail;
	size_t n;
	str path[DEPTH_MAX];
};

static bool is_plain_type(str type)
{
	return str_is(type, "string") || str_is(type, "integer") || str_is(type, "boolean");
}

/* One of these types, or a list of them in which null may be, too. */
static bool is_plain(const struct json *type)
{
	bool some = is_plain_type(json_text(type));

	if (!json_is(type, JSON_ARRAY))
		return some;
	for (const struct json *v = type->child; v; v = v->next) {
		some |= is_plain_type(json_text(v));
		if (!is_plain_type(json_text(v)) && !str_is(json_text(v), "null"))
			return false;
	}
	return some;
}

static int add_mark(struct walk *w, const struct json *property, const struct json *mark,
		    size_t depth, struct err *e)
{
	str name = json_text(mark), header;
	struct mcp_mark *m;
	str *path;

	if (!json_is(mark, JSON_STRING) || !mcp_http_name(name))
		return err_set(e, E_PROTO,
			       "the x-mcp-header of parameter \"%.*s\" is no name of a header",
			       STRF(property->key));
	if (!is_plain(json_get(property, "type")))
		return err_set(
			e, E_PROTO,
			"the x-mcp-header of parameter \"%.*s\" is on no string, integer or "
			"boolean",
			STRF(property->key));
	header = arena_cat(w->a, S("Mcp-Param-"), name);
	for (m = w->first; m; m = m->next)
		if (str_ieq(m->header, header))
			return err_set(e, E_PROTO, "x-mcp-header \"%.*s\" is there twice",
				       STRF(name));
	if (w->n == MARKS_MAX)
		return err_set(e, E_PROTO, "more than %d parameters have an x-mcp-header",
			       MARKS_MAX);
	path = NEWN(w->a, str, depth + 1);
	for (size_t i = 0; i < depth; i++)
		path[i] = arena_dup(w->a, w->path[i]);
	path[depth] = arena_dup(w->a, property->key);
	m = NEW(w->a, struct mcp_mark);
	*m = (struct mcp_mark){ .header = header, .path = path, .depth = depth + 1 };
	*w->tail = m;
	w->tail = &m->next;
	w->n++;
	return OK;
}

static int walk_schema(struct walk *w, const struct json *schema, size_t depth, struct err *e)
{
	const struct json *properties = json_get(schema, "properties");
	int rc = OK;

	if (!json_is(properties, JSON_OBJECT) || depth == DEPTH_MAX)
		return OK;
	for (const struct json *v = properties->child; v && rc == OK; v = v->next) {
		const struct json *mark = json_get(v, "x-mcp-header");

		if (mark)
			rc = add_mark(w, v, mark, depth, e);
		if (rc == OK) {
			w->path[depth] = v->key;
			rc = walk_schema(w, v, depth + 1, e);
		}
	}
	return rc;
}

int mcp_marks_read(struct mcp_mark **out, struct arena *a, str schema, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	struct walk w = { .a = a, .tail = &w.first };
	struct json *v;
	int rc;

	*out = NULL;
	if (!str_has(schema, S("\"x-mcp-header\"")))
		return OK;
	if ((rc = json_read(&v, &tmp, schema, e)) < 0 || (rc = walk_schema(&w, v, 0, e)) < 0)
		return rc;
	*out = w.first;
	return OK;
}

struct mcp_mark *mcp_marks_copy(struct arena *a, const struct mcp_mark *list)
{
	struct mcp_mark *first = NULL, **tail = &first;

	for (; list; list = list->next) {
		struct mcp_mark *m = NEW(a, struct mcp_mark);
		str *path = NEWN(a, str, list->depth);

		for (size_t i = 0; i < list->depth; i++)
			path[i] = arena_dup(a, list->path[i]);
		m->header = arena_dup(a, list->header);
		m->path = path;
		m->depth = list->depth;
		*tail = m;
		tail = &m->next;
	}
	return first;
}

str mcp_marks_value(struct arena *a, str s)
{
	bool plain = str_trim(s).n == s.n &&
		     !(str_starts(s, S("=?base64?")) && str_ends(s, S("?=")));

	for (size_t i = 0; i < s.n && plain; i++)
		plain = (unsigned char)s.p[i] >= 0x20 && (unsigned char)s.p[i] < 0x7F;
	if (plain)
		return s;
	return arena_fmt(a, "=?base64?%.*s?=", STRF(base64_of(a, s)));
}

/* False: it is not shown. */
static bool text_of(struct arena *a, const struct json *v, str *out)
{
	if (json_is(v, JSON_STRING))
		*out = mcp_marks_value(a, v->s);
	else if (json_is(v, JSON_INT))
		*out = arena_fmt(a, "%lld", (long long)v->i);
	else if (json_is(v, JSON_REAL) && v->d >= -9e15 && v->d <= 9e15 &&
		 (double)(int64_t)v->d == v->d)
		*out = arena_fmt(a, "%lld", (long long)v->d);
	else if (json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE))
		*out = v->type == JSON_TRUE ? S("true") : S("false");
	else
		return false;
	return true;
}

size_t mcp_marks_headers(const struct mcp_mark *list, struct arena *a, const struct json *args,
			 struct http_header *v, size_t max)
{
	size_t n = 0;

	for (; list && n < max; list = list->next) {
		const struct json *at = args;

		for (size_t i = 0; i < list->depth; i++)
			at = json_get(at, arena_cstr(a, list->path[i]));
		if (text_of(a, at, &v[n].value))
			v[n++].name = list->header;
	}
	return n;
}

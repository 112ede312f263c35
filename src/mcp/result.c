/*
 * Results of tools.  Each kind of content has its one line or text here; the rest is the
 * question whether structured data add anything to what the texts say.
 */
#include "mcp/result.h"

#include "base/utf.h"
#include "text/schema.h"

#define TEXT_MAX ((size_t)256 << 20)
#define LABEL_MAX 300
#define OTHER_MAX 2000
#define COMPARE_MAX 4096
#define PAYLOAD_MIN 16 /* shorter ones might stand in the data by chance */

/* Foreign text inside a line of ours. */
static str label(struct arena *a, str s)
{
	struct buf b = buf_in(a, LABEL_MAX);

	s = utf_head(s, LABEL_MAX);
	for (size_t i = 0; i < s.n; i++)
		buf_addc(&b, (unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7F ? ' ' : s.p[i]);
	return buf_str(&b);
}

static str json_cut(struct arena *a, const struct json *v, size_t max)
{
	struct buf b = buf_in(a, TEXT_MAX);
	str s;

	json_write(&b, v);
	s = buf_str(&b);
	return s.n <= max ? s : arena_cat(a, utf_head(s, max), S("…"));
}

/* How many bytes a base64 text stands for. */
static size_t decoded_size(str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		n += (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		     (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '-' || c == '_';
	}
	return n * 3 / 4;
}

static str bytes_note(struct arena *a, const char *what, str mime, str data)
{
	return arena_fmt(a, "[%s %.*s, %zu bytes, not shown]", what,
			 STRF(mime.n ? label(a, mime) : S("of unknown type")),
			 decoded_size(data));
}

static str resource_text(struct arena *a, const struct json *part)
{
	const struct json *r = json_get(part, "resource");
	str uri = label(a, json_str(r, "uri")), mime = json_str(r, "mimeType");
	str name;

	if (json_is(json_get(r, "text"), JSON_STRING))
		return json_str(r, "text").n
			       ? json_str(r, "text")
			       : arena_fmt(a, "[resource %.*s, empty]", STRF(uri));
	name = arena_fmt(a, "resource %.*s", STRF(uri));
	if (json_is(json_get(r, "blob"), JSON_STRING))
		return bytes_note(a, name.p, mime, json_str(r, "blob"));
	return json_cut(a, part, OTHER_MAX);
}

static str link_text(struct arena *a, const struct json *part)
{
	str name = json_str(part, "title").n ? json_str(part, "title") : json_str(part, "name");
	str about = label(a, json_str(part, "description"));

	name = label(a, name);
	return arena_fmt(a, "[link %.*s%s%.*s%s%.*s]", STRF(name), name.n ? ": " : "",
			 STRF(label(a, json_str(part, "uri"))), about.n ? " - " : "",
			 STRF(about));
}

str mcp_result_part(struct arena *a, const struct json *part)
{
	str type = json_str(part, "type");

	if (str_eq(type, S("text")) && json_is(json_get(part, "text"), JSON_STRING))
		return json_str(part, "text");
	if (str_eq(type, S("image")))
		return bytes_note(a, "image", json_str(part, "mimeType"),
				  json_str(part, "data"));
	if (str_eq(type, S("audio")))
		return bytes_note(a, "audio", json_str(part, "mimeType"),
				  json_str(part, "data"));
	if (str_eq(type, S("resource")))
		return resource_text(a, part);
	if (str_eq(type, S("resource_link")))
		return link_text(a, part);
	return json_cut(a, part, OTHER_MAX);
}

static bool same_value(const struct json *x, const struct json *y);

/* Objects are the same in any order; large ones only in the same. */
static bool same_members(const struct json *x, const struct json *y)
{
	const struct json *p = y->child;

	for (const struct json *c = x->child; c; c = c->next, p = p->next) {
		const struct json *other = p;

		if (!str_eq(c->key, p->key)) {
			if (x->n > COMPARE_MAX)
				return false;
			for (other = y->child; other && !str_eq(c->key, other->key);)
				other = other->next;
		}
		if (!other || !same_value(c, other))
			return false;
	}
	return true;
}

static bool same_value(const struct json *x, const struct json *y)
{
	const struct json *p = y->child;
	bool x_number = x->type == JSON_INT || x->type == JSON_REAL;
	bool y_number = y->type == JSON_INT || y->type == JSON_REAL;

	if (x_number && y_number)
		return x->type == JSON_INT && y->type == JSON_INT ? x->i == y->i : x->d == y->d;
	if (x->type != y->type || x->n != y->n)
		return false;
	if (x->type == JSON_STRING)
		return str_eq(x->s, y->s);
	if (x->type == JSON_OBJECT)
		return same_members(x, y);
	for (const struct json *c = x->child; c; c = c->next, p = p->next)
		if (!same_value(c, p))
			return false;
	return true;
}

/* The text is the value: as it is, or written as JSON. */
static bool says(struct arena *a, str text, const struct json *value)
{
	struct json *v;

	if (json_is(value, JSON_STRING) && str_eq(str_trim(text), str_trim(value->s)))
		return true;
	return json_read(&v, a, text, NULL) == OK && same_value(v, value);
}

static const struct json *next_text(const struct json *part)
{
	while (part && !str_eq(json_str(part, "type"), S("text")))
		part = part->next;
	return part;
}

/* Do the texts say what value says: one of them all of it, or each its element? */
static bool is_said(struct arena *a, const struct json *content, const struct json *value)
{
	const struct json *t, *c;

	for (t = next_text(json_at(content, 0)); t; t = next_text(t->next))
		if (says(a, json_str(t, "text"), value))
			return true;
	if (!json_is(value, JSON_ARRAY))
		return false;
	t = next_text(json_at(content, 0));
	for (c = value->child; c && t; c = c->next, t = next_text(t->next))
		if (!says(a, json_str(t, "text"), c))
			return false;
	return !c && !t;
}

/* Some server libraries wrap a plain value into an object of one member, "result" mostly;
 * around a text any name will do. */
static bool is_said_wrapped(struct arena *a, const struct json *content,
			    const struct json *data)
{
	const struct json *inner =
		data->type == JSON_OBJECT && data->n == 1 ? data->child : NULL;

	return inner && (inner->type == JSON_STRING || str_eq(inner->key, S("result"))) &&
	       is_said(a, content, inner);
}

/* Some servers repeat the whole content as structured data. */
static bool is_content(const struct json *content, const struct json *data)
{
	return json_is(data, JSON_OBJECT) && data->n == 1 && content &&
	       str_eq(data->child->key, S("content")) && same_value(data->child, content);
}

/* The base64 text of a picture, a sound or a resource; "" for other parts. */
static str payload_of(const struct json *part)
{
	str type = json_str(part, "type");

	if (str_eq(type, S("image")) || str_eq(type, S("audio")))
		return json_str(part, "data");
	return str_eq(type, S("resource")) ? json_str(json_get(part, "resource"), "blob")
					   : (str){ 0 };
}

/* Structured data as JSON; what stands there of the content's bytes is not shown either. */
static str data_text(struct arena *a, const struct json *content, const struct json *data)
{
	struct buf b = buf_in(a, TEXT_MAX);
	str s;

	json_write(&b, data);
	s = buf_str(&b);
	for (const struct json *p = json_at(content, 0); p; p = p->next) {
		str payload = payload_of(p), rest = s;
		struct buf out = buf_in(a, TEXT_MAX);
		if (payload.n < PAYLOAD_MIN || !str_has(s, payload))
			continue;
		for (size_t at; (at = str_find(rest, payload)) != SIZE_MAX;) {
			buf_add(&out, str_sub(rest, 0, at));
			buf_add(&out, S("[not shown]"));
			rest = str_sub(rest, at + payload.n, rest.n);
		}
		buf_add(&out, rest);
		s = buf_str(&out);
	}
	return s;
}

static void add_part(struct buf *b, size_t start, str s)
{
	if (!str_trim(s).n)
		return;
	if (b->n > start)
		buf_addc(b, '\n');
	buf_add(b, s);
}

str mcp_result_text(struct arena *a, const struct json *result, bool *failed)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	const struct json *content = json_get(result, "content");
	const struct json *data = json_get(result, "structuredContent");
	struct buf b = buf_in(a, TEXT_MAX);

	*failed = json_bool(result, "isError", false);
	if (*failed)
		buf_add(&b, S("tool error: "));
	size_t start = b.n;

	for (const struct json *p = json_at(content, 0); p; p = p->next)
		add_part(&b, start, mcp_result_part(&tmp, p));
	if (data && data->type != JSON_NULL && !is_said(&tmp, content, data) &&
	    !is_said_wrapped(&tmp, content, data) && !is_content(content, data)) {
		if (b.n > start)
			buf_addc(&b, '\n');
		buf_add(&b, data_text(&tmp, content, data));
	}
	if (b.n == start)
		buf_add(&b, *failed ? S("the tool gave no reason")
				    : S("(the tool returned no content)"));
	return utf_repair(a, buf_str(&b));
}

str mcp_result_mismatch(struct arena *a, str schema, const struct json *result)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	static const struct schema_opt opt = { .name = "structuredContent" };
	const struct json *data = json_get(result, "structuredContent");
	struct json *wanted;
	struct err e = { 0 };

	if (!schema.n || json_bool(result, "isError", false) ||
	    json_read(&wanted, &tmp, schema, NULL) < 0)
		return S("");
	if (!data)
		return S("structuredContent is missing");
	if (schema_check_as(&opt, wanted, data, &e) != E_INVAL)
		return S("");
	return label(a, utf_repair(&tmp, str_of(e.msg)));
}

str mcp_result_reason(const struct json *error)
{
	return str_trim(json_is(error, JSON_STRING) ? error->s : json_str(error, "message"));
}

str mcp_result_error(struct arena *a, const struct json *error)
{
	const struct json *data = json_get(error, "data");
	str message = mcp_result_reason(error);
	struct buf b = buf_in(a, TEXT_MAX);

	buf_add(&b, S("tool error: "));
	buf_add(&b, message.n ? message : S("the server gave no reason"));
	if (json_is(json_get(error, "code"), JSON_INT))
		buf_fmt(&b, " (code %lld)", (long long)json_i64(error, "code", 0));
	if (data && data->type != JSON_NULL) {
		buf_add(&b, S(": "));
		buf_add(&b, json_is(data, JSON_STRING) ? utf_head(data->s, OTHER_MAX)
						       : json_cut(a, data, OTHER_MAX));
	}
	return utf_repair(a, buf_str(&b));
}

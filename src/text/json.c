/*
 * text/json: jansson does the reading, into a tree of its own that is copied to the arena
 * and dropped at once; no other file knows that library.  What jansson refuses but we must
 * take is mended in the text first, in one pass: bad UTF-8, lone surrogate escapes, NULs in
 * keys, integers beyond 64 bits.  The writer is ours and only appends.
 */
#include "text/json.h"

/* The library's names for its types are ours too: it gets others here. */
#define JSON_OBJECT LIB_OBJECT
#define JSON_ARRAY LIB_ARRAY
#define JSON_STRING LIB_STRING
#define JSON_REAL LIB_REAL
#define JSON_TRUE LIB_TRUE
#define JSON_FALSE LIB_FALSE
#define JSON_NULL LIB_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_REAL
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf.h"

#define DEPTH_MAX 512

/* --- mending the text --------------------------------------------------------------- */

/* The text with some pieces replaced; nothing is copied while there is no edit. */
struct mend {
	str text;
	size_t done; /* of text, already in out */
	bool edited;
	struct buf out;
};

static void mend_replace(struct mend *m, size_t from, size_t to, str by)
{
	buf_add(&m->out, str_sub(m->text, m->done, from));
	buf_add(&m->out, by);
	m->done = to;
	m->edited = true;
}

/* The value of the four hex digits at i, or -1. */
static int hex4(str s, size_t i)
{
	int v = 0;

	if (i + 4 > s.n)
		return -1;
	for (size_t k = i; k < i + 4; k++) {
		int d = str_hex(s.p[k]);

		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* The \u escape at i, a backslash: its value, or -1 when it is none. */
static int escape_u(str s, size_t i)
{
	if (i + 1 >= s.n || s.p[i] != '\\' || s.p[i + 1] != 'u')
		return -1;
	return hex4(s, i + 2);
}

/* Mend the escapes of one string, from its opening quote to the closing one at end. */
static void mend_string(struct mend *m, size_t begin, size_t end, bool key)
{
	const str fffd = S("\\ufffd");

	for (size_t i = begin + 1; i < end;) {
		int u = escape_u(m->text, i);

		if (m->text.p[i] != '\\') {
			i++;
		} else if (u < 0) {
			i += 2;
		} else if (u >= 0xd800 && u < 0xdc00) {
			int low = escape_u(m->text, i + 6);

			if (low >= 0xdc00 && low < 0xe000) {
				i += 12;
				continue;
			}
			mend_replace(m, i, i + 6, fffd);
			i += 6;
		} else {
			if ((u >= 0xdc00 && u < 0xe000) || (u == 0 && key))
				mend_replace(m, i, i + 6, fffd);
			i += 6;
		}
	}
}

/* Step over the string that opens at i; returns where it closes (or the end of the text). */
static size_t pass_string(struct mend *m, size_t begin)
{
	str s = m->text;
	size_t i = begin + 1, after;
	bool escapes = false;

	while (i < s.n && s.p[i] != '"') {
		if (s.p[i] == '\\') {
			escapes = true;
			i++;
		}
		i++;
	}
	if (i > s.n)
		i = s.n;
	if (!escapes)
		return i;
	for (after = i + 1; after < s.n && memchr(" \t\r\n", s.p[after], 4);)
		after++;
	mend_string(m, begin, i, after < s.n && s.p[after] == ':');
	return i;
}

/* Step over the number at i; an integer that fits no int64 becomes a real. */
static size_t pass_number(struct mend *m, size_t begin)
{
	size_t i = begin;
	bool integer = true;
	int64_t v;

	for (; i < m->text.n && memchr("0123456789-+.eE", m->text.p[i], 15); i++)
		integer = integer &&
			  (m->text.p[i] == '-' ? i == begin
					       : m->text.p[i] >= '0' && m->text.p[i] <= '9');
	if (integer && i - begin > 18 && !str_i64(str_sub(m->text, begin, i), &v))
		mend_replace(m, i, i, S("e0"));
	return i;
}

static int mend_text(struct arena *a, str *text, struct err *e)
{
	struct mend m = { .text = utf_repair(a, *text) };
	size_t depth = 0;

	m.out = buf_in(a, SIZE_MAX / 2);
	for (size_t i = 0; i < m.text.n;) {
		char c = m.text.p[i];

		if (c == '"') {
			i = pass_string(&m, i) + 1;
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			i = pass_number(&m, i);
		} else {
			if ((c == '[' || c == '{') && ++depth > DEPTH_MAX)
				return err_set(e, E_LIMIT, "JSON is nested more than %d deep",
					       DEPTH_MAX);
			if ((c == ']' || c == '}') && depth)
				depth--;
			if (c == 0) /* the library takes it for the end of the text */
				mend_replace(&m, i, i + 1, S("\1"));
			i++;
		}
	}
	if (m.edited)
		mend_replace(&m, m.text.n, m.text.n, S(""));
	*text = m.edited ? buf_str(&m.out) : m.text;
	return OK;
}

/* --- reading ------------------------------------------------------------------------ */

/* The library would tell of broken JSON at many a place where memory was what it lacked. */
__attribute__((constructor)) static void begin(void)
{
	json_set_alloc_funcs(memory_take, memory_give);
}

static void root_drop(json_t **root)
{
	json_decref(*root);
}

static struct json *convert(struct arena *a, json_t *from);

static void convert_members(struct arena *a, struct json *v, json_t *from)
{
	struct json **tail = &v->child;
	const char *key;
	json_t *item;

	json_object_foreach(from, key, item)
	{
		*tail = convert(a, item);
		(*tail)->key = arena_dup(a, str_of(key));
		tail = &(*tail)->next;
		v->n++;
	}
}

static void convert_elements(struct arena *a, struct json *v, json_t *from)
{
	struct json **tail = &v->child;

	for (v->n = 0; v->n < json_array_size(from); v->n++) {
		*tail = convert(a, json_array_get(from, v->n));
		tail = &(*tail)->next;
	}
}

/* Recursion is as deep as the text, which was measured before. */
static struct json *convert(struct arena *a, json_t *from)
{
	struct json *v = NEW(a, struct json);

	switch (json_typeof(from)) {
	case LIB_NULL:
		v->type = JSON_NULL;
		break;
	case LIB_FALSE:
		v->type = JSON_FALSE;
		break;
	case LIB_TRUE:
		v->type = JSON_TRUE;
		break;
	case JSON_INTEGER:
		v->type = JSON_INT;
		v->i = json_integer_value(from);
		v->d = (double)v->i;
		break;
	case LIB_REAL:
		v->type = JSON_REAL;
		v->d = json_real_value(from);
		break;
	case LIB_STRING:
		v->type = JSON_STRING;
		v->s = arena_dup(a, (str){ json_string_value(from), json_string_length(from) });
		break;
	case LIB_ARRAY:
		v->type = JSON_ARRAY;
		convert_elements(a, v, from);
		break;
	case LIB_OBJECT:
		v->type = JSON_OBJECT;
		convert_members(a, v, from);
		break;
	}
	return v;
}

static int read_with(size_t flags, struct json **out, struct arena *a, str text, struct err *e)
{
	json_error_t why;
	str what;
	int rc;

	if (str_starts(text, S("\xef\xbb\xbf"))) /* some editors leave a byte order mark */
		text = str_sub(text, 3, text.n);
	if ((rc = mend_text(a, &text, e)) < 0)
		return rc;
	SCOPED(root_drop)
	json_t *root = json_loadb(text.p ? text.p : "", text.n,
				  JSON_ALLOW_NUL | JSON_DECODE_ANY | flags, &why);
	if (!root) {
		/* The library quotes the text there; it may be private, or not printable. */
		what = str_of(why.text);
		what = str_sub(what, 0, str_find(what, S(" near ")));
		return err_set(e, E_PROTO, "JSON line %d column %d: %.*s", why.line, why.column,
			       STRF(what));
	}
	*out = convert(a, root);
	return OK;
}

int json_read(struct json **out, struct arena *a, str text, struct err *e)
{
	return read_with(0, out, a, text, e);
}

int json_read_once(struct json **out, struct arena *a, str text, struct err *e)
{
	return read_with(JSON_REJECT_DUPLICATES, out, a, text, e);
}

/* --- looking ------------------------------------------------------------------------ */

const struct json *json_get(const struct json *v, const char *key)
{
	str k = str_of(key);

	if (!json_is(v, JSON_OBJECT))
		return NULL;
	for (v = v->child; v; v = v->next)
		if (str_eq(v->key, k))
			return v;
	return NULL;
}

const struct json *json_at(const struct json *v, size_t i)
{
	if (!v)
		return NULL;
	for (v = v->child; v && i; i--)
		v = v->next;
	return v;
}

bool json_is(const struct json *v, enum json_type type)
{
	return v && v->type == type;
}

str json_text(const struct json *v)
{
	return json_is(v, JSON_STRING) ? v->s : S("");
}

str json_str(const struct json *v, const char *key)
{
	return json_text(json_get(v, key));
}

int64_t json_i64(const struct json *v, const char *key, int64_t def)
{
	v = json_get(v, key);
	if (json_is(v, JSON_INT))
		return v->i;
	if (json_is(v, JSON_REAL) && v->d >= -0x1p63 && v->d < 0x1p63 && v->d == trunc(v->d))
		return (int64_t)v->d;
	return def;
}

bool json_bool(const struct json *v, const char *key, bool def)
{
	v = json_get(v, key);
	if (json_is(v, JSON_TRUE))
		return true;
	return json_is(v, JSON_FALSE) ? false : def;
}

/* --- writing ------------------------------------------------------------------------ */

/* The shortest of the usual precisions that reads back the same, and is seen to be real. */
static void write_real(struct buf *b, double d)
{
	char text[40];

	if (!isfinite(d)) {
		buf_add(b, S("null"));
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, d);
		if (strtod(text, NULL) == d)
			break;
	}
	buf_add(b, str_of(text));
	if (!strpbrk(text, ".e"))
		buf_add(b, S(".0"));
}

void json_write(struct buf *b, const struct json *v)
{
	switch (v->type) {
	case JSON_NULL:
		buf_add(b, S("null"));
		return;
	case JSON_FALSE:
		buf_add(b, S("false"));
		return;
	case JSON_TRUE:
		buf_add(b, S("true"));
		return;
	case JSON_INT:
		buf_fmt(b, "%lld", (long long)v->i);
		return;
	case JSON_REAL:
		write_real(b, v->d);
		return;
	case JSON_STRING:
		buf_json(b, v->s);
		return;
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	buf_addc(b, v->type == JSON_ARRAY ? '[' : '{');
	for (const struct json *m = v->child; m; m = m->next) {
		if (m != v->child)
			buf_addc(b, ',');
		if (v->type == JSON_OBJECT) {
			buf_json(b, m->key);
			buf_addc(b, ':');
		}
		json_write(b, m);
	}
	buf_addc(b, v->type == JSON_ARRAY ? ']' : '}');
}

/* What stands for the character at the start of s, len bytes of it; empty: itself. */
static str escape_of(str s, size_t *len, char space[8])
{
	uint32_t cp = utf_next(s, len);

	switch (cp) {
	case '"':
		return S("\\\"");
	case '\\':
		return S("\\\\");
	case '\n':
		return S("\\n");
	case '\r':
		return S("\\r");
	case '\t':
		return S("\\t");
	case '\b':
		return S("\\b");
	case '\f':
		return S("\\f");
	}
	if (cp < 0x20) {
		(void)snprintf(space, 8, "\\u%04x", (unsigned)cp);
		return (str){ space, 6 };
	}
	if (cp == 0xfffd)
		return S("\xef\xbf\xbd");
	return S("");
}

void buf_json(struct buf *b, str s)
{
	size_t done = 0;

	buf_addc(b, '"');
	for (size_t i = 0, len; i < s.n; i += len) {
		unsigned char c = (unsigned char)s.p[i];
		char space[8];
		str by;

		len = 1;
		if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\')
			continue;
		by = escape_of(str_sub(s, i, s.n), &len, space);
		if (!by.n)
			continue;
		buf_add(b, str_sub(s, done, i));
		buf_add(b, by);
		done = i + len;
	}
	buf_add(b, str_sub(s, done, s.n));
	buf_addc(b, '"');
}

void buf_json_key(struct buf *b, const char *key)
{
	if (b->n && !memchr("{[,", b->p[b->n - 1], 3))
		buf_addc(b, ',');
	buf_json(b, str_of(key));
	buf_addc(b, ':');
}

void buf_json_member(struct buf *b, const char *key, str value)
{
	buf_json_key(b, key);
	buf_json(b, value);
}

void buf_json_member_i64(struct buf *b, const char *key, int64_t value)
{
	buf_json_key(b, key);
	buf_fmt(b, "%lld", (long long)value);
}

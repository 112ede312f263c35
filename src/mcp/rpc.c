/*
 * JSON-RPC: lines, messages, and the search for the id in a line that was too long to keep.
 */
#include "mcp/rpc.h"

#include <math.h>
#include <string.h>

#define VALUES_MAX 500000

void mcp_lines_init(struct mcp_lines *l, size_t max)
{
	*l = (struct mcp_lines){ .max = max };
	l->b = buf_in(&l->a, max);
}

void mcp_lines_done(struct mcp_lines *l)
{
	arena_free(&l->a);
}

static void keep_tail(struct mcp_lines *l, str s)
{
	size_t old;

	if (!s.n)
		return;
	if (s.n > MCP_TAIL_MAX)
		s = str_sub(s, s.n - MCP_TAIL_MAX, s.n);
	old = l->tail_n + s.n > MCP_TAIL_MAX ? MCP_TAIL_MAX - s.n : l->tail_n;
	memmove(l->tail, l->tail + l->tail_n - old, old);
	memcpy(l->tail + old, s.p, s.n);
	l->tail_n = old + s.n;
}

/* The line outgrew its limit: from here on only its ends are kept. */
static void cut_line(struct mcp_lines *l, str more)
{
	struct arena fresh = { 0 };
	size_t keep = l->max < MCP_HEAD_MAX ? l->max : MCP_HEAD_MAX;
	str head = str_sub(buf_str(&l->b), 0, keep);

	head = arena_cat(&fresh, head, str_sub(more, 0, keep - head.n));
	l->tail_n = 0;
	keep_tail(l, buf_str(&l->b));
	arena_free(&l->a);
	l->a = fresh;
	l->b = buf_in(&l->a, MCP_HEAD_MAX);
	buf_add(&l->b, head);
	l->cut = true;
}

static void add_bytes(struct mcp_lines *l, str s)
{
	if (!s.n)
		return;
	if (!l->cut && l->b.n + s.n > l->max)
		cut_line(l, s);
	if (l->cut)
		keep_tail(l, s);
	else
		buf_add(&l->b, s);
}

/* Hand the collected line out, and begin a new one. */
static void give_line(struct mcp_lines *l, struct mcp_line *out)
{
	*out = (struct mcp_line){ .text = buf_str(&l->b), .cut = l->cut };
	if (l->cut)
		out->tail = arena_dup(&l->a, (str){ l->tail, l->tail_n });
	else if (str_ends(out->text, S("\r")))
		out->text.n--;
	out->a = l->a;
	mcp_lines_init(l, l->max);
}

bool mcp_lines_take(struct mcp_lines *l, str *chunk, struct mcp_line *out)
{
	const char *end = chunk->n ? memchr(chunk->p, '\n', chunk->n) : NULL;
	size_t n = end ? (size_t)(end - chunk->p) : chunk->n;

	add_bytes(l, str_sub(*chunk, 0, n));
	*chunk = str_sub(*chunk, n + 1, chunk->n);
	if (!end)
		return false;
	give_line(l, out);
	return true;
}

/* Behind the string that begins at s[i], or s.n when it has no end here. */
static size_t skip_string(str s, size_t i)
{
	for (i++; i < s.n && s.p[i] != '"'; i++)
		i += s.p[i] == '\\';
	return i < s.n ? i + 1 : s.n;
}

/* Of so many values that reading them would take far more memory than the text has?  Only a
 * long text can be. */
static bool too_wide(str s)
{
	size_t n = 0;

	if (s.n < VALUES_MAX)
		return false;
	for (size_t i = 0; i < s.n && n < VALUES_MAX;) {
		if (s.p[i] == '"') {
			i = skip_string(s, i);
			continue;
		}
		n += s.p[i] == ',' || s.p[i] == '[' || s.p[i] == '{';
		i++;
	}
	return n == VALUES_MAX;
}

void mcp_rpc_read(struct mcp_msg *out, struct arena *a, str line)
{
	const struct json *method;
	struct json *v;
	bool named;
	int rc;

	*out = (struct mcp_msg){ .kind = MCP_FOREIGN };
	line = str_trim(line);
	if (!line.n || (line.p[0] != '{' && line.p[0] != '['))
		return;
	rc = too_wide(line) ? E_LIMIT : json_read(&v, a, line, NULL);
	if (rc < 0) {
		out->kind = rc == E_LIMIT ? MCP_DEEP : MCP_FOREIGN;
		return;
	}
	if (v->type == JSON_ARRAY && json_is(v->child, JSON_OBJECT)) {
		out->kind = MCP_BATCH;
		out->batch = v;
	}
	if (!str_eq(json_str(v, "jsonrpc"), S("2.0")))
		return;
	out->id = json_get(v, "id");
	out->method = json_str(v, "method");
	out->params = json_get(v, "params");
	out->result = json_get(v, "result");
	out->error = json_get(v, "error");
	if (json_is(out->error, JSON_NULL))
		out->error = NULL;
	named = json_is(out->id, JSON_INT) || json_is(out->id, JSON_STRING) ||
		json_is(out->id, JSON_REAL);
	method = json_get(v, "method");
	if (json_is(method, JSON_STRING) && !out->id)
		out->kind = MCP_NOTICE;
	else if (json_is(method, JSON_STRING) && named)
		out->kind = MCP_REQUEST;
	else if (named && (out->result || out->error || !method || json_is(method, JSON_NULL)))
		out->kind = MCP_ANSWER;
	/* An answer with neither is an error without a reason; its call must not wait on. */
	if (out->kind == MCP_ANSWER && !out->result && !out->error)
		out->error = v;
}

bool mcp_rpc_own_id(const struct json *id, int64_t *out)
{
	if (json_is(id, JSON_INT))
		*out = id->i;
	else if (json_is(id, JSON_REAL) && id->d > 0 && id->d < 0x1p53 && id->d == trunc(id->d))
		*out = (int64_t)id->d;
	else
		return false;
	return true;
}

/* The integer that begins at s[i], and is followed by more of its object. */
static bool whole_number(str s, size_t i, int64_t *out)
{
	size_t end = i;

	while (end < s.n && (s.p[end] == '-' || (s.p[end] >= '0' && s.p[end] <= '9')))
		end++;
	return end < s.n && (s.p[end] == ',' || s.p[end] == '}' || s.p[end] == ' ') &&
	       str_i64(str_sub(s, i, end), out);
}

struct finding {
	bool answer, method, id;
	int64_t id_value;
};

/* One string at the top level of the object: is it a key that says something? */
static void note_key(str s, str word, size_t at, struct finding *f)
{
	while (at < s.n && s.p[at] == ' ')
		at++;
	if (at >= s.n || s.p[at] != ':')
		return;
	at++;
	while (at < s.n && s.p[at] == ' ')
		at++;
	f->method |= str_eq(word, S("\"method\""));
	f->answer |= str_eq(word, S("\"result\"")) || str_eq(word, S("\"error\""));
	if (str_eq(word, S("\"id\"")))
		f->id |= whole_number(s, at, &f->id_value);
}

static void search_head(str s, struct finding *f)
{
	int depth = 0;

	for (size_t i = 0; i < s.n;) {
		if (s.p[i] == '"') {
			size_t end = skip_string(s, i);

			if (depth == 1)
				note_key(s, str_sub(s, i, end), end, f);
			i = end;
			continue;
		}
		depth += s.p[i] == '{' || s.p[i] == '[';
		depth -= s.p[i] == '}' || s.p[i] == ']';
		i++;
	}
}

/* "key" : value, both ways trimmed; false when s is not that. */
static bool is_member(str s, str key, str *value)
{
	s = str_trim(s);
	if (!str_starts(s, key))
		return false;
	s = str_trim(str_sub(s, key.n, s.n));
	if (!str_starts(s, S(":")))
		return false;
	*value = str_trim(str_sub(s, 1, s.n));
	return true;
}

/* From the closing brace backwards: "id" and "jsonrpc" may stand behind the result.  A quote
 * right behind a comma is never inside a string, so what is found there is a member. */
static void search_tail(str s, struct finding *f)
{
	s = str_trim(s);
	if (!str_ends(s, S("}")))
		return;
	s.n--;
	for (;;) {
		size_t key = s.n;
		str value;

		while (key > 0 && s.p[key - 1] != ',')
			key--;
		if (key == 0)
			return;
		if (is_member(str_sub(s, key, s.n), S("\"id\""), &value)) {
			f->id = str_i64(value, &f->id_value);
			return;
		}
		if (!is_member(str_sub(s, key, s.n), S("\"jsonrpc\""), &value) ||
		    !str_eq(value, S("\"2.0\"")))
			return;
		s.n = key - 1;
	}
}

enum mcp_lost mcp_rpc_lost(const struct mcp_line *line, int64_t *id)
{
	struct finding f = { 0 };
	str text = str_trim(line->text);

	if (!str_starts(text, S("{")) && !str_starts(text, S("[")))
		return MCP_LOST_NOTHING;
	search_head(text, &f);
	if (f.method && !f.answer)
		return MCP_LOST_NOTHING;
	if (!f.id)
		search_tail(line->tail, &f);
	if (!f.id)
		return MCP_LOST_UNKNOWN;
	*id = f.id_value;
	return MCP_LOST_ONE;
}

bool mcp_rpc_asked(const struct mcp_line *line, int64_t *id)
{
	struct finding f = { 0 };
	str text = str_trim(line->text);

	if (!str_starts(text, S("{")))
		return false;
	search_head(text, &f);
	if (f.method && !f.id && line->cut)
		search_tail(line->tail, &f);
	if (f.method && f.id)
		*id = f.id_value;
	return f.method && f.id;
}

static void begin(struct buf *b)
{
	buf_add(b, S("{\"jsonrpc\":\"2.0\""));
}

static void end(struct buf *b, const char *key, str raw)
{
	if (raw.n) {
		buf_json_key(b, key);
		buf_add(b, raw);
	}
	buf_add(b, S("}\n"));
}

void mcp_rpc_request(struct buf *b, int64_t id, const char *method, str params)
{
	begin(b);
	buf_json_member_i64(b, "id", id);
	buf_json_member(b, "method", str_of(method));
	end(b, "params", params);
}

void mcp_rpc_notice(struct buf *b, const char *method, str params)
{
	begin(b);
	buf_json_member(b, "method", str_of(method));
	end(b, "params", params);
}

void mcp_rpc_answer(struct buf *b, const struct json *id, str result)
{
	begin(b);
	buf_json_key(b, "id");
	json_write(b, id);
	end(b, "result", result);
}

void mcp_rpc_refuse(struct buf *b, const struct json *id, int code, str message)
{
	begin(b);
	buf_json_key(b, "id");
	json_write(b, id);
	buf_json_key(b, "error");
	buf_add(b, S("{"));
	buf_json_member_i64(b, "code", code);
	buf_json_member(b, "message", message);
	buf_add(b, S("}}\n"));
}

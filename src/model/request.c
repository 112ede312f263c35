/*
 * Writing requests.  Values that are not set are left out, never null; nothing is sent that
 * some endpoint is known to refuse and that we can do without (parallel_tool_calls).
 */
#include "model/request.h"

#include "model/delta.h"
#include "model/schema.h"

#define REQUEST_MAX ((size_t)64 << 20)
#define SHORT_ID_LEN 9

struct writer {
	struct buf b;
	struct arena *a;
	const struct model_cfg *cfg;
	const struct model_req *req;
	str issuer, system; /* system: still to be put before the first user text */
	uint32_t quirks, sent;
	bool gemini;
};

/* ---- call ids ----------------------------------------------------------------------- */

static bool short_id(str id)
{
	if (id.n != SHORT_ID_LEN)
		return false;
	for (size_t i = 0; i < id.n; i++) {
		char c = id.p[i];
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		      (c >= 'A' && c <= 'Z')))
			return false;
	}
	return true;
}

/* The same short id for the same id, in a call and in its result. */
static str wire_id(struct writer *w, str id)
{
	uint64_t h = str_hash(STR_HASH, id);
	char out[SHORT_ID_LEN];

	if (!(w->quirks & QUIRK_SHORT_IDS) || short_id(id))
		return id;
	for (size_t i = 0; i < sizeof out; i++, h /= 36)
		out[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[h % 36];
	return arena_dup(w->a, (str){ out, sizeof out });
}

/* ---- assistant messages ------------------------------------------------------------- */

static bool has_key(str wire, const char *key)
{
	char quoted[64];
	str s = { quoted, 0 };

	for (quoted[s.n++] = '"'; *key; key++)
		quoted[s.n++] = *key;
	quoted[s.n++] = '"';
	quoted[s.n++] = ':';
	return str_has(wire, s);
}

/* A quote inside a JSON string is escaped, so "name": can only be a key. */
static bool has_opaque(str wire)
{
	for (size_t i = 0; i < OPAQUE_MESSAGE_N; i++)
		if (has_key(wire, opaque_message[i].name))
			return true;
	for (size_t i = 0; i < OPAQUE_CALL_N; i++)
		if (has_key(wire, opaque_call[i].name))
			return true;
	return false;
}

static bool listed(const struct opaque_key *keys, size_t n, str key)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(key, str_of(keys[i].name)))
			return true;
	return false;
}

static void write_member(struct buf *b, const struct json *m)
{
	buf_json_key(b, m->key.p);
	json_write(b, m);
}

static void write_call(struct writer *w, const struct json *call, bool opaque, bool skip_token)
{
	buf_add(&w->b, S("{"));
	for (const struct json *m = call->child; m; m = m->next) {
		if (!opaque && listed(opaque_call, OPAQUE_CALL_N, m->key))
			continue;
		if (str_eq(m->key, S("id")))
			buf_json_member(&w->b, "id", wire_id(w, m->s));
		else
			write_member(&w->b, m);
	}
	if (skip_token)
		buf_add(&w->b, S(",\"extra_content\":{\"google\":{\"thought_signature\":"
				 "\"skip_thought_signature_validator\"}}"));
	buf_add(&w->b, S("}"));
}

static void write_calls(struct writer *w, const struct json *list, bool opaque, bool skip_token)
{
	buf_json_key(&w->b, "tool_calls");
	buf_add(&w->b, S("["));
	for (const struct json *c = list->child; c; c = c->next) {
		if (c != list->child)
			buf_add(&w->b, S(","));
		write_call(w, c, opaque, skip_token);
	}
	buf_add(&w->b, S("]"));
}

static bool blank(const struct json *content)
{
	return !content || content->type == JSON_NULL ||
	       (content->type == JSON_STRING && !content->s.n);
}

static int rewrite_assistant(struct writer *w, str wire, bool opaque, bool skip_token,
			     struct err *e)
{
	struct json *v;
	const struct json *calls;
	bool reasoned;
	int rc;

	if ((rc = json_read(&v, w->a, wire, e)) < 0)
		return err_wrap(e, E_INVAL, "stored message");
	calls = json_get(v, "tool_calls");
	reasoned = opaque && json_get(v, "reasoning_content");
	buf_add(&w->b, S("{"));
	for (const struct json *m = v->child; m; m = m->next) {
		if (!opaque && listed(opaque_message, OPAQUE_MESSAGE_N, m->key))
			continue;
		if (str_eq(m->key, S("content")) && calls && blank(m))
			continue;
		if (m == calls && json_is(m, JSON_ARRAY))
			write_calls(w, m, opaque, skip_token);
		else
			write_member(&w->b, m);
	}
	if (calls && blank(json_get(v, "content"))) {
		if (w->quirks & QUIRK_CONTENT_EMPTY)
			buf_json_member(&w->b, "content", (str){ 0 });
		else if (w->quirks & QUIRK_CONTENT_NULL)
			buf_add(&w->b, S(",\"content\":null"));
	}
	if (calls && !reasoned &&
	    (w->quirks & (QUIRK_EMPTY_REASONING | QUIRK_NO_OPAQUE)) == QUIRK_EMPTY_REASONING)
		buf_json_member(&w->b, "reasoning_content", (str){ 0 });
	buf_add(&w->b, S("}"));
	return OK;
}

static int write_assistant(struct writer *w, const struct model_msg *m, struct err *e)
{
	bool calls = has_key(m->wire, "tool_calls"), opaque = has_opaque(m->wire);
	bool bare = calls && !str_starts(m->wire, S("{\"role\":\"assistant\",\"content\":\""));
	bool taken = !(w->quirks & QUIRK_NO_OPAQUE);
	bool keep = taken && str_eq(m->issuer, w->issuer);
	bool skip_token = w->gemini && taken && calls &&
			  (!keep || !has_key(m->wire, "thought_signature"));
	bool empty_reasoning = calls && taken && (w->quirks & QUIRK_EMPTY_REASONING);
	uint32_t shape = QUIRK_CONTENT_EMPTY | QUIRK_CONTENT_NULL;
	bool rewrite = skip_token || empty_reasoning || (opaque && !keep) ||
		       (bare && (w->quirks & shape)) ||
		       (calls && (w->quirks & QUIRK_SHORT_IDS));

	if (calls)
		w->sent |= SENT_CALLS;
	if (bare)
		w->sent |= SENT_BARE_CALLS;
	if ((opaque && keep) || skip_token || empty_reasoning)
		w->sent |= SENT_OPAQUE;
	if (rewrite)
		return rewrite_assistant(w, m->wire, keep, skip_token, e);
	buf_add(&w->b, m->wire);
	return OK;
}

/* ---- other messages ----------------------------------------------------------------- */

static int write_tool_result(struct writer *w, str wire, struct err *e)
{
	struct json *v;
	int rc;

	if (!has_key(wire, "tool_call_id"))
		return err_set(e, E_INVAL, "tool message without tool_call_id");
	if (!(w->quirks & QUIRK_SHORT_IDS)) {
		buf_add(&w->b, wire);
		return OK;
	}
	if ((rc = json_read(&v, w->a, wire, e)) < 0)
		return err_wrap(e, E_INVAL, "stored message");
	buf_add(&w->b, S("{"));
	for (const struct json *m = v->child; m; m = m->next)
		if (str_eq(m->key, S("tool_call_id")))
			buf_json_member(&w->b, "tool_call_id", wire_id(w, m->s));
		else
			write_member(&w->b, m);
	buf_add(&w->b, S("}"));
	return OK;
}

/* The first user message, with the system text before its own. */
static int write_user_with_system(struct writer *w, str wire, struct err *e)
{
	struct json *v;
	str before = arena_fmt(w->a, "%.*s\n\n", STRF(w->system));
	int rc;

	if ((rc = json_read(&v, w->a, wire, e)) < 0)
		return err_wrap(e, E_INVAL, "stored message");
	buf_add(&w->b, S("{"));
	for (const struct json *m = v->child; m; m = m->next) {
		if (!str_eq(m->key, S("content"))) {
			write_member(&w->b, m);
		} else if (m->type == JSON_ARRAY) {
			buf_add(&w->b, S(",\"content\":[{\"type\":\"text\",\"text\":"));
			buf_json(&w->b, before);
			buf_add(&w->b, S("}"));
			for (const struct json *p = m->child; p; p = p->next) {
				buf_add(&w->b, S(","));
				json_write(&w->b, p);
			}
			buf_add(&w->b, S("]"));
		} else {
			buf_json_member(&w->b, "content", arena_cat(w->a, before, m->s));
		}
	}
	buf_add(&w->b, S("}"));
	w->system = (str){ 0 };
	return OK;
}

static int write_message(struct writer *w, const struct model_msg *m, struct err *e)
{
	if (str_eq(m->role, S("assistant")))
		return write_assistant(w, m, e);
	if (str_eq(m->role, S("tool")))
		return write_tool_result(w, m->wire, e);
	if (!str_eq(m->role, S("user")))
		return err_set(e, E_INVAL, "unknown role \"%.*s\"", STRF(m->role));
	if (w->system.n)
		return write_user_with_system(w, m->wire, e);
	buf_add(&w->b, m->wire);
	return OK;
}

static int write_messages(struct writer *w, struct err *e)
{
	str system = w->req->system;
	int rc;

	buf_json_key(&w->b, "messages");
	buf_add(&w->b, S("["));
	if (system.n && (w->quirks & QUIRK_NO_SYSTEM)) {
		w->system = system;
	} else if (system.n) {
		w->sent |= SENT_SYSTEM;
		buf_add(&w->b, S("{"));
		buf_json_member(&w->b, "role", S("system"));
		buf_json_member(&w->b, "content", system);
		buf_add(&w->b, S("}"));
	}
	for (size_t i = 0; i < w->req->msgs_n; i++) {
		if (i || (w->sent & SENT_SYSTEM))
			buf_add(&w->b, S(","));
		if ((rc = write_message(w, &w->req->msgs[i], e)) < 0)
			return rc;
	}
	buf_add(&w->b, S("]"));
	return OK;
}

/* ---- tools and parameters ----------------------------------------------------------- */

static void write_schema(struct writer *w, str schema)
{
	struct json *v = NULL;
	bool plain = w->gemini || (w->quirks & (QUIRK_PLAIN_SCHEMA | QUIRK_BARE_SCHEMA));

	if (!str_trim(schema).n) {
		buf_add(&w->b, S("{\"type\":\"object\",\"properties\":{}}"));
	} else if (!plain) {
		buf_add(&w->b, schema);
	} else {
		if (json_read(&v, w->a, schema, NULL) < 0)
			v = NULL; /* an object without properties */
		schema_write_plain(&w->b, v, w->quirks & QUIRK_BARE_SCHEMA);
	}
}

static void write_tools(struct writer *w)
{
	if (!w->req->tools_n || (w->quirks & QUIRK_NO_TOOLS))
		return;
	w->sent |= SENT_TOOLS;
	buf_json_key(&w->b, "tools");
	buf_add(&w->b, S("["));
	for (size_t i = 0; i < w->req->tools_n; i++) {
		const struct model_tool *t = &w->req->tools[i];
		buf_add(&w->b, i ? S(",{") : S("{"));
		buf_json_member(&w->b, "type", S("function"));
		buf_json_key(&w->b, "function");
		buf_add(&w->b, S("{"));
		buf_json_member(&w->b, "name", t->name);
		if (t->description.n)
			buf_json_member(&w->b, "description", t->description);
		buf_json_key(&w->b, "parameters");
		write_schema(w, t->schema);
		buf_add(&w->b, S("}}"));
	}
	buf_add(&w->b, S("]"));
	if (w->req->tool_choice.n)
		buf_json_member(&w->b, "tool_choice", w->req->tool_choice);
}

static void write_parameters(struct writer *w, bool *stream)
{
	const struct model_cfg *c = w->cfg;
	const struct model_req *r = w->req;
	int64_t max_tokens = r->max_tokens ? r->max_tokens : c->max_tokens;

	if (max_tokens > 0 && !(w->quirks & QUIRK_NO_MAX_TOKENS)) {
		bool new_name = w->quirks & QUIRK_MAX_COMPLETION;
		w->sent |= new_name ? SENT_MAX_COMPLETION : SENT_MAX_TOKENS;
		buf_json_member_i64(&w->b, new_name ? "max_completion_tokens" : "max_tokens",
				    max_tokens);
	}
	if ((c->has_temperature || r->temperature) && !(w->quirks & QUIRK_NO_TEMPERATURE)) {
		w->sent |= SENT_TEMPERATURE;
		buf_json_key(&w->b, "temperature");
		buf_fmt(&w->b, "%.6g", r->temperature ? *r->temperature : c->temperature);
	}
	for (size_t i = 0; i < r->stop.n; i++) {
		buf_add(&w->b, i ? S(",") : S(",\"stop\":["));
		buf_json(&w->b, r->stop.v[i]);
		buf_add(&w->b, i + 1 == r->stop.n ? S("]") : S(""));
	}
	if (c->reasoning_effort.n && !(w->quirks & QUIRK_NO_EFFORT)) {
		w->sent |= SENT_EFFORT;
		buf_json_member(&w->b, "reasoning_effort", c->reasoning_effort);
	}
	*stream = w->req->stream && !(w->quirks & QUIRK_NO_STREAM);
	if (!*stream)
		return;
	w->sent |= SENT_STREAM;
	buf_add(&w->b, S(",\"stream\":true"));
	if (w->quirks & QUIRK_NO_STREAM_OPTIONS)
		return;
	w->sent |= SENT_STREAM_OPTIONS;
	buf_add(&w->b, S(",\"stream_options\":{\"include_usage\":true}"));
}

int request_write(struct request *out, struct arena *a, const struct model_cfg *cfg, str issuer,
		  bool gemini, const struct model_req *req, const struct model_quirks *q,
		  struct err *e)
{
	struct writer w = {
		.b = buf_in(a, REQUEST_MAX),
		.a = a,
		.cfg = cfg,
		.req = req,
		.issuer = issuer,
		.quirks = q->flags,
		.gemini = gemini,
	};
	bool stream = false;
	int rc;

	if (!req->msgs_n)
		return err_set(e, E_INVAL, "a request without messages");
	buf_add(&w.b, S("{"));
	buf_json_member(&w.b, "model", cfg->name);
	/* What never changes comes first: the next request then begins as this one does. */
	write_parameters(&w, &stream);
	write_tools(&w);
	if ((rc = write_messages(&w, e)) < 0)
		return rc;
	buf_add(&w.b, S("}"));
	if (w.b.full)
		return err_set(e, E_LIMIT, "request over %zu bytes", REQUEST_MAX);
	*out = (struct request){ .body = buf_str(&w.b), .sent = w.sent, .stream = stream };
	return OK;
}

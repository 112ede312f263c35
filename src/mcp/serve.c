/*
 * A server's side of the protocol: what a message asks for, and what is answered at once.  What
 * a server says beyond that is in serve_say.c.
 */
#include "mcp/serve.h"

#include "base/utf.h"
#include "mcp/serve_parts.h"

#include <stdio.h>

#define META "io.modelcontextprotocol/"

static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
					 "2025-11-25" };

/* The newest that begins with initialize is answered when another one is asked for. */
#define OFFERED (revisions[COUNT(revisions) - 1])

void mcp_serve_init(struct mcp_serve *s, const struct mcp_serve_opt *opt)
{
	*s = (struct mcp_serve){ .opt = opt };
}

bool mcp_serve_batches(const struct mcp_serve *s)
{
	return s->revision && !serve_since(s->revision, "2025-06-18");
}

static str json_of(struct arena *a, const struct json *v)
{
	struct buf b = buf_in(a, MCP_SERVE_ID);

	json_write(&b, v);
	return b.full ? (str){ 0 } : buf_str(&b);
}

/* An error that belongs to no request.  The older revisions have none of that kind. */
static void refuse_unnamed(const struct mcp_serve *s, int code, str message, struct buf *out)
{
	if (s->revision && !serve_since(s->revision, "2025-11-25"))
		return;
	buf_add(out, S("{\"jsonrpc\":\"2.0\",\"error\":{"));
	buf_json_member_i64(out, "code", code);
	buf_json_member(out, "message", message);
	buf_add(out, S("}}\n"));
}

void mcp_serve_refuse_batch(const struct mcp_serve *s, str why, struct buf *out)
{
	refuse_unnamed(s, MCP_INVALID_REQUEST, why, out);
}

static bool is_id(const struct json *id)
{
	return json_is(id, JSON_STRING) || json_is(id, JSON_INT);
}

/* What is no message at all: named by its id where it has one. */
static void take_foreign(struct mcp_serve *s, const struct mcp_msg *m,
			 const struct mcp_line *line, struct arena *a, struct buf *out,
			 struct mcp_serve_event *ev)
{
	struct json *v = NULL;
	int64_t id;

	if (!line->cut && str_trim(line->text).n == 0)
		return;
	ev->kind = MCP_SERVE_ODD;
	if (line->cut || m->kind == MCP_DEEP) {
		str why = line->cut ? S("the message is too long")
				    : S("the message is nested too deeply");
		if (mcp_rpc_asked(line, &id))
			mcp_serve_error(
				&(struct mcp_serve_to){
					.id = arena_fmt(a, "%lld", (long long)id) },
				MCP_INVALID_REQUEST, why, out);
		else
			refuse_unnamed(s, MCP_INVALID_REQUEST, why, out);
		ev->note = why;
		return;
	}
	if (json_read(&v, a, line->text, NULL) < 0) {
		ev->note = S("it is no JSON");
		refuse_unnamed(s, MCP_PARSE_ERROR, S("parse error"), out);
		return;
	}
	ev->note = S("it is no message of JSON-RPC 2.0");
	str name = is_id(json_get(v, "id")) ? json_of(a, json_get(v, "id")) : (str){ 0 };
	if (name.n)
		mcp_serve_error(&(struct mcp_serve_to){ .id = name }, MCP_INVALID_REQUEST,
				ev->note, out);
	else
		refuse_unnamed(s, MCP_INVALID_REQUEST, ev->note, out);
}

/* Only of forms; a host that names neither mode means those. */
static bool can_elicit(const struct json *capabilities, const char *revision)
{
	const struct json *e = json_get(capabilities, "elicitation");

	if (!json_is(e, JSON_OBJECT) || !serve_since(revision, "2025-06-18"))
		return false;
	return e->n == 0 || json_get(e, "form") || !json_get(e, "url");
}

static const char *revision_of(str version)
{
	for (size_t i = 0; i < COUNT(revisions); i++)
		if (str_eq(version, str_of(revisions[i])))
			return revisions[i];
	return NULL;
}

static void initialize(struct mcp_serve *s, const struct mcp_msg *m,
		       const struct mcp_serve_to *to, struct buf *out)
{
	str version = json_str(m->params, "protocolVersion");
	const struct json *capabilities = json_get(m->params, "capabilities");
	str host = json_str(json_get(m->params, "clientInfo"), "name");

	if (s->revision) {
		mcp_serve_error(to, MCP_INVALID_REQUEST, S("initialize was answered already"),
				out);
		return;
	}
	if (!version.n) {
		mcp_serve_error(to, MCP_INVALID_PARAMS, S("initialize lacks protocolVersion"),
				out);
		return;
	}
	s->revision = revision_of(version);
	if (!s->revision)
		s->revision = OFFERED;
	s->elicits = can_elicit(capabilities, s->revision);
	(void)snprintf(s->host, sizeof s->host, "%.*s",
		       STRF(utf_head(host, sizeof s->host - 1)));
	serve_begin(to, out);
	buf_json_member(out, "protocolVersion", str_of(s->revision));
	buf_add(out, S(",\"capabilities\":{\"tools\":{}},\"serverInfo\":"));
	serve_info(s->opt, s->revision, out);
	buf_json_member(out, "instructions", str_of(s->opt->instructions));
	serve_end(out);
}

static void discover(const struct mcp_serve *s, const struct mcp_serve_to *to, struct buf *out)
{
	serve_begin(to, out);
	buf_json_key(out, "supportedVersions");
	buf_add(out, S("[\"" MCP_SERVE_STATELESS "\""));
	for (size_t i = COUNT(revisions); i > 0; i--)
		buf_fmt(out, ",\"%s\"", revisions[i - 1]);
	buf_add(out, S("],\"capabilities\":{\"tools\":{}}"));
	buf_json_member(out, "instructions", str_of(s->opt->instructions));
	serve_cacheable(out);
	buf_add(out, S(",\"_meta\":{\"" META "serverInfo\":"));
	serve_info(s->opt, to->revision, out);
	buf_add(out, S("}"));
	serve_end(out);
}

static const struct mcp_serve_tool *tool_of(const struct mcp_serve *s, str name)
{
	for (size_t i = 0; i < s->opt->tools_n; i++)
		if (str_is(name, s->opt->tools[i]->name))
			return s->opt->tools[i];
	return NULL;
}

static void call(const struct mcp_serve *s, const struct mcp_msg *m,
		 const struct mcp_serve_to *to, struct arena *a, struct buf *out,
		 struct mcp_serve_event *ev)
{
	static const struct json none = { .type = JSON_OBJECT };
	const struct json *args = json_get(m->params, "arguments");
	const struct json *token = json_get(json_get(m->params, "_meta"), "progressToken");

	ev->tool = tool_of(s, json_str(m->params, "name"));
	if (!ev->tool) {
		mcp_serve_error(to, MCP_INVALID_PARAMS, S("there is no such tool"), out);
		return;
	}
	if (!args || json_is(args, JSON_NULL))
		args = &none;
	if (!json_is(args, JSON_OBJECT)) {
		mcp_serve_error(to, MCP_INVALID_PARAMS, S("arguments is no object"), out);
		return;
	}
	ev->kind = MCP_SERVE_CALL;
	ev->to = *to;
	ev->args = args;
	ev->token = is_id(token) ? json_of(a, token) : (str){ 0 };
	if (mcp_serve_stateless(to->revision)) {
		ev->state = json_str(m->params, "requestState");
		ev->answers = json_get(m->params, "inputResponses");
	}
}

/* A request that says its revision itself.  False: it was refused. */
static bool stateless(const struct json *meta, struct mcp_serve_to *to, struct arena *a,
		      struct buf *out, struct mcp_serve_event *ev)
{
	str version = json_str(meta, META "protocolVersion");
	const struct json *capabilities = json_get(meta, META "clientCapabilities");

	to->revision = MCP_SERVE_STATELESS;
	if (!str_eq(version, S(MCP_SERVE_STATELESS))) {
		serve_begin_error(to, MCP_UNSUPPORTED_VERSION,
				  S("unsupported protocol version"), out);
		buf_add(out, S(",\"data\":{\"supported\":[\"" MCP_SERVE_STATELESS "\"]"));
		buf_json_member(out, "requested", utf_head(version, MCP_SERVE_ID));
		buf_add(out, S("}"));
		serve_end_error(out);
		return false;
	}
	if (!json_is(capabilities, JSON_OBJECT)) {
		mcp_serve_error(to, MCP_INVALID_PARAMS,
				S("_meta lacks " META "clientCapabilities"), out);
		return false;
	}
	ev->elicits = can_elicit(capabilities, to->revision);
	ev->host = utf_head(arena_dup(a, json_str(json_get(meta, META "clientInfo"), "name")),
			    MCP_SERVE_ID - 1);
	return true;
}

static void take_request(struct mcp_serve *s, const struct mcp_msg *m, struct arena *a,
			 struct buf *out, struct mcp_serve_event *ev)
{
	const struct json *meta = json_get(m->params, "_meta");
	struct mcp_serve_to to = { .id = json_of(a, m->id), .revision = s->revision };
	bool own = json_is(json_get(meta, META "protocolVersion"), JSON_STRING);

	if (!to.id.n || !is_id(m->id)) {
		ev->kind = MCP_SERVE_ODD;
		ev->note = S("its id is too long, or no id");
		refuse_unnamed(s, MCP_INVALID_REQUEST, ev->note, out);
		return;
	}
	ev->elicits = s->elicits;
	ev->host = str_of(s->host);
	if (own && !stateless(meta, &to, a, out, ev))
		return;
	if (!own && str_eq(m->method, S("initialize"))) {
		initialize(s, m, &to, out);
	} else if (!own && str_eq(m->method, S("ping"))) {
		serve_begin(&to, out);
		serve_end(out);
	} else if (!to.revision) {
		mcp_serve_error(&to, MCP_INVALID_REQUEST,
				S("say initialize first, or a protocol version in _meta"), out);
	} else if (own && str_eq(m->method, S("server/discover"))) {
		discover(s, &to, out);
	} else if (str_eq(m->method, S("tools/list"))) {
		serve_tools(s->opt, &to, out);
	} else if (str_eq(m->method, S("tools/call"))) {
		call(s, m, &to, a, out, ev);
	} else {
		mcp_serve_error(&to, MCP_METHOD_NOT_FOUND, S("there is no such method here"),
				out);
	}
}

static void take_notice(const struct mcp_msg *m, struct arena *a, struct mcp_serve_event *ev)
{
	const struct json *id = json_get(m->params, "requestId");

	if (!str_eq(m->method, S("notifications/cancelled")) || !is_id(id))
		return;
	ev->kind = MCP_SERVE_CANCEL;
	ev->id = json_of(a, id);
}

void mcp_serve_take(struct mcp_serve *s, const struct mcp_msg *m, const struct mcp_line *line,
		    struct arena *a, struct buf *out, struct mcp_serve_event *ev)
{
	*ev = (struct mcp_serve_event){ .kind = MCP_SERVE_NOTHING };
	switch (m->kind) {
	case MCP_FOREIGN:
	case MCP_DEEP:
	case MCP_BATCH:
		take_foreign(s, m, line, a, out, ev);
		break;
	case MCP_REQUEST:
		take_request(s, m, a, out, ev);
		break;
	case MCP_NOTICE:
		take_notice(m, a, ev);
		break;
	case MCP_ANSWER:
		if (mcp_rpc_own_id(m->id, &ev->question)) {
			ev->kind = MCP_SERVE_ANSWER;
			ev->result = m->error ? NULL : m->result;
		}
		break;
	}
}

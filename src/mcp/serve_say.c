/*
 * What a server says, each message as its revision has it: what a revision does
 * not know is left out.
 */
#include "mcp/serve_parts.h"

#include <string.h>

#define TTL_MS 3600000
#define QUESTION "person" /* the key of what is asked back */

bool serve_since(const char *revision, const char *first)
{
	return revision && strcmp(revision, first) >= 0;
}

bool mcp_serve_stateless(const char *revision)
{
	return serve_since(revision, MCP_SERVE_STATELESS);
}

static void begin(const struct mcp_serve_to *to, struct buf *out)
{
	buf_add(out, S("{\"jsonrpc\":\"2.0\",\"id\":"));
	buf_add(out, to->id);
}

static void begin_result(const struct mcp_serve_to *to, const char *type, struct buf *out)
{
	begin(to, out);
	buf_add(out, S(",\"result\":{"));
	if (mcp_serve_stateless(to->revision))
		buf_json_member(out, "resultType", str_of(type));
}

void serve_begin(const struct mcp_serve_to *to, struct buf *out)
{
	begin_result(to, "complete", out);
}

void serve_end(struct buf *out)
{
	buf_add(out, S("}}\n"));
}

void serve_begin_error(const struct mcp_serve_to *to, int code, str message, struct buf *out)
{
	begin(to, out);
	buf_add(out, S(",\"error\":{"));
	buf_json_member_i64(out, "code", code);
	buf_json_member(out, "message", message);
}

void serve_end_error(struct buf *out)
{
	buf_add(out, S("}}\n"));
}

void mcp_serve_error(const struct mcp_serve_to *to, int code, str message, struct buf *out)
{
	serve_begin_error(to, code, message, out);
	serve_end_error(out);
}

void serve_info(const struct mcp_serve_opt *opt, const char *revision, struct buf *out)
{
	buf_add(out, S("{\"name\":\"gantry\""));
	if (serve_since(revision, "2025-06-18"))
		buf_add(out, S(",\"title\":\"gantry, a personal agent\""));
	buf_json_member(out, "version", str_of(opt->version));
	buf_add(out, S("}"));
}

void serve_cacheable(struct buf *out)
{
	buf_json_member_i64(out, "ttlMs", TTL_MS);
	buf_add(out, S(",\"cacheScope\":\"private\""));
}

static void hint(struct buf *out, const char *key, bool is)
{
	buf_json_key(out, key);
	buf_add(out, is ? S("true") : S("false"));
}

static void one_tool(const struct mcp_serve_tool *t, const char *revision, struct buf *out)
{
	buf_add(out, S("{"));
	buf_json_member(out, "name", str_of(t->name));
	if (serve_since(revision, "2025-06-18"))
		buf_json_member(out, "title", str_of(t->title));
	buf_json_member(out, "description", str_of(t->description));
	buf_json_key(out, "inputSchema");
	buf_add(out, str_of(t->input));
	if (t->output && serve_since(revision, "2025-06-18")) {
		buf_json_key(out, "outputSchema");
		buf_add(out, str_of(t->output));
	}
	if (serve_since(revision, "2025-03-26")) {
		buf_add(out, S(",\"annotations\":{"));
		buf_json_member(out, "title", str_of(t->title));
		hint(out, "readOnlyHint", t->read_only);
		hint(out, "destructiveHint", t->destructive);
		hint(out, "idempotentHint", t->idempotent);
		hint(out, "openWorldHint", t->open_world);
		buf_add(out, S("}"));
	}
	buf_add(out, S("}"));
}

void serve_tools(const struct mcp_serve_opt *opt, const struct mcp_serve_to *to,
		 struct buf *out)
{
	serve_begin(to, out);
	buf_json_key(out, "tools");
	buf_add(out, S("["));
	for (size_t i = 0; i < opt->tools_n; i++) {
		buf_add(out, i ? S(",") : S(""));
		one_tool(opt->tools[i], to->revision, out);
	}
	buf_add(out, S("]"));
	if (mcp_serve_stateless(to->revision))
		serve_cacheable(out);
	serve_end(out);
}

void mcp_serve_result(const struct mcp_serve_to *to, str text, str structured, bool failed,
		      struct buf *out)
{
	serve_begin(to, out);
	buf_json_key(out, "content");
	buf_add(out, S("[{\"type\":\"text\""));
	buf_json_member(out, "text", text);
	buf_add(out, S("}]"));
	if (structured.n && serve_since(to->revision, "2025-06-18")) {
		buf_json_key(out, "structuredContent");
		buf_add(out, structured);
	}
	if (failed)
		buf_add(out, S(",\"isError\":true"));
	serve_end(out);
}

void mcp_serve_progress(const struct mcp_serve_to *to, str token, int64_t done, str message,
			struct buf *out)
{
	buf_add(out, S("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
		       "\"params\":{\"progressToken\":"));
	buf_add(out, token);
	buf_json_member_i64(out, "progress", done);
	if (message.n && serve_since(to->revision, "2025-03-26"))
		buf_json_member(out, "message", message);
	serve_end(out);
}

/* The same form for both ways. */
static void add_form(const struct mcp_serve_form *form, struct buf *out)
{
	buf_add(out, S("\"method\":\"elicitation/create\",\"params\":{"));
	buf_json_member(out, "message", form->message);
	if (form->text) {
		buf_add(out, S(",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
			       "\"reply\":{\"type\":\"string\",\"title\":\"Your answer\"}}}}"));
		return;
	}
	buf_add(out, S(",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"approve\":{"
		       "\"type\":\"boolean\",\"title\":\"Allow it this once\","
		       "\"default\":false}},\"required\":[\"approve\"]}}"));
}

void mcp_serve_ask(int64_t id, const struct mcp_serve_form *form, struct buf *out)
{
	buf_add(out, S("{\"jsonrpc\":\"2.0\""));
	buf_json_member_i64(out, "id", id);
	buf_add(out, S(","));
	add_form(form, out);
	buf_add(out, S("}\n"));
}

void mcp_serve_ask_back(const struct mcp_serve_to *to, str state,
			const struct mcp_serve_form *form, struct buf *out)
{
	begin_result(to, "input_required", out);
	buf_add(out, S(",\"inputRequests\":{\"" QUESTION "\":{"));
	add_form(form, out);
	buf_add(out, S("}}"));
	buf_json_member(out, "requestState", state);
	serve_end(out);
}

bool mcp_serve_yes(const struct json *result)
{
	return str_eq(json_str(result, "action"), S("accept")) &&
	       json_bool(json_get(result, "content"), "approve", false);
}

enum mcp_serve_reply mcp_serve_reply(const struct json *result, str *text)
{
	str action = json_str(result, "action");

	*text = json_str(json_get(result, "content"), "reply");
	if (str_eq(action, S("accept")))
		return MCP_SERVE_REPLIED;
	return str_eq(action, S("decline")) ? MCP_SERVE_DECLINED : MCP_SERVE_CANCELED;
}

const struct json *mcp_serve_answer(const struct json *answers)
{
	return json_get(answers, QUESTION);
}

void mcp_serve_unask(int64_t id, struct buf *out)
{
	buf_add(out, S("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		       "\"params\":{\"requestId\":"));
	buf_fmt(out, "%lld", (long long)id);
	buf_add(out, S(",\"reason\":\"it is over\""));
	serve_end(out);
}

/*
 * mcp_read_resource: one resource of a server as text, a part of it at a time.  Of bytes that are
 * no text kind and size are told.
 */
#include "base/utf.h"
#include "text/base64.h"
#include "text/text.h"
#include "tools/resources.h"

#define PART_MAX 16000 /* bytes, where no limit of results is set */
#define PART_MIN 200
#define URI_MAX 2000
#define TEXT_MAX ((size_t)256 << 20)

static bool textual(str mime)
{
	static const char *const words[] = { "text/", "json",       "xml",
					     "yaml",  "javascript", "toml" };

	for (size_t i = 0; i < COUNT(words); i++)
		if (str_has(mime, str_of(words[i])))
			return true;
	return false;
}

static void add_content(struct buf *b, const struct json *part, bool named, struct arena *a)
{
	str mime = json_str(part, "mimeType"), blob = json_str(part, "blob"), bytes = S("");

	if (named)
		buf_fmt(b, "%s%.*s:\n", b->n ? "\n" : "",
			STRF(text_line(a, json_str(part, "uri"), URI_MAX)));
	if (json_is(json_get(part, "text"), JSON_STRING)) {
		buf_add(b, json_str(part, "text"));
		return;
	}
	if (!base64_read(a, blob, &bytes))
		buf_add(b, S("[bytes that are not encoded as they should be]"));
	else if (textual(mime) && utf_valid(bytes))
		buf_add(b, bytes);
	else
		buf_fmt(b, "[%.*s, %zu bytes, not shown]",
			STRF(mime.n ? text_line(a, mime, 100) : S("bytes of unknown type")),
			bytes.n);
}

/* From offset on, as much as fits; cut where a character ends. */
static void show_part(const struct tool_env *env, str text, size_t offset, struct arena *a,
		      struct tool_result *out)
{
	int64_t limit = env->opt->limits ? env->opt->limits->tool_result_max_chars : PART_MAX;
	size_t max = limit <= 0 ? PART_MAX : limit < PART_MIN ? PART_MIN : (size_t)limit;
	str part = utf_head(str_sub(text, offset, text.n), max);
	size_t end = offset + part.n;

	out->truncated = end < text.n;
	if (offset == 0 && end == text.n)
		out->text = text.n ? text : S("[empty]");
	else
		out->text =
			arena_fmt(a, "%.*s\n[bytes %zu to %zu of %zu%s]", STRF(part), offset,
				  end, text.n, end < text.n ? "; go on with offset" : "");
	if (end < text.n)
		out->text = arena_fmt(a, "%.*s %zu]",
				      STRF(str_sub(out->text, 0, out->text.n - 1)), end);
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, TEXT_MAX), members = buf_in(a, 8 * URI_MAX);
	str uri = str_trim(json_str(args, "uri")), server;
	const struct json *result, *contents;
	struct err why = { 0 };
	int64_t offset;
	int rc;

	if (!uri.n || uri.n > URI_MAX)
		return tool_fail(out, a, "uri must have 1 to %d bytes", URI_MAX);
	if (!tool_arg_i64(args, "offset", 0, &offset) || offset < 0)
		return tool_fail(out, a, "offset must be a number of bytes");
	buf_json_member(&members, "uri", uri);
	rc = resources_server(env, str_trim(json_str(args, "server")), a, &server, &why);
	if (rc == OK)
		rc = resources_ask(env, server, "resources/read", buf_str(&members), a, &result,
				   c, &why);
	if (rc == E_CANCELED || rc == E_TIMEOUT)
		return err_set(e, rc, "%s", why.msg);
	if (rc < 0)
		return tool_fail(out, a, "%s", why.msg);
	contents = json_get(result, "contents");
	if (!json_is(contents, JSON_ARRAY))
		return tool_fail(out, a, "the server's answer has no contents");
	for (const struct json *part = contents->child; part; part = part->next)
		add_content(&b, part, contents->n > 1, a);
	str text = utf_repair(a, buf_str(&b));
	if ((size_t)offset > text.n)
		return tool_fail(out, a, "offset is behind its end: it has %zu bytes", text.n);
	show_part(env, text, (size_t)offset, a, out);
	return OK;
}

const struct tool tool_mcp_read_resource = {
	.name = "mcp_read_resource",
	.title = "Read a resource",
	.description =
		"Read a resource of a tool server by its URI: one of mcp_resources, or of a "
		"[link URI] in the result of one of the server's tools.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"server\":{\"type\":\"string\",\"description\":\"of the tools "
		  "SERVER__...\"},"
		  "\"uri\":{\"type\":\"string\"},"
		  "\"offset\":{\"type\":[\"integer\",\"string\"],\"description\":\"bytes to "
		  "begin after; for what is longer than one answer\"}},"
		  "\"required\":[\"uri\"],\"additionalProperties\":false}",
	.safe = true,
	.enabled = resources_enabled,
	.run = run,
};

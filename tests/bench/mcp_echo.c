/*
 * The smallest MCP server that is one: a single tool, echo{text}, answered from a loop over
 * stdin.  The benches use it, so that what they measure is the client.
 */
#include "base/buf.h"
#include "mcp/rpc.h"

#include <unistd.h>

#define MESSAGE_MAX ((size_t)16 << 20)

static void answer(struct arena *a, struct buf *out, const struct mcp_msg *m)
{
	const struct json *args = json_get(m->params, "arguments");
	struct buf b = buf_in(a, MESSAGE_MAX);

	if (str_eq(m->method, S("initialize"))) {
		buf_add(&b, S("{\"protocolVersion\":"));
		buf_json(&b, json_str(m->params, "protocolVersion"));
		buf_add(&b, S(",\"capabilities\":{\"tools\":{}},"
			      "\"serverInfo\":{\"name\":\"mcp_echo\",\"version\":\"1\"}}"));
	} else if (str_eq(m->method, S("tools/list"))) {
		buf_add(&b,
			S("{\"tools\":[{\"name\":\"echo\",\"description\":\"Return the text.\","
			  "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":"
			  "{\"type\":\"string\"}},\"required\":[\"text\"]},"
			  "\"annotations\":{\"readOnlyHint\":true}}]}"));
	} else if (str_eq(m->method, S("tools/call"))) {
		buf_add(&b, S("{\"content\":[{\"type\":\"text\",\"text\":"));
		buf_json(&b, json_str(args, "text"));
		buf_add(&b, S("}]}"));
	} else if (str_eq(m->method, S("ping"))) {
		buf_add(&b, S("{}"));
	} else {
		mcp_rpc_refuse(out, m->id, -32601, S("no such method"));
		return;
	}
	mcp_rpc_answer(out, m->id, buf_str(&b));
}

static int take(struct mcp_line *line)
{
	struct buf out = buf_in(&line->a, 2 * MESSAGE_MAX);
	struct mcp_msg m;
	int rc = 0;

	mcp_rpc_read(&m, &line->a, line->text);
	if (m.kind == MCP_REQUEST)
		answer(&line->a, &out, &m);
	for (str s = buf_str(&out); s.n && rc == 0;) {
		ssize_t n = write(STDOUT_FILENO, s.p, s.n);

		rc = n <= 0;
		s = str_sub(s, n > 0 ? (size_t)n : 0, s.n);
	}
	arena_free(&line->a);
	return rc;
}

int main(void)
{
	static char chunk[65536];
	struct mcp_lines lines;
	ssize_t n;

	mcp_lines_init(&lines, MESSAGE_MAX);
	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0) {
		str rest = { chunk, (size_t)n };
		struct mcp_line line;

		while (mcp_lines_take(&lines, &rest, &line))
			if (take(&line) != 0)
				return 1;
	}
	mcp_lines_done(&lines);
	return 0;
}

/*
 * Any bytes from a server: cut into lines in two ways, which must agree, and each line told
 * apart and searched for its id, then given to a session, whose own lines must be messages, and
 * to the side of a server, whose answers must be.
 * The first byte chooses the limit of a line.
 */
#include "base/utf.h"
#include "mcp/result.h"
#include "mcp/serve.h"
#include "mcp/session.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the model would read of an answer. */
static void check_text(struct arena *a, const struct mcp_msg *m)
{
	bool failed;
	str text = m->error ? mcp_result_error(a, m->error)
			    : mcp_result_text(a, m->result, &failed);

	if (!text.n || !utf_valid(text))
		abort();
}

static uint64_t look_at(struct mcp_line *line, uint64_t h)
{
	struct mcp_msg m = { 0 };
	int64_t id = 0;

	if (line->cut)
		h = h * 31 + (uint64_t)mcp_rpc_lost(line, &id) + (uint64_t)id;
	else
		mcp_rpc_read(&m, &line->a, line->text);
	if (m.kind == MCP_REQUEST && !m.id)
		abort();
	if (m.kind == MCP_ANSWER)
		check_text(&line->a, &m);
	if (memchr(line->text.p ? line->text.p : "", '\n', line->text.n))
		abort();
	h = h * 31 + (uint64_t)m.kind + line->text.n;
	arena_free(&line->a);
	return h;
}

static uint64_t run(str bytes, size_t max, size_t step)
{
	struct mcp_lines l;
	uint64_t h = 0;

	mcp_lines_init(&l, max);
	while (bytes.n) {
		str piece = str_sub(bytes, 0, step);
		struct mcp_line line;

		bytes = str_sub(bytes, step, bytes.n);
		while (mcp_lines_take(&l, &piece, &line))
			h = look_at(&line, h);
	}
	mcp_lines_done(&l);
	return h;
}

/* All that the session sent is whole messages. */
static void check_sent(struct buf *out)
{
	str rest = buf_str(out);

	if (rest.n && !str_ends(rest, S("\n")))
		abort();
	while (rest.n) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_msg m;

		mcp_rpc_read(&m, &a, str_cut(&rest, '\n'));
		if (m.kind == MCP_FOREIGN || m.kind == MCP_BATCH)
			abort();
	}
	buf_reset(out);
}

static void converse(str bytes)
{
	SCOPED(arena_free) struct arena a = { 0 };
	_Atomic int64_t ids = 0;
	str root = S("/r");
	const struct str_list list = { .v = &root, .n = 1 };
	const struct str_list *_Atomic roots = &list;
	struct mcp_session_opt opt = {
		.version = "1", .roots = &roots, .start_ms = 50, .ping_ms = 7, .ids = &ids
	};
	struct buf out = buf_in(&a, (size_t)1 << 20);
	struct mcp_session s;
	int rc = OK;

	mcp_session_init(&s, &opt);
	mcp_session_begin(&s, 1, &out);
	for (int64_t now = 2; bytes.n && rc == OK; now += 3) {
		struct mcp_event ev;
		struct mcp_msg m;

		mcp_rpc_read(&m, &a, str_cut(&bytes, '\n'));
		rc = mcp_session_take(&s, &m, now, &a, &out, &ev, NULL);
		if (rc == OK)
			rc = mcp_session_tick(&s, now, now % 2, &out, NULL);
		(void)mcp_session_due(&s, true);
		check_sent(&out);
	}
	mcp_session_done(&s);
}

/* A host says anything: what it is answered is at most one object a message, on one line. */
static void serve(str bytes, size_t max)
{
	static const struct mcp_serve_tool tool = { "t", "T", "d", "{}", NULL, 0, 0, 0, 0 };
	static const struct mcp_serve_tool *const tools[] = { &tool };
	static const struct mcp_serve_opt opt = { "1", "i", tools, 1 };
	struct mcp_serve s;
	struct mcp_lines l;
	struct mcp_line line;

	mcp_serve_init(&s, &opt);
	mcp_lines_init(&l, max);
	while (mcp_lines_take(&l, &bytes, &line)) {
		struct buf out = buf_in(&line.a, (size_t)1 << 20);
		struct mcp_msg m = { .kind = MCP_FOREIGN };
		struct mcp_serve_event ev;
		struct json *v;

		if (!line.cut)
			mcp_rpc_read(&m, &line.a, line.text);
		mcp_serve_take(&s, &m, &line, &line.a, &out, &ev);
		str said = buf_str(&out);
		if (said.n && (str_find(said, S("\n")) != said.n - 1 ||
			       json_read(&v, &line.a, said, NULL) < 0))
			abort();
		if (ev.kind == MCP_SERVE_CALL && (said.n || !ev.tool || !ev.to.id.n))
			abort();
		arena_free(&line.a);
	}
	mcp_lines_done(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str bytes = { (const char *)data, size };
	size_t max = size ? (size_t)data[0] * 40 : 0;

	if (run(bytes, max, size + 1) != run(bytes, max, 3))
		abort();
	converse(bytes);
	serve(bytes, max);
	return 0;
}

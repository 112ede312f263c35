/*
 * Any bytes from a server: cut into lines in two ways, which must agree, and each line told
 * apart and searched for its id.  The first byte chooses the limit of a line.
 */
#include "mcp/rpc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str bytes = { (const char *)data, size };
	size_t max = size ? (size_t)data[0] * 40 : 0;

	if (run(bytes, max, size + 1) != run(bytes, max, 3))
		abort();
	return 0;
}

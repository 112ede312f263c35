/*
 * mcp/noise: what a server says outside the protocol, on stderr or as foreign lines on
 * stdout, brought into our log: cut to lines, bounded, at a bounded rate.
 *
 * Threads  one.  Blocks only as the log does.
 */
#ifndef MCP_NOISE_H
#define MCP_NOISE_H

#include "base/arena.h"

#define MCP_NOISE_LINE 1024

struct mcp_noise {
	const char *event; /* of the log */
	str server;
	const str *secrets; /* values that are not to be shown, borrowed */
	size_t secrets_n;
	char line[MCP_NOISE_LINE]; /* the end of the line that is being collected */
	size_t n;
	bool cut; /* its begin is lost */
	char last[200]; /* the last line that was not blank */
	int64_t window_ms; /* when the current stretch of counting began */
	int logged;
	int64_t left_out;
};

void mcp_noise_init(struct mcp_noise *n, const char *event, str server);

/* Bytes of a stream, in any pieces; and: what was collected is a line, for the stream ended. */
void mcp_noise_feed(struct mcp_noise *n, str bytes, int64_t now_ms);
void mcp_noise_end(struct mcp_noise *n, int64_t now_ms);

/* One line, with a word before it that says of which kind ("" none). */
void mcp_noise_line(struct mcp_noise *n, str kind, str line, int64_t now_ms);

#endif

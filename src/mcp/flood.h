/*
 * mcp/flood: how fast a server is read.  What it sends unasked adds to a debt that time
 * pays off; beyond a limit it is not read for a while, so that its pipe fills and it
 * has to wait.  Pure.
 */
#ifndef MCP_FLOOD_H
#define MCP_FLOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mcp_flood {
	int64_t debt, at_ms;
	int64_t until_ms; /* not to be read before; 0: read it */
};

/* What was read, by bytes; a message that nobody waits for costs more than one that answers. */
enum mcp_flood_kind { MCP_FLOOD_BYTES, MCP_FLOOD_STDERR, MCP_FLOOD_UNASKED };
void mcp_flood_note(struct mcp_flood *f, enum mcp_flood_kind kind, size_t bytes,
		    int64_t now_ms);

/* May it be read now?  Else .until_ms says when. */
bool mcp_flood_over(struct mcp_flood *f, int64_t now_ms);

#endif

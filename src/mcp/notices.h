/*
 * mcp/notices: what a server says has changed of it, collected so that a burst is told once.
 * Pure.
 *
 * Limits  64 different ones at a time; of more updates of resources only a change of the list
 *         is told.
 */
#ifndef MCP_NOTICES_H
#define MCP_NOTICES_H

#include "text/json.h"

struct mcp_notice {
	struct mcp_notice *next;
	str method;
	const struct json *params; /* {"uri": …} of an update, else NULL */
};

struct mcp_notices {
	struct arena a; /* owns the rest */
	struct mcp_notice *first, **tail;
	size_t n;
	int64_t due_ms; /* when they are to be told; 0: there are none */
};

void mcp_notices_done(struct mcp_notices *l);

/* A notification came; one that is of no interest is left out. */
void mcp_notices_add(struct mcp_notices *l, str method, const struct json *params,
		     int64_t now_ms);

/* All of them, in order, once they are due: then they are *out's, which done frees, and the
 * collecting begins anew. */
bool mcp_notices_take(struct mcp_notices *l, int64_t now_ms, struct mcp_notices *out);

#endif

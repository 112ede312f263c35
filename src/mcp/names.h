/*
 * mcp/names: under which name a server's tool is shown to the model.  Pure.
 *
 * {prefix}__{tool}, at most 64 bytes of [A-Za-z0-9_-] and no digit or dash in front; other
 * characters become "_".  Where two would be the same, or one is too long, a hash of server
 * and tool is put behind it.  A name depends on the set of tools only, not on their order,
 * so it is the same after a restart.
 */
#ifndef MCP_NAMES_H
#define MCP_NAMES_H

#include "config/config.h"

#define MCP_NAME_MAX 64

struct mcp_named {
	str server, tool; /* in: together unique */
	str prefix; /* in: of the server */
	str name; /* out: in the arena */
};

void mcp_names(struct arena *a, struct mcp_named *v, size_t n);

/* Is the tool to be published?  tools: the exact names to take, all when empty; exclude:
 * names or globs to leave out. */
bool mcp_names_pass(const struct str_list *tools, const struct str_list *exclude, str tool);

#endif

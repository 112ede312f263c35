/*
 * mcp/tool: what is known of tools, and of what else servers offer.
 */
#ifndef MCP_TOOL_H
#define MCP_TOOL_H

#include "base/str.h"

struct mcp_tool {
	str name; /* as published: {server}__{tool}, <= 64, unique */
	str server; /* name in the manifest */
	str tool; /* the server's own name for it */
	str title, description;
	str icon; /* its first one in words, "" none: kind and size, never the picture */
	str schema; /* input schema, JSON object text */
	str output; /* output schema, the same, "" none; not in catalogues */
	str print; /* of what the server says of the tool: hex digits that change with it */
	bool read_only, destructive, idempotent; /* hints; believed only if trusted */
	bool trusted; /* the manifest says so */
	bool as_task; /* it is to be called as a task, where its server's era has those */
};

struct mcp_catalog {
	const struct mcp_tool *tools; /* sorted by name */
	size_t n;
	uint64_t rev; /* changes with the content */
};

/* What a server says that it can do beside tools. */
struct mcp_caps {
	bool resources, subscribe, prompts, completions, logging;
};

#endif

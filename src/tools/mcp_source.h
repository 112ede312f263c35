/*
 * tools/mcp_source: the tools of the MCP servers as a source for the gate.
 */
#ifndef TOOLS_MCP_SOURCE_H
#define TOOLS_MCP_SOURCE_H

#include "mcp/host.h"
#include "tools/tools.h"

/* h is borrowed for the life of the source. */
void tools_mcp_source(struct tool_source *out, struct mcp_host *h);

#endif

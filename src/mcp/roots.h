/*
 * mcp/roots: the directories that a server is told it may work in, as it is
 * told of them.  Pure.
 */
#ifndef MCP_ROOTS_H
#define MCP_ROOTS_H

#include "base/arena.h"
#include "config/config.h"

/* The result of roots/list for absolute paths; NULL: none. */
str mcp_roots_result(const struct str_list *list, struct arena *a);

#endif

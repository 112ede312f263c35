/*
 * mcp/client: one life of one MCP server: a child process spoken to over its stdin and
 * stdout, one JSON object a line.
 *
 * Threads  the server's own.
 * Blocks   until the server is dead, or within some seconds of stop.
 * Owns     the child and its pipes.
 * Limits   one line <= opt->line_max; what we have to send beyond calls <= 1 MiB at a time.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include "mcp/link.h"

/* E_CANCELED: stop fired.  Else why it failed or died: E_NOENT, E_DENIED it cannot be started,
 * E_PROTO, E_LIMIT it is no MCP server that we understand, E_TIMEOUT it hangs, E_IO it died.
 * Calls that were written have failed then; those that were not may wait for the next life. */
int mcp_client_live(const struct mcp_link_opt *opt, const struct cancel *stop,
		    struct mcp_ended *out);

#endif

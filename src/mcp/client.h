/*
 * mcp/client: one life of one MCP server: a child process spoken to over its stdin and
 * stdout, one JSON object a line.
 *
 * Threads  as of any link: what the calls need is served by the server's own thread, in run.
 * Owns     the child and its pipes, from begin to end of a run.
 * Limits   one line <= line_max; what we have to send beyond calls <= 1 MiB at a time.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include "mcp/link.h"

/* A link to opt->server, which is a child; opt and what it points at is borrowed. */
int mcp_client_link(struct mcp_link *out, const struct mcp_link_opt *opt,
		    struct err *e) MUSTUSE;

#endif

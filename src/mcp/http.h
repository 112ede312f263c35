/*
 * mcp/http: a link to a server behind a URL: Streamable HTTP, or HTTP+SSE of revision
 * 2024-11-05 where a server knows nothing newer.
 *
 * Each caller carries its own requests and reads what comes for them; the server's thread does
 * the handshake, lists tools, keeps the stream open on which the server speaks by itself, sends
 * notices and answers, and hands on whatever came that is no answer to a caller's request.
 *
 * A server that forgot our session gets a new one; calls that were refused for it are carried
 * again.
 *
 * Threads  the server's own, but for what callers do in mcp/calls.
 * Owns     its connections; no thread.
 * Limits   one message <= line_max; see mcp/http_talk.
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include "config/load.h"
#include "mcp/link.h"

struct mcp_http;

/* To opt->server, which has a URL; opt and what it points at is borrowed, config and
 * vars are read now. */
int mcp_http_new(struct mcp_http **out, const struct mcp_link_opt *opt,
		 const struct config *config, const struct env *vars, struct err *e) MUSTUSE;
void mcp_http_free(struct mcp_http *h); /* nobody is in its calls; NULL is fine */

/* One life, as mcp_client_live(). */
int mcp_http_live(struct mcp_http *h, const struct cancel *stop, struct mcp_ended *out);

#endif

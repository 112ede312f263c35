/*
 * mcp/auth: what one server behind a URL is shown so that it lets us in: a bearer token from a
 * variable or a file.
 *
 * It belongs to one server and is asked before each request to that server alone, so no token
 * can reach another one.  Tokens are never logged and never part of an error.
 *
 * Threads  header and challenge from any, many at once; new and free from one.
 * Blocks   header and challenge may; both end within 50 ms of c.
 * Owns     a copy of what it was made from.
 */
#ifndef MCP_AUTH_H
#define MCP_AUTH_H

#include "config/load.h"
#include "mcp/manifest.h"
#include "os/http.h"

struct mcp_auth;

struct mcp_auth_opt { /* all read during mcp_auth_new() only */
	const struct mcp_server_cfg *server;
	const struct config *config;
	const struct env *env;
};

int mcp_auth_new(struct mcp_auth **out, const struct mcp_auth_opt *opt, struct err *e) MUSTUSE;
void mcp_auth_free(struct mcp_auth *au); /* NULL is fine */

/* The headers that the next request has to carry, in an arena; n 0: none. */
struct mcp_auth_show {
	struct http_header v[2];
	size_t n;
};

/* What to show with a request of that method ("POST", ...).  E_DENIED: there should be a token and
 * is none; the sentence says what a person has to do. */
int mcp_auth_show(struct mcp_auth *au, const char *method, struct arena *a,
		  struct mcp_auth_show *out, const struct cancel *c, struct err *e) MUSTUSE;

/* The server answered with status 401 or 403 to a request that had shown used.  OK: make the
 * request once more with what mcp_auth_show() says now.  E_DENIED: a person has to do something;
 * the sentence is one line, names the server and what to do. */
int mcp_auth_challenge(struct mcp_auth *au, const struct http_resp *resp,
		       const struct mcp_auth_show *used, const struct cancel *c,
		       struct err *e) MUSTUSE;

#endif

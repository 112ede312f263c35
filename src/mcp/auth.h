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
#include "os/cancel.h"

struct mcp_auth;

struct mcp_auth_opt { /* all read during mcp_auth_new() only */
	const struct mcp_server_cfg *server;
	const struct config *config;
	const struct env *env;
};

int mcp_auth_new(struct mcp_auth **out, const struct mcp_auth_opt *opt, struct err *e) MUSTUSE;
void mcp_auth_free(struct mcp_auth *au); /* NULL is fine */

/* The value of the header Authorization for the next request, in a: "Bearer ..." or "" for none.
 * E_DENIED: there should be one and is not; the sentence says what a person has to do. */
int mcp_auth_header(struct mcp_auth *au, struct arena *a, str *value, const struct cancel *c,
		    struct err *e) MUSTUSE;

/* The server answered a request with status 401 or 403, and with this header WWW-Authenticate
 * ("" none; several are joined with ", ").  used: the value that the request had, "" none.
 * OK: make the request once more, there is something better to show now.  E_DENIED: a person has
 * to do something; the sentence is one line, names the server and what to do. */
int mcp_auth_challenge(struct mcp_auth *au, int status, str www_authenticate, str used,
		       const struct cancel *c, struct err *e) MUSTUSE;

#endif

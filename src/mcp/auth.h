/*
 * mcp/auth: what one server behind a URL is shown so that it lets us in: a bearer token from a
 * variable or a file, or one that a sign-in (OAuth 2.1) brought, kept in a file below the data
 * directory and renewed by itself.
 *
 * It belongs to one server and is asked before each request to that server alone, so no token
 * can reach another one.  Tokens are never logged and never part of an error.  What a person or
 * another process changes in the file counts at the next request.
 *
 * Threads  show and challenge from any, many at once, as all the rest; new and free from one.
 * Blocks   all with c: for the network, and for the lock of the file; they end within 50 ms of
 *          c, but a renewal that has begun ends by itself, at most ten seconds later: its
 *          answer may be the only copy of the next token.
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

/* E_INVAL: the server's URL is none. */
int mcp_auth_new(struct mcp_auth **out, const struct mcp_auth_opt *opt, struct err *e) MUSTUSE;
void mcp_auth_free(struct mcp_auth *au); /* NULL is fine */

/* The headers that the next request has to carry, in an arena; n 0: none. */
struct mcp_auth_show {
	struct http_header v[2];
	size_t n;
};

/* What to show with a request of that method ("POST", ...) to the server's URL.  A token that
 * ends soon is renewed first, unless c leaves less than ten seconds.  E_DENIED: there should be
 * a token and is none; the sentence says what a person has to do. */
int mcp_auth_show(struct mcp_auth *au, const char *method, struct arena *a,
		  struct mcp_auth_show *out, const struct cancel *c, struct err *e) MUSTUSE;

/* The server answered with status 401 or 403 to a request that had shown used.  OK: make the
 * request once more with what mcp_auth_show() says now.  E_DENIED: a person has to do
 * something; the sentence is one line, names the server and what to do.  What the server asked
 * for is kept for that sign-in. */
int mcp_auth_challenge(struct mcp_auth *au, const struct http_resp *resp,
		       const struct mcp_auth_show *used, const struct cancel *c,
		       struct err *e) MUSTUSE;

/* A person signs in.  begin: out->link is where to go, with a browser; with device out->code is
 * what to type there (in the link already when .whole).  An earlier sign-in that is not
 * finished is over with it.  E_DENIED also: this server is not signed in to by a person. */
struct mcp_auth_step {
	str link, code;
	bool whole;
	str redirect; /* how the address begins that is to be pasted */
};
int mcp_auth_begin(struct mcp_auth *au, bool device, struct arena *a, struct mcp_auth_step *out,
		   const struct cancel *c, struct err *e) MUSTUSE;

/* The end of it: paste is the whole address that the browser was sent to, or the code alone.
 * No sentence holds any of it.  E_NOENT: no sign-in is under way. */
int mcp_auth_finish(struct mcp_auth *au, str paste, const struct cancel *c,
		    struct err *e) MUSTUSE;

/* Was the code typed?  E_BUSY: not yet, ask again after *pause_ms.  E_NOENT as above. */
int mcp_auth_poll(struct mcp_auth *au, int64_t *pause_ms, const struct cancel *c,
		  struct err *e) MUSTUSE;

/* Is this the address that the browser was sent to by the sign-in under way here?  ALIKE: it
 * holds a code and looks as one of ours, but belongs to another sign-in. */
enum mcp_auth_fit { MCP_AUTH_ELSEWHERE, MCP_AUTH_ALIKE, MCP_AUTH_OURS };
enum mcp_auth_fit mcp_auth_expects(const struct mcp_auth *au, str paste);

/* Forget the token, the registration, all of it. */
int mcp_auth_forget(struct mcp_auth *au, const struct cancel *c, struct err *e) MUSTUSE;

struct mcp_auth_status {
	const char *kind; /* bearer, code, client_credentials, assertion */
	bool token; /* there is one, valid as far as is known or renewable */
	bool renewable, pending; /* a sign-in is under way */
	bool wanted; /* the server asked for one */
	int64_t until_ms; /* wall; 0 not known */
	str issuer, scope;
};
void mcp_auth_status(const struct mcp_auth *au, struct arena *a, struct mcp_auth_status *out);

#endif

/*
 * mcp/auth_cfg: how a server behind a URL is to be signed in to: the table "auth" of its entry
 * in the manifest, as plain data.
 *
 * Secrets never stand in it, only where they are: the name of a variable, or a file that is
 * read anew whenever it is needed.
 */
#ifndef MCP_AUTH_CFG_H
#define MCP_AUTH_CFG_H

#include "base/err.h"
#include "text/toml.h"

struct mcp_auth_cfg {
	str bearer_env, bearer_file; /* a token that is there already; at most one of them */
	/* Else it is signed in to. */
	str grant; /* code, client_credentials, assertion; "": code */
	str issuer; /* the only authorization server that is taken; "": the one it names */
	str client_id; /* registered there by the owner; "": by a document, else by itself */
	str client_secret_env, client_secret_file;
	str key_env, key_file; /* PEM: the client proves itself with it (private_key_jwt) */
	str client_metadata; /* URL of a client metadata document */
	str redirect_uri; /* "": one on loopback where nobody listens */
	str scopes; /* with blanks between; "": what the server says it needs */
	str assertion_env, assertion_file; /* a signed statement of who this is */
	str assertion_exchange; /* token endpoint where it is exchanged first; "": it is not */
	str assertion_client; /* our name there */
};

/* Read the table into *out, all of it in a.  E_INVAL: the sentence names the key. */
int mcp_auth_cfg_read(struct mcp_auth_cfg *out, struct arena *a, const struct toml *v,
		      struct err *e) MUSTUSE;

void mcp_auth_cfg_copy(struct arena *a, struct mcp_auth_cfg *to,
		       const struct mcp_auth_cfg *from);
bool mcp_auth_cfg_same(const struct mcp_auth_cfg *x, const struct mcp_auth_cfg *y);

#endif

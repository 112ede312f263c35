/*
 * mcp/auth_cfg: how a server behind a URL is to be signed in to: the table "auth" of its entry
 * in the manifest, as plain data.
 *
 * Secrets never stand in it, only where they are: the name of a variable, or a file that is read
 * anew whenever it is needed.
 */
#ifndef MCP_AUTH_CFG_H
#define MCP_AUTH_CFG_H

#include "base/err.h"
#include "text/toml.h"

struct mcp_auth_cfg {
	str bearer_env, bearer_file; /* a token that is there already; at most one of them */
};

/* Read the table into *out, all of it in a.  E_INVAL: the sentence names the key. */
int mcp_auth_cfg_read(struct mcp_auth_cfg *out, struct arena *a, const struct toml *v,
		      struct err *e) MUSTUSE;

void mcp_auth_cfg_copy(struct arena *a, struct mcp_auth_cfg *to,
		       const struct mcp_auth_cfg *from);
bool mcp_auth_cfg_same(const struct mcp_auth_cfg *x, const struct mcp_auth_cfg *y);

#endif

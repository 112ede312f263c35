/*
 * mcp/http_cfg: how a server behind a URL is reached: what its entry in the manifest says, as
 * plain data.
 *
 * Of the secrets in a header it says where they are: the name of a variable, or a file that is
 * read anew for each connection.
 */
#ifndef MCP_HTTP_CFG_H
#define MCP_HTTP_CFG_H

#include "config/config.h"
#include "text/toml.h"

enum mcp_transport {
	MCP_TRANSPORT_AUTO, /* Streamable HTTP, else HTTP+SSE */
	MCP_TRANSPORT_HTTP,
	MCP_TRANSPORT_SSE, /* of revision 2024-11-05 */
	MCP_TRANSPORT_STDIO, /* no URL is meant */
};

struct mcp_http_cfg {
	str url; /* absolute; "": a child */
	enum mcp_transport transport;
	/* "Name=value"; in a value ${VARIABLE} stands for what that holds. */
	struct str_list headers;
	struct str_list headers_env, headers_file; /* "Name=VARIABLE", "Name=/path" */
	str ca, proxy; /* "": as for everything else; proxy "none": none */
	bool allow_http; /* also to other machines */
};

/* Take the text of a header's value apart: up to the next ${NAME} or ${env:NAME}, which is
 * given in name and cut off with what stands before it.  False: *rest holds none. */
bool mcp_http_variable(str *rest, str *before, str *name);

/* Can it be the name of a header? */
bool mcp_http_name(str s);

/* Is it a key of these?  And one that says whether a server is behind a URL? */
bool mcp_http_cfg_has(str key);
bool mcp_http_cfg_places(str key);

/* Read the key v->key.  E_INVAL: the sentence names it. */
int mcp_http_cfg_read(struct mcp_http_cfg *out, struct arena *a, const struct toml *v,
		      struct err *e) MUSTUSE;

/* All keys are read: is the URL one that we may speak to? */
int mcp_http_cfg_check(const struct mcp_http_cfg *cfg, struct arena *a, struct err *e) MUSTUSE;

void mcp_http_cfg_copy(struct arena *a, struct mcp_http_cfg *to,
		       const struct mcp_http_cfg *from);
bool mcp_http_cfg_same(const struct mcp_http_cfg *x, const struct mcp_http_cfg *y);

#endif

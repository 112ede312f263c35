/*
 * mcp/listing: the tools of one server, collected from the pages of tools/list, and written
 * to and read from the text in which a listing is kept between runs.  Pure.
 *
 * Limits  4096 tools, 32 MiB; names of more than 256 bytes are left out.
 */
#ifndef MCP_LISTING_H
#define MCP_LISTING_H

#include "base/map.h"
#include "mcp/tool.h"
#include "text/json.h"

struct mcp_listing {
	struct arena a; /* owns the rest */
	struct mcp_tool *tools; /* in the server's order; name and server are not set */
	size_t n, cap;
	struct map seen;
	size_t dropped; /* entries without a usable name, or there already */
};

void mcp_listing_done(struct mcp_listing *l);

/* Add a page, the result of tools/list.  E_PROTO no such result, E_LIMIT; what was added
 * stays. */
int mcp_listing_add(struct mcp_listing *l, const struct json *result, struct err *e) MUSTUSE;

/* {"tools":[...]}, as one page. */
str mcp_listing_text(const struct mcp_listing *l, struct arena *a);

#endif

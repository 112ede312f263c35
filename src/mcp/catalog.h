/*
 * mcp/catalog: the tools of all servers under their published names.  Pure.
 */
#ifndef MCP_CATALOG_H
#define MCP_CATALOG_H

#include "mcp/listing.h"
#include "mcp/manifest.h"

/* One server's part. */
struct mcp_source {
	const struct mcp_server_cfg *cfg;
	const struct mcp_listing *listing;
	size_t published; /* out */
	int64_t tokens; /* out: estimated, of what is published */
};

/* All text is copied into a.  The order of the sources does not matter. */
void mcp_catalog_build(struct arena *a, struct mcp_source *v, size_t n,
		       struct mcp_catalog *out);

/* The server whose tools are published as given__tool, in any case. */
bool mcp_catalog_owner(const struct mcp_catalog *c, str given, str *server);

void mcp_catalog_copy(struct arena *a, const struct mcp_catalog *from, struct mcp_catalog *out);

#endif

/*
 * mcp/serve_parts: pieces of what a server says, for the files of mcp/serve alone.
 */
#ifndef MCP_SERVE_PARTS_H
#define MCP_SERVE_PARTS_H

#include "mcp/serve.h"

#define MCP_SERVE_STATELESS "2026-07-28"

/* Is the revision that one, or a later one?  NULL is none. */
bool serve_since(const char *revision, const char *first);

/* An answer, from its begin up to the members of its result or its error, and its end. */
void serve_begin(const struct mcp_serve_to *to, struct buf *out);
void serve_end(struct buf *out);
void serve_begin_error(const struct mcp_serve_to *to, int code, str message, struct buf *out);
void serve_end_error(struct buf *out);

/* Who answers. */
void serve_info(const struct mcp_serve_opt *opt, const char *revision, struct buf *out);

/* How long a result may be kept: it says the same as long as this process runs. */
void serve_cacheable(struct buf *out);

/* The answer to tools/list. */
void serve_tools(const struct mcp_serve_opt *opt, const struct mcp_serve_to *to,
		 struct buf *out);

#endif

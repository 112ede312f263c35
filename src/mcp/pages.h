/*
 * mcp/pages: the list of a server's tools, asked for page by page, again when it has changed,
 * and never in a tight circle.  The same in every revision.  Pure.
 *
 * Limits  200 pages, cursors of 16 KiB; a list that does not end is taken as far as it came.
 */
#ifndef MCP_PAGES_H
#define MCP_PAGES_H

#include "mcp/listing.h"
#include "mcp/rpc.h"

#include <stdatomic.h>

struct mcp_pages {
	struct mcp_listing listing; /* being collected; whole after MCP_PAGES_WHOLE */
	int64_t id; /* of the page that was asked for; 0 none */
	int64_t due_ms; /* a new list is due; 0 not */
	int64_t begun_ms; /* when the last was begun */
	int64_t ttl_ms; /* for how long the server says that it holds; 0 it does not say */
	int n;
	str cursor; /* of the page that was asked for, in the listing's arena */
};

void mcp_pages_done(struct mcp_pages *p);

/* Ask for the first page.  meta: members of the params from the first on, or "". */
void mcp_pages_ask(struct mcp_pages *p, _Atomic int64_t *ids, str meta, int64_t now_ms,
		   struct buf *out);

enum mcp_pages_state {
	MCP_PAGES_MORE, /* the next was asked for */
	MCP_PAGES_WHOLE, /* *remark: what is odd about it, or "" */
};

/* The answer to p->id.  Below 0: it is given up, E_PROTO or E_LIMIT. */
int mcp_pages_take(struct mcp_pages *p, const struct mcp_msg *m, _Atomic int64_t *ids, str meta,
		   struct buf *out, str *remark, struct err *e) MUSTUSE;

/* The server says that the list has changed. */
void mcp_pages_changed(struct mcp_pages *p, int64_t now_ms);

#endif

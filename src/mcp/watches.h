/*
 * mcp/watches: the resources of one server whose updates somebody asked for.  They outlive the
 * server: the next life of it is asked for the same.
 *
 * Threads  any.
 * Limits   256 of them, of 4096 bytes each.
 */
#ifndef MCP_WATCHES_H
#define MCP_WATCHES_H

#include "base/arena.h"
#include "base/err.h"
#include "os/wait.h"

#define MCP_WATCHES_MAX 256

struct mcp_watches;

int mcp_watches_new(struct mcp_watches **out, struct err *e) MUSTUSE;
void mcp_watches_free(struct mcp_watches *w);

/* Add, or take out, where that changes anything.  E_LIMIT too many, or too long. */
int mcp_watches_add(struct mcp_watches *w, str uri, struct err *e) MUSTUSE;
void mcp_watches_remove(struct mcp_watches *w, str uri);

size_t mcp_watches_copy(struct mcp_watches *w, struct arena *a, str **uris);

/* Rings when the set has changed. */
const struct bell *mcp_watches_bell(const struct mcp_watches *w);

#endif

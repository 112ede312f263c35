/*
 * mcp/child: the child process that a server over stdio is.
 */
#ifndef MCP_CHILD_H
#define MCP_CHILD_H

#include "mcp/link.h"
#include "os/proc.h"

/* The directory to start it in; ours: of this process. */
const char *mcp_child_cwd(struct arena *a, const char *ours, const struct mcp_server_cfg *cfg);

/* Start it, with pipes for all three.  E_DENIED: its sandbox is required and the kernel has it not;
 * else as proc_start(). */
int mcp_child_start(struct proc **out, const struct mcp_link_opt *opt,
		    const struct cancel *stop, struct err *e) MUSTUSE;

#endif

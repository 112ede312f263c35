/*
 * mcp/child: the child process that a server over stdio is.
 */
#ifndef MCP_CHILD_H
#define MCP_CHILD_H

#include "config/load.h"
#include "mcp/link.h"
#include "os/proc.h"

/* The directory to start it in; ours: of this process. */
const char *mcp_child_cwd(struct arena *a, const char *ours, const struct mcp_server_cfg *cfg);

const char *const *mcp_child_env(struct arena *a, const struct config *config,
				 const struct env *vars, const struct mcp_server_cfg *cfg);

/* What it is held to, NULL: nothing; with the limits that commands have.  command: what is run,
 * which may lie outside of the system. */
const struct sandbox *mcp_child_box(struct arena *a, const struct config *config,
				    const struct env *vars, const struct sandbox_cfg *box,
				    str command);

/* Start it, with pipes for all three.  E_DENIED: its sandbox is required and the kernel has it
 * not; else as proc_start(). */
int mcp_child_start(struct proc **out, const struct mcp_link_opt *opt,
		    const struct cancel *stop, struct err *e) MUSTUSE;

struct mcp_child_sign_in {
	const struct mcp_server_cfg *server; /* with auth_command or auth_args */
	const struct config *config;
	const struct env *vars; /* of this process */
	const char *cwd; /* of this process */
	const char *const *more; /* arguments behind those of the entry */
	size_t more_n;
};

/* Start the command by which a person signs in to it, with our own terminal, and otherwise as
 * free as the server is.  Codes as of mcp_child_start(). */
int mcp_child_sign_in(struct proc **out, const struct mcp_child_sign_in *opt,
		      struct err *e) MUSTUSE;

#endif

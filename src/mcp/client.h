/*
 * mcp/client: one life of one MCP server: a child process spoken to over its stdin and
 * stdout, one JSON object a line.
 *
 * Threads  mcp_client_run() from the server's own thread, which serves everything that the
 *          calls need; mcp_calls_do() on opt->calls from any thread.
 * Blocks   mcp_client_run() until the server is dead or stop fires.
 * Owns     the child and its pipes, from begin to end of a run.
 * Limits   one line <= line_max; what we have to send beyond calls <= 1 MiB at a time.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include "mcp/calls.h"
#include "mcp/session.h"

struct mcp_client_opt {
	const struct mcp_server_cfg *server;
	str label; /* its name as a value for the log */
	const str *secrets; /* values of its environment that the log must not show */
	size_t secrets_n;
	const char *const *env; /* of the child, whole */
	const char *cwd;
	const struct sandbox *box; /* NULL: none */
	struct mcp_calls *calls;
	struct mcp_session_opt session;
	size_t line_max;
	int64_t stall_ms; /* the child takes no byte for so long: it is dead */
	/* A list of tools came, the first or a changed one; take over *listing by moving it. */
	void (*on_tools)(void *arg, const struct mcp_session *s, struct mcp_listing *listing);
	void *arg;
};

/* How a life ended. */
struct mcp_ended {
	bool was_ready; /* the handshake had been completed */
	char why[256];
};

/* E_CANCELED: stop fired.  Else why it failed or died: E_NOENT, E_DENIED no such program,
 * E_PROTO, E_LIMIT it is no MCP server that we understand, E_TIMEOUT it hangs, E_IO it died.
 * Calls that were written have failed; those that were not wait on. */
int mcp_client_run(const struct mcp_client_opt *opt, const struct cancel *stop,
		   struct mcp_ended *out);

#endif

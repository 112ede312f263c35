/*
 * mcp/link: what carries the messages of one server is given, whether it is a child
 * (mcp/client) or behind a URL (mcp/http).  Either runs one life of the server after the other
 * in the server's own thread, and serves the open calls in it; mcp/server knows no more.
 */
#ifndef MCP_LINK_H
#define MCP_LINK_H

#include "mcp/calls.h"
#include "mcp/watches.h"
#include "os/sandbox.h"

/* How a life ended. */
struct mcp_ended {
	bool was_ready; /* the handshake had been completed */
	bool probed; /* it died of server/discover, or at least right after */
	char why[256];
};

struct mcp_link_opt {
	const struct mcp_server_cfg *server;
	struct mcp_calls *calls;
	str label; /* its name as a value for the log */
	const str *secrets; /* values of its environment that the log must not show */
	size_t secrets_n;
	/* Of a child. */
	const char *const *env; /* whole */
	const char *cwd;
	const struct sandbox *box; /* NULL: none */
	struct mcp_session_opt session;
	/* What the session is to be told with mcp_session_watch(). */
	struct mcp_watches *watches;
	size_t line_max; /* one message, in bytes */
	int64_t stall_ms; /* it takes no byte for so long: it is dead */
	/* A list of tools came, the first or a changed one; take over *listing by moving it. */
	void (*on_tools)(void *arg, const struct mcp_session *session,
			 struct mcp_listing *listing);
	/* As in mcp_host_opt; never NULL. */
	void (*on_notice)(void *arg, str method, const struct json *params);
	void *arg;
};

#endif

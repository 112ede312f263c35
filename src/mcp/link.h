/*
 * mcp/link: what carries the messages of one server: the pipes of a child (mcp/client), or
 * requests over HTTP.  mcp/server runs one life after the other on it and knows no more.
 *
 * Threads  run, open and shut from the server's own thread; call and request from any, many at
 *          once; free when nobody is in it.
 * Blocks   run until the server is dead or stop fires; call and request until the answer, their
 *          limit, or the firing of c.
 */
#ifndef MCP_LINK_H
#define MCP_LINK_H

#include "mcp/session.h"
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
	str label; /* its name as a value for the log */
	const str *secrets; /* values of its environment that the log must not show */
	size_t secrets_n;
	/* Of a child. */
	const char *const *env; /* whole */
	const char *cwd;
	const struct sandbox *box; /* NULL: none */
	struct mcp_session_opt session;
	struct mcp_watches
		*watches; /* what the session is to be told with mcp_session_watch() */
	size_t line_max; /* one message, in bytes */
	int64_t stall_ms; /* it takes no byte for so long: it is dead */
	/* A list of tools came, the first or a changed one; take over *listing by moving it. */
	void (*on_tools)(void *arg, const struct mcp_session *session,
			 struct mcp_listing *listing);
	/* As in mcp_host_opt; never NULL. */
	void (*on_notice)(void *arg, str method, const struct json *params);
	void *arg;
};

/* Of one call. */
struct mcp_limit {
	int64_t call_ms; /* without an answer or progress */
	int64_t max_ms; /* in all */
};

struct mcp_link {
	void *arg;
	/* One life.  E_CANCELED: stop fired.  Else why it failed or died: E_NOENT, E_DENIED
	 * it cannot be reached or started, E_PROTO, E_LIMIT it is no MCP server that we
	 * understand, E_TIMEOUT it hangs, E_IO it died.  Calls that were sent have failed
	 * then; those that were not may wait for the next life. */
	int (*run)(void *arg, const struct cancel *stop, struct mcp_ended *out);
	/* A server is there or will be soon: calls are taken, as they are in the beginning. */
	void (*open)(void *arg);
	/* There is none for a while: calls that wait, and those to come, fail with why. */
	void (*shut)(void *arg, const char *why);
	/* As mcp_host_call() and mcp_host_request(), of this server. */
	int (*call)(void *arg, const struct mcp_call *call, const struct mcp_limit *limit,
		    struct arena *a, struct mcp_result *result, const struct cancel *c,
		    struct err *e);
	int (*request)(void *arg, const struct mcp_request *request,
		       const struct mcp_limit *limit, struct arena *a,
		       const struct json **result, const struct cancel *c, struct err *e);
	/* For ms, less when the server says that the task is another now.  E_IO it died; what
	 * on_question of the call failed with; the codes of c. */
	int (*linger)(void *arg, struct mcp_linger *l, int64_t ms, const struct cancel *c,
		      struct err *e);
	/* The watches have changed; from any thread.  NULL: it listens to their bell. */
	void (*nudge)(void *arg);
	void (*free)(void *arg);
};

#endif

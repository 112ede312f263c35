/*
 * mcp/tasks: a call that its server has answered with a task: waiting for its end, telling of
 * it meanwhile, answering what it asks, and cancelling it.  A server without a handshake
 * decides that itself; one of 2025-11-25 is asked to, where its tool wants to be called so, and
 * asks as it does in any call.
 *
 * A task is of one server process as far as is known here: it is not looked for after a
 * restart of ours, and when its server dies the call is in doubt and says so.
 *
 * Blocks   until the task has ended, the limits are over, or c fires.
 */
#ifndef MCP_TASKS_H
#define MCP_TASKS_H

#include "mcp/call.h"

/* How its server is asked and heard: mcp_calls_request() and mcp_calls_linger() of arg, or what
 * behaves like them. */
struct mcp_asker {
	int (*request)(void *arg, const struct mcp_request *request,
		       const struct mcp_limit *limit, struct arena *a,
		       const struct json **result, const struct cancel *c, struct err *e);
	int (*linger)(void *arg, struct mcp_linger *l, int64_t ms, const struct cancel *c,
		      struct err *e);
	void *arg;
};

/* result: as it came, with .task; becomes what the call came to.  E_IO: its server died or has
 * lost it; else as mcp_host_call(). */
int mcp_tasks_await(const struct mcp_asker *asker, const struct mcp_call *call,
		    const struct mcp_limit *limit, struct arena *a, struct mcp_result *result,
		    const struct cancel *c, struct err *e) MUSTUSE;

#endif

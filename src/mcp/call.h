/*
 * mcp/call: one call of a tool: what is asked, what is told meanwhile, and what comes of it.
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include "mcp/question.h"
#include "os/cancel.h"

struct mcp_progress {
	void (*fn)(void *arg, double done, double total, str message); /* total < 0 unknown */
	void *arg;
};

struct mcp_result {
	str text; /* readable form of all content; never empty */
	bool failed; /* the tool says so (isError), or the server answered with an error */
	bool not_sent; /* the request was never written: calling again is safe */
	/* Structured content that is not what the tool promises: why, for the
	 * model; else "". */
	str mismatch;
	/* Stateless era: not done; the same call is to be made again with .state as it is here
	 * and .answers to these questions (there may be none: then at once).  text is empty. */
	bool needs_input;
	const struct mcp_question *questions;
	size_t questions_n;
	str state;
	/* Below the host only: the call became this task, that was offered in it, and, where
	 * there was a handshake, its progress is told by this. */
	const struct json *task;
	struct mcp_offer offer;
	int64_t token;
};

struct mcp_call {
	str server, tool; /* the tool by the server's own name for it */
	str args; /* JSON object text, passed on unchanged; "" and null are {} */
	str output; /* the host sets it: what its result is to be, a JSON Schema, or "" */
	bool as_task; /* the same: the tool wants to be called so (2025-11-25) */
	const struct mcp_progress *progress; /* may be NULL; called in the caller's thread */
	/* Initialize era: the server asks.  Called in the caller's thread, and may take as long
	 * as it likes: the limit of the call stands still meanwhile.  A code below 0 ends the
	 * call with it.  c also fires (CANCEL_DEADLINE) when nobody waits for the answer any
	 * more, because the server took the question back, answered the call, or died, or says
	 * that what a link was for is done: what is returned then does not matter.  NULL: such
	 * requests are refused, and none is announced where that can be said of one call
	 * (stateless era). */
	int (*on_question)(void *arg, const struct mcp_question *q, struct arena *a,
			   struct mcp_answer *out, const struct cancel *c, struct err *e);
	/* Who is asked by it, as any word: where it cannot be known which call a server asks
	 * of, and those that are open have more than one, it is refused. */
	str origin;
	void *arg;
	/* Stateless era, of a repeated call: the state that it came back with, and the object
	 * {key: result} of answers, JSON text.  "" the first time. */
	str state, answers;
};

/* Any other request. */
struct mcp_request {
	str server;
	const char *method;
	str params; /* JSON object text, "" for none */
	int64_t timeout_ms; /* 0: the limit of a call */
	/* Below the host only: it is about this task, which that call became. */
	const struct mcp_call *call;
	str task;
	int64_t token;
};

/* A caller that hears what is said of a task between two looks at it. */
struct mcp_linger {
	const struct mcp_call *call;
	str task;
	int64_t token;
	size_t asked; /* questions that were asked in the task so far */
	/* What the last time came to: progress was told; and how long questions took. */
	bool moved;
	int64_t asked_ms;
};

/* Of one call. */
struct mcp_limit {
	int64_t call_ms; /* without an answer or progress */
	int64_t max_ms; /* in all */
};

#endif

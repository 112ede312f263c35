/*
 * tools/source: what a tool is, what it answers, and where tools come from.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "mcp/question.h"
#include "os/cancel.h"

struct tool_source;
struct tx;

struct tool_spec {
	str name, title, description, schema;
	str icon; /* in words, "" none */
	str server, tool; /* for MCP tools: where it lives */
	str print; /* and what changes with all that its server says of it */
	bool safe; /* may be repeated after a crash: it only reads, or its effect is one commit
		    * with its result */
	bool shell; /* args.command is a command line: judged as one, asked about by default */
	bool destructive; /* by its own account */
	bool own_cap; /* bounds its own result: not cut to tool_result_max_chars */
	const struct tool_source *source;
	const void *impl; /* the source's own */
};

struct toolset {
	const struct tool_spec *v; /* sorted by name */
	size_t n;
	const bool *off; /* one each: there, and not to be called yet; NULL: all are on */
};

struct tool_ctx {
	str turn_id, session_id, channel, address, requester;
	str call_id; /* for on_progress */
	/* A line for the user while the tool runs; may be NULL.  Called from the tool's thread. */
	void (*on_progress)(void *arg, str call_id, double done, double total, str message);
	/* What a server asks in the midst of the call is handed here, in the tool's thread; as
	 * mcp_call.on_question.  NULL: it is refused. */
	int (*on_question)(void *arg, str call_id, const struct mcp_question *q,
			   struct arena *a, struct mcp_answer *out, const struct cancel *c,
			   struct err *e);
	bool own_only; /* of schedules only those that the requester made are there */
	bool parks; /* where a call can be made again, what is asked of a person may be left in
		     * tool_result.asks instead */
	/* Of a call that is made again: what it came back with then, and the answers, a JSON
	 * object.  "" the first time. */
	str state, answers;
	void *arg;
};

/* What was asked, and its answer when there is one already: the result, JSON text; "" a person
 * has to be asked. */
struct tool_ask {
	struct mcp_question q;
	str answer;
};

struct tool_result {
	str text; /* never empty */
	bool failed;
	bool truncated;
	bool has_exit;
	int64_t exit_code;
	bool not_run; /* provably without effect */
	/* What it does in our own database, not done yet: whoever journals the result runs it in
	 * the same transaction, at most once, so that effect and result are one commit.  It may
	 * set out's text and failed.  What it refuses is OK with out->failed, and nothing written;
	 * an error code dooms the transaction, and the call had no effect.  After a full disk or a
	 * busy database it is run again in a new transaction.  Only store functions and pure code:
	 * the writer is held.  arg lives in the arena of the call. */
	int (*effect)(void *arg, struct tx *tx, struct tool_result *out, struct err *e);
	void *effect_arg;
	/* Not done: the call is to be made again, with state, when these are answered. */
	const struct tool_ask *asks;
	size_t asks_n;
	str state;
};

/* Where tools come from. */
struct tool_source {
	const char *name;
	/* Append the specs to out (arena list through the callback add). */
	void (*list)(const struct tool_source *self, struct arena *a,
		     void (*add)(void *arg, const struct tool_spec *spec), void *arg);
	/* Run.  Tool-level failures are OK with out->failed.  E_CANCELED, E_TIMEOUT when c ended;
	 * other codes: the call may or may not have happened, the message says what is known. */
	int (*call)(const struct tool_source *self, const struct tool_spec *spec, str args,
		    const struct tool_ctx *ctx, struct arena *a, struct tool_result *out,
		    const struct cancel *c, struct err *e);
	/* All that a person has to see of a call before a yes, in place of its arguments: what
	 * it would change, in max bytes where that can be done.  "": the arguments.  It may hold
	 * anything.  NULL: always the arguments. */
	str (*preview)(const struct tool_source *self, const struct tool_spec *spec, str args,
		       size_t max, struct arena *a);
	void *arg;
};

#endif

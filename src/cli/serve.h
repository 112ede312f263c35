/*
 * cli/serve: gantry as a tool server of another host, over standard input and output.
 *
 * Main reads, writes and speaks the protocol (mcp/serve); each call that takes time has a thread,
 * which leaves its result and what it wants to show or to ask in its place of the table.  An ask
 * is a turn like any other: its row belongs to this process, and any thread of ours may come to
 * run it, so what a turn says finds its call by the address of its session, of which one call at
 * a time is under way.
 *
 * Threads  serve_run() from main.  The rest is for the files of cli/serve.
 * Limits   SERVE_CALLS calls at once; more are refused.
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "gateway/work.h"
#include "mcp/serve.h"
#include "os/permit.h"
#include "os/thread.h"
#include "policy/approver.h"

#define SERVE_CALLS 16
#define SERVE_LINES 8 /* of progress that wait to be told */
#define SERVE_LINE 200
#define SERVE_REPLY 4096 /* bytes of a line that a person answers */
#define SERVE_CHANNEL "cli"

struct serve;

struct serve_batch {
	struct arena a;
	struct buf b;
	int left; /* answers that are still missing; 0: it is free */
};

struct serve_call {
	struct serve *s;
	/* Set before the thread starts; then a is the thread's until it is over. */
	struct arena a;
	struct thread thread;
	struct bell bell; /* something happened that the thread may wait for */
	struct cancel token;
	const struct mcp_serve_tool *tool;
	const struct json *args;
	str label, address; /* ask: of its session; "" another tool */
	bool elicits;
	int64_t serial; /* grows; 0: the place is free */
	/* Main's alone. */
	struct arena wire;
	struct mcp_serve_to to;
	str token_json; /* of progress */
	struct serve_batch *batch;
	bool waits; /* its host has an answer already, and will call again with .key */
	bool silent; /* nobody waits for an answer */
	char key[ID_LEN + 1]; /* of the question that was put last */
	int64_t put; /* its number */
	int64_t question; /* of ours that is out, 0 none */
	int64_t told, told_ms, over_ms;
	/* Under serve.lock. */
	bool over; /* the result is there */
	bool turn_over;
	int turn_rc;
	int64_t row;
	char turn[ID_LEN + 1];
	bool canceled;
	char lines[SERVE_LINES][SERVE_LINE];
	size_t lines_n;
	struct mcp_serve_form asking; /* to be put to a person; the asker's memory */
	int64_t asked; /* how many in all; the number of .asking */
	bool answered, yes;
	enum mcp_serve_reply replied;
	char reply[SERVE_REPLY];
	size_t reply_n;
	const struct bell *asker;
	struct arena said_arena;
	struct buf said; /* what the turn answered */
	/* The thread's, to be read once it is over. */
	str text, structured;
	bool failed;
};

struct serve {
	struct engine *g;
	const struct config *cfg;
	struct mcp_serve_opt opt;
	struct mcp_serve peer;
	int in, out, signals; /* borrowed */
	pthread_mutex_t lock; /* guards what is said above of the calls, and .deaf */
	struct serve_call calls[SERVE_CALLS];
	struct serve_batch batches[4];
	struct bell bell; /* main has something to look at */
	struct permit deliver, claim; /* for one thread at a time */
	bool deaf; /* nobody can be asked any more */
	int64_t serials, questions;
	int signo;
	/* Of main's loop (serve.c). */
	struct mcp_lines lines;
	struct arena out_arena;
	struct buf out_buf;
	bool ended, broken; /* the input is over; the output is gone */
	int64_t until_ms; /* the calls have so long */
	int odd; /* lines that were no use, so far */
};

/* Until the input ends and the calls are over, a signal, or the output is gone.  g, cfg, the
 * descriptors and signals are set before.  E_IO: the output failed. */
int serve_run(struct serve *s, struct err *e) MUSTUSE;

/* The tools that there are with this configuration; from serve_calls.c, before. */
void serve_tools_init(struct serve *s, struct arena *a);

#endif

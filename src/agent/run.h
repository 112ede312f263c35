/*
 * agent/run: the state of one running turn, shared by turn.c, calls.c, ask.c and finish.c.
 *
 * Two arenas: the turn's, for what lives to its end, and the round's, which is freed after
 * each model call and its tools, so that a long turn stays small.
 */
#ifndef AGENT_RUN_H
#define AGENT_RUN_H

#include "agent/internal.h"
#include "agent/prompt.h"
#include "agent/sent.h"
#include "store/model_call.h"

/* Why tools are withheld from the last request of a turn. */
enum landing {
	LAND_NO,
	LAND_ROUNDS,
	LAND_CALLS,
	LAND_TOKENS,
	LAND_TIME,
	LAND_LOOP,
	LAND_MEMORY,
	LAND_SPENT
};

struct run {
	struct agent *ag;
	const struct turn *t;
	const struct turn_io *io;
	struct snapshot *snap;
	struct cancel *token; /* the turn's: deadline, and the chain above */
	struct arena *a; /* the turn's */

	struct toolset set;
	struct model_tool *tools; /* those of it that are shown */
	size_t tools_n;
	const str *held; /* with tools.dynamic: the prefixes that are on */
	size_t held_n;
	int64_t set_tokens;
	str tools_json;
	str system;
	int64_t memory_rev; /* of which it was made */
	str issuer;
	struct model_quirks quirks;

	struct message *history;
	size_t history_n;

	/* The turn's own rows, loaded again each round, in the round's arena. */
	struct message *rows;
	size_t rows_n;
	struct call *calls;
	size_t calls_n;

	int64_t round; /* of the last assistant message */
	int64_t tokens; /* used by this turn, as reported or estimated */
	int64_t est_tokens; /* of the request that is about to be sent */
	int64_t tokens_permille; /* how the model counts, against our estimates */
	int64_t fold_to; /* the history is getting full: where it should begin; 0 not yet */
	int64_t started_ms; /* monotonic */
	enum landing landing;
	bool nudged;
	int shrunk; /* how far context-length recovery went */
	bool own_first; /* the turn's own results are more than history is: shrink them first */
	const struct prompt_image *images; /* of the turn's messages */
	size_t images_n;
	bool no_images; /* the model takes none */
	str nudge; /* trailing note for the next request only, "" none */
	str prose; /* latest prose beside tool calls */

	bool forgot; /* a call of it was memory_forget */
	str refusal; /* what limit of spending ended it, in words; "" none */
	str refused_by; /* its option */

	bool waits; /* questions of it are open */
	bool parked; /* it is not ours any more */

	bool done; /* the answer is there: */
	str text, wire;
	enum model_finish finish;
	struct model_row *model_rows; /* not yet written; in the turn's arena */
	size_t model_rows_n, model_rows_cap;
	struct sent_parts parts; /* of the turn's last request */
	struct perf perf;
	_Atomic bool full_told;
};

/* calls.c: ask for, run and journal every call of the turn that has no result yet. */
int run_calls(struct run *r, struct arena *ra, struct err *e) MUSTUSE;
bool run_attended(const struct run *r); /* does somebody see questions of it? */
/* question.c: a PLANNED call of a turn that parks: with its answer it is RUNNING or has its
 * refusal (not journaled yet); else it is asked about, and r->waits is set. */
int run_question(struct run *r, const struct tool_spec *spec, struct call *call,
		 struct arena *ra, struct err *e) MUSTUSE;
/* Give the worker back until an answer comes, unless one came meanwhile. */
int run_park(struct run *r, struct err *e) MUSTUSE;

/* join.c: messages that came meanwhile become part of the turn; *joined: there were any. */
int run_join(struct run *r, bool *joined, struct err *e) MUSTUSE;

/* The tool message of a result, with the budget note where one is due. */
str run_result_wire(const struct run *r, struct arena *ra, const struct call *call, bool last);

/* classify.c: a planned call that a classifier may decide: running when it said so, else a
 * person is to be asked, with its reason. */
int run_classify(struct run *r, struct call *call, struct arena *ra, struct err *e) MUSTUSE;
/* publish.c: the tools that the next request shows. */
int run_publish(struct run *r, struct err *e) MUSTUSE;
/* In the step's transaction: calls keep their prefixes on. */
int run_tools_used(const struct run *r, struct tx *tx, const struct call *calls, size_t n,
		   struct err *e) MUSTUSE;

/* ask.c: one request; a step with calls is journaled, an answer is left in r. */
int run_ask(struct run *r, struct arena *ra, struct model_failure *fail, struct err *e) MUSTUSE;

/* images.c: the pictures of a turn's messages, as shown to the model; none: it cannot see. */
int turn_images(struct store *s, str turn_id, bool none, struct arena *a,
		const struct prompt_image **out, size_t *n, struct err *e) MUSTUSE;
int run_images(struct run *r, struct err *e) MUSTUSE;
/* The model refused them: from now on it is told of them. */
int run_images_refused(struct run *r, struct err *e) MUSTUSE;
/* The text of a turn's rows, with its pictures marked. */
str run_text_of(struct arena *a, const struct inbox_row *rows, size_t n);

/* shrink.c: collapse and cut what is over the budget, as rows first. */
int run_fit(struct run *r, struct arena *ra, struct err *e) MUSTUSE;
/* After a context-length refusal: one stage further; E_LIMIT when nothing is left to do. */
int run_shrink(struct run *r, struct arena *ra, struct err *e) MUSTUSE;
/* History and the turn's own rows, as one array. */
struct message *run_all_rows(const struct run *r, struct arena *ra, size_t *n);

/* finish.c: step (e), whatever became of the turn. */
int run_finish_done(struct run *r, struct err *e) MUSTUSE;
int run_finish_canceled(struct run *r, enum cancel_reason why, struct err *e) MUSTUSE;
int run_finish_failed(struct run *r, const struct model_failure *fail, const struct err *why,
		      struct err *e) MUSTUSE;
int run_finish_given_up(struct run *r, struct err *e) MUSTUSE;
int run_finish_spent(struct run *r, struct err *e) MUSTUSE; /* before it did anything */

/* Write the model calls that are not in the database yet. */
int run_model_rows(struct run *r, struct tx *tx, struct err *e) MUSTUSE;

/* rc is what a transaction ended with.  When there was no room, or somebody else wrote for too
 * long, wait a little under the turn's token: true means that it is worth another try. */
bool run_await_room(struct run *r, int rc, const struct err *e);

void run_trace(const struct run *r, const char *fmt, ...) PRINTF(2, 3);

#endif

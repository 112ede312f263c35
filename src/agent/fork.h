/*
 * agent/fork: a turn of the journal asked again, of another model.  Its first request goes out as
 * it was made then (system message, history, tools, pictures); a call that the model makes gets
 * the result that was recorded for it.  No tool is run, nothing is delivered, and nothing of it is
 * written but what it cost: the fork is in memory alone.
 *
 * Blocks   on the model, for each of its answers.
 * Limits   FORK_ROUNDS_MAX answers.  Limits of spending hold, those of a day and a month.
 */
#ifndef AGENT_FORK_H
#define AGENT_FORK_H

#include "agent/replay.h"

#define FORK_ROUNDS_MAX 30

struct fork_call {
	str name, args;
	const struct call *then; /* whose result it got; NULL: none was recorded */
};

struct fork_round {
	str text;
	struct fork_call *calls;
	size_t calls_n;
	struct model_usage usage;
	int64_t est_tokens; /* of the request */
	int64_t answer_tokens; /* estimated */
	int64_t ms;
	bool same_calls; /* as in the recorded turn's round of that number */
};

enum fork_end {
	FORK_ANSWERED,
	FORK_UNRECORDED, /* the last round has a call without a recorded result */
	FORK_ENDLESS, /* FORK_ROUNDS_MAX */
};

struct fork {
	struct replay past;
	const struct remade *first; /* the request it began with */
	str issuer; /* who was asked */
	struct fork_round *v;
	size_t n;
	enum fork_end end;
	str was, is; /* the answers, then and now; "" there is none */
};

/* E_NOENT, E_INVAL: as replay_turn(), and E_NOENT when no record of its first request was kept;
 * else as model_complete() with *fail, and E_LIMIT with the refusal when a limit leaves no room.
 * *out has the rounds so far also then. */
int fork_turn(struct fork *out, struct agent *ag, str id, struct arena *a,
	      struct model_failure *fail, const struct cancel *c, struct err *e) MUSTUSE;

/* What a recorded round called and said; text "" and n 0 when there is none. */
size_t fork_then(const struct fork *f, int64_t round, struct arena *a,
		 const struct call ***calls, str *text);

#endif

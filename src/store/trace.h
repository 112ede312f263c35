/*
 * store/trace: everything that is known about one turn, read in one view of the database, for
 * people who want to see where its time went.
 *
 * Limits  times and amounts as of rows_at_ms() and rows_amount(), whatever stands in the rows;
 *         TRACE_ROWS_MAX rows of each kind, the oldest; .cut says that there were more.
 */
#ifndef STORE_TRACE_H
#define STORE_TRACE_H

#include "store/store.h"

#define TRACE_ROWS_MAX 2000

struct trace_model {
	int64_t round, attempt;
	str issuer, finish, error; /* error "": it was answered */
	int64_t est_tokens; /* of the request, 0 not known */
	/* -1 not reported */
	int64_t prompt_tokens, completion_tokens, cached_tokens, written_tokens;
	int64_t answer_bytes; /* of the message that was journaled, 0 none: for estimates */
	int64_t first_token_ms, total_ms, started_at_ms;
};

struct trace_call {
	int64_t round, index;
	str id, tool, args; /* as journaled: secrets of open calls are not hidden yet */
	str state, decision, rule, decider, requester;
	bool truncated, has_exit;
	int64_t exit_code;
	int64_t duration_ms; /* -1 not over */
	int64_t created_at_ms, started_at_ms, finished_at_ms; /* 0 not (yet) */
};

struct trace_ask {
	str tool, call_id, state, reason, decided_by;
	int64_t created_at_ms, decided_at_ms; /* 0 not yet */
};

struct trace_out {
	int64_t id;
	str channel, address, kind, state, error; /* error of a piece, "" none */
	int64_t pieces, sent, unknown, dead, attempts;
	int64_t created_at_ms, finished_at_ms; /* 0 not yet */
};

struct trace {
	str id, session_id, channel, address, state, error, kind;
	int64_t rows_n; /* messages it took in */
	int64_t claims; /* how often a worker took it: more than one after a crash or a wait */
	bool cancel_requested;
	int64_t arrived_at_ms; /* its first message; 0 that is gone */
	int64_t started_at_ms, updated_at_ms, finished_at_ms; /* finished 0: not yet */
	struct trace_model *models;
	struct trace_call *calls;
	struct trace_ask *asks;
	struct trace_out *outs;
	size_t models_n, calls_n, asks_n, outs_n;
	bool cut;
};

/* The turn whose id begins so.  E_NOENT none does, E_INVAL several do. */
struct turn_found {
	str id, session_id, state;
};
int store_turn_find(struct store *s, str turn, struct arena *a, struct turn_found *out,
		    struct err *e) MUSTUSE;

/* All of it; turn as of store_turn_find(). */
int store_trace(struct store *s, str turn, struct arena *a, struct trace *out,
		struct err *e) MUSTUSE;

/* The id of the turn that started last, of a session or with "" of all.  E_NOENT: there is none. */
int store_trace_last(struct store *s, str session_id, struct arena *a, str *turn,
		     struct err *e) MUSTUSE;

#endif

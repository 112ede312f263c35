/*
 * store/question: what tool servers ask of a person in the midst of a call, as rows, beside
 * approvals and after their ways.
 *
 *	pending -> answered | declined | cancelled | expired | void
 *
 * Round 0: the call waits for it; when that is over, or cut off by a restart, it is void.  Round
 * 1 and up: the call came back for input and is planned again; what belongs to one round is
 * answered together, and the turn is parked meanwhile.
 */
#ifndef STORE_QUESTION_H
#define STORE_QUESTION_H

#include "store/message.h"

#define QUESTIONS_OF_CALL 20 /* more are not asked */

enum question_state {
	QUESTION_PENDING,
	QUESTION_ANSWERED,
	QUESTION_DECLINED,
	QUESTION_CANCELLED,
	QUESTION_EXPIRED,
	QUESTION_VOID,
};

struct question {
	str id; /* 32 hex digits */
	str session_id, turn_id, call_id, channel, address;
	str requester; /* who is asked: whoever asked for the turn */
	str server;
	int64_t round, index;
	str key; /* by which its round's call knows it; "" once the call is over */
	str params; /* of elicitation/create, JSON text; "": nothing for a person */
	str request_state; /* the call is made again with it; of index 0, "" as above */
	/* How far it is: the field that is asked now, tries at it, options that are picked, the
	 * members that are answered. */
	int64_t field, tries;
	str picks, answers;
	str result; /* for the server, JSON text; "" none (it cancels) */
	enum question_state state;
	str message_id; /* of the message that asks the field, "" not yet sent */
	int64_t posts; /* 2 and more: asked again after a restart */
	str decided_by;
	int64_t created_at_ms, expires_at_ms;
};

/* Ask one that a call waits for: the row, and the outbox row that posts it.  id is made here.
 * E_CANCELED when the turn is no longer live; E_LIMIT: the call asked too often. */
int store_question_add(struct tx *tx, const struct question *in, char id[ID_LONG_LEN + 1],
		       struct err *e) MUSTUSE;

/* A running call came back for input: its round's questions, of which those with a result are
 * answered already, and the call is planned again.  Errors as above. */
int store_question_round(struct tx *tx, const struct question *v, size_t n,
			 struct err *e) MUSTUSE;

/* E_NOENT. */
int store_question_get(struct store *s, str id, struct arena *a, struct question *out,
		       struct err *e) MUSTUSE;

/* How far it is, for whoever waits.  E_NOENT. */
int store_question_state(struct store *s, str id, enum question_state *state,
			 struct err *e) MUSTUSE;

/* Those of the last round of a call, in order; none: *n is 0. */
int store_question_of_call(struct store *s, str turn_id, str call_id, struct arena *a,
			   struct question **out, size_t *n, struct err *e) MUSTUSE;

/* One that can be answered now: pending, in time, its turn live.  E_NOENT. */
int store_question_find(struct tx *tx, str id, struct arena *a, struct question *out,
			struct err *e) MUSTUSE;

/* Those of them that ask whoever wrote where, oldest first; or the one that message asks ("" any).
 * None: *n is 0. */
struct question_find {
	str channel, address, requester, message;
};
int store_question_asking(struct tx *tx, const struct question_find *by, struct arena *a,
			  struct question **out, size_t *n, struct err *e) MUSTUSE;

/* It moved on: of q its state, field, tries, picks, answers, result and decided_by are kept.
 * When it is over, and all of its round, a parked turn is ready; when another field is asked,
 * that is posted. */
int store_question_step(struct tx *tx, const struct question *q, struct err *e) MUSTUSE;

/* The call that waited for it is over: pending becomes state. */
int store_question_end(struct tx *tx, str id, enum question_state state, struct err *e) MUSTUSE;

/* Pending ones whose time is over become expired and their parked turns ready; *n how many. */
int store_question_expire(struct tx *tx, int64_t now_ms, int64_t *n, struct err *e) MUSTUSE;

/* Its post is over: when that was refused and no message of it stands anywhere, nobody can
 * answer, and its time ends at now_ms; *over says so. */
int store_question_posted(struct tx *tx, str id, int64_t outbox_id, int64_t now_ms, bool *over,
			  struct err *e) MUSTUSE;

/* It cannot be shown, and its time ends at now_ms. */
int store_question_unseen(struct tx *tx, str id, int64_t now_ms, struct err *e) MUSTUSE;

/* After a restart: pending ones of the channel that an earlier process posted are posted once
 * more.  *n how many. */
int store_question_repost(struct tx *tx, str channel, int64_t *n, struct err *e) MUSTUSE;

/* Where a field is asked; nothing, when that is over. */
int store_question_message(struct tx *tx, str id, int64_t field, str message_id,
			   struct err *e) MUSTUSE;

/* Those of a channel whose message may have its buttons still: pending, or void since then. */
int store_question_shown(struct store *s, str channel, int64_t since_ms, struct arena *a,
			 struct question **out, size_t *n, struct err *e) MUSTUSE;

/* Pending ones, oldest first; a channel's, or with "" all. */
int store_question_list(struct store *s, str channel, struct arena *a, struct question **out,
			size_t *n, struct err *e) MUSTUSE;

#endif

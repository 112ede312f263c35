/*
 * store/approval: questions to a person, as rows: they outlive the process, and the turn
 * that asked is parked meanwhile.
 *
 *	pending -> approved -> used
 *	pending -> denied | expired
 *	approved -> expired
 *
 * A yes holds for one start of one call, with the hash it was given for, before it expires.
 */
#ifndef STORE_APPROVAL_H
#define STORE_APPROVAL_H

#include "store/message.h"

enum approval_state {
	APPROVAL_PENDING,
	APPROVAL_APPROVED,
	APPROVAL_DENIED,
	APPROVAL_EXPIRED,
	APPROVAL_USED,
};

struct approval {
	str id; /* 32 hex digits */
	str session_id, turn_id, call_id, channel, address;
	str tool;
	str command; /* the arguments in full: secrets hidden, control characters visible */
	str hash; /* over tool, arguments and directory */
	str reason; /* why it is asked */
	enum approval_state state;
	str message_id; /* of the prompt, "" not yet sent */
	int64_t posts; /* 2 and more: asked again after a restart ("still waiting") */
	str decided_by;
	int64_t created_at_ms, expires_at_ms;
};

/* Ask: the row, and the outbox row (kind approval) that posts it.  in->id is made here and
 * given in id (ID_LONG_LEN + 1 bytes).  E_CANCELED when the turn is no longer live. */
int store_approval_add(struct tx *tx, const struct approval *in, char *id,
		       struct err *e) MUSTUSE;

/* E_NOENT. */
int store_approval_get(struct store *s, str id, struct arena *a, struct approval *out,
		       struct err *e) MUSTUSE;

/* The last one asked for a call; E_NOENT none was. */
int store_approval_of_call(struct store *s, str turn_id, str call_id, struct arena *a,
			   struct approval *out, struct err *e) MUSTUSE;

/* A press of a button. */
struct approval_press {
	str id; /* of the approval */
	bool yes, always;
	str by; /* who */
	int64_t at_ms;
};

/* DECIDED: it counts, and a parked turn is ready; always also keeps a grant.  What
 * the person is told: ALREADY decided (out says how), UNKNOWN id (out untouched), EXPIRED: too
 * late, or the turn is over. */
enum approval_end {
	APPROVAL_END_DECIDED,
	APPROVAL_END_ALREADY,
	APPROVAL_END_UNKNOWN,
	APPROVAL_END_EXPIRED,
};
int store_approval_decide(struct tx *tx, const struct approval_press *press, struct arena *a,
			  struct approval *out, enum approval_end *end, struct err *e) MUSTUSE;

/* approved -> used and the planned call -> running: one compare-and-set, before its expiry.
 * E_NOENT when it is not to be had (any more): nothing changed.  E_CANCELED as
 * store_call_start(), whose call this is. */
int store_approval_use(struct tx *tx, str id, str hash, int64_t now_ms, const struct call *call,
		       struct err *e) MUSTUSE;

/* Running -> parked, while approvals or questions of it are pending; this claim is not counted.  *parked
 * false: an answer came meanwhile, the turn goes on.  E_CANCELED: it is to end. */
int store_turn_park(struct tx *tx, str turn_id, bool *parked, struct err *e) MUSTUSE;

/* Pending ones whose time is over become expired and their parked turns ready; *n how many. */
int store_approval_expire(struct tx *tx, int64_t now_ms, int64_t *n, struct err *e) MUSTUSE;

/* Its post is over: when that was refused and no prompt of it stands anywhere, nobody can
 * answer, and its time ends at now_ms; *over says so. */
int store_approval_posted(struct tx *tx, str id, int64_t outbox_id, int64_t now_ms, bool *over,
			  struct err *e) MUSTUSE;

/* After a restart: pending ones of the channel that an earlier process posted are posted once
 * more.  *n how many. */
int store_approval_repost(struct tx *tx, str channel, int64_t *n, struct err *e) MUSTUSE;

/* Where its prompt stands. */
int store_approval_message(struct tx *tx, str id, str message_id, struct err *e) MUSTUSE;

/* Pending ones, oldest first; a channel's, or with "" all. */
int store_approval_list(struct store *s, str channel, struct arena *a, struct approval **out,
			size_t *n, struct err *e) MUSTUSE;

#endif

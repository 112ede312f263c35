/*
 * store/outbox: the one door out.  Rows are raw until, in one transaction before the first
 * send, they become pieces; pieces are never split again.
 *
 *	row    (reserved ->) raw -> ready -> done | dead | dropped
 *	piece  ready -> sending -> sent | unknown | dead
 */
#ifndef STORE_OUTBOX_H
#define STORE_OUTBOX_H

#include "store/store.h"

struct outbox_new {
	str session_id; /* "" none */
	str turn_id; /* "" none */
	str channel, address;
	str kind; /* reply (ordered per address), notice, approval */
	str text; /* Markdown source */
	str reply_to;
	str owner; /* "": any daemon; else this instance delivers it (cli) */
	str approval_id; /* of kind approval: what it asks, or: */
	str question_id; /* and text: which field */
};

/* A reply takes over the reserved row of its turn, when there is one. */
int store_outbox_add(struct tx *tx, const struct outbox_new *row, int64_t *id,
		     struct err *e) MUSTUSE;

/* The first message that shows the answer while it is made was sent: a row stands for the
 * answer from now on, which becomes an edit of that message.  Never delivered by itself; a
 * turn that ends without an answer makes it say so.  Again for the same turn: the row names
 * the new message.  E_NOENT: the turn is over, or the address has moved, and its answer needs a
 * message of its own, so the channel deletes this one. */
int store_outbox_reserve(struct tx *tx, str channel, str address, str turn_id, str session_id,
			 str remote_id, struct err *e) MUSTUSE;

/* The message that shows the answer of a turn already: an earlier process began it.  E_NOENT. */
int store_outbox_reserved(struct store *s, str turn_id, struct arena *a, str *remote_id,
			  struct err *e) MUSTUSE;

/* Is an answer for this address still to be sent?  What comes after it must not show before. */
int store_outbox_waits(struct store *s, str channel, str address, bool *waits,
		       struct err *e) MUSTUSE;

struct piece_new {
	str method; /* send, edit, photo, document */
	str body; /* as sent (HTML, ANSI-free text) */
	str plain; /* its plain source */
	str remote_id; /* of an edit: the message it changes */
};

struct outbox_row {
	int64_t id;
	str session_id, turn_id, channel, address, kind, text, reply_to;
	str live_id; /* the message that showed the answer while it was made, "" none */
	str approval_id, question_id; /* of kind approval */
	bool raw;
	bool more; /* of store_outbox_next(): others wait, now or for a time */
	int64_t created_at_ms;
};

struct piece {
	int64_t id, outbox_id, order;
	str method, body, plain;
	str remote_id; /* of an edit */
	int attempts; /* sends begun, this one included */
};

/* The next row to work on for a channel: any notice or approval, or the oldest reply of an
 * address that has none in flight; not before its address's not_before time.  Marks it in
 * flight for this process until the transaction of its last piece, or one that is put off.
 * only as in store_turn_claim().  E_NOENT; then *wake_at_ms is when
 * to look again (0: when something else happens). */
int store_outbox_next(struct tx *tx, str channel, str only, struct arena *a,
		      struct outbox_row *out, int64_t *wake_at_ms, struct err *e) MUSTUSE;

/* raw -> ready with its pieces (n may be 0: the row is done).  E_INVAL: not raw, or not in
 * flight here. */
int store_outbox_split(struct tx *tx, int64_t outbox_id, const struct piece_new *pieces,
		       size_t n, struct err *e) MUSTUSE;

/* The first unfinished piece of a row becomes sending; E_NOENT when all are finished (the
 * row is then done, or dead when a piece is, and no longer in flight).  E_INVAL: the row is
 * raw, not in flight here, or a piece of it is sending. */
int store_piece_begin(struct tx *tx, int64_t outbox_id, struct arena *a, struct piece *out,
		      struct err *e) MUSTUSE;

enum piece_end {
	PIECE_SENT,
	PIECE_RETRY, /* provably unsent: ready again; its address waits until the given time */
	PIECE_UNKNOWN, /* may have arrived: not sent again by itself */
	PIECE_DEAD, /* refused for good */
	PIECE_FAULT, /* the other side's own trouble: once more at the given time, then dead */
};
/* E_INVAL: the piece is not sending. */
int store_piece_end(struct tx *tx, int64_t piece_id, enum piece_end end, str remote_id,
		    str error, int64_t not_before_at_ms, struct err *e) MUSTUSE;

/* Nothing goes out to the address before that time; with "" nothing of the whole channel. */
int store_outbox_hold(struct tx *tx, str channel, str address, int64_t not_before_at_ms,
		      struct err *e) MUSTUSE;

/* The addresses of a channel that must be left alone for a while yet; what the other side asked
 * for holds beyond a restart. */
struct outbox_wait {
	str address;
	int64_t left_ms;
};
int store_outbox_waiting(struct store *s, str channel, struct arena *a,
			 struct outbox_wait **out, size_t *n, struct err *e) MUSTUSE;

/* Is a row still in flight here?  Not when its last piece is over, or one was put off. */
int store_outbox_held(struct tx *tx, int64_t outbox_id, bool *held, struct err *e) MUSTUSE;

/* Is a part of an earlier answer unknown, and the address not told yet?  From now on it is. */
int store_outbox_tell(struct tx *tx, str channel, str address, bool *missing,
		      struct err *e) MUSTUSE;

/* A row is over, and only a part of it arrived. */
int store_outbox_partial(struct tx *tx, int64_t outbox_id, bool *partial,
			 struct err *e) MUSTUSE;

/* /resend: the unknown pieces of an address ("": of the whole channel) are to be sent again;
 * *n: how many. */
int store_outbox_resend(struct tx *tx, str channel, str address, int64_t *n,
			struct err *e) MUSTUSE;

/* Rows not yet done of an owner's or any daemon's (""), for drain and status. */
int store_outbox_pending(struct store *s, str only, int64_t *n, struct err *e) MUSTUSE;

#endif

/*
 * store/queue: the rows of inbox and outbox that are not over, or did not end well, for people:
 * to look at, to send or run once more, to take off.
 *
 * What counts: of the inbox rows that wait or are worked on, and messages whose turn failed in
 * the last seven days; of the outbox rows that wait, and those of which a part was refused or may
 * not have arrived.  A message of a turn that failed is taken off by a retry (which is a new row)
 * and by a drop.
 */
#ifndef STORE_QUEUE_H
#define STORE_QUEUE_H

#include "store/store.h"

struct queue_row {
	bool out; /* of the outbox, else of the inbox */
	int64_t id;
	str session_id, turn_id, channel, address, kind;
	/* inbox: waiting, fetching, running, parked, failed.  outbox: waiting, sending, unknown, dead. */
	str state;
	str text;
	str error; /* of the turn or of the last piece that failed */
	int64_t pieces, sent, unknown, dead;
	int64_t created_at_ms;
	int64_t wait_until_at_ms; /* it must not go out before that; 0 */
};

/* Oldest first, inbox before outbox; at most limit of each.  *more: there are others. */
int store_queue_list(struct store *s, size_t limit, struct arena *a, struct queue_row **out,
		     size_t *n, bool *more, struct err *e) MUSTUSE;

/* Once more: a message whose turn failed becomes a new row (*made is its id); the parts of an
 * outbox row that did not arrive are to be sent again (*made is 0, *n how many).
 * E_NOENT: it is not in the list; E_BUSY: it is not over; E_DENIED: it cannot be repeated like
 * this, and the sentence says what can be done. */
int store_queue_retry(struct tx *tx, bool out, int64_t id, struct arena *a, int64_t *made,
		      int64_t *n, struct err *e) MUSTUSE;

/* Take a row off: what waits is dropped, what may not have arrived is given up (/resend does not
 * send it any more).  *row is what it was.  E_NOENT; E_BUSY: it is worked on right now. */
int store_queue_drop(struct tx *tx, bool out, int64_t id, struct arena *a,
		     struct queue_row *row, struct err *e) MUSTUSE;

#endif

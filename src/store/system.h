/*
 * store/system: work of our own that is no turn: folding old turns into a summary, tidying up
 * memory, polling a watch.  A row takes no session's place and waits for nobody; it survives a
 * restart, and there is at most one at a time for (what, key).
 *
 *	add -> ready -> claimed -> (gone)
 *	         ^         |
 *	         +---------+  retry, release, its owner died
 *
 * The effect of the work and store_system_done() belong into one transaction: then it happens
 * once, however often the work is begun.
 */
#ifndef STORE_SYSTEM_H
#define STORE_SYSTEM_H

#include "store/store.h"

#define SYSTEM_RENEW "renew" /* somewhere a conversation began afresh */

struct system_new {
	str what; /* a word of the table in agent/system.c */
	str key; /* what it is about: a session, a watch; "" there is only one */
	str text; /* for its handler, "" nothing */
	int64_t ready_at_ms; /* wall; 0: now */
};

struct system_row {
	int64_t id;
	str what, key, text;
	int attempts; /* this one included */
	int64_t created_at_ms;
	int64_t ready_at_ms; /* for the caller's use */
};

/* Insert, unless there is one with this what and key already.  One that waits is moved forward
 * to ready_at_ms if nothing of it failed yet; one that is being worked on is done once more
 * afterwards, from ready_at_ms on. */
int store_system_add(struct tx *tx, const struct system_new *row, struct err *e) MUSTUSE;

/* The row that has been ready longest is this process's; not_what: none of this kind ("" any).
 * E_NOENT: none is ready. */
int store_system_claim(struct tx *tx, str not_what, struct arena *a, struct system_row *out,
		       struct err *e) MUSTUSE;

/* Is such a row ready? */
int store_system_ready(struct store *s, str not_what, bool *ready, struct err *e) MUSTUSE;

/* It is over: gone, or ready again when it was added meanwhile.  E_CANCELED: it is not this
 * process's (any more), and the transaction is doomed. */
int store_system_done(struct tx *tx, int64_t id, struct err *e) MUSTUSE;

/* It failed: again after a while that grows with its attempts, from half a minute to an hour. */
int store_system_retry(struct tx *tx, int64_t id, str error, struct err *e) MUSTUSE;

/* Put down unfinished: ready from a time on, or at once (shutdown), and this attempt does not
 * count. */
int store_system_put_off(struct tx *tx, int64_t id, int64_t at_ms, struct err *e) MUSTUSE;
int store_system_release(struct tx *tx, int64_t id, struct err *e) MUSTUSE;

/* When the next row is ready (wall, it may be past); 0: none waits. */
int store_system_next_at(struct store *s, int64_t *at_ms, struct err *e) MUSTUSE;

#endif

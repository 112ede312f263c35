/*
 * store/consolidate: which episodes and summaries have not been looked at for what is worth
 * keeping in them.
 */
#ifndef STORE_CONSOLIDATE_H
#define STORE_CONSOLIDATE_H

#include "store/store.h"

#define CONSOLIDATE_ATTEMPTS 3 /* after so many bad answers one is left as it is */

struct consolidate_item {
	bool summary; /* of a session; else an episode */
	str key; /* the session's id; the row's */
	str mark; /* which version of it was read */
	str text; /* "subject: content"; the summary */
};

/* What is new: active episodes, the oldest first, and summaries of sessions that were used within
 * a month. */
int store_consolidate_next(struct store *s, int64_t episodes, int64_t summaries,
			   struct arena *a, struct consolidate_item **out, size_t *n,
			   struct err *e) MUSTUSE;

/* Is it still there, active, and as it was read? */
int store_consolidate_same(struct tx *tx, const struct consolidate_item *item, bool *same,
			   struct err *e) MUSTUSE;

/* It was looked at; or nothing could be made of it, which counts. */
int store_consolidate_done(struct tx *tx, const struct consolidate_item *item,
			   struct err *e) MUSTUSE;
int store_consolidate_failed(struct tx *tx, const struct consolidate_item *item,
			     struct err *e) MUSTUSE;

/* Forget about what is not there any more. */
int store_consolidate_prune(struct tx *tx, struct err *e) MUSTUSE;

#endif

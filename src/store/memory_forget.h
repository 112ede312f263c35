/*
 * store/memory_forget: forgetting what is remembered, so that no later request has it.
 *
 * A forgotten row leaves its table, the indexes, context blocks, answers and arguments of memory
 * tools, snapshots, summaries and recorded requests at once.  What people and the model said in
 * their own words stays theirs; so that a summary of that does not bring the row back, a tombstone
 * is kept as long as a conversation goes on that was there and is not folded since.  A row that
 * came back, by its id or its words, has none.
 */
#ifndef STORE_MEMORY_FORGET_H
#define STORE_MEMORY_FORGET_H

#include "store/memory.h"

/* Delete the rows, with all that they superseded, from the tables, the indexes, the context
 * blocks and answers of memory tools in all conversations, the snapshots, the summaries and the recorded requests.
 * *gone is what went.  With a session ("" none) they can come back until its next epoch. */
int store_memory_forget(struct tx *tx, const int64_t *ids, size_t ids_n, str session_id,
			struct arena *a, struct memory **gone, size_t *n,
			struct err *e) MUSTUSE;

/* What the session's last forgetting took comes back, as rows, but what is there again by its id.
 * *n is 0 when there is none. */
int store_memory_unforget(struct tx *tx, str session_id, struct arena *a, struct memory **back,
			  size_t *n, struct err *e) MUSTUSE;

/* Rows that somebody deleted without this module (a foreign shell) leave, too, what forgetting
 * makes them leave.  Cheap when there are none; for whoever makes a request. */
int store_memory_settle(struct tx *tx, struct err *e) MUSTUSE;

/* The same in a transaction of its own, if there are any; and what was kept of forgotten rows
 * goes where nothing can say them any more. */
int store_memory_settle_now(struct store *s, const struct cancel *c, struct err *e) MUSTUSE;

/* A turn is over: what its calls of memory_forget listed, and asked for, becomes ids alone. */
int store_memory_hush(struct tx *tx, str turn_id, struct err *e) MUSTUSE;

/* What is left of a text without the sentences that say what was forgotten and is not remembered
 * anew: whoever forgot it, as long as a conversation goes on that may have said it before and
 * was not folded since.  *out is in a or the text itself. */
int store_memory_unsaid(struct tx *tx, str text, struct arena *a, str *out,
			struct err *e) MUSTUSE;

#endif

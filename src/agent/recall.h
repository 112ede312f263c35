/*
 * agent/recall: what of memory goes into prompts, at most 30 rows.
 *
 *	system   a snapshot of what holds (preferences, people, facts, insights), at most 20 rows,
 *	         made once for an epoch and kept, so that prompts begin alike
 *	user     the rows that a message is about, in its context block
 *
 * The snapshot is made anew when a conversation begins or its summary changes, when memory was
 * changed by anything but what chats added, and after an hour without a turn.
 */
#ifndef AGENT_RECALL_H
#define AGENT_RECALL_H

#include "agent/run.h"

struct recall {
	str block; /* "\n\n[memory]\n- ...", "" nothing */
	const int64_t *ids; /* of its lines */
	size_t n;
};

/* For a message of a turn, inside the transaction that adds it: the snapshot is up to date
 * afterwards, and out has what the message is about and the snapshot does not. */
int recall_message(struct agent *ag, struct tx *tx, const struct turn *t, str said,
		   struct arena *a, struct recall *out, struct err *e) MUSTUSE;

/* The lines of the turn's snapshot; "" none. */
int recall_snapshot(struct run *r, str *lines, struct err *e) MUSTUSE;

/* Where a server remembers: ask it about a new turn's message, before the first request.  What
 * it does not know, or not in time, is left out. */
int recall_from_server(struct run *r, struct err *e) MUSTUSE;

#endif

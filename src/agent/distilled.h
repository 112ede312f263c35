/*
 * agent/distilled: what the model made of episodes and summaries, read with suspicion.  Pure.
 */
#ifndef AGENT_DISTILLED_H
#define AGENT_DISTILLED_H

#include "base/arena.h"
#include "base/err.h"

#define DISTILLED_MAX 64 /* items of one answer; what comes after is left out */
#define DISTILLED_REPLACES 16 /* rows one item may take the place of */

struct distilled {
	str kind, subject, content; /* kind: fact, preference, person or insight */
	str contradicts; /* a sentence of the persona: then it is for a human, "" it does not */
	int64_t replaces[DISTILLED_REPLACES]; /* ids, of those that were shown */
	size_t replaces_n;
};

/* A JSON array of {kind, subject, content, supersedes, contradicts} in whatever stands around it
 * (a fence, prose).  An item that is none is left out and does not spoil the others: an unknown
 * kind or an episode, nothing said, too long.  Ids may be written as text; only those in shown
 * count.  E_PROTO: there is no such array. */
int distilled_read(str answer, const int64_t *shown, size_t shown_n, struct arena *a,
		   struct distilled **out, size_t *n, struct err *e) MUSTUSE;

#endif

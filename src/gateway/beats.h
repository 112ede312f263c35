/*
 * gateway/beats: when each thread of the daemon last moved, in memory, and from time to time as
 * rows of heartbeats for those outside.
 *
 * Threads  beats_move() and beats_busy() from the thread that moves; the rest from the clock.
 */
#ifndef GATEWAY_BEATS_H
#define GATEWAY_BEATS_H

#include "gateway/turns.h"
#include "store/health.h"
#include "store/state.h"

#include <stdatomic.h>

#define BEATS_DELIVER 4
#define BEATS_PARTS 4

struct beats {
	/* Monotonic ms; 0: it has not begun, or its turn speaks for it. */
	_Atomic int64_t poll, deliver[BEATS_DELIVER], worker[TURNS_MAX];
	_Atomic bool heard; /* the channel's other side, since the last row */
};

void beats_move(_Atomic int64_t *slot);
void beats_busy(_Atomic int64_t *slot);

/* The heartbeats of all parts, in one transaction: of several threads that of the slowest. */
int beats_write(struct beats *b, struct store *s, const struct cancel *c,
		struct err *e) MUSTUSE;
/* The same, but only when there are none yet, *wrote, so that a start waits for the disk only once
 * in the life of a file: what an earlier daemon left does until the clock turns (gateway/health). */
int beats_first(struct beats *b, struct store *s, bool *wrote, const struct cancel *c,
		struct err *e) MUSTUSE;
/* The same as rows would have them now; how many.  Any thread. */
size_t beats_read(struct beats *b, struct heartbeat rows[BEATS_PARTS]);

#endif

/*
 * gateway/feed: what the service manager hears of the daemon: ready, its health as a line, stopping,
 * and the food of its watchdog.
 *
 * The clock thread calls feed_look(), so a clock that hangs feeds nothing; and only what
 * gateway/health does not call dead is fed, so a poll, a deliverer, a worker or a turn that hangs
 * ends the feeding too.  It looks at the threads' own times, not at the rows they become: a disk
 * that is full is no reason for a restart.
 *
 * Threads  feed_ready() and feed_stopping() from main, feed_look() from the clock.
 */
#ifndef GATEWAY_FEED_H
#define GATEWAY_FEED_H

#include "gateway/beats.h"
#include "gateway/engine.h"
#include "os/notify.h"

struct feed {
	const struct notify *to; /* NULL or without a socket: nothing is done at all */
	int64_t step_max_ms;
	int64_t next_ms; /* monotonic; when to look again */
	bool starved; /* said in the log */
};

void feed_init(struct feed *f, const struct notify *to, const struct config *cfg);
void feed_ready(const struct feed *f, const char *channel);
void feed_stopping(const struct feed *f);

/* Feed when it is time to.  When to call again, monotonic; INT64_MAX never. */
int64_t feed_look(struct feed *f, struct engine *g, struct beats *b);

/* The longest step of a turn that configuration and manifest allow (gateway/health.h). */
int64_t feed_step_max(const struct config *cfg, struct arena *a);

#endif

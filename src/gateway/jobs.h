/*
 * gateway/jobs: what the clock does about schedules.  It turns due jobs into inbox rows and
 * settles their ends; it never runs anything itself.
 *
 * Threads  one, the clock's.
 * Blocks   on transactions only.
 */
#ifndef GATEWAY_JOBS_H
#define GATEWAY_JOBS_H

#include "gateway/engine.h"
#include "store/job.h"

struct jobs {
	int64_t up_since_ms; /* wall: when this process began to look; 0: at the first look */
	int64_t seen_ms; /* wall, at the last look */
	bool zoneless; /* a job waits for its zone, and that was said */
	char passed_by[512]; /* zones left out of the looks that follow at once, one a line */
	int64_t zones_at_ms; /* monotonic: when zone files are looked at next */
};

/* The jobs of the configuration as they would be from now on; they have no ids. */
int jobs_of_config(const struct cron_cfg *cfg, struct arena *a, struct job **out, size_t *n,
		   struct err *e) MUSTUSE;

/* The jobs of the configuration become rows; those it names no more are switched off. */
int jobs_sync(struct store *s, const struct cron_cfg *cfg, const struct cancel *c,
	      struct err *e) MUSTUSE;

/* One look: *next_at_ms (wall) is when the next one is due, at most the tick away. */
int jobs_tick(struct engine *g, struct jobs *j, const struct cancel *c, int64_t *next_at_ms,
	      struct err *e) MUSTUSE;

#endif

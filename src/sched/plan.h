/*
 * sched/plan: a job is due; which of its times is run, which are skipped and why, and when it is
 * due next.  Pure.
 *
 * Of the times that have passed at most one is run, the last.  A job made in a chat runs it
 * however late, a one-shot up to a day; a job of the configuration only when it is at most ten
 * minutes late and the program has been running since before it, unless it is told to catch up.
 */
#ifndef SCHED_PLAN_H
#define SCHED_PLAN_H

#include "sched/when.h"

#define PLAN_ONCE_MAX_MS (INT64_C(24) * 3600000) /* how late a one-shot may run */
#define PLAN_LATE_MAX_MS (INT64_C(10) * 60000) /* how late a job that does not catch up */
#define PLAN_SKIPS_MAX 2
#define PLAN_COUNT_MAX 20000 /* skipped times are counted up to here */

struct plan_in {
	const struct sched *s;
	const struct zone *z;
	int64_t due_at_ms; /* the time it waits for; not after now_ms */
	int64_t now_ms, up_since_ms;
	bool strict; /* does not catch up */
	bool running; /* an earlier run is not over */
};

/* Times that are not run: n of them, from the first to the last. */
struct plan_skip {
	int64_t from_ms, to_ms, n;
	const char *reason; /* down, late, overlap, expired */
};

struct plan {
	int64_t run_at_ms; /* the time that is run now; 0: none */
	struct plan_skip skips[PLAN_SKIPS_MAX];
	size_t skips_n;
	int64_t next_at_ms; /* 0: never again */
};

void sched_plan(struct plan *out, const struct plan_in *in);

#endif

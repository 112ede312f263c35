/*
 * What to do about a job that is due.
 */
#include "sched/plan.h"

static void skip(struct plan *p, int64_t from, int64_t to, int64_t n, const char *reason)
{
	if (n > 0)
		p->skips[p->skips_n++] = (struct plan_skip){ from, to, n, reason };
}

/* The last time that is not after now; *n: how many there are, *before: the one before it. */
static int64_t last_due(const struct plan_in *in, int64_t *n, int64_t *before)
{
	int64_t at = in->due_at_ms, next;

	*n = 1;
	*before = 0;
	while (sched_next(in->s, in->z, in->due_at_ms, at, &next, NULL) == OK &&
	       next <= in->now_ms) {
		*before = at;
		at = next;
		if (++*n < PLAN_COUNT_MAX)
			continue;
		/* A day away is found by steps, years of minutes are not. */
		int64_t jump = in->now_ms - INT64_C(2) * 86400000;
		if (at < jump &&
		    sched_next(in->s, in->z, in->due_at_ms, jump, &next, NULL) == OK &&
		    next <= in->now_ms)
			at = next;
	}
	return at;
}

static void plan_once(struct plan *p, const struct plan_in *in)
{
	if (in->running)
		skip(p, in->due_at_ms, in->due_at_ms, 1, "overlap");
	else if (in->now_ms - in->due_at_ms > PLAN_ONCE_MAX_MS)
		skip(p, in->due_at_ms, in->due_at_ms, 1, "expired");
	else
		p->run_at_ms = in->due_at_ms;
}

void sched_plan(struct plan *out, const struct plan_in *in)
{
	int64_t n, before, minute = in->up_since_ms - in->up_since_ms % 60000;
	const char *missed;

	*out = (struct plan){ 0 };
	if (in->s->kind == SCHED_ONCE) {
		plan_once(out, in);
		return;
	}
	int64_t last = last_due(in, &n, &before);
	bool down = last < minute;
	missed = in->due_at_ms < minute ? "down" : "late";
	if (in->strict && (down || in->now_ms - last > PLAN_LATE_MAX_MS)) {
		skip(out, in->due_at_ms, last, n, missed);
	} else {
		skip(out, in->due_at_ms, before, n - 1, missed);
		if (in->running)
			skip(out, last, last, 1, "overlap");
		else
			out->run_at_ms = last;
	}
	if (sched_next(in->s, in->z, in->due_at_ms, in->now_ms, &out->next_at_ms, NULL) < 0)
		out->next_at_ms = 0;
}

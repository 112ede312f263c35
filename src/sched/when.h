/*
 * sched/when: "in 30m", "tomorrow 9am", "every weekday at 8": what a person or a model says about
 * a time, as a schedule; and a time in words.  Pure: the clock and the zone are arguments.
 *
 *	when    in 30m | in 2 days | 17:00 | 5pm | noon | tomorrow 9am | friday 18:00 |
 *	        2026-12-24 18:00 | 2026-12-24T18:00:00+01:00 | every:1h | 0 8 * * 1-5 | @daily
 *	        (with repeat every: or cron also now: it is when the beat begins)
 *	repeat  once | daily | weekdays | weekly | every:1h | a cron expression
 */
#ifndef SCHED_WHEN_H
#define SCHED_WHEN_H

#include "sched/cron.h"

enum sched_kind {
	SCHED_ONCE, /* at an instant */
	SCHED_EVERY, /* each so often, in real time */
	SCHED_DAILY,
	SCHED_WEEKDAYS, /* Monday to Friday */
	SCHED_WEEKLY,
	SCHED_CRON,
};

#define SCHED_EVERY_MIN_MS INT64_C(60000)
#define SCHED_EVERY_MAX_MS (INT64_C(366) * 86400000)

struct sched {
	enum sched_kind kind;
	/* As it is kept: an RFC 3339 instant, "1h30m", "17:00", "fri 18:00", a cron expression. */
	str expr;
	int64_t first_at_ms; /* when it is due first, after the now it was made at */
	int64_t every_ms;
	struct cron cron; /* of the kinds that keep to the wall clock */
};

const char *sched_kind_word(enum sched_kind kind); /* once, every, ... */

/* Understand what was said at now.  E_INVAL, with what would be understood. */
int when_parse(struct sched *out, struct arena *a, str when, str repeat, int64_t now_ms,
	       const struct zone *z, struct err *e) MUSTUSE;

/* Read back what was kept.  first_at_ms is set of SCHED_ONCE only. */
int sched_load(struct sched *out, struct arena *a, str kind, str expr, struct err *e) MUSTUSE;

/* When it is due next, strictly after the given time; an interval counts from base_ms, a time it
 * was due.  E_NOENT: never again. */
int sched_next(const struct sched *s, const struct zone *z, int64_t base_ms, int64_t after_ms,
	       int64_t *out, struct err *e) MUSTUSE;

/* A duration as Go writes it, with d and w and English words too: "90m", "1h30m", "2 days".
 * False when it is none; at most ten years. */
bool when_duration(str s, int64_t *ms);

/* "1h30m" */
str when_duration_text(struct arena *a, int64_t ms);

/* "today at 17:00 CET (in 30 minutes)", "Friday 4 December 2026 at 18:00 CET (in 4 days)". */
str when_words(struct arena *a, const struct zone *z, int64_t at_ms, int64_t now_ms);

/* The next n (at most 16) due times from first_at_ms on in words, joined by "; ". */
str when_next_words(const struct sched *s, struct arena *a, const struct zone *z,
		    int64_t first_at_ms, int64_t now_ms, int n);

/* "Monday 2026-11-30 17:00 CET (Europe/Berlin)", the line the model reads the time from. */
str when_clock(struct arena *a, const struct zone *z, int64_t now_ms);

#endif

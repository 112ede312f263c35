/*
 * sched/cron: five-field cron expressions and when they are next due.  Pure.
 *
 *	minute hour day-of-month month day-of-week
 *
 * Each field is *, a number, a range a-b, either with a step (/n; a/n runs from a to the end), or
 * a list of these.  Months and weekdays may be English names of three letters; 7 is Sunday.
 * Where both day fields are restricted a day matches when either does; a field that begins with *
 * (also with a step) counts as unrestricted, and then both have to match.
 *
 * At a clock change: an expression that names its hours keeps to the wall clock (a time that
 * is left out is due once, at the instant of the change; one that comes twice, the first time).
 * One that is due in all 24 hours goes by real time: every minute the clock shows a matching
 * time, however often.
 */
#ifndef SCHED_CRON_H
#define SCHED_CRON_H

#include "sched/zone.h"

struct cron {
	uint64_t minutes;
	uint32_t hours, days, months, weekdays; /* bit sets; days from 1, months from 1 */
	bool days_star, weekdays_star;
};

#define CRON_EXPR_MAX 256

/* E_INVAL, with what is wrong and what to write instead: also for a date that never comes. */
int cron_parse(struct cron *out, str expr, struct err *e) MUSTUSE;

/* The first instant after the given one, in Unix seconds; E_NOENT when there is none within a
 * century. */
int cron_next(const struct cron *c, const struct zone *z, int64_t after_s, int64_t *out,
	      struct err *e) MUSTUSE;

#endif

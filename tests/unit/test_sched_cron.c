/*
 * Cron expressions: what is taken, what is refused and how, and when they are due, clock changes
 * above all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/date.h"
#include "config/zones.h"
#include "sched/cron.h"

static const struct {
	const char *expr, *says; /* NULL: it is fine */
} exprs[] = {
	{ "* * * * *", NULL },
	{ "  0\t8   * * 1-5  ", NULL },
	{ "0,15,30-40/5,59 */2 1-31 jan-DEC sun,Tue,7", NULL },
	{ "5/15 10/3 * * mon/2", NULL },
	{ "0 0 * * sat-sun", NULL },
	{ "0 0 29 2 *", NULL },
	{ "0 0 29 feb thu", NULL },
	{ "@daily", NULL },
	{ "@HOURLY", NULL },
	{ "@5minutes", NULL },
	{ "*/90 * * * *", NULL },
	{ "", "not 0" },
	{ "* * * *", "not 4" },
	{ "0 0 8 * * 1", "not 6; seconds and years are not supported" },
	{ "0 0 8 * * 1 2026", "not 7; seconds and years are not supported" },
	{ "60 * * * *", "minute: 60 is not in 0 to 59" },
	{ "* 24 * * *", "hour: 24 is not in 0 to 23" },
	{ "* * 0 * *", "day-of-month: 0 is not in 1 to 31" },
	{ "* * 32 * *", "day-of-month: 32" },
	{ "* * * 0 *", "month: 0" },
	{ "* * * 13 *", "month: 13" },
	{ "* * * * 8", "day-of-week: 8 is not in 0 to 7" },
	{ "* * * * -1", "day-of-week" },
	{ "*/0 * * * *", "the step of \"*/0\" must be a number from 1" },
	{ "*/ * * * *", "step" },
	{ "*/x * * * *", "step" },
	{ "1- * * * *", "minute" },
	{ "-1 * * * *", "minute" },
	{ "5-1 * * * *", "minute: the range 5-1 ends before it begins" },
	{ "1,,2 * * * *", "an item of the list is empty" },
	{ ", * * * *", "an item of the list is empty" },
	{ "1, * * * *", "an item of the list is empty" },
	{ "+1 * * * *", "\"+1\" is not a number" },
	{ "1.5 * * * *", "not a number" },
	{ "99999999999 * * * *", "not a number" },
	{ "* * * foo *", "\"foo\" is not a number or a name of three letters" },
	{ "* * * * monday", "not a number or a name" },
	{ "mon * * * *", "minute: \"mon\" is not a number" },
	{ "0 0 L * *", "L, W, # and ? are not supported" },
	{ "0 0 15W * *", "L, W, # and ? are not supported" },
	{ "0 0 * * 1#2", "L, W, # and ? are not supported" },
	{ "0 0 ? * *", "L, W, # and ? are not supported" },
	{ "0 0 30 2 *", "a date that never comes" },
	{ "0 0 31 4,6,9,11 *", "a date that never comes" },
	{ "0 0 31 2 *", "a date that never comes" },
	{ "@reboot", "@reboot is no macro" },
	{ "@every 5m", "is no macro" },
	{ "@", "is no macro" },
};

static void expressions_are_taken_or_refused_with_what_is_wrong(void **state)
{
	for (size_t i = 0; i < COUNT(exprs); i++) {
		struct cron c = { .minutes = 77 };
		struct err e = { 0 };
		int rc = cron_parse(&c, str_of(exprs[i].expr), &e);

		if (rc != (exprs[i].says ? E_INVAL : OK) ||
		    (exprs[i].says && !str_has(str_of(e.msg), str_of(exprs[i].says))))
			fail_msg("\"%s\": %d %s", exprs[i].expr, rc, e.msg);
		if (rc < 0)
			assert_int_equal(c.minutes, 77);
	}
}

static int64_t at(const char *text)
{
	int64_t ms = 0;
	bool zoned;

	if (!date_parse_rfc3339(str_of(text), &ms, &zoned) || !zoned)
		fail_msg("%s", text);
	return ms / 1000;
}

static const struct {
	const char *expr, *zone, *from;
	const char *next[4];
} due[] = {
	{ "* * * * *",
	  "UTC",
	  "2026-11-30T09:00:00Z",
	  { "2026-11-30T09:01:00Z", "2026-11-30T09:02:00Z" } },
	{ "* * * * *", "UTC", "2026-11-30T09:00:59Z", { "2026-11-30T09:01:00Z" } },
	{ "0 0 1 1 *", "UTC", "2026-11-30T09:00:00Z", { "2027-01-01T00:00:00Z" } },
	{ "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", { "2104-02-29T00:00:00Z" } },
	{ "30 7 * * 1-5",
	  "UTC",
	  "2026-11-27T07:30:00Z",
	  { "2026-11-30T07:30:00Z", "2026-12-01T07:30:00Z" } },
	/* Both day fields: either; one that begins with *: both. */
	{ "0 0 13 * 5",
	  "UTC",
	  "2026-11-12T00:00:00Z",
	  { "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z",
	    "2026-12-04T00:00:00Z" } },
	{ "0 0 */2 * mon",
	  "UTC",
	  "2026-11-01T00:00:00Z",
	  { "2026-11-09T00:00:00Z", "2026-11-23T00:00:00Z", "2026-12-07T00:00:00Z" } },
	{ "0 0 1 * */3",
	  "UTC",
	  "2026-11-02T00:00:00Z",
	  { "2027-05-01T00:00:00Z", "2027-08-01T00:00:00Z" } },
	{ "0 12 * * 7", "UTC", "2026-11-30T00:00:00Z", { "2026-12-06T12:00:00Z" } },
	{ "0 12 * * sat-sun",
	  "UTC",
	  "2026-11-30T00:00:00Z",
	  { "2026-12-05T12:00:00Z", "2026-12-06T12:00:00Z", "2026-12-12T12:00:00Z" } },
	/* A week has one Sunday, however it is counted. */
	{ "0 0 * * mon/2",
	  "UTC",
	  "2026-12-02T00:00:00Z",
	  { "2026-12-04T00:00:00Z", "2026-12-07T00:00:00Z", "2026-12-09T00:00:00Z" } },
	{ "58/1 23 31 12 *",
	  "UTC",
	  "2026-11-30T00:00:00Z",
	  { "2026-12-31T23:58:00Z", "2026-12-31T23:59:00Z", "2027-12-31T23:58:00Z" } },
	/* Left out: once, at the change; then as ever. */
	{ "30 2 * * *",
	  "America/New_York",
	  "2026-03-08T06:59:00Z",
	  { "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z" } },
	{ "0,20,40 2 * * *",
	  "America/New_York",
	  "2026-03-08T06:59:00Z",
	  { "2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z" } },
	{ "30 2,3 * * *",
	  "America/New_York",
	  "2026-03-08T06:59:00Z",
	  { "2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z" } },
	/* Twice: the first time. */
	{ "30 1 * * *",
	  "America/New_York",
	  "2026-11-01T05:29:00Z",
	  { "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z" } },
	{ "*/20 1 * * *",
	  "America/New_York",
	  "2026-11-01T05:30:00Z",
	  { "2026-11-01T05:40:00Z", "2026-11-02T06:00:00Z" } },
	/* Of all hours: real time. */
	{ "*/15 * * * *",
	  "America/New_York",
	  "2026-03-08T06:44:00Z",
	  { "2026-03-08T06:45:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:15:00Z" } },
	{ "*/30 * * * *",
	  "America/New_York",
	  "2026-11-01T05:29:00Z",
	  { "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z",
	    "2026-11-01T07:00:00Z" } },
	{ "15 0-23 * * *",
	  "America/New_York",
	  "2026-11-01T05:00:00Z",
	  { "2026-11-01T05:15:00Z", "2026-11-01T06:15:00Z", "2026-11-01T07:15:00Z" } },
	/* Half an hour, midnight, a day that was never there. */
	{ "15 2 * * *",
	  "Australia/Lord_Howe",
	  "2026-10-03T12:00:00Z",
	  { "2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z" } },
	{ "45 1 * * *",
	  "Australia/Lord_Howe",
	  "2026-04-04T12:00:00Z",
	  { "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z" } },
	{ "*/15 * * * *",
	  "Australia/Lord_Howe",
	  "2026-10-03T15:14:00Z",
	  { "2026-10-03T15:15:00Z", "2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z" } },
	{ "0 0 * * *",
	  "America/Santiago",
	  "2026-09-05T12:00:00Z",
	  { "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z" } },
	{ "0 0 * * *",
	  "America/Santiago",
	  "2026-04-04T02:00:00Z",
	  { "2026-04-04T03:00:00Z", "2026-04-05T04:00:00Z", "2026-04-06T04:00:00Z" } },
	{ "0 9 * * *",
	  "Pacific/Apia",
	  "2011-12-29T20:00:00Z",
	  { "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z" } },
	{ "0 9 30 12 *",
	  "Pacific/Apia",
	  "2011-12-29T20:00:00Z",
	  { "2011-12-30T10:00:00Z", "2012-12-29T19:00:00Z" } },
};

static void due_times_keep_the_documented_rules(void **state)
{
	for (size_t i = 0; i < COUNT(due); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const struct zone *z;
		struct cron c;
		struct err e = { 0 };
		int64_t t = at(due[i].from);

		if (zone_load(&z, &a, str_of(due[i].zone), NULL, &e) < 0 ||
		    cron_parse(&c, str_of(due[i].expr), &e) < 0)
			fail_msg("%s: %s", due[i].expr, e.msg);
		for (size_t k = 0; k < COUNT(due[i].next) && due[i].next[k]; k++) {
			assert_int_equal(cron_next(&c, z, t, &t, &e), OK);
			if (t != at(due[i].next[k]))
				fail_msg("%s %s: %s, not %s", due[i].expr, due[i].zone,
					 zone_rfc3339(&zone_utc, &a, t).p, due[i].next[k]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_are_taken_or_refused_with_what_is_wrong),
		cmocka_unit_test(due_times_keep_the_documented_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What people say about times, and times in words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/date.h"
#include "config/zones.h"
#include "sched/when.h"

static int64_t at(const char *text)
{
	int64_t ms = 0;
	bool zoned;

	if (!date_parse_rfc3339(str_of(text), &ms, &zoned) || !zoned)
		fail_msg("%s", text);
	return ms;
}

static const struct zone *load(struct arena *a, const char *name)
{
	const struct zone *z;

	assert_int_equal(zone_load(&z, a, str_of(name), NULL, NULL), OK);
	return z;
}

/* Wednesday noon in UTC. */
#define NOW "2026-07-22T12:00:00Z"

static const struct {
	const char *when, *repeat, *zone;
	const char *kind; /* NULL: refused, and expr is what it says */
	const char *expr, *first;
} said[] = {
	{ "in 30m", "once", "UTC", "once", "2026-07-22T12:30:00.000Z", "2026-07-22T12:30:00Z" },
	{ "In 30 minutes", "", "UTC", "once", "2026-07-22T12:30:00.000Z",
	  "2026-07-22T12:30:00Z" },
	{ "in 1h30m", "", "UTC", "once", "2026-07-22T13:30:00.000Z", "2026-07-22T13:30:00Z" },
	{ "in 1.5h", "", "UTC", "once", "2026-07-22T13:30:00.000Z", "2026-07-22T13:30:00Z" },
	{ "in 2 days", "", "UTC", "once", "2026-07-24T12:00:00.000Z", "2026-07-24T12:00:00Z" },
	{ "in 1w", "", "UTC", "once", "2026-07-29T12:00:00.000Z", "2026-07-29T12:00:00Z" },
	{ "in 30m", "daily", "UTC", "daily", "12:30", "2026-07-22T12:30:00Z" },
	{ "17:00", "", "UTC", "once", "2026-07-22T17:00:00.000Z", "2026-07-22T17:00:00Z" },
	{ "17:00", "daily", "UTC", "daily", "17:00", "2026-07-22T17:00:00Z" },
	{ "11:00", "", "UTC", "once", "2026-07-23T11:00:00.000Z", "2026-07-23T11:00:00Z" },
	{ "12:00", "", "UTC", "once", "2026-07-23T12:00:00.000Z", "2026-07-23T12:00:00Z" },
	{ "17:00:30", "", "UTC", "once", "2026-07-22T17:00:30.000Z", "2026-07-22T17:00:30Z" },
	{ "17:00:30", "daily", "UTC", "daily", "17:00", "2026-07-22T17:00:00Z" },
	{ "5pm", "", "UTC", "once", "2026-07-22T17:00:00.000Z", "2026-07-22T17:00:00Z" },
	{ "5 PM", "", "UTC", "once", "2026-07-22T17:00:00.000Z", "2026-07-22T17:00:00Z" },
	{ "at 5:30 pm", "", "UTC", "once", "2026-07-22T17:30:00.000Z", "2026-07-22T17:30:00Z" },
	{ "12am", "", "UTC", "once", "2026-07-23T00:00:00.000Z", "2026-07-23T00:00:00Z" },
	{ "12pm", "", "UTC", "once", "2026-07-23T12:00:00.000Z", "2026-07-23T12:00:00Z" },
	{ "noon", "daily", "UTC", "daily", "12:00", "2026-07-23T12:00:00Z" },
	{ "tomorrow 9am", "", "UTC", "once", "2026-07-23T09:00:00.000Z",
	  "2026-07-23T09:00:00Z" },
	{ "tomorrow at 13:00", "daily", "UTC", "daily", "13:00", "2026-07-23T13:00:00Z" },
	{ "today 13:00", "", "UTC", "once", "2026-07-22T13:00:00.000Z",
	  "2026-07-22T13:00:00Z" },
	{ "friday 18:00", "", "UTC", "once", "2026-07-24T18:00:00.000Z",
	  "2026-07-24T18:00:00Z" },
	{ "6pm on Fri", "", "UTC", "once", "2026-07-24T18:00:00.000Z", "2026-07-24T18:00:00Z" },
	{ "wednesday 18:00", "", "UTC", "once", "2026-07-22T18:00:00.000Z",
	  "2026-07-22T18:00:00Z" },
	{ "wednesday 11:00", "", "UTC", "once", "2026-07-29T11:00:00.000Z",
	  "2026-07-29T11:00:00Z" },
	{ "friday 18:00", "weekly", "UTC", "weekly", "fri 18:00", "2026-07-24T18:00:00Z" },
	{ "11:00", "weekly", "UTC", "weekly", "thu 11:00", "2026-07-23T11:00:00Z" },
	{ "8:00", "weekdays", "UTC", "weekdays", "08:00", "2026-07-23T08:00:00Z" },
	{ "saturday 8:00", "weekdays", "UTC", "weekdays", "08:00", "2026-07-27T08:00:00Z" },
	{ "2026-12-24T18:00:00+01:00", "", "UTC", "once", "2026-12-24T17:00:00.000Z",
	  "2026-12-24T17:00:00Z" },
	{ "2026-12-24T18:00:00.123456789Z", "", "UTC", "once", "2026-12-24T18:00:00.123Z",
	  "2026-12-24T18:00:00.123Z" },
	{ "2026-12-24 18:00", "", "Europe/Berlin", "once", "2026-12-24T17:00:00.000Z",
	  "2026-12-24T17:00:00Z" },
	{ "2020-01-01T09:00:00Z", "daily", "UTC", "daily", "09:00", "2026-07-23T09:00:00Z" },
	{ "every:1h", "", "UTC", "every", "1h", "2026-07-22T13:00:00Z" },
	{ "every 90m", "", "UTC", "every", "1h30m", "2026-07-22T13:30:00Z" },
	{ "17:00", "every:60m", "UTC", "every", "1h", "2026-07-22T17:00:00Z" },
	{ "now", "every:60m", "UTC", "every", "1h", "2026-07-22T13:00:00Z" },
	{ "2026-07-22T09:30:00Z", "every:1h", "UTC", "every", "1h", "2026-07-22T12:30:00Z" },
	{ "friday 17:00", "0 8 * * *", "UTC", "cron", "0 8 * * *", "2026-07-25T08:00:00Z" },
	{ "17:00", "*/5 * * * *", "UTC", "cron", "*/5 * * * *", "2026-07-22T17:00:00Z" },
	{ "every:1m", "", "UTC", "every", "1m", "2026-07-22T12:01:00Z" },
	{ "0 8 * * 1-5", "", "UTC", "cron", "0 8 * * 1-5", "2026-07-23T08:00:00Z" },
	{ "@hourly", "once", "UTC", "cron", "@hourly", "2026-07-22T13:00:00Z" },
	{ "now", "0 8 * * *", "UTC", "cron", "0 8 * * *", "2026-07-23T08:00:00Z" },
	/* The zone is the person's: 14:00 there. */
	{ "17:00", "", "Europe/Berlin", "once", "2026-07-22T15:00:00.000Z",
	  "2026-07-22T15:00:00Z" },
	{ "13:00", "", "Europe/Berlin", "once", "2026-07-23T11:00:00.000Z",
	  "2026-07-23T11:00:00Z" },
	{ "17:00", "daily", "America/Los_Angeles", "daily", "17:00", "2026-07-23T00:00:00Z" },
	{ "", "", "UTC", NULL, "when is empty", NULL },
	{ "  ", "every:1h", "UTC", NULL, "when is empty", NULL },
	{ "every:30s", "", "UTC", NULL, "at least 1m", NULL },
	{ "whenever", "every:1h", "UTC", NULL, "\"whenever\" is not understood", NULL },
	{ "whenever", "0 8 * * *", "UTC", NULL, "\"whenever\" is not understood", NULL },
	{ "now", "", "UTC", NULL, "is not understood", NULL },
	{ "every:0", "", "UTC", NULL, "no duration", NULL },
	{ "every:-5m", "", "UTC", NULL, "no duration", NULL },
	{ "every:9999w", "", "UTC", NULL, "no duration", NULL },
	{ "in 0m", "", "UTC", NULL, "no duration", NULL },
	{ "in a while", "", "UTC", NULL, "no duration", NULL },
	{ "in 99999999999999999999h", "", "UTC", NULL, "no duration", NULL },
	{ "in 5", "", "UTC", NULL, "no duration", NULL },
	{ "in 1.2345678901h", "", "UTC", NULL, "no duration", NULL },
	{ "tomorrow 24:00", "", "UTC", NULL, "is not understood", NULL },
	{ "tomorrow 23:60", "", "UTC", NULL, "is not understood", NULL },
	{ "tomorrow 0:00:60", "", "UTC", NULL, "is not understood", NULL },
	{ "in .h", "", "UTC", NULL, "no duration", NULL },
	{ "today 11:00", "", "UTC", NULL,
	  "is over: that was today at 11:00 UTC (60 minutes ago)", NULL },
	{ "2020-01-01T00:00:00Z", "", "UTC", NULL, "is over", NULL },
	{ "tomorrow", "", "UTC", NULL, "is not understood", NULL },
	{ "tomorrow friday 9am", "", "UTC", NULL, "is not understood", NULL },
	{ "9am 10am", "", "UTC", NULL, "is not understood", NULL },
	{ "25:00", "", "UTC", NULL, "is not understood", NULL },
	{ "13pm", "", "UTC", NULL, "is not understood", NULL },
	{ "0pm", "", "UTC", NULL, "is not understood", NULL },
	{ "17:0", "", "UTC", NULL, "is not understood", NULL },
	{ "17", "", "UTC", NULL, "is not understood", NULL },
	{ "soon", "", "UTC", NULL, "is not understood", NULL },
	{ "2026-02-30T00:00:00Z", "", "UTC", NULL, "is not understood", NULL },
	{ "17:00", "fortnightly", "UTC", NULL, "repeat \"fortnightly\" is not understood",
	  NULL },
	{ "0 8 * * *", "daily", "UTC", NULL, "leave repeat out", NULL },
	{ "0 8 30 2 *", "", "UTC", NULL, "never comes", NULL },
	{ "0 0 8 * * 1", "", "UTC", NULL, "not 6", NULL },
};

static void what_is_said_becomes_a_schedule_or_says_what_would(void **state)
{
	for (size_t i = 0; i < COUNT(said); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct sched s, again;
		struct err e = { 0 };
		int64_t next;
		const struct zone *z = load(&a, said[i].zone);
		int rc = when_parse(&s, &a, str_of(said[i].when), str_of(said[i].repeat),
				    at(NOW), z, &e);

		if (!said[i].kind) {
			if (rc != E_INVAL || !strstr(e.msg, said[i].expr))
				fail_msg("%s: %d %s", said[i].when, rc, e.msg);
			continue;
		}
		if (rc < 0)
			fail_msg("%s: %s", said[i].when, e.msg);
		if (strcmp(sched_kind_word(s.kind), said[i].kind) != 0 ||
		    !str_eq(s.expr, str_of(said[i].expr)) || s.first_at_ms != at(said[i].first))
			fail_msg("%s %s: %s %s %s", said[i].when, said[i].repeat,
				 sched_kind_word(s.kind), s.expr.p,
				 date_rfc3339(&a, s.first_at_ms).p);
		/* What is kept says the same. */
		assert_int_equal(sched_load(&again, &a, str_of(said[i].kind), s.expr, &e), OK);
		assert_int_equal(
			sched_next(&again, z, s.first_at_ms, s.first_at_ms - 1, &next, &e), OK);
		assert_int_equal(next, s.first_at_ms);
	}
}

/* Where the clock jumps over what was said, the job keeps to what was said. */
static void a_time_in_a_gap_is_repeated_as_it_was_said(void **state)
{
	static const struct {
		const char *when, *repeat, *zone, *now, *expr, *first;
	} rows[] = {
		{ "tomorrow 2:30", "daily", "Europe/Berlin", "2026-03-28T11:00:00Z", "02:30",
		  "2026-03-29T01:00:00Z" },
		{ "2026-03-29 02:30", "daily", "Europe/Berlin", "2026-03-01T11:00:00Z", "02:30",
		  "2026-03-29T01:00:00Z" },
		{ "2:30", "weekly", "America/New_York", "2026-03-07T12:00:00Z", "sun 02:30",
		  "2026-03-08T07:00:00Z" },
		{ "sunday 2:30am", "weekly", "America/New_York", "2026-03-05T12:00:00Z",
		  "sun 02:30", "2026-03-08T07:00:00Z" },
		{ "tomorrow 3:30", "daily", "Europe/Berlin", "2026-03-28T11:00:00Z", "03:30",
		  "2026-03-29T01:30:00Z" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct sched s;

		assert_int_equal(when_parse(&s, &a, str_of(rows[i].when),
					    str_of(rows[i].repeat), at(rows[i].now),
					    load(&a, rows[i].zone), NULL),
				 OK);
		if (!str_eq(s.expr, str_of(rows[i].expr)) || s.first_at_ms != at(rows[i].first))
			fail_msg("%s: %s %s", rows[i].when, s.expr.p,
				 date_rfc3339(&a, s.first_at_ms).p);
	}
}

static void what_was_kept_and_makes_no_sense_is_refused(void **state)
{
	static const char *const bad[][2] = { { "once", "17:00" },     { "once", "" },
					      { "every", "5s" },       { "every", "x" },
					      { "daily", "fri 9:00" }, { "weekly", "09:00" },
					      { "weekdays", "" },      { "cron", "* *" },
					      { "spark", "x" },        { "", "" } };

	for (size_t i = 0; i < COUNT(bad); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct sched s;

		assert_int_equal(sched_load(&s, &a, str_of(bad[i][0]), str_of(bad[i][1]), NULL),
				 E_INVAL);
	}
}

static const struct {
	const char *kind, *expr, *zone, *base, *after, *next;
} nexts[] = {
	/* An interval is real time from when it was due, and does not drift. */
	{ "every", "1h", "UTC", "2026-07-22T12:00:00Z", "2026-07-22T12:00:07Z",
	  "2026-07-22T13:00:00Z" },
	{ "every", "1h", "UTC", "2026-07-22T12:00:00Z", "2026-07-22T15:10:00Z",
	  "2026-07-22T16:00:00Z" },
	{ "every", "1h", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T05:30:00Z",
	  "2026-11-01T06:30:00Z" },
	{ "daily", "17:00", "UTC", "2026-07-22T17:00:00Z", "2026-07-22T17:00:00Z",
	  "2026-07-23T17:00:00Z" },
	{ "daily", "09:00", "America/Los_Angeles", "2026-07-22T16:00:00Z",
	  "2026-07-22T16:00:00Z", "2026-07-23T16:00:00Z" },
	{ "daily", "06:00", "America/Los_Angeles", "2026-03-08T06:00:00Z",
	  "2026-03-08T14:00:00Z", "2026-03-09T13:00:00Z" },
	{ "daily", "06:00", "America/Los_Angeles", "2026-03-08T06:00:00Z",
	  "2026-03-08T06:00:00Z", "2026-03-08T13:00:00Z" },
	{ "weekdays", "08:00", "UTC", "2026-07-24T08:00:00Z", "2026-07-24T08:00:00Z",
	  "2026-07-27T08:00:00Z" },
	{ "once", "2026-07-22T12:30:00Z", "UTC", "2026-07-22T12:30:00Z", "2026-07-22T12:30:00Z",
	  NULL },
};

static void the_next_time_follows_the_kind(void **state)
{
	for (size_t i = 0; i < COUNT(nexts); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct sched s;
		int64_t got = 0;

		assert_int_equal(
			sched_load(&s, &a, str_of(nexts[i].kind), str_of(nexts[i].expr), NULL),
			OK);
		int rc = sched_next(&s, load(&a, nexts[i].zone), at(nexts[i].base),
				    at(nexts[i].after), &got, NULL);
		if (rc != (nexts[i].next ? OK : E_NOENT) ||
		    (rc == OK && got != at(nexts[i].next)))
			fail_msg("%s %s: %s", nexts[i].kind, nexts[i].expr,
				 date_rfc3339(&a, got).p);
	}
}

static void due_times_are_told_in_words(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct zone *berlin = load(&a, "Europe/Berlin");
	struct sched s;

	assert_int_equal(when_parse(&s, &a, S("8:00"), S("weekdays"),
				    at("2026-12-24T17:00:00Z"), berlin, NULL),
			 OK);
	assert_string_equal(
		when_next_words(&s, &a, berlin, s.first_at_ms, at("2026-12-24T17:00:00Z"), 3).p,
		"tomorrow at 08:00 CET (in 14 hours); "
		"Monday 28 December 2026 at 08:00 CET (in 4 days); "
		"Tuesday 29 December 2026 at 08:00 CET (in 5 days)");
	assert_int_equal(when_parse(&s, &a, S("in 30m"), S(""), at("2026-12-24T17:00:20Z"),
				    berlin, NULL),
			 OK);
	assert_string_equal(
		when_next_words(&s, &a, berlin, s.first_at_ms, at("2026-12-24T17:00:20Z"), 3).p,
		"today at 18:30:20 CET (in 30 minutes)");
	assert_string_equal(when_clock(&a, berlin, at("2026-07-22T12:00:00Z")).p,
			    "Wednesday 2026-07-22 14:00 CEST (Europe/Berlin)");
	assert_string_equal(when_clock(&a, &zone_utc, at("2026-07-22T12:00:00Z")).p,
			    "Wednesday 2026-07-22 12:00 UTC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_becomes_a_schedule_or_says_what_would),
		cmocka_unit_test(a_time_in_a_gap_is_repeated_as_it_was_said),
		cmocka_unit_test(what_was_kept_and_makes_no_sense_is_refused),
		cmocka_unit_test(the_next_time_follows_the_kind),
		cmocka_unit_test(due_times_are_told_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What is run and what is skipped when a job is due: late, asleep, on top of itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/date.h"
#include "sched/plan.h"

static int64_t at(const char *text)
{
	int64_t ms = 0;
	bool zoned;

	if (!text)
		return 0;
	if (!date_parse_rfc3339(str_of(text), &ms, &zoned) || !zoned)
		fail_msg("%s", text);
	return ms;
}

#define D "2026-07-22T"

static const struct {
	const char *what, *kind, *expr, *due, *now, *up;
	bool strict, running;
	const char *run, *next; /* NULL none */
	const char *skips; /* "reason n" joined by blanks */
} rows[] = {
	{ "on time", "cron", "*/5 * * * *", D "10:00:00Z", D "10:00:01Z", D "09:00:00Z", false,
	  false, D "10:00:00Z", D "10:05:00Z", "" },
	{ "a tick late", "cron", "*/5 * * * *", D "10:00:00Z", D "10:00:16Z", D "09:00:00Z",
	  true, false, D "10:00:00Z", D "10:05:00Z", "" },
	{ "down over night: one late run", "cron", "*/5 * * * *", "2026-07-21T22:00:00Z",
	  D "10:57:00Z", D "10:57:00Z", false, false, D "10:55:00Z", D "11:00:00Z",
	  "down 155" },
	{ "down: a daily one runs late", "cron", "0 8 * * *", D "08:00:00Z", D "10:57:00Z",
	  D "10:57:00Z", false, false, D "08:00:00Z", "2026-07-23T08:00:00Z", "" },
	{ "strict: not after downtime", "cron", "0 8 * * *", D "08:00:00Z", D "08:05:00Z",
	  D "08:04:30Z", true, false, NULL, "2026-07-23T08:00:00Z", "down 1" },
	{ "strict: the minute of the start counts", "cron", "0 8 * * *", D "08:00:00Z",
	  D "08:00:40Z", D "08:00:39Z", true, false, D "08:00:00Z", "2026-07-23T08:00:00Z",
	  "" },
	{ "strict: ten minutes asleep", "cron", "0 8 * * *", D "08:00:00Z", D "08:10:00Z",
	  D "01:00:00Z", true, false, D "08:00:00Z", "2026-07-23T08:00:00Z", "" },
	{ "strict: longer asleep", "cron", "0 8 * * *", D "08:00:00Z", D "08:10:01Z",
	  D "01:00:00Z", true, false, NULL, "2026-07-23T08:00:00Z", "late 1" },
	{ "strict: an hour asleep, each minute", "cron", "* * * * *", D "08:01:00Z",
	  D "09:00:30Z", D "01:00:00Z", true, false, D "09:00:00Z", D "09:01:00Z", "late 59" },
	{ "a day forward does not fire 288 times", "cron", "*/5 * * * *", D "08:00:00Z",
	  "2026-07-23T08:00:00Z", D "01:00:00Z", false, false, "2026-07-23T08:00:00Z",
	  "2026-07-23T08:05:00Z", "late 288" },
	{ "on top of itself", "cron", "* * * * *", D "08:01:00Z", D "08:01:00Z", D "01:00:00Z",
	  false, true, NULL, D "08:02:00Z", "overlap 1" },
	{ "late and on top of itself", "cron", "* * * * *", D "08:01:00Z", D "08:03:00Z",
	  D "01:00:00Z", false, true, NULL, D "08:04:00Z", "late 2 overlap 1" },
	{ "an interval keeps its beat", "every", "1h", D "08:00:00Z", D "10:30:00Z",
	  D "01:00:00Z", false, false, D "10:00:00Z", D "11:00:00Z", "late 2" },
	{ "a one-shot", "once", D "08:00:00.000Z", D "08:00:00Z", D "08:00:00Z", D "01:00:00Z",
	  false, false, D "08:00:00Z", NULL, "" },
	{ "a one-shot a day late", "once", D "08:00:00.000Z", D "08:00:00Z",
	  "2026-07-23T08:00:00Z", "2026-07-23T08:00:00Z", false, false, D "08:00:00Z", NULL,
	  "" },
	{ "a one-shot more than a day late", "once", D "08:00:00.000Z", D "08:00:00Z",
	  "2026-07-23T08:00:00.001Z", "2026-07-23T08:00:00Z", false, false, NULL, NULL,
	  "expired 1" },
};

static void of_the_times_that_passed_at_most_one_is_run(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct sched s;
		struct plan p;
		str skips = S("");

		assert_int_equal(
			sched_load(&s, &a, str_of(rows[i].kind), str_of(rows[i].expr), NULL),
			OK);
		sched_plan(&p, &(struct plan_in){ .s = &s,
						  .z = &zone_utc,
						  .due_at_ms = at(rows[i].due),
						  .now_ms = at(rows[i].now),
						  .up_since_ms = at(rows[i].up),
						  .strict = rows[i].strict,
						  .running = rows[i].running });
		for (size_t k = 0; k < p.skips_n; k++)
			skips = arena_fmt(&a, "%.*s%s%s %lld", STRF(skips), k ? " " : "",
					  p.skips[k].reason, (long long)p.skips[k].n);
		if (p.run_at_ms != at(rows[i].run) || p.next_at_ms != at(rows[i].next) ||
		    !str_eq(skips, str_of(rows[i].skips)))
			fail_msg("%s: %s, then %s, skipped %.*s", rows[i].what,
				 date_rfc3339(&a, p.run_at_ms).p,
				 date_rfc3339(&a, p.next_at_ms).p, STRF(skips));
	}
}

static void years_of_minutes_are_not_counted_one_by_one(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct sched s;
	struct plan p;

	assert_int_equal(sched_load(&s, &a, S("cron"), S("* * * * *"), NULL), OK);
	sched_plan(&p, &(struct plan_in){ .s = &s,
					  .z = &zone_utc,
					  .due_at_ms = at("2006-07-22T08:00:00Z"),
					  .now_ms = at(D "08:00:30Z"),
					  .up_since_ms = at(D "08:00:00Z") });
	assert_int_equal(p.run_at_ms, at(D "08:00:00Z"));
	assert_int_equal(p.next_at_ms, at(D "08:01:00Z"));
	assert_true(p.skips[0].n >= PLAN_COUNT_MAX - 1 && p.skips[0].n < 30000);
	assert_int_equal(p.skips[0].to_ms, at(D "07:59:00Z"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_times_that_passed_at_most_one_is_run),
		cmocka_unit_test(years_of_minutes_are_not_counted_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

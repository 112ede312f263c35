/*
 * Time zones: libc reads the same files with other code, so the two are held against each
 * other; wall times around clock changes; and files that are damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/date.h"
#include "base/buf.h"
#include "config/zones.h"
#include "sched/zone.h"

static const char *const names[] = {
	"Europe/Berlin",     "America/New_York",     "Australia/Lord_Howe", "America/Santiago",
	"Pacific/Apia",      "Africa/Casablanca",    "Asia/Kolkata",        "Europe/Dublin",
	"Asia/Tehran",       "America/St_Johns",     "Antarctica/Troll",    "Africa/Monrovia",
	"Pacific/Chatham",   "America/Scoresbysund", "Asia/Gaza",           "Etc/GMT+12",
	"Pacific/Kiritimati"
};

static const struct zone *load(struct arena *a, const char *name)
{
	const struct zone *z;
	struct err e = { 0 };

	if (zone_load(&z, a, str_of(name), NULL, &e) < 0)
		fail_msg("%s", e.msg);
	return z;
}

static void compare(const struct zone *z, const char *name, int64_t at)
{
	time_t t = (time_t)at;
	struct tm tm;
	bool dst;
	str abbrev;
	int64_t offset = zone_offset(z, at, &dst, &abbrev);

	assert_non_null(localtime_r(&t, &tm));
	if (offset != tm.tm_gmtoff || dst != (tm.tm_isdst > 0) ||
	    !str_eq(abbrev, str_of(tm.tm_zone)))
		fail_msg("%s %lld: %lld %d %.*s, libc has %ld %d %s", name, (long long)at,
			 (long long)offset, dst, STRF(abbrev), tm.tm_gmtoff, tm.tm_isdst,
			 tm.tm_zone);
}

static void offsets_agree_with_libc_over_three_centuries(void **state)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const struct zone *z = load(&a, names[i]);

		assert_int_equal(setenv("TZ", names[i], 1), 0);
		tzset();
		for (int64_t at = INT64_C(-2840140800); at < INT64_C(6000000000); at += 433333)
			compare(z, names[i], at);
		for (int64_t at = INT64_C(-2840140800);
		     (at = zone_change_after(z, at)) < INT64_C(6000000000);) {
			compare(z, names[i], at - 1);
			compare(z, names[i], at);
		}
	}
	unsetenv("TZ");
}

static int64_t at(const char *text)
{
	int64_t ms;
	bool zoned;

	assert_true(date_parse_rfc3339(str_of(text), &ms, &zoned));
	return ms / 1000;
}

static const struct {
	const char *zone, *wall, *instant;
} walls[] = {
	/* An hour is left out; the whole of it is the instant of the change. */
	{ "America/New_York", "2026-03-08T01:59:59", "2026-03-08T06:59:59Z" },
	{ "America/New_York", "2026-03-08T02:00:00", "2026-03-08T07:00:00Z" },
	{ "America/New_York", "2026-03-08T02:59:59", "2026-03-08T07:00:00Z" },
	{ "America/New_York", "2026-03-08T03:00:00", "2026-03-08T07:00:00Z" },
	{ "America/New_York", "2026-03-08T03:00:01", "2026-03-08T07:00:01Z" },
	/* An hour comes twice: its first pass. */
	{ "America/New_York", "2026-11-01T01:00:00", "2026-11-01T05:00:00Z" },
	{ "America/New_York", "2026-11-01T01:59:59", "2026-11-01T05:59:59Z" },
	{ "America/New_York", "2026-11-01T02:00:00", "2026-11-01T07:00:00Z" },
	/* Half an hour, midnight, a whole day, and summer time that is negative. */
	{ "Australia/Lord_Howe", "2026-10-04T02:15:00", "2026-10-03T15:30:00Z" },
	{ "Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-04T14:45:00Z" },
	{ "America/Santiago", "2026-09-06T00:30:00", "2026-09-06T04:00:00Z" },
	{ "Pacific/Apia", "2011-12-30T12:00:00", "2011-12-30T10:00:00Z" },
	{ "Pacific/Apia", "2011-12-31T00:00:00", "2011-12-30T10:00:00Z" },
	{ "Africa/Casablanca", "2026-02-15T02:30:00", "2026-02-15T01:30:00Z" },
	{ "Europe/Dublin", "2026-03-29T01:30:00", "2026-03-29T01:00:00Z" },
	{ "Asia/Kolkata", "2026-11-30T17:00:00", "2026-11-30T11:30:00Z" },
	/* Behind the table, by the rule. */
	{ "Europe/Berlin", "2099-03-29T02:30:00", "2099-03-29T01:00:00Z" },
	{ "America/New_York", "2099-07-01T12:00:00", "2099-07-01T16:00:00Z" },
};

static void wall_times_stand_for_the_first_instant_that_shows_them_or_later(void **state)
{
	for (size_t i = 0; i < COUNT(walls); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const struct zone *z = load(&a, walls[i].zone);
		int64_t got = zone_instant(z, at(walls[i].wall));

		if (got != at(walls[i].instant))
			fail_msg("%s %s: %s", walls[i].zone, walls[i].wall,
				 zone_rfc3339(&zone_utc, &a, got).p);
	}
}

static void the_highest_wall_time_stays_over_a_set_back(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct zone *z = load(&a, "Europe/Berlin");

	assert_int_equal(zone_wall_seen(z, at("2026-10-25T00:59:59Z")),
			 at("2026-10-25T02:59:59"));
	assert_int_equal(zone_wall_seen(z, at("2026-10-25T01:10:00Z")),
			 at("2026-10-25T02:59:59"));
	assert_int_equal(zone_wall_seen(z, at("2026-10-25T02:00:00Z")),
			 at("2026-10-25T03:00:00"));
	assert_string_equal(zone_rfc3339(z, &a, at("2026-10-25T01:10:00Z")).p,
			    "2026-10-25T02:10:00+01:00");
	assert_string_equal(zone_rfc3339(&zone_utc, &a, 0).p, "1970-01-01T00:00:00Z");
	assert_string_equal(zone_name(z).p, "Europe/Berlin");
}

/* A version 2 file without changes, and the rule given. */
static str with_rule(struct arena *a, const char *rule, str kinds, size_t kinds_n, str chars)
{
	struct buf b = buf_in(a, 4096);

	for (int block = 0; block < 2; block++) {
		char head[44] = "TZif2";
		head[39] = (char)kinds_n;
		head[43] = (char)chars.n;
		buf_add(&b, (str){ head, sizeof head });
		buf_add(&b, kinds);
		buf_add(&b, chars);
	}
	buf_fmt(&b, "\n%s\n", rule);
	return buf_str(&b);
}

static const struct {
	const char *rule;
	bool good;
} rules[] = {
	{ "", true },
	{ "UTC0", true },
	{ "<-03>3", true },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", true },
	{ "EST5EDT,0/0,J365/25", true }, /* summer all year */
	{ "IST-1GMT0,M10.5.0,M3.5.0/1", true },
	{ "<+0330>-3:30<+0430>,J79/24,J263/24", true },
	{ "WET-2WEST,M3.4.4/-167,M10.5.0/167", true },
	{ "UTC0:59:59", true },
	{ "UTC0:60", false },
	{ "UTC0:00:60", false },
	{ "UT0", false },
	{ "UTC", false },
	{ "UTC25", false },
	{ "UTC0:60", false },
	{ "<-03", false },
	{ "CET-1CEST", false },
	{ "CET-1CEST,M3.5.0", false },
	{ "CET-1CEST,M13.5.0,M10.5.0", false },
	{ "CET-1CEST,M3.6.0,M10.5.0", false },
	{ "CET-1CEST,M3.5.7,M10.5.0", false },
	{ "CET-1CEST,J0,J5", false },
	{ "CET-1CEST,J366,J5", false },
	{ "CET-1CEST,M3.5.0,M10.5.0/168", false },
	{ "CET-1CEST,M3.5.0,M10.5.0 ", false },
};

static const char one_kind[6] = { 0, 0, 0, 0, 0, 0 };

static void footers_are_read_and_bad_ones_refused(void **state)
{
	for (size_t i = 0; i < COUNT(rules); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str file = with_rule(&a, rules[i].rule, (str){ one_kind, 6 }, 1,
				     (str){ "ABC\0", 4 });
		const struct zone *z;
		struct err e = { 0 };
		int rc = zone_parse(&z, &a, S("x"), file, &e);

		if (rc != (rules[i].good ? OK : E_INVAL))
			fail_msg("%s: %d %s", rules[i].rule, rc, e.msg);
		if (rc == OK)
			(void)zone_instant(z, zone_wall_seen(z, 1700000000));
	}
}

static void a_rule_of_summer_all_year_never_changes(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct zone *z;

	assert_int_equal(zone_parse(&z, &a, S("x"),
				    with_rule(&a, "EST5EDT,0/0,J365/25", (str){ one_kind, 6 },
					      1, (str){ "ABC\0", 4 }),
				    NULL),
			 OK);
	for (int64_t t = at("2026-01-01T00:00:00Z"); t < at("2030-01-01T00:00:00Z"); t += 3600)
		assert_int_equal(zone_offset(z, t, NULL, NULL), -4 * 3600);
	assert_true(zone_change_after(z, at("2026-01-01T00:00:00Z")) == INT64_MAX);
}

/* Every prefix, and every byte set to 0xff: refused or read, never past the end. */
static void a_damaged_file_is_refused_or_read_within_its_bounds(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str file = with_rule(&a, "CET-1CEST,M3.5.0,M10.5.0/3", (str){ one_kind, 6 }, 1,
			     (str){ "ABC\0", 4 });
	const struct zone *z;
	int refused = 0;

	for (size_t n = 0; n < file.n; n++) {
		SCOPED(arena_free) struct arena b = { 0 };
		char *copy = arena_alloc(&b, 1, file.n);
		memcpy(copy, file.p, n);
		assert_int_equal(zone_parse(&z, &b, S("x"), (str){ copy, n }, NULL), E_INVAL);
		memcpy(copy, file.p, file.n);
		copy[n] = (char)0xff;
		if (zone_parse(&z, &b, S("x"), (str){ copy, file.n }, NULL) < 0)
			refused++;
		else
			(void)zone_offset(z, 1700000000, NULL, NULL);
	}
	assert_true(refused > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_agree_with_libc_over_three_centuries),
		cmocka_unit_test(
			wall_times_stand_for_the_first_instant_that_shows_them_or_later),
		cmocka_unit_test(the_highest_wall_time_stays_over_a_set_back),
		cmocka_unit_test(footers_are_read_and_bad_ones_refused),
		cmocka_unit_test(a_rule_of_summer_all_year_never_changes),
		cmocka_unit_test(a_damaged_file_is_refused_or_read_within_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Civil dates from and to milliseconds, and the dates of HTTP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "base/date.h"

static const struct {
	int64_t at_ms;
	const char *text;
	int weekday;
} rows[] = {
	{ 0, "1970-01-01T00:00:00.000Z", 4 },
	{ -1, "1969-12-31T23:59:59.999Z", 3 },
	{ INT64_C(951782400000), "2000-02-29T00:00:00.000Z", 2 },
	{ INT64_C(951868799999), "2000-02-29T23:59:59.999Z", 2 },
	{ INT64_C(951868800000), "2000-03-01T00:00:00.000Z", 3 },
	{ INT64_C(4107542400000), "2100-03-01T00:00:00.000Z", 1 }, /* 2100 is no leap year */
	{ INT64_C(1796031512123), "2026-11-30T09:38:32.123Z", 1 },
	{ INT64_C(-62135596800000), "0001-01-01T00:00:00.000Z", 1 },
	{ INT64_C(253402300799999), "9999-12-31T23:59:59.999Z", 5 },
};

static void known_instants_have_their_dates(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct date d = date_of_ms(rows[i].at_ms);

		assert_string_equal(date_rfc3339(&a, rows[i].at_ms).p, rows[i].text);
		assert_int_equal(d.weekday, rows[i].weekday);
	}
}

static void every_day_of_four_centuries_agrees_with_libc(void **state)
{
	for (int64_t day = -80000; day < 80000; day++) {
		int64_t s = day * 86400 + (day & 1 ? 86399 : 0);
		time_t t = (time_t)s;
		struct tm tm;
		struct date d = date_of_ms(s * 1000);
		char text[64];
		int64_t at_ms = 0;

		assert_non_null(gmtime_r(&t, &tm));
		assert_true(strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm));
		if (d.year != tm.tm_year + 1900 || d.month != tm.tm_mon + 1 ||
		    d.day != tm.tm_mday || d.hour != tm.tm_hour || d.second != tm.tm_sec ||
		    d.weekday != tm.tm_wday || !date_parse_http(str_of(text), &at_ms) ||
		    at_ms != s * 1000)
			fail_msg("day %lld: %d-%d-%d", (long long)day, d.year, d.month, d.day);
	}
}

#define NOV_1994 INT64_C(784111777000)

static const struct {
	const char *text;
	bool good;
	int64_t at_ms;
} http[] = {
	{ "Sun, 06 Nov 1994 08:49:37 GMT", true, NOV_1994 },
	{ "Sunday, 06-Nov-94 08:49:37 GMT", true, NOV_1994 },
	{ "Sun Nov  6 08:49:37 1994", true, NOV_1994 },
	{ "Thu, 01 Jan 1970 00:00:00 GMT", true, 0 },
	{ "Mon, 30 Nov 2026 09:38:32 GMT", true, INT64_C(1796031512000) },
	{ "Monday, 30-Nov-26 09:38:32 GMT", true, INT64_C(1796031512000) },
	{ "Sat, 29 Feb 2020 12:00:00 GMT", true, INT64_C(1582977600000) },
	{ "", false, 0 },
	{ "120", false, 0 },
	{ "soon", false, 0 },
	{ "Sun, 06 Nov 1994 08:49:37 CET", false, 0 },
	{ "Sun, 06 Nov 1994 08:49:37", false, 0 },
	{ "Sun, 06 Nov 1994 08:49:37 GMT and more", false, 0 },
	{ "Sun, 06 Foo 1994 08:49:37 GMT", false, 0 },
	{ "Sun, 00 Nov 1994 08:49:37 GMT", false, 0 },
	{ "Sun, 32 Nov 1994 08:49:37 GMT", false, 0 },
	{ "Sun, 31 Nov 1994 08:49:37 GMT", false, 0 },
	{ "Sun, 29 Feb 2021 08:49:37 GMT", false, 0 },
	{ "Sun, 06 Nov 1994 24:00:00 GMT", false, 0 },
	{ "Sun, 06 Nov 1994 08:60:00 GMT", false, 0 },
	{ "Sun, 06 Nov 1994 08:49:61 GMT", false, 0 },
	{ "Sun, 06 Nov 1994 -8:49:37 GMT", false, 0 },
	{ "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT, once more", false, 0 },
};

static void http_dates_are_read_in_all_three_forms_and_nothing_else_is(void **state)
{
	for (size_t i = 0; i < COUNT(http); i++) {
		int64_t at_ms = 77;
		bool good = date_parse_http(str_of(http[i].text), &at_ms);

		if (good != http[i].good || at_ms != (good ? http[i].at_ms : 77))
			fail_msg("%s: %d %lld", http[i].text, good, (long long)at_ms);
	}
}

static const struct {
	const char *text, *utc; /* NULL: none */
	bool zoned;
} rfc3339[] = {
	{ "2026-11-30T17:00:00Z", "2026-11-30T17:00:00.000Z", true },
	{ "2026-11-30t17:00:00z", "2026-11-30T17:00:00.000Z", true },
	{ "2026-11-30T17:00:00+01:30", "2026-11-30T15:30:00.000Z", true },
	{ "2026-11-30T17:00:00-00:30", "2026-11-30T17:30:00.000Z", true },
	{ "2026-11-30T17:00:00.1234567Z", "2026-11-30T17:00:00.123Z", true },
	{ "2026-11-30 17:00", "2026-11-30T17:00:00.000Z", false },
	{ "2024-02-29T00:00:00", "2024-02-29T00:00:00.000Z", false },
	{ "2023-02-29T00:00:00Z", NULL, false },
	{ "2026-13-01T00:00:00Z", NULL, false },
	{ "2026-00-01T00:00:00Z", NULL, false },
	{ "2026-11-30T24:00:00Z", NULL, false },
	{ "2026-11-30T17:60:00Z", NULL, false },
	{ "2026-11-30T17:00:00.Z", NULL, false },
	{ "2026-11-30T17:00:00+24:00", NULL, false },
	{ "2026-11-30T17:00:00+0100", NULL, false },
	{ "2026-11-30T17:00:00Zx", NULL, false },
	{ "2026-11-30", NULL, false },
	{ "26-11-30T17:00:00Z", NULL, false },
	{ "", NULL, false },
};

static void rfc_3339_dates_are_read_and_nothing_else_is(void **state)
{
	for (size_t i = 0; i < COUNT(rfc3339); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int64_t at_ms = 0;
		bool zoned = false;
		bool good = date_parse_rfc3339(str_of(rfc3339[i].text), &at_ms, &zoned);

		if (good != (rfc3339[i].utc != NULL))
			fail_msg("%s", rfc3339[i].text);
		if (!good)
			continue;
		assert_string_equal(date_rfc3339(&a, at_ms).p, rfc3339[i].utc);
		assert_int_equal(zoned, rfc3339[i].zoned);
	}
	assert_int_equal(date_days_in(2024, 2), 29);
	assert_int_equal(date_days_in(2100, 2), 28);
	assert_int_equal(date_days_in(2026, 12), 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_instants_have_their_dates),
		cmocka_unit_test(every_day_of_four_centuries_agrees_with_libc),
		cmocka_unit_test(rfc_3339_dates_are_read_and_nothing_else_is),
		cmocka_unit_test(http_dates_are_read_in_all_three_forms_and_nothing_else_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

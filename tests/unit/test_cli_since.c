/* The option --since. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/since.h"
#include "config/zones.h"

#define DAY INT64_C(86400000)
#define NOW (INT64_C(20787) * DAY + 5000) /* 2026-11-30T00:00:05Z */

static void days_dates_and_instants_are_understood(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const struct {
		const char *text;
		int64_t at_ms;
	} rows[] = {
		{ "1d", NOW - 5000 },
		{ "30d", NOW - 5000 - 29 * DAY },
		{ "2026-11-29", NOW - 5000 - DAY },
		{ "2026-11-30T01:00:00+01:00", NOW - 5000 },
		{ "all", 0 },
	};
	int64_t at_ms;

	for (size_t i = 0; i < COUNT(rows); i++) {
		at_ms = -1;
		assert_true(since_parse(str_of(rows[i].text), &zone_utc, NOW, &at_ms));
		assert_int_equal(at_ms, rows[i].at_ms);
	}
	assert_string_equal(since_day(&a, 20787).p, "2026-11-30");
	(void)state;
}

static void a_day_begins_at_midnight_of_the_zone(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct zone *z;
	struct err e = { 0 };
	int64_t at_ms;

	assert_int_equal(zone_load(&z, &a, S("Europe/Berlin"), NULL, &e), OK);
	assert_true(since_parse(S("1d"), z, NOW, &at_ms));
	assert_int_equal(at_ms, NOW - 5000 - 3600000);
	assert_true(since_parse(S("2026-07-01"), z, NOW, &at_ms));
	assert_int_equal(at_ms, INT64_C(1782856800000));
	(void)state;
}

static void anything_else_is_refused(void **state)
{
	static const char *const bad[] = {
		"",       "0d",         "-3d",        "d",    "1w",
		"36501d", "2026-13-01", "2026-02-30", "soon", "2026-11-30T01:00:00"
	};
	int64_t at_ms;

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(since_parse(str_of(bad[i]), &zone_utc, NOW, &at_ms));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_dates_and_instants_are_understood),
		cmocka_unit_test(a_day_begins_at_midnight_of_the_zone),
		cmocka_unit_test(anything_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

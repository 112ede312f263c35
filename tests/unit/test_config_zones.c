/*
 * Zones by name, from the machine's database.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/zones.h"

static void names_find_their_zones_and_bad_ones_are_refused(void **state)
{
	static const struct {
		const char *name;
		int rc;
	} rows[] = {
		{ "UTC", OK },
		{ "utc", OK },
		{ "Local", OK },
		{ "Europe/Berlin", OK },
		{ "Not/AZone", E_NOENT },
		{ "Europe", E_INVAL },
		{ "", E_INVAL },
		{ "../../etc/passwd", E_INVAL },
		{ "/etc/localtime", E_INVAL },
		{ "zone.tab", E_INVAL },
		{ "tzdata.zi", E_INVAL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const struct zone *z = NULL;
		struct err e = { 0 };
		int rc = zone_load(&z, &a, str_of(rows[i].name), NULL, &e);

		if (rc != rows[i].rc || (rc == OK) != (z != NULL))
			fail_msg("%s: %d %s", rows[i].name, rc, e.msg);
	}
}

static void the_version_tells_one_state_of_the_file_from_another(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct zone *z;
	int64_t berlin = 0, again = 0, tokyo = 0;

	assert_int_equal(zone_load(&z, &a, S("Europe/Berlin"), &berlin, NULL), OK);
	assert_int_equal(zone_load(&z, &a, S("Europe/Berlin"), &again, NULL), OK);
	assert_int_equal(zone_load(&z, &a, S("Asia/Tokyo"), &tokyo, NULL), OK);
	assert_true(berlin == again && berlin != tokyo && berlin != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_find_their_zones_and_bad_ones_are_refused),
		cmocka_unit_test(the_version_tells_one_state_of_the_file_from_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

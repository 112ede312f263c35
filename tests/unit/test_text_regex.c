/*
 * Regular expressions of a configuration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "text/regex.h"

static void good_patterns_pass_and_bad_ones_say_where(void **state)
{
	static const struct {
		const char *pattern;
		bool good;
	} rows[] = {
		{ "^npm run .+$", true }, { "", true },       { "rm\\s+-[a-z]*r", true },
		{ "(?i)format", true },   { "a(", false },    { "[z-a]", false },
		{ "*x", false },          { "(?<n>", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };

		assert_int_equal(regex_check(str_of(rows[i].pattern), i % 2, &e),
				 rows[i].good ? OK : E_INVAL);
		if (!rows[i].good)
			assert_non_null(strstr(e.msg, "at character"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_patterns_pass_and_bad_ones_say_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

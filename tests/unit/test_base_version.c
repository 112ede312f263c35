/*
 * The version is the one that the file VERSION has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"

static void the_version_is_that_of_the_file(void **state)
{
	char line[64] = "";
	FILE *f = fopen("VERSION", "r");

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	(void)fclose(f);
	line[strcspn(line, "\n")] = 0;
	assert_string_equal(version_text(), line);
}

static void commit_and_date_are_known_or_said_to_be_unknown(void **state)
{
	if (strcmp(version_commit(), "unknown") != 0)
		assert_int_equal(strlen(version_commit()), 12);
	if (strcmp(version_date(), "unknown") != 0)
		assert_int_equal(strlen(version_date()), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_is_that_of_the_file),
		cmocka_unit_test(commit_and_date_are_known_or_said_to_be_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

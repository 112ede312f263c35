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
	assert_true(strlen(version_commit()) >= 7);
	assert_true(strlen(version_date()) >= 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_is_that_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

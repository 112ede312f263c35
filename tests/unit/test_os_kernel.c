/*
 * Versions of kernels as distributions spell them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/kernel.h"

static void releases_are_compared_as_numbers(void **state)
{
	static const struct {
		const char *release;
		bool older;
	} rows[] = {
		{ "5.6.0", false },    { "5.6", false },
		{ "5.5.19", true },    { "5.10.0-8", false },
		{ "4.19.0-27", true }, { "6.1.0-18-amd64", false },
		{ "6", false },        { "5", true },
		{ "10.0.1", false },   { "5.4.0-150", true },
		{ "", false },         { "unknown", false },
		{ "5.x", false },      { "3.10.0-1160.el7", true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (kernel_older(rows[i].release, 5, 6) != rows[i].older)
			fail_msg("%s", rows[i].release);
}

static void this_kernel_is_new_enough(void **state)
{
	struct err e = { 0 };

	assert_int_equal(kernel_check(&e), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(releases_are_compared_as_numbers),
		cmocka_unit_test(this_kernel_is_new_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Percentiles in bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/spread.h"

static void nothing_has_no_percentile(void **state)
{
	struct spread s = { 0 };

	assert_int_equal(spread_at(&s, 50), 0);
	(void)state;
}

static void one_number_is_each_of_its_percentiles(void **state)
{
	static const int64_t values[] = { 0,  1,  31,   32,       33,        63,
					  64, 65, 1000, 86400000, 2147483647 };

	for (size_t i = 0; i < COUNT(values); i++) {
		struct spread s = { 0 };
		spread_add(&s, values[i]);
		assert_int_equal(spread_at(&s, 1), values[i]);
		assert_int_equal(spread_at(&s, 50), values[i]);
		assert_int_equal(spread_at(&s, 100), values[i]);
	}
	(void)state;
}

static void the_middle_of_three_is_the_second(void **state)
{
	struct spread s = { 0 };

	spread_add(&s, 30);
	spread_add(&s, 10);
	spread_add(&s, 20);
	assert_int_equal(spread_at(&s, 50), 20);
	assert_int_equal(spread_at(&s, 95), 30);
	(void)state;
}

static void percentiles_are_right_to_two_in_a_hundred(void **state)
{
	for (int64_t step = 1; step < 200000; step = step * 7 + 1) {
		struct spread s = { 0 };
		for (int64_t i = 1; i <= 1000; i++)
			spread_add(&s, (i * 337 % 1000 + 1) * step);
		for (int p = 1; p <= 99; p++) {
			int64_t want = 10 * p * step, got = spread_at(&s, p);
			assert_in_range(got, want - want / 50 - 1, want + want / 50 + 1);
		}
		assert_int_equal(spread_at(&s, 100), 1000 * step);
	}
	(void)state;
}

static void numbers_out_of_range_count_as_the_ends(void **state)
{
	struct spread s = { 0 };

	spread_add(&s, -5);
	assert_int_equal(spread_at(&s, 50), 0);
	spread_add(&s, INT64_MAX);
	assert_int_equal(spread_at(&s, 100), 2147483647);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_has_no_percentile),
		cmocka_unit_test(one_number_is_each_of_its_percentiles),
		cmocka_unit_test(the_middle_of_three_is_the_second),
		cmocka_unit_test(percentiles_are_right_to_two_in_a_hundred),
		cmocka_unit_test(numbers_out_of_range_count_as_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The clocks, random bytes and identifiers.
 */
#include "os/clock.h"
#include "os/seam.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static void the_clocks_are_those_of_the_kernel(void **state)
{
	struct timespec wall, mono;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &wall), 0);
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &mono), 0);
	int64_t wall_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000;
	int64_t mono_us = (int64_t)mono.tv_sec * 1000000 + mono.tv_nsec / 1000;
	assert_in_range(clock_now_ms() - wall_ms, 0, 10000);
	assert_in_range(clock_mono_us() - mono_us, 0, 10000000);
	assert_in_range(clock_mono_ms() - mono_us / 1000, 0, 10000);
	assert_int_equal(seam_slice(-1), -1);
	assert_int_equal(seam_slice(123456), 123456);
}

static void random_bytes_fill_all_and_no_more(void **state)
{
	unsigned char bytes[1002] = { 0 };
	int seen[256] = { 0 };

	bytes[0] = bytes[1001] = 0xA5;
	random_bytes(bytes + 1, 1000);
	assert_int_equal(bytes[0], 0xA5);
	assert_int_equal(bytes[1001], 0xA5);
	for (size_t i = 1; i <= 1000; i++)
		seen[bytes[i]]++;
	int different = 0;
	for (size_t i = 0; i < COUNT(seen); i++)
		different += seen[i] > 0;
	assert_true(different > 150); /* 250 are expected */
	random_bytes(bytes, 0);
}

static void the_unit_is_half_open(void **state)
{
	double sum = 0;

	for (int i = 0; i < 2000; i++) {
		double d = random_unit();
		assert_true(d >= 0 && d < 1);
		sum += d;
	}
	assert_true(sum > 800 && sum < 1200);
}

static void an_id_is_its_time_and_ten_random_digits(void **state)
{
	char id[ID_LEN + 1], again[ID_LEN + 1];
	int64_t ms = 0, now = clock_now_ms();

	id_new(id);
	id_new(again);
	assert_int_equal(strlen(id), ID_LEN);
	assert_int_equal(strspn(id, "0123456789abcdef"), ID_LEN);
	assert_string_not_equal(id + 11, again + 11);
	for (int i = 0; i < 11; i++)
		ms = ms * 16 + (id[i] <= '9' ? id[i] - '0' : id[i] - 'a' + 10);
	assert_in_range(ms - now, 0, 10000);
}

static void a_long_id_is_all_random(void **state)
{
	char id[ID_LONG_LEN + 1], again[ID_LONG_LEN + 1];

	id_long(id);
	id_long(again);
	assert_int_equal(strlen(id), ID_LONG_LEN);
	assert_int_equal(strspn(id, "0123456789abcdef"), ID_LONG_LEN);
	assert_memory_not_equal(id, again, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clocks_are_those_of_the_kernel),
		cmocka_unit_test(random_bytes_fill_all_and_no_more),
		cmocka_unit_test(the_unit_is_half_open),
		cmocka_unit_test(an_id_is_its_time_and_ten_random_digits),
		cmocka_unit_test(a_long_id_is_all_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

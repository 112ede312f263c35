/*
 * Progress lines: how far, in whose words, how long still; not too often, whatever is reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "agent/progress.h"

static void a_line_has_share_words_and_the_time_that_is_left(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct progress p = { 0 };

	assert_string_equal(
		progress_line(&p, S("srv__x"), 10, 100, S("rows\nread"), 1000, &a).p,
		"… srv__x 10%: rows read");
	/* 20 in ten seconds: 70 more are 35. */
	assert_string_equal(progress_line(&p, S("srv__x"), 30, 100, S(""), 11000, &a).p,
			    "… srv__x 30% (about 35 s left)");
	assert_string_equal(progress_line(&p, S("srv__x"), 31, 1000, S(""), 21000, &a).p,
			    "… srv__x 3% (about 15 min left)");
	assert_string_equal(progress_line(&p, S("srv__x"), 32, 20000, S(""), 31000, &a).p,
			    "… srv__x 0% (about 7.6 h left)");
	assert_string_equal(progress_line(&p, S("srv__x"), 33, -1, S("many"), 41000, &a).p,
			    "… srv__x many");
	(void)state;
}

static void ten_lines_a_second_are_the_most(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct progress p = { 0 };
	int shown = 0;

	for (int64_t at = 5000; at < 15000; at++)
		shown += progress_line(&p, S("x"), (double)at, 20000, S("m"), at, &a).n > 0;
	assert_int_equal(shown, 100);
	(void)state;
}

static void nonsense_is_no_line_or_a_harmless_one(void **state)
{
	static const struct {
		double done, total;
		const char *words, *line;
	} rows[] = {
		{ 5, -1, "", "" },
		{ NAN, 10, "", "" },
		{ 1, INFINITY, "", "" },
		{ 1, 0, "", "" },
		{ 500, 10, "", "… x 100%" },
		{ -500, 10, "", "… x 0%" },
		{ 1e308, 1e308, "", "… x 100%" },
		{ NAN, NAN, "\x1b[31mred\xe2\x80\xae", "… x \\x1b[31mred\\u202e" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct progress p = { 0 };
		str line = progress_line(&p, S("x"), rows[i].done, rows[i].total,
					 str_of(rows[i].words), 1, &a);
		assert_string_equal(arena_dup(&a, line).p, rows[i].line);
	}
	(void)state;
}

static void what_goes_backwards_or_stands_has_no_time_left(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct progress p = { 0 };

	(void)progress_line(&p, S("x"), 50, 100, S(""), 0, &a);
	assert_string_equal(progress_line(&p, S("x"), 50, 100, S(""), 9000, &a).p, "… x 50%");
	assert_string_equal(progress_line(&p, S("x"), 20, 100, S(""), 19000, &a).p, "… x 20%");
	/* A year is no answer. */
	assert_string_equal(progress_line(&p, S("x"), 50.000001, 100, S(""), 29000, &a).p,
			    "… x 50%");
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_share_words_and_the_time_that_is_left),
		cmocka_unit_test(ten_lines_a_second_are_the_most),
		cmocka_unit_test(nonsense_is_no_line_or_a_harmless_one),
		cmocka_unit_test(what_goes_backwards_or_stands_has_no_time_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

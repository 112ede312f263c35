/*
 * Which trace line takes which one's place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "chan/trace.h"

static const struct {
	const char *lines, *line, *left;
} rows[] = {
	{ "… a 1%\n… b 2%\n", "… a 3%", "… b 2%\n" },
	{ "… a 1%\n… b 2%\n", "✓ b", "… a 1%\n" },
	{ "… a 1%: words here\n", "✗ a", "" },
	{ "→ a {}\n… a 1%\n✓ b\n", "✓ a 12 ms, 3 chars", "→ a {}\n✓ b\n" },
	{ "… ab 1%\n", "✓ a", "… ab 1%\n" },
	{ "✓ a\n", "… a 1%", "✓ a\n" },
	{ "… a 1%\n", "something else", "… a 1%\n" },
	{ "… a 1%\n", "", "… a 1%\n" },
	{ "", "… a 1%", "" },
};

static void a_line_takes_the_place_of_the_one_about_the_same_call(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		char lines[100];
		size_t n = strlen(rows[i].lines);
		memcpy(lines, rows[i].lines, n);
		n = trace_in_place(lines, n, str_of(rows[i].line));
		assert_int_equal(n, strlen(rows[i].left));
		assert_memory_equal(lines, rows[i].left, n);
	}
	assert_true(trace_passing(S("… a 1%")));
	assert_false(trace_passing(S("✓ a")));
	(void)state;
}

static void a_line_in_passing_stays_a_second_where_lines_stay(void **state)
{
	_Atomic int64_t shown = 0;

	assert_false(trace_too_soon(&shown, S("… a 1%"), 5000));
	assert_true(trace_too_soon(&shown, S("… a 2%"), 5999));
	assert_false(trace_too_soon(&shown, S("✓ a"), 5999));
	assert_false(trace_too_soon(&shown, S("… a 3%"), 6000));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_takes_the_place_of_the_one_about_the_same_call),
		cmocka_unit_test(a_line_in_passing_stays_a_second_where_lines_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

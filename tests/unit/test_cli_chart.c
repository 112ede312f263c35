/* Charts: what is drawn, what is said when there is nothing, and hostile labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/chart.h"

static size_t times(str text, const char *word)
{
	size_t n = 0;

	for (const char *p = text.p; (p = strstr(p, word)); p++)
		n++;
	return n;
}

static str drawn(struct arena *a, enum chart_kind kind, const str *labels,
		 const int64_t *values, size_t n)
{
	struct buf b = buf_in(a, 1u << 20);

	chart_write(&b, a,
		    &(struct chart){ .kind = kind,
				     .title = "T",
				     .label = "Day",
				     .series = { "one", "two <&>" },
				     .colours = { 0, 3 },
				     .series_n = 2,
				     .labels = labels,
				     .values = values,
				     .n = n,
				     .show = chart_short,
				     .note = "noted" });
	return buf_str(&b);
}

static const str labels[] = { S("a"), S("<b>"),
			      S("\xe2\x80\xae"
				"c") };

static void columns_are_stacked_and_a_little_is_still_something(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const int64_t values[] = { 100000, 1, 0, 0, 50000, 0 };
	str text = drawn(&a, CHART_COLUMNS, labels, values, 3);

	assert_int_equal(times(text, "<rect class=\"f0\" x"), 2);
	assert_int_equal(times(text, "<rect class=\"f3\" x"), 1);
	assert_int_equal(times(text, "height=\"0.50\""), 1);
	/* Half of the axis, which ends at 200 000: half of 180. */
	assert_int_equal(times(text, "height=\"90.00\""), 1);
	assert_true(str_has(text, S("200k")));
	assert_true(str_has(text, S("noted")));
	assert_true(str_has(text, S("</svg>two &lt;&amp;&gt;</li>")));
	(void)state;
}

static void a_curve_leaves_out_what_was_not_measured(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const int64_t values[] = { 10, 20, 0, 40, 30, 0 };
	str text = drawn(&a, CHART_CURVES, labels, values, 3);

	assert_int_equal(times(text, "<polyline"), 2);
	assert_int_equal(times(text, "<circle class=\"f0\""), 2);
	assert_int_equal(times(text, "<circle class=\"f3\""), 2);
	(void)state;
}

static void names_are_escaped_in_the_chart_and_in_the_table(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const int64_t values[] = { 1, 1, 2, 2, 3, 3 };
	str text = drawn(&a, CHART_ROWS, labels, values, 3);

	assert_int_equal(times(text, "&lt;b&gt;"), 2);
	assert_int_equal(times(text, "\\u202ec"), 2);
	assert_false(str_has(text, S("<b>")));
	assert_false(str_has(text, S("\xe2\x80\xae")));
	assert_int_equal(times(text, "<tr>"), 4);
	(void)state;
}

static void nothing_is_said_to_be_nothing(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const int64_t none[6] = { 0 };

	assert_true(
		str_has(drawn(&a, CHART_COLUMNS, labels, none, 3), S("Nothing in this time")));
	assert_true(str_has(drawn(&a, CHART_ROWS, NULL, NULL, 0), S("Nothing in this time")));
	assert_false(str_has(drawn(&a, CHART_CURVES, labels, none, 3), S("<svg")));
	(void)state;
}

static void very_large_and_negative_values_do_no_harm(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const int64_t values[] = { INT64_MAX / 4, -5, 1, 1, 0, INT64_MAX / 4 };

	for (int kind = CHART_COLUMNS; kind <= CHART_ROWS; kind++) {
		str text = drawn(&a, (enum chart_kind)kind, labels, values, 3);
		assert_false(str_has(text, S("=\"-")));
		assert_false(str_has(text, S("nan")));
	}
	(void)state;
}

static void short_numbers_are_short(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const struct {
		int64_t n;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1k" },
		{ 1250, "1.3k" },
		{ 999949, "999.9k" },
		{ 999950, "1M" },
		{ 123456789, "123.5M" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(chart_short(&a, rows[i].n).p, rows[i].text);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_stacked_and_a_little_is_still_something),
		cmocka_unit_test(a_curve_leaves_out_what_was_not_measured),
		cmocka_unit_test(names_are_escaped_in_the_chart_and_in_the_table),
		cmocka_unit_test(nothing_is_said_to_be_nothing),
		cmocka_unit_test(very_large_and_negative_values_do_no_harm),
		cmocka_unit_test(short_numbers_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

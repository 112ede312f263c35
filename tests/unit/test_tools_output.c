/*
 * What is kept of a command's output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/utf.h"
#include "tools/output.h"

/* text, given in pieces of piece bytes. */
static str through(struct arena *a, str text, size_t max, size_t piece, bool *cut)
{
	struct output o;

	output_init(&o, a, max);
	for (size_t i = 0; i < text.n; i += piece)
		output_add(&o, str_sub(text, i, i + piece));
	return output_text(&o, a, cut);
}

static str many(struct arena *a, const char *unit, size_t times)
{
	size_t n = strlen(unit);
	char *p = arena_alloc(a, times, n);

	for (size_t i = 0; i < times; i++)
		memcpy(p + i * n, unit, n);
	return (str){ p, n * times };
}

static void what_fits_is_shown_whole(void **state)
{
	static const size_t maxes[] = { 10, 100, 200, 1000 };

	for (size_t i = 0; i < COUNT(maxes); i++)
		for (size_t piece = 1; piece < 9; piece++) {
			SCOPED(arena_free) struct arena a = { 0 };
			str text = many(&a, "abcde", maxes[i] / 5);
			bool cut;
			str got = through(&a, text, maxes[i], piece, &cut);
			assert_true(str_eq(got, text));
			assert_false(cut);
		}
}

static void of_what_does_not_fit_both_ends_stay_within_the_bound(void **state)
{
	static const char *const units[] = {
		"x", "あ", "é", "😀", "a\x1b[0m", "\xff\xfe", "\r\n"
	};
	static const size_t maxes[] = { 1, 2, 3, 10, 100, 159, 160, 161, 300, 4096 };

	for (size_t u = 0; u < COUNT(units); u++)
		for (size_t m = 0; m < COUNT(maxes); m++) {
			SCOPED(arena_free) struct arena a = { 0 };
			str body = many(&a, units[u], 5000);
			str text = arena_fmt(&a, "BEGIN%.*sEND", STRF(body));
			bool cut;
			str got = through(&a, text, maxes[m], 7, &cut);
			assert_true(cut);
			assert_true(got.n <= maxes[m]);
			assert_true(utf_valid(got));
			if (maxes[m] >= 3)
				assert_true(str_ends(got, S("END")));
			if (maxes[m] >= 160) {
				assert_true(str_starts(got, S("BEGIN")));
				assert_true(str_has(got, S(" bytes left out ...]\n")));
			}
		}
}

static void what_grows_beyond_the_bound_when_it_is_shown_is_cut_too(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool cut;

	assert_true(through(&a, many(&a, "\x01", 300), 1000, 999, &cut).n <= 1000);
	assert_true(cut);
	(void)through(&a, many(&a, "\x01", 200), 1000, 999, &cut);
	assert_false(cut);
}

static void the_number_left_out_is_right(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool cut;
	str got = through(&a, many(&a, "x", 100000), 1000, 999, &cut);
	size_t shown = 0;

	for (size_t i = 0; i < got.n; i++)
		shown += got.p[i] == 'x';
	assert_true(str_has(got, arena_fmt(&a, "%zu bytes left out", 100000 - shown)));
	assert_true(shown > 900);
}

static void control_characters_are_made_harmless(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a\r\nb\n", "a\nb\n" },
		{ "a\rb", "a\\x0db" },
		{ "\x1b]0;t\x07", "\\x1b]0;t\\x07" },
		{ "tab\there", "tab\there" },
		{ "\xe2\x80\xae", "\\u202e" },
		{ "\xff", "\\xff" },
		{ "\r\r\n", "\\x0d\n" },
		{ "", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t piece = 1; piece < 3; piece++) {
			SCOPED(arena_free) struct arena a = { 0 };
			bool cut;
			str got = through(&a, str_of(rows[i].in), 1000, piece, &cut);
			if (!str_eq(got, str_of(rows[i].out)))
				fail_msg("row %zu: %.*s", i, STRF(got));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_grows_beyond_the_bound_when_it_is_shown_is_cut_too),
		cmocka_unit_test(what_fits_is_shown_whole),
		cmocka_unit_test(of_what_does_not_fit_both_ends_stay_within_the_bound),
		cmocka_unit_test(the_number_left_out_is_right),
		cmocka_unit_test(control_characters_are_made_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

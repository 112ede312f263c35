/*
 * Estimates of tokens, and cutting at character boundaries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/utf.h"
#include "text/text.h"

static const struct {
	const char *in;
	int64_t tokens;
} rows[] = {
	{ "", 0 },
	{ "a", 1 },
	{ "four", 1 },
	{ "fives", 2 },
	{ "\xe3\x81\x93\xe3\x81\xae", 2 }, /* two kana */
	{ "\xe6\xbc\xa2\xe5\xad\x97zz", 3 }, /* two Han characters and half a token */
	{ "\xed\x95\x9c", 1 }, /* Hangul */
	{ "\xd0\xb4\xd0\xb0", 2 }, /* Cyrillic: two bytes a token */
	{ "\xf0\x9f\x98\x80", 2 }, /* emoji */
	{ "\xf0\xa0\x80\x80", 1 }, /* a rare Han character */
};

static void tokens_are_estimated_by_script(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (text_tokens(str_of(rows[i].in)) != rows[i].tokens)
			fail_msg("row %zu: %lld", i,
				 (long long)text_tokens(str_of(rows[i].in)));
}

static void japanese_is_not_underestimated(void **state)
{
	str s = S("\xe3\x81\x93\xe3\x81\xae\xe3\x83\xa1\xe3\x83\x83\xe3\x82\xbb\xe3\x83\xbc");

	assert_true(text_tokens(s) * 4 >= (int64_t)utf_count(s) * 3);
}

static void a_short_text_is_returned_as_it_is(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str s = S("hello"), wide = S("\xe2\x82\xac\xe2\x82\xac");

	assert_ptr_equal(text_cut(&a, s, 5).p, s.p);
	assert_ptr_equal(text_cut(&a, s, 0).p, s.p);
	assert_ptr_equal(text_cut(&a, wide, 2).p, wide.p); /* characters, not bytes */
}

static str repeated(struct arena *a, str what, size_t n)
{
	struct buf b = buf_in(a, 1 << 20);

	for (size_t i = 0; i < n; i++)
		buf_add(&b, what);
	return buf_str(&b);
}

static void a_long_text_keeps_head_and_tail_and_says_what_is_missing(void **state)
{
	static const str units[] = { { "x", 1 },
				     { "\xe2\x82\xac", 3 },
				     { "\xf0\x9f\x98\x80", 4 } };

	for (size_t u = 0; u < COUNT(units); u++) {
		for (size_t max = 64; max < 300; max += 7) {
			SCOPED(arena_free) struct arena a = { 0 };
			str s = arena_fmt(&a, "HEAD%sTAIL", repeated(&a, units[u], 12345).p);
			str cut = text_cut(&a, s, max);
			size_t left_out = 0, units_left;
			const char *mark = strstr(cut.p, "\n[... ");

			assert_true(utf_valid(cut));
			assert_true(utf_count(cut) <= max);
			assert_true(utf_count(cut) + 5 >= max);
			assert_true(str_starts(cut, S("HEAD")) && str_ends(cut, S("TAIL")));
			assert_non_null(mark);
			assert_int_equal(sscanf(mark, "\n[... %zu characters", &left_out), 1);
			units_left = utf_count(cut) -
				     strlen("\n[... 12345 characters left out ...]\n");
			assert_int_equal(units_left + left_out, 12345 + 8);
		}
	}
}

static void a_tiny_limit_keeps_just_the_head(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_string_equal(text_cut(&a,
				     S("a\xe2\x82\xac"
				       "bc"),
				     2)
				    .p,
			    "a\xe2\x82\xac");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_estimated_by_script),
		cmocka_unit_test(japanese_is_not_underestimated),
		cmocka_unit_test(a_short_text_is_returned_as_it_is),
		cmocka_unit_test(a_long_text_keeps_head_and_tail_and_says_what_is_missing),
		cmocka_unit_test(a_tiny_limit_keeps_just_the_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * UTF-8: reading, repairing, cutting and measuring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/utf.h"

#define FFFD "\xef\xbf\xbd"

static void every_scalar_goes_out_and_comes_back(void **state)
{
	for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
		char out[4];
		size_t len = 0, n;

		if (cp == 0xD800)
			cp = 0xE000;
		n = utf_put(out, cp);
		str s = { out, n };
		if (utf_next(s, &len) != cp || len != n || !utf_valid(s))
			fail_msg("U+%04X", (unsigned)cp);
	}
}

/* Bad input, what the first step makes of it, and the whole text repaired. */
static const struct {
	const char *in;
	size_t len;
	const char *repaired;
} bad[] = {
	{ "\x80", 1, FFFD },
	{ "\xbf\xbf", 1, FFFD FFFD },
	{ "\xc0\xaf", 1, FFFD FFFD }, /* overlong slash */
	{ "\xc1\xbf", 1, FFFD FFFD },
	{ "\xe0\x80\xaf", 1, FFFD FFFD FFFD },
	{ "\xe0\x9f\xbf", 1, FFFD FFFD FFFD },
	{ "\xf0\x80\x80\xaf", 1, FFFD FFFD FFFD FFFD },
	{ "\xed\xa0\x80", 1, FFFD FFFD FFFD }, /* a surrogate */
	{ "\xed\xbf\xbf", 1, FFFD FFFD FFFD },
	{ "\xf4\x90\x80\x80", 1, FFFD FFFD FFFD FFFD }, /* over U+10FFFF */
	{ "\xf5\x80", 1, FFFD FFFD },
	{ "\xff", 1, FFFD },
	{ "\xc3", 1, FFFD },
	{ "\xc3x", 1, FFFD "x" },
	{ "\xe2\x82", 2, FFFD },
	{ "\xe2\x82x", 2, FFFD "x" },
	{ "\xf0\x9f\x98", 3, FFFD },
	{ "\xf0\x9f\x98\xf0\x9f\x98\x80", 3, FFFD "\xf0\x9f\x98\x80" },
};

static void bad_sequences_become_one_replacement_each(void **state)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str s = str_of(bad[i].in);
		size_t len = 0;

		if (utf_next(s, &len) != 0xFFFD || len != bad[i].len || utf_valid(s))
			fail_msg("row %zu: length %zu", i, len);
		str in = arena_cat(&a, S("ok \xc3\xa4 "), s);
		str want = arena_cat(&a, S("ok \xc3\xa4 "), str_of(bad[i].repaired));
		str got = utf_repair(&a, in);
		if (!str_eq(got, want) || !utf_valid(got) || got.p[got.n] != '\0')
			fail_msg("row %zu: %.*s", i, STRF(got));
	}
}

static void valid_text_is_not_copied(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str s = S("plain, \xc3\xa4, \xe2\x82\xac, \xf0\x9f\x98\x80, " FFFD);

	assert_ptr_equal(utf_repair(&a, s).p, s.p);
	assert_int_equal(a.used, 0);
	assert_true(utf_valid((str){ 0 }));
}

static void cuts_fall_between_characters(void **state)
{
	str s = S("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"); /* 1 2 3 4 1 bytes */
	static const size_t head[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };
	static const size_t tail[] = { 0, 1, 1, 1, 1, 5, 5, 5, 8, 8, 10, 11, 11 };

	for (size_t max = 0; max < COUNT(head); max++) {
		str h = utf_head(s, max), t = utf_tail(s, max);

		if (h.n != head[max] || h.p != s.p)
			fail_msg("head %zu: %zu", max, h.n);
		if (t.n != tail[max] || t.p + t.n != s.p + s.n)
			fail_msg("tail %zu: %zu", max, t.n);
		assert_true(utf_valid(h) && utf_valid(t));
	}
}

static void cuts_of_bytes_that_are_no_text_still_make_progress(void **state)
{
	str s = S("\x80\x80\x80\x80\x80\x80\x80\x80");

	assert_int_equal(utf_head(s, 5).n, 5);
	assert_in_range(utf_tail(s, 5).n, 2, 5);
}

static void characters_are_counted(void **state)
{
	assert_int_equal(utf_count((str){ 0 }), 0);
	assert_int_equal(utf_count(S("abc")), 3);
	assert_int_equal(utf_count(S("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
	assert_int_equal(utf_count(S("\xe2\x82x\xff")), 3);
}

static void columns_follow_the_terminal(void **state)
{
	static const struct {
		uint32_t cp;
		int width;
	} rows[] = { { 'a', 1 },    { ' ', 1 },     { 0xE4, 1 },    { 0x20AC, 1 },
		     { 0, 0 },      { '\n', 0 },    { 0x1B, 0 },    { 0x7F, 0 },
		     { 0x85, 0 },   { 0x301, 0 },   { 0x200B, 0 },  { 0x200D, 0 },
		     { 0xFE0F, 0 }, { 0x4E00, 2 },  { 0x3042, 2 },  { 0xAC00, 2 },
		     { 0xFF21, 2 }, { 0x1F600, 2 }, { 0x20000, 2 }, { 0x0434, 1 },
		     { 0xFF71, 1 } };

	for (size_t i = 0; i < COUNT(rows); i++)
		if (utf_width(rows[i].cp) != rows[i].width)
			fail_msg("U+%04X: %d", (unsigned)rows[i].cp, utf_width(rows[i].cp));
}

static void a_character_that_is_not_all_there_is_left_off(void **state)
{
	static const struct {
		str in;
		size_t n;
	} rows[] = {
		{ S(""), 0 },
		{ S("a"), 1 },
		{ S("a\xe2\x82\xac"), 4 },
		{ S("a\xe2\x82"), 1 },
		{ S("a\xe2"), 1 },
		{ S("\xf0\x9f\x98"), 0 },
		{ S("\xf0\x9f\x98\x80"), 4 },
		{ S("a\xc3"), 1 },
		{ S("a\xff"), 2 },
		{ S("a\x82\x82\x82\x82"), 5 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(utf_whole(rows[i].in).n, rows[i].n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_scalar_goes_out_and_comes_back),
		cmocka_unit_test(bad_sequences_become_one_replacement_each),
		cmocka_unit_test(valid_text_is_not_copied),
		cmocka_unit_test(cuts_fall_between_characters),
		cmocka_unit_test(cuts_of_bytes_that_are_no_text_still_make_progress),
		cmocka_unit_test(characters_are_counted),
		cmocka_unit_test(columns_follow_the_terminal),
		cmocka_unit_test(a_character_that_is_not_all_there_is_left_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

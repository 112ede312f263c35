/*
 * Views of bytes: comparing, finding, cutting, numbers and shell patterns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/str.h"

static const str none = { 0 };

static void texts_are_compared_by_bytes(void **state)
{
	assert_true(str_eq(S("abc"), S("abc")));
	assert_false(str_eq(S("abc"), S("abd")));
	assert_false(str_eq(S("abc"), S("ab")));
	assert_true(str_eq(S(""), none));
	assert_true(str_eq(str_of(NULL), S("")));
	assert_true(str_eq(S("a\0b"), S("a\0b")));
	assert_false(str_eq(S("a\0b"), S("a\0c")));
	assert_true(str_is(S("rm"), "rm") && str_is(S(""), "") && str_is(none, ""));
	assert_false(str_is(S("rm"), "rmx") || str_is(S("rmx"), "rm") || str_is(S(""), "r"));
	assert_false(str_is(S("rm\0x"), "rm") || str_is(S("r"), "") || str_is(S("\0"), ""));
	assert_true(str_ieq(S("AbC-[x]"), S("aBc-[X]")));
	assert_false(str_ieq(S("abc"), S("abcd")));
	assert_false(str_ieq(S("["), S("{")));
	assert_false(str_ieq(S("\xc3\x84"), S("\xc3\xa4")));
	assert_true(str_cmp(S("a"), S("b")) < 0);
	assert_true(str_cmp(S("ab"), S("a")) > 0);
	assert_true(str_cmp(S("a"), S("ab")) < 0);
	assert_true(str_cmp(S("\x80"), S("a")) > 0);
	assert_true(str_cmp(none, S("")) == 0);
	assert_true(str_cmp(S("same"), S("same")) == 0);
}

static void beginnings_ends_and_middles_are_found(void **state)
{
	str s = S("hello world");

	assert_true(str_starts(s, S("hell")) && str_starts(s, none) && str_starts(none, none));
	assert_false(str_starts(s, S("ello")) || str_starts(S("h"), S("he")));
	assert_true(str_ends(s, S("world")) && str_ends(s, none));
	assert_false(str_ends(s, S("worl")) || str_ends(S("d"), S("ld")));
	assert_int_equal(str_find(s, S("o w")), 4);
	assert_int_equal(str_find(s, S("o")), 4);
	assert_int_equal(str_find(s, none), 0);
	assert_true(str_find(s, S("x")) == SIZE_MAX && str_find(none, S("x")) == SIZE_MAX);
	assert_true(str_has(s, S("world")) && !str_has(s, S("worlds")));
}

static void cuts_stay_inside(void **state)
{
	str s = S("abcdef");

	assert_true(str_eq(str_sub(s, 1, 3), S("bc")));
	assert_true(str_eq(str_sub(s, 4, 100), S("ef")));
	assert_int_equal(str_sub(s, 3, 2).n, 0);
	assert_int_equal(str_sub(s, 100, 200).n, 0);
	assert_true(str_eq(str_trim(S(" \t\r\n\v\fa b\n ")), S("a b")));
	assert_int_equal(str_trim(S(" \n ")).n, 0);
	assert_int_equal(str_trim(none).n, 0);
}

static void a_text_is_cut_at_a_separator(void **state)
{
	static const struct {
		const char *in, *parts[4];
		size_t n;
	} rows[] = {
		{ "a,b,c", { "a", "b", "c" }, 3 },
		{ "a", { "a" }, 1 },
		{ "", { 0 }, 0 },
		{ ",", { "" }, 1 },
		{ "a,,b", { "a", "", "b" }, 3 },
		{ "a,", { "a" }, 1 },
		{ ",a", { "", "a" }, 2 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		str rest = str_of(rows[i].in);
		size_t n = 0;

		while (rest.n) {
			str part = str_cut(&rest, ',');
			assert_true(n < rows[i].n);
			assert_true(str_eq(part, str_of(rows[i].parts[n++])));
		}
		assert_int_equal(n, rows[i].n);
	}
}

static void only_whole_decimal_numbers_are_read(void **state)
{
	static const struct {
		const char *in;
		bool good;
		int64_t out;
	} rows[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "007", true, 7 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "-9223372036854775809", false, 0 },
		{ "99999999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1x", false, 0 },
		{ "0x10", false, 0 },
		{ "1.0", false, 0 },
		{ "--1", false, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t out = 77;
		bool good = str_i64(str_of(rows[i].in), &out);

		if (good != rows[i].good || out != (good ? rows[i].out : 77))
			fail_msg("\"%s\": %d %lld", rows[i].in, good, (long long)out);
	}
}

static void shell_patterns_match_the_whole_text(void **state)
{
	static const struct {
		const char *pattern, *s;
		bool match;
	} rows[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*", "anything", true },
		{ "a", "a", true },
		{ "a", "A", false },
		{ "?", "", false },
		{ "?", "x", true },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "fs__*", "fs__read", true },
		{ "fs__*", "xfs__read", false },
		{ "*__read", "fs__read", true },
		{ "*__read", "fs__read2", false },
		{ "*a*b*", "xxaxxbxx", true },
		{ "*a*b*", "xxbxxaxx", false },
		{ "*aab", "aaaab", true },
		{ "**a**", "a", true },
		{ "[abc]", "b", true },
		{ "[abc]", "d", false },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]", "d", true },
		{ "[!a-c]", "b", false },
		{ "[^a]", "b", true },
		{ "[]a]", "]", true },
		{ "[]a]", "a", true },
		{ "[a-]", "-", true },
		{ "[z-a]", "m", false },
		{ "[", "[", true },
		{ "[ab", "[ab", true },
		{ "[ab", "a", false },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "\\[a]", "[a]", true },
		{ "a\\", "a\\", true },
		{ "x*", "", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (str_glob(str_of(rows[i].pattern), str_of(rows[i].s)) != rows[i].match)
			fail_msg("%s on %s", rows[i].pattern, rows[i].s);
}

/* Exponential matchers would be at this until the end of time. */
static void a_hash_is_fnv_1a_and_can_go_on(void **state)
{
	assert_true(str_hash(STR_HASH, S("")) == UINT64_C(0xcbf29ce484222325));
	assert_true(str_hash(STR_HASH, S("a")) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(str_hash(STR_HASH, S("foobar")) == UINT64_C(0x85944171f73967e8));
	assert_true(str_hash(str_hash(STR_HASH, S("foo")), S("bar")) ==
		    str_hash(STR_HASH, S("foobar")));
}

static void only_hexadecimal_digits_have_a_value(void **state)
{
	static const char digits[] = "0123456789abcdefABCDEF";

	for (int c = 0; c < 256; c++) {
		const char *at = c ? strchr(digits, c) : NULL;
		int is = at ? (int)(at - digits) : -1;

		assert_int_equal(str_hex((char)c), is > 15 ? is - 6 : is);
	}
}

static void a_hostile_pattern_ends(void **state)
{
	char pattern[401], s[4001];

	for (size_t i = 0; i < sizeof pattern - 1; i += 2)
		memcpy(pattern + i, "*a", 2);
	pattern[sizeof pattern - 2] = 'b';
	pattern[sizeof pattern - 1] = '\0';
	memset(s, 'a', sizeof s - 1);
	s[sizeof s - 1] = '\0';
	assert_false(str_glob(str_of(pattern), str_of(s)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_compared_by_bytes),
		cmocka_unit_test(beginnings_ends_and_middles_are_found),
		cmocka_unit_test(cuts_stay_inside),
		cmocka_unit_test(a_text_is_cut_at_a_separator),
		cmocka_unit_test(only_whole_decimal_numbers_are_read),
		cmocka_unit_test(shell_patterns_match_the_whole_text),
		cmocka_unit_test(a_hash_is_fnv_1a_and_can_go_on),
		cmocka_unit_test(only_hexadecimal_digits_have_a_value),
		cmocka_unit_test(a_hostile_pattern_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

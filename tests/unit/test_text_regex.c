/*
 * Regular expressions of a configuration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "text/regex.h"

static void good_patterns_pass_and_bad_ones_say_where(void **state)
{
	static const struct {
		const char *pattern;
		bool good;
	} rows[] = {
		{ "^npm run .+$", true }, { "", true },       { "rm\\s+-[a-z]*r", true },
		{ "(?i)format", true },   { "a(", false },    { "[z-a]", false },
		{ "*x", false },          { "(?<n>", false }, { "\\C", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };
		struct regex *re = NULL;

		assert_int_equal(regex_check(str_of(rows[i].pattern), i % 2, &e),
				 rows[i].good ? OK : E_INVAL);
		if (!rows[i].good)
			assert_non_null(strstr(e.msg, "at character"));
		assert_int_equal(regex_open(&re, str_of(rows[i].pattern), i % 2, &e),
				 rows[i].good ? OK : E_INVAL);
		assert_int_equal(re != NULL, rows[i].good);
		regex_close(re);
	}
}

static enum regex_found find(const char *pattern, bool dot_all, str text)
{
	struct regex *re;
	struct err e = { 0 };

	if (regex_open(&re, str_of(pattern), dot_all, &e) < 0)
		fail_msg("%s: %s", pattern, e.msg);
	struct regex_room *room = regex_room_new();
	enum regex_found f = regex_find(re, room, text);
	regex_room_free(room);
	regex_close(re);
	return f;
}

static void patterns_mean_what_they_mean_in_re2(void **state)
{
	static const struct {
		const char *pattern;
		str text;
		bool dot_all;
		enum regex_found found;
	} rows[] = {
		{ "a.b", S("xa\nby"), true, REGEX_YES },
		{ "a.b", S("xa\nby"), false, REGEX_NO },
		{ "a.b", S("a\rb"), false, REGEX_YES },
		{ "^a$", S("a\n"), false, REGEX_NO },
		{ "(?m)^b$", S("a\nb\nc"), false, REGEX_YES },
		{ "[^x]b", S("\nb"), false, REGEX_YES },
		{ "\\bls\\b", S("ls -l"), false, REGEX_YES },
		{ "\\w", S("\xc3\xa9"), false, REGEX_NO },
		{ "\\d", S("\xd9\xa3"), false, REGEX_NO },
		{ "^.$", S("\xc3\xa9"), false, REGEX_YES },
		{ "(?P<n>a)b", S("ab"), false, REGEX_YES },
		{ "(?i)DROP", S("drop"), false, REGEX_YES },
		{ "[[:alpha:]]+", S("1"), false, REGEX_NO },
		{ "\\Qa.b\\E", S("axb"), false, REGEX_NO },
		{ "\\pL", S("\xd0\x96"), false, REGEX_YES },
		{ "\\x{416}", S("\xd0\x96"), false, REGEX_YES },
		{ "x\\z", S("x\n"), false, REGEX_NO },
		{ "rm", S("\xff rm"), false, REGEX_YES },
		{ "", S(""), false, REGEX_YES },
		{ "a", { 0 }, false, REGEX_NO },
		{ "a", S("\0a"), false, REGEX_YES },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (find(rows[i].pattern, rows[i].dot_all, rows[i].text) != rows[i].found)
			fail_msg("row %zu: %s", i, rows[i].pattern);
}

static void what_works_too_long_is_given_up(void **state)
{
	static const char *const patterns[] = { "(a+)+(b|c)", "(a|aa)+(b|c)", ".*.*.*(=|!)",
						"((a*)*)*(b|c)", "[^x]*\\d{9}" };
	char text[4097];

	memset(text, 'a', sizeof text);
	for (size_t i = 0; i < COUNT(patterns); i++)
		assert_int_equal(find(patterns[i], i % 2, (str){ text, 4096 }), REGEX_GIVEN_UP);
	/* Long alone is no reason. */
	assert_int_equal(find("^a+$", false, (str){ text, 4096 }), REGEX_YES);
	assert_int_equal(find("(^|[;&|(\\s])rm\\s", true, (str){ text, 4096 }), REGEX_NO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_patterns_pass_and_bad_ones_say_where),
		cmocka_unit_test(patterns_mean_what_they_mean_in_re2),
		cmocka_unit_test(what_works_too_long_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

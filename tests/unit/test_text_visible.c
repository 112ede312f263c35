/*
 * Foreign text on a terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf.h"
#include "text/text.h"

static const struct {
	str in;
	const char *plain, *table;
} rows[] = {
	{ S("plain \xe2\x82\xac text"), "plain \xe2\x82\xac text", "plain \xe2\x82\xac text" },
	{ S("a\n\tb"), "a\n\tb", "a\\n\\tb" },
	{ S("\x1b[31mred\r\n"), "\\x1b[31mred\\x0d\n", "\\x1b[31mred\\x0d\\n" },
	{ S("\0\x07\x7f"), "\\x00\\x07\\x7f", "\\x00\\x07\\x7f" },
	{ S("\xc2\x9b"
	    "2J\xc2\x80"),
	  "\\x9b2J\\x80", "\\x9b2J\\x80" },
	{ S("\x9b"
	    "2J\xff"),
	  "\\x9b2J\\xff", "\\x9b2J\\xff" },
	{ S("\xe2\x82"), "\\xe2\\x82", "\\xe2\\x82" },
	{ S("\xef\xbf\xbd"), "\xef\xbf\xbd", "\xef\xbf\xbd" },
	{ S("\xe2\x80\xaa\xe2\x80\xae"), "\\u202a\\u202e", "\\u202a\\u202e" },
	{ S("\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f"), "\\u061c\\u200e\\u200f",
	  "\\u061c\\u200e\\u200f" },
	{ S("\xe2\x81\xa6\xe2\x81\xa9"), "\\u2066\\u2069", "\\u2066\\u2069" },
	{ S("\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5"), "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5",
	  "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5" },
	{ S(""), "", "" },
};

static void control_and_direction_characters_are_spelt_out(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(text_visible(&a, rows[i].in, false).p, rows[i].plain);
		assert_string_equal(text_visible(&a, rows[i].in, true).p, rows[i].table);
		assert_true(utf_valid(text_visible(&a, rows[i].in, false)));
	}
}

static const struct {
	const char *in;
	size_t max;
	const char *out;
} lines[] = {
	{ "  one\n\n two\t\tthree ", 80, "one two three" },
	{ "abcdef", 6, "abcdef" },
	{ "abcdefg", 6, "abcde\xe2\x80\xa6" },
	{ "abcd efg", 6, "abcd\xe2\x80\xa6" },
	{ "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 2, "\xe2\x82\xac\xe2\x80\xa6" },
	{ "a\x1b[0m", 80, "a\\x1b[0m" },
	{ "a\x1b[0m", 4, "a\\x\xe2\x80\xa6" },
	{ " \n ", 5, "" },
	{ "ab", 1, "\xe2\x80\xa6" },
	{ "ab", 0, "" },
};

static void a_line_is_folded_and_cut(void **state)
{
	for (size_t i = 0; i < COUNT(lines); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(text_line(&a, str_of(lines[i].in), lines[i].max).p,
				    lines[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_and_direction_characters_are_spelt_out),
		cmocka_unit_test(a_line_is_folded_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

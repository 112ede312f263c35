/*
 * Which set a page is in, and the sets we read ourselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf.h"
#include "text/charset.h"

static const struct {
	const char *header;
	str bytes;
	bool markup;
	const char *name; /* NULL: not known */
	size_t skip;
	bool guessed;
} rows[] = {
	/* what the server says */
	{ "text/plain; charset=windows-1251", S("x"), false, "CP1251", 0, false },
	{ "text/html;charset=\"Shift_JIS\"", S("x"), true, "CP932", 0, false },
	{ "text/html; CHARSET = utf-8 ; x=y", S("x"), true, "utf-8", 0, false },
	{ "text/html; charset=iso-8859-1", S("\xc3\xa9"), true, "windows-1252", 0, false },
	{ "text/html; charset=klingon-7", S("x"), true, NULL, 0, false },
	{ "text/plain; charset=utf-16", S("a\0"), false, "utf-16le", 0, false },
	/* a mark wins over it */
	{ "text/html; charset=gbk", S("\xef\xbb\xbfx"), true, "utf-8", 3, false },
	{ "text/html", S("\xfe\xff\0a"), true, "utf-16be", 2, false },
	{ "text/html; charset=utf-8",
	  S("\xff\xfe"
	    "a\0"),
	  true, "utf-16le", 2, false },
	/* it wins over what the page says */
	{ "text/html; charset=koi8-r", S("<meta charset=euc-kr>"), true, "KOI8-R", 0, false },
	/* what the page says */
	{ "text/html", S("<meta charset=\"Shift_JIS\"><title>"), true, "CP932", 0, false },
	{ "text/html", S("<META name=a content=b><meta\ncharset = 'gb2312' >"), true, "GB18030",
	  0, false },
	{ "text/html",
	  S("<meta http-equiv=\"Content-Type\" content=\"text/html; charset=euc-kr\">"), true,
	  "CP949", 0, false },
	{ "text/xml", S("<?xml version=\"1.0\" encoding=\"big5\"?><a/>"), true, "BIG5-HKSCS", 0,
	  false },
	{ "text/html", S("<meta charset=utf-16>"), true, "utf-8", 0, false },
	{ "text/html", S("<meta charset=x-unheard-of>"), true, NULL, 0, false },
	{ "text/plain", S("<meta charset=gbk>"), false, "utf-8", 0, true },
	{ "text/html", S("<p charset=gbk>"), true, "utf-8", 0, true },
	/* nobody says anything */
	{ "", S(""), true, "utf-8", 0, true },
	{ "", S("plain"), false, "utf-8", 0, true },
	{ "", S("\xe2\x82\xac"), false, "utf-8", 0, true },
	{ "", S("caf\xe9"), false, "windows-1252", 0, true },
	{ "", S("caf\xe9 x"), false, "windows-1252", 0, true },
	{ "text/html; charset=", S("x"), true, "utf-8", 0, true },
};

static void the_set_is_found_as_browsers_find_it(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct charset c;

		charset_find(&c, str_of(rows[i].header), rows[i].bytes, rows[i].markup);
		if (!rows[i].name) {
			assert_null(c.name);
			assert_true(c.label.n > 0);
			continue;
		}
		if (!c.name)
			fail_msg("row %zu: not known", i);
		assert_string_equal(c.name, rows[i].name);
		assert_int_equal(c.skip, rows[i].skip);
		assert_int_equal(c.guessed, rows[i].guessed);
	}
}

static void only_the_first_kilobyte_is_looked_at(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4096);
	struct charset c;

	while (b.n < 1024)
		buf_addc(&b, ' ');
	buf_add(&b, S("<meta charset=gbk>"));
	charset_find(&c, S("text/html"), buf_str(&b), true);
	assert_true(c.guessed);
}

static const struct {
	const char *header;
	str bytes;
	const char *text;
} texts[] = {
	{ "charset=latin1", S("caf\xe9 \x80 \x93x\x94 \x81"),
	  "caf\xc3\xa9 \xe2\x82\xac \xe2\x80\x9cx\xe2\x80\x9d \xc2\x81" },
	{ "charset=utf-8", S("a\xff\xc3\xa9\xe2\x82"), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd" },
	{ "charset=utf-16le", S("a\0\xac\x20\x3d\xd8\x00\xde!"),
	  "a\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "charset=utf-16be", S("\0a\xd8\x3d\0b\xdc\x00\xd8\x3d"),
	  "a\xef\xbf\xbd"
	  "b\xef\xbf\xbd\xef\xbf\xbd" },
};

static void the_common_sets_are_read_without_help(void **state)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct charset c;
		str out;

		charset_find(&c, str_of(texts[i].header), texts[i].bytes, false);
		assert_true(charset_decode(&a, c.name, texts[i].bytes, &out));
		assert_string_equal(out.p, texts[i].text);
		assert_true(utf_valid(out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_set_is_found_as_browsers_find_it),
		cmocka_unit_test(only_the_first_kilobyte_is_looked_at),
		cmocka_unit_test(the_common_sets_are_read_without_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

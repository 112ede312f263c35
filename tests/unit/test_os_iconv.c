/*
 * The character sets of the world's web, as libc reads them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf.h"
#include "os/iconv.h"
#include "text/charset.h"

static const struct {
	const char *label;
	str bytes;
	const char *text;
} rows[] = {
	{ "shift_jis", S("\x93\xfa\x96\x7b"), "日本" },
	{ "euc-jp", S("\xc6\xfc\xcb\xdc"), "日本" },
	{ "iso-2022-jp", S("\x1b$BF|K\\\x1b(B"), "日本" },
	{ "windows-1251", S("\xcf\xf0\xe8\xe2\xe5\xf2"), "Привет" },
	{ "koi8-r", S("\xf0\xd2\xc9\xd7\xc5\xd4"), "Привет" },
	{ "iso-8859-5", S("\xbf\xe0\xd8\xd2\xd5\xe2"), "Привет" },
	{ "iso-8859-2", S("\xb3\xf3\xbc"), "łóź" },
	{ "iso-8859-15", S("\xa4"), "€" },
	{ "iso-8859-7", S("\xe1\xe2"), "αβ" },
	{ "iso-8859-9", S("\xfe"), "ş" },
	{ "windows-1250", S("\xb3\xf3\x9f"), "łóź" },
	{ "windows-1256", S("\xd3\xe1\xc7\xe3"), "سلام" },
	{ "gbk", S("\xd6\xd0\xce\xc4"), "中文" },
	{ "gb18030", S("\xd6\xd0\x81\x30\x84\x36"), "中¥" },
	{ "big5", S("\xa4\xa4\xa4\xe5"), "中文" },
	{ "euc-kr", S("\xc7\xd1\xb1\xdb"), "한글" },
	{ "tis-620", S("\xa1"), "ก" },
	{ "shift_jis", S("a\x93"), "a\xef\xbf\xbd" },
	{ "euc-kr", S("\xff\xc7\xd1"), "\xef\xbf\xbd한" },
	{ "windows-1251", S(""), "" },
	{ "windows-1258", S("vi\xea"), "viê" },
	{ "windows-1258", S("a"), "a" },
};

static void sets_become_utf_8(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct charset c;
		struct err e = { 0 };
		str out;

		charset_find(&c, arena_fmt(&a, "charset=%s", rows[i].label), rows[i].bytes,
			     false);
		assert_non_null(c.name);
		if (iconv_decode(&a, c.name, rows[i].bytes, &out, &e) < 0)
			fail_msg("%s: %s", rows[i].label, e.msg);
		assert_string_equal(out.p, rows[i].text);
	}
}

static void long_and_broken_text_stays_whole(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);
	str out;

	for (int i = 0; i < 30000; i++)
		buf_add(&b, S("\x93\xfa\xff"));
	assert_int_equal(iconv_decode(&a, "CP932", buf_str(&b), &out, NULL), OK);
	assert_true(utf_valid(out));
	assert_int_equal(utf_count(out), 60000);
}

static void a_set_that_libc_lacks_is_said_to_be_missing(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	str out;

	assert_int_equal(iconv_decode(&a, "KLINGON-7", S("x"), &out, &e), E_NOENT);
	assert_string_equal(e.msg, "this system cannot read KLINGON-7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_become_utf_8),
		cmocka_unit_test(long_and_broken_text_stays_whole),
		cmocka_unit_test(a_set_that_libc_lacks_is_said_to_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

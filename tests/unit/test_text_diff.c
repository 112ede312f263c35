/*
 * What an edit shows of itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/diff.h"

static const char ten[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

static const struct {
	const char *text, *old, *with, *now, *diff; /* every place of old */
} rows[] = {
	{ "a\nb\nc\n", "b", "x", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n" },
	{ ten, "6\n", "six\nsix and a half\n", NULL,
	  "@@ -3,7 +3,8 @@\n 3\n 4\n 5\n-6\n+six\n+six and a half\n 7\n 8\n 9\n" },
	{ ten, "5\n6\n7\n", "", NULL,
	  "@@ -2,9 +2,6 @@\n 2\n 3\n 4\n-5\n-6\n-7\n 8\n 9\n 10\n" },
	{ ten, "1\n2\n", "1\nnew\n2\n", NULL, "@@ -1,4 +1,5 @@\n 1\n+new\n 2\n 3\n 4\n" },
	{ ten, "10\n", "10\n11\n", NULL, "@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+11\n" },
	{ "one two one\n", "one", "1", "1 two 1\n",
	  "@@ -1,1 +1,1 @@\n-one two one\n+1 two 1\n" },
	{ "x\n\n\n\n\n\n\n\n\nx\n", "x", "y", NULL,
	  "@@ -1,4 +1,4 @@\n-x\n+y\n \n \n \n@@ -7,4 +7,4 @@\n \n \n \n-x\n+y\n" },
	{ "x\n2\n3\nx\n", "x\n", "", "2\n3\n", "@@ -1,4 +1,2 @@\n-x\n 2\n 3\n-x\n" },
	{ "x\n1\n2\n3\n4\n5\n6\n7\nx\n8\n", "x\n", "a\nb\n", NULL,
	  "@@ -1,4 +1,5 @@\n-x\n+a\n+b\n 1\n 2\n 3\n"
	  "@@ -6,5 +7,6 @@\n 5\n 6\n 7\n-x\n+a\n+b\n 8\n" },
	{ "no end", "end", "END", "no END", "@@ -1,1 +1,1 @@\n-no end\n+no END\n" },
	{ "a\nb", "\nb", "", "a", "@@ -1,2 +1,1 @@\n-a\n-b\n+a\n" },
	{ "a\nb\n", "a\n", "a", "ab\n", "@@ -1,2 +1,1 @@\n-a\n-b\n+ab\n" },
	{ "a\r\nb\r\n", "b", "c", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" },
	{ "only", "only", "", "", "@@ -1,1 +1,0 @@\n-only\n" },
};

static size_t places(str text, str old, struct stretch *v)
{
	size_t n = 0, from = 0, i;

	while ((i = str_find(str_sub(text, from, text.n), old)) != SIZE_MAX) {
		v[n++] = (struct stretch){ from + i, from + i + old.n };
		from += i + old.n;
	}
	return n;
}

static void changes_are_shown_with_the_lines_around_them(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct stretch v[8];
		bool cut = true;
		str text = str_of(rows[i].text), with = str_of(rows[i].with);
		size_t n = places(text, str_of(rows[i].old), v);

		if (rows[i].now)
			assert_string_equal(diff_apply(&a, text, v, n, with).p, rows[i].now);
		assert_string_equal(diff_show(&a, text, v, n, with, false, 4096, &cut).p,
				    rows[i].diff);
		assert_false(cut);
	}
}

static void a_long_diff_is_cut_and_says_so(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct stretch v[8];
	bool cut = false;
	str text = str_of(rows[6].text);
	str diff = diff_show(&a, text, v, places(text, S("x"), v), S("y"), false, 40, &cut);

	assert_true(cut);
	assert_true(diff.n <= 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_shown_with_the_lines_around_them),
		cmocka_unit_test(a_long_diff_is_cut_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

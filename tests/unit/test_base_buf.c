/*
 * Bufs: they grow to their maximum and remember what did not fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"

static void pieces_are_put_together(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1000);

	assert_string_equal(buf_str(&b).p, "");
	buf_add(&b, S("one"));
	buf_addc(&b, ' ');
	buf_fmt(&b, "%d %s", 2, "two");
	buf_add(&b, (str){ 0 });
	buf_fmt(&b, "%s", "");
	assert_string_equal(buf_str(&b).p, "one 2 two");
	assert_int_equal(buf_str(&b).n, 9);
	assert_false(b.full);
}

static void growth_keeps_every_byte(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 300000);

	for (int i = 0; i < 300000; i++) {
		buf_addc(&b, (char)('a' + i % 26));
		if (i % 1000 == 0)
			(void)arena_alloc(&a, 1, 24);
	}
	str s = buf_str(&b);
	assert_int_equal(s.n, 300000);
	for (int i = 0; i < 300000; i++)
		if (s.p[i] != 'a' + i % 26)
			fail_msg("byte %d", i);
	assert_false(b.full);
}

/* What is added in three pieces to a buf of at most max bytes, and what stays. */
static const struct {
	size_t max;
	const char *pieces[3];
	const char *want;
	bool full;
} rows[] = {
	{ 6, { "ab", "cd", "ef" }, "abcdef", false },
	{ 5, { "ab", "cd", "ef" }, "abcd", true },
	{ 5, { "abcdef", "x", "y" }, "", true }, /* nothing after the first that does not fit */
	{ 0, { "", "", "" }, "", false },
	{ 0, { "", "a", "" }, "", true },
	{ 3, { "abc", "", "" }, "abc", false },
};

static void a_piece_that_does_not_fit_is_left_out_whole_with_all_after_it(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		for (int how = 0; how < 2; how++) {
			SCOPED(arena_free) struct arena a = { 0 };
			struct buf b = buf_in(&a, rows[i].max);

			for (int k = 0; k < 3; k++) {
				if (how)
					buf_fmt(&b, "%s", rows[i].pieces[k]);
				else
					buf_add(&b, str_of(rows[i].pieces[k]));
			}
			assert_string_equal(buf_str(&b).p, rows[i].want);
			assert_int_equal(buf_str(&b).n, strlen(rows[i].want));
			assert_int_equal(b.full, rows[i].full);
		}
	}
}

static void room_is_written_by_the_caller(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 10);
	char *p = buf_room(&b, 10);

	assert_non_null(p);
	memcpy(p, "0123456789", 10);
	buf_filled(&b, 4);
	assert_string_equal(buf_str(&b).p, "0123");
	p = buf_room(&b, 6);
	assert_non_null(p);
	memcpy(p, "abcdef", 6);
	buf_filled(&b, 6);
	assert_string_equal(buf_str(&b).p, "0123abcdef");
	assert_null(buf_room(&b, 1));
	assert_true(b.full);
}

static void bytes_are_dropped_from_the_front(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 6);

	buf_drop(&b, 0);
	buf_add(&b, S("abcdef"));
	buf_drop(&b, 2);
	assert_string_equal(buf_str(&b).p, "cdef");
	buf_add(&b, S("gh"));
	assert_string_equal(buf_str(&b).p, "cdefgh");
	assert_false(b.full);
	buf_drop(&b, 6);
	assert_string_equal(buf_str(&b).p, "");
}

static void a_reset_empties_and_forgets_the_overflow(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 3);

	buf_add(&b, S("abcd"));
	assert_true(b.full);
	buf_reset(&b);
	buf_add(&b, S("xyz"));
	assert_string_equal(buf_str(&b).p, "xyz");
	assert_false(b.full);
}

static void no_maximum_at_all_is_one_too(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, SIZE_MAX);

	buf_add(&b, S("abc"));
	buf_fmt(&b, "%d", 4);
	assert_false(b.full);
	assert_true(b.cap > b.n);
	assert_string_equal(buf_str(&b).p, "abc4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_put_together),
		cmocka_unit_test(growth_keeps_every_byte),
		cmocka_unit_test(a_piece_that_does_not_fit_is_left_out_whole_with_all_after_it),
		cmocka_unit_test(room_is_written_by_the_caller),
		cmocka_unit_test(bytes_are_dropped_from_the_front),
		cmocka_unit_test(no_maximum_at_all_is_one_too),
		cmocka_unit_test(a_reset_empties_and_forgets_the_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Arenas: zeroed, aligned, counted, all at once gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

static void memory_is_zeroed_aligned_and_apart(void **state)
{
	static const size_t sizes[] = {
		0, 1, 7, 15, 16, 17, 4095, 4096, 65536, 65537, 1000000
	};
	SCOPED(arena_free) struct arena a = { 0 };
	char *blocks[COUNT(sizes)];

	for (size_t i = 0; i < COUNT(sizes); i++) {
		blocks[i] = arena_alloc(&a, 1, sizes[i]);
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t)blocks[i] % alignof(max_align_t), 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(blocks[i][k], 0);
		memset(blocks[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(blocks[i][k], i + 1);
}

static void small_blocks_fill_chunks_without_touching(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	size_t *blocks[20000];

	for (size_t i = 0; i < COUNT(blocks); i++) {
		blocks[i] = NEWN(&a, size_t, 2 + 2 * (i % 4));
		for (size_t k = 0; k < 2 + 2 * (i % 4); k++)
			blocks[i][k] = i;
	}
	for (size_t i = 0; i < COUNT(blocks); i++)
		for (size_t k = 0; k < 2 + 2 * (i % 4); k++)
			assert_int_equal(blocks[i][k], i);
}

static void used_counts_what_was_handed_out(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)arena_alloc(&a, 8, 100);
	assert_in_range(a.used, 800, 816);
	(void)arena_alloc(&a, 1, 100000);
	assert_in_range(a.used, 100800, 100832);
	arena_free(&a);
	assert_int_equal(a.used, 0);
	assert_null(a.head);
	assert_string_equal(arena_cstr(&a, S("again")), "again");
}

static void growing_keeps_the_content_and_zeroes_the_rest(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	size_t size = 3;
	char *p = arena_grow(&a, NULL, 0, size);

	memset(p, 'x', size);
	for (int i = 0; i < 14; i++) {
		p = arena_grow(&a, p, size, size * 3);
		for (size_t k = 0; k < size * 3; k++)
			if (p[k] != (k < size ? 'x' : 0))
				fail_msg("byte %zu of %zu", k, size * 3);
		size *= 3;
		if (size > 2000000)
			break;
		memset(p, 'x', size);
		if (i % 2)
			memset(arena_alloc(&a, 1, 5), 'y', 5);
	}
}

/* Chunks of one arena serve the next ones. */
static void nothing_of_one_arena_is_seen_in_the_next(void **state)
{
	static const size_t sizes[] = { 100, 4000, 5000, 16000, 30000, 65536, 70000 };

	for (int round = 0; round < 4; round++) {
		struct arena v[12] = { 0 };
		for (size_t i = 0; i < COUNT(v); i++) {
			for (size_t k = 0; k < COUNT(sizes); k++) {
				unsigned char *p = arena_alloc(&v[i], 1, sizes[k]);
				for (size_t at = 0; at < sizes[k]; at++)
					if (p[at])
						fail_msg("byte %zu of %zu", at, sizes[k]);
				memset(p, 0xff, sizes[k]);
			}
		}
		for (size_t i = 0; i < COUNT(v); i++)
			arena_free(&v[i]);
		if (round == 1)
			arena_trim();
	}
	arena_trim();
	(void)state;
}

static void a_block_that_is_not_the_last_moves_when_it_grows(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char *first = arena_alloc(&a, 1, 16);

	memcpy(first, "0123456789abcdef", 16);
	char *second = arena_alloc(&a, 1, 16);
	memcpy(second, "ABCDEFGHIJKLMNOP", 16);
	char *moved = arena_grow(&a, first, 16, 64);
	memset(moved + 16, '!', 48);
	assert_memory_equal(second, "ABCDEFGHIJKLMNOP", 16);
	assert_memory_equal(moved, "0123456789abcdef", 16);
}

#ifndef ARENA_DEBUG
static void the_last_block_grows_in_place(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char *p = arena_alloc(&a, 1, 100);

	assert_ptr_equal(arena_grow(&a, p, 100, 3000), p);
	assert_ptr_equal(arena_grow(&a, p, 3000, 10), p);
	assert_ptr_not_equal(arena_grow(&a, p, 3000, 100000), p);
}
#endif

static void texts_are_copied_with_a_nul_behind(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char from[] = "abc";
	str s = arena_dup(&a, (str){ from, 3 });

	from[0] = 'X';
	assert_string_equal(s.p, "abc");
	assert_int_equal(s.n, 3);
	assert_string_equal(arena_dup(&a, (str){ 0 }).p, "");
	assert_string_equal(arena_cstr(&a, (str){ "abcdef", 3 }), "abc");
	s = arena_cat(&a, S("ab"), S("cd"));
	assert_string_equal(s.p, "abcd");
	assert_int_equal(s.n, 4);
	assert_string_equal(arena_cat(&a, (str){ 0 }, S("x")).p, "x");
	assert_string_equal(arena_cat(&a, S("x"), (str){ 0 }).p, "x");
	assert_string_equal(arena_lower(&a, S("aB[Z\xc3\x84")).p, "ab[z\xc3\x84");
	s = arena_fmt(&a, "%d-%.*s-%s", 42, STRF(S("mid")), "end");
	assert_string_equal(s.p, "42-mid-end");
	assert_int_equal(s.n, strlen("42-mid-end"));
	assert_string_equal(arena_fmt(&a, "%.*s", STRF((str){ 0 })).p, "");
}

static void a_size_that_overflows_aborts(void **state)
{
	static const size_t rows[][2] = {
		{ SIZE_MAX, 2 },
		{ 16, SIZE_MAX / 8 },
		{ 16, SIZE_MAX / 16 + 2 }, /* the product wraps to 16 */
		{ SIZE_MAX / 2, 3 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0) {
			struct arena a = { 0 };
			int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

			(void)signal(SIGABRT, SIG_DFL);
			(void)dup2(null, 2);
			(void)arena_alloc(&a, rows[i][0], rows[i][1]);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(small_blocks_fill_chunks_without_touching),
		cmocka_unit_test(used_counts_what_was_handed_out),
		cmocka_unit_test(growing_keeps_the_content_and_zeroes_the_rest),
		cmocka_unit_test(nothing_of_one_arena_is_seen_in_the_next),
		cmocka_unit_test(a_block_that_is_not_the_last_moves_when_it_grows),
#ifndef ARENA_DEBUG
		cmocka_unit_test(the_last_block_grows_in_place),
#endif
		cmocka_unit_test(texts_are_copied_with_a_nul_behind),
		cmocka_unit_test(a_size_that_overflows_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

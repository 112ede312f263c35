/*
 * The heap's tuning, seen from outside: how many arenas there are, and what stays mapped.
 */
#include "os/file.h"
#include "os/heap.h"
#include "os/thread.h"
#include "os/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A sanitizer brings an allocator of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FOREIGN_HEAP
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FOREIGN_HEAP
#endif
#endif

#if defined(__GLIBC__) && !defined(FOREIGN_HEAP)
#include <malloc.h>

#define THREADS 6
#define BLOCKS 400
#define BLOCK (64 << 10)

static struct bell done[THREADS], leave;

/* The compiler would leave out one that is only freed. */
static void *block(size_t n)
{
	char *volatile p = malloc(n);

	assert_non_null(p);
	memset(p, 1, n);
	return p;
}

/* Its memory lives as long as it waits, so that no arena is handed on. */
static void *hold(void *arg)
{
	void *p = block(1000);

	bell_ring(arg);
	(void)!wait_fd(leave.fd, POLLIN, 0, NULL, NULL);
	free(p);
	return NULL;
}

static size_t arenas(void)
{
	char *text = NULL;
	size_t n = 0, len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(malloc_info(0, f), 0);
	(void)fclose(f);
	for (const char *p = text; (p = strstr(p, "<heap nr=")); p++)
		n++;
	free(text);
	return n;
}

static void many_threads_share_two_arenas(void **state)
{
	struct thread t[THREADS] = { 0 };

	assert_int_equal(bell_init(&leave, NULL), OK);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(bell_init(&done[i], NULL), OK);
		assert_int_equal(thread_start(&t[i], "hold", hold, &done[i], NULL), OK);
		assert_int_equal(wait_fd(done[i].fd, POLLIN, 0, NULL, NULL), OK);
	}
	assert_in_range(arenas(), 1, 2);
	bell_ring(&leave);
	for (size_t i = 0; i < THREADS; i++) {
		thread_join(&t[i]);
		bell_done(&done[i]);
	}
	bell_done(&leave);
}

static long resident_kib(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str text, line;
	int64_t n = 0;

	assert_int_equal(file_read(&text, &a, "/proc/self/status", 65536, NULL), OK);
	while (text.n) {
		line = str_cut(&text, '\n');
		if (str_starts(line, S("RssAnon:"))) {
			line = str_trim(str_sub(line, 8, line.n));
			assert_true(str_i64(str_cut(&line, ' '), &n));
		}
	}
	assert_true(n > 0);
	return (long)n;
}

static void what_was_freed_is_given_back(void **state)
{
	static void *v[BLOCKS];
	long before = resident_kib(), kept;
	void *last;

	for (size_t i = 0; i < BLOCKS; i++)
		v[i] = block(BLOCK);
	last = block(BLOCK); /* so that the end of the arena is in use */
	assert_true(resident_kib() > before + BLOCKS * 64 / 2);
	for (size_t i = 0; i < BLOCKS; i++)
		free(v[i]);
	kept = resident_kib();
	heap_trim();
	assert_true(resident_kib() < kept - BLOCKS * 64 / 2);
	free(last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_threads_share_two_arenas),
		cmocka_unit_test(what_was_freed_is_given_back),
	};

	heap_tune();
	return cmocka_run_group_tests_name("os/heap", tests, NULL, NULL);
}
#else
static void the_heap_is_somebody_elses(void **state)
{
	heap_tune();
	heap_trim();
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_heap_is_somebody_elses) };

	return cmocka_run_group_tests_name("os/heap", tests, NULL, NULL);
}
#endif

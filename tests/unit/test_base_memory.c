/*
 * Memory without NULL: what there is, and how the program ends when there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

static void blocks_hold_what_was_asked_for(void **state)
{
	char *text = memory_copy("what is kept"), *none = memory_take(0);
	int *zeroed = memory_zeroed(100, sizeof(int));

	for (int i = 0; i < 100; i++)
		assert_int_equal(zeroed[i], 0);
	text = memory_retake(text, 1000);
	assert_string_equal(text, "what is kept");
	assert_non_null(none);
	none = memory_retake(none, 0);
	assert_non_null(none);
	memory_give(memory_zeroed(0, 8));
	memory_give(none);
	memory_give(zeroed);
	memory_give(text);
	memory_give(NULL);
}

enum { TAKE, ZEROED, RETAKE, COPY, SAY };

static void run_out(int how)
{
	static char huge[1 << 20];

	switch (how) {
	case TAKE:
		memory_give(memory_take(SIZE_MAX / 2));
		break;
	case ZEROED:
		memory_give(memory_zeroed(SIZE_MAX / 8, 4));
		break;
	case RETAKE:
		memory_give(memory_retake(memory_take(8), SIZE_MAX / 2));
		break;
	case COPY:
		memset(huge, 'x', sizeof huge - 1);
		for (;;)
			(void)memory_copy(huge);
	default:
		memory_out("a test");
	}
}

static void without_memory_there_is_one_line_and_an_abort(void **state)
{
	for (int how = TAKE; how <= SAY; how++) {
		int said[2];
		char line[256] = "";

		assert_int_equal(pipe2(said, O_CLOEXEC), 0);
		pid_t pid = fork();
		if (pid == 0) {
			struct rlimit little = { 64 << 20, 64 << 20 }, none = { 0, 0 };
			(void)signal(SIGABRT, SIG_DFL);
			(void)setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
			(void)setrlimit(RLIMIT_AS, &little);
			(void)dup2(said[1], STDERR_FILENO);
			run_out(how);
#else
			(void)little;
			(void)dup2(said[1], STDERR_FILENO);
			run_out(SAY);
#endif
			_exit(0);
		}
		(void)close(said[1]);
		assert_true(read(said[0], line, sizeof line - 1) > 0);
		int status = 0;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		assert_ptr_equal(strstr(line, "gantry: out of memory: "), line);
		assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
		(void)close(said[0]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_hold_what_was_asked_for),
		cmocka_unit_test(without_memory_there_is_one_line_and_an_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

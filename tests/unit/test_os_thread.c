/*
 * Threads and signals as a descriptor.
 */
#include "os/clock.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/thread.h"
#include "os/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int signal_fd = -1;

struct seen {
	size_t stack;
	bool blocked; /* all that can be */
	char name[16];
};

static void *look_around(void *arg)
{
	struct seen *s = arg;
	pthread_attr_t attr;
	sigset_t mask;

	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		(void)pthread_attr_getstacksize(&attr, &s->stack);
		(void)pthread_attr_destroy(&attr);
	}
	(void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
	s->blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1 &&
		     sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGALRM) == 1;
	(void)pthread_getname_np(pthread_self(), s->name, sizeof s->name);
	return NULL;
}

static void a_thread_has_its_stack_its_name_and_no_signals(void **state)
{
	struct thread t = { 0 };
	struct seen s = { 0 };
	sigset_t before, after;

	(void)pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(thread_start(&t, "gantry-test", look_around, &s, NULL), OK);
	assert_true(t.running);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_memory_equal(&before, &after, 8); /* ours is as it was */
	thread_join(&t);
	assert_false(t.running);
	thread_join(&t); /* nothing left to join */
	assert_in_range(s.stack, 512 * 1024, 1024 * 1024);
	assert_true(s.blocked);
	assert_string_equal(s.name, "gantry-test");
}

static void signals_arrive_on_the_descriptor(void **state)
{
	assert_int_equal(signals_next(signal_fd), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	assert_int_equal(wait_fd(signal_fd, POLLIN, clock_mono_ms() + 10000, NULL, NULL), OK);
	int first = signals_next(signal_fd), second = signals_next(signal_fd);
	assert_true(first != second);
	assert_true(first == SIGTERM || first == SIGHUP);
	assert_true(second == SIGTERM || second == SIGHUP);
	assert_int_equal(signals_next(signal_fd), 0);
	assert_true(fcntl(signal_fd, F_GETFD) & FD_CLOEXEC);
}

static void a_closed_pipe_is_an_error_of_the_write(void **state)
{
	struct err e = { 0 };
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	(void)close(p[0]);
	assert_int_equal(fd_write_all(p[1], S("x"), NULL, &e), E_IO);
	assert_non_null(strstr(e.msg, "Broken pipe"));
	(void)close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_has_its_stack_its_name_and_no_signals),
		cmocka_unit_test(signals_arrive_on_the_descriptor),
		cmocka_unit_test(a_closed_pipe_is_an_error_of_the_write),
	};

	if (signals_open(&signal_fd, NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

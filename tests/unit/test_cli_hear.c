/* A thread that hears signals: what it passes on, and that it ends when told and when broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/hear.h"
#include "os/file.h"

static _Atomic int heard, ticks;
static struct bell told;

static void on_signal(void *arg, int signo)
{
	(void)arg;
	atomic_store(&heard, signo);
	bell_ring(&told);
}

static void on_tick(void *arg)
{
	(void)arg;
	if (atomic_fetch_add(&ticks, 1) == 1)
		bell_ring(&told);
}

static void wait_told(void)
{
	assert_int_equal(wait_fd(told.fd, POLLIN, 0, NULL, NULL), OK);
	bell_hear(&told);
}

static void signals_and_ticks_come_until_it_is_stopped(void **state)
{
	struct signalfd_siginfo one = { .ssi_signo = SIGTERM };
	int ends[2];

	(void)state;
	assert_int_equal(bell_init(&told, NULL), OK);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	struct hear h = { .signals = ends[0], .on_signal = on_signal, .quit = { -1 } };
	assert_int_equal(hear_start(&h, NULL), OK);
	assert_int_equal(write(ends[1], &one, sizeof one), sizeof one);
	wait_told();
	assert_int_equal(atomic_load(&heard), SIGTERM);
	hear_stop(&h);
	h = (struct hear){ .signals = ends[0], .on_tick = on_tick, .quit = { -1 } };
	assert_int_equal(hear_start(&h, NULL), OK);
	wait_told();
	hear_stop(&h);
	bell_done(&told);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static size_t threads(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *names;
	size_t n;

	assert_int_equal(dir_list(&names, &n, &a, "/proc/self/task", 1000, NULL), OK);
	return n;
}

static void a_broken_descriptor_ends_it(void **state)
{
	struct hear h = { .signals = 999, .on_signal = on_signal, .quit = { -1 } };
	size_t before = threads();
	int looks = 0;

	(void)state;
	assert_int_equal(hear_start(&h, NULL), OK);
	while (threads() > before && looks++ < 1000)
		assert_int_equal(wait_ms(10, NULL, NULL), OK);
	assert_true(looks < 1000);
	hear_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_and_ticks_come_until_it_is_stopped),
		cmocka_unit_test(a_broken_descriptor_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

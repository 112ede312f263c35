/*
 * Cancel tokens, waiting and doorbells.
 */
#include "os/cancel.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/thread.h"
#include "os/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#define LONG_MS 60000

static void init(struct cancel *c, const struct cancel *up, int64_t ms)
{
	struct err e = { 0 };

	if (cancel_init(c, up, ms, &e) < 0)
		fail_msg("%s", e.msg);
}

static void nothing_ends_work_without_a_token(void **state)
{
	assert_int_equal(cancel_reason(NULL), CANCEL_NONE);
	assert_int_equal(cancel_check(NULL, NULL), OK);
	assert_true(cancel_deadline(NULL) == INT64_MAX);
}

static void the_first_reason_stays(void **state)
{
	struct cancel c;

	init(&c, NULL, 0);
	assert_int_equal(cancel_reason(&c), CANCEL_NONE);
	cancel_fire(&c, CANCEL_USER);
	cancel_fire(&c, CANCEL_SHUTDOWN);
	assert_int_equal(cancel_reason(&c), CANCEL_USER);
	cancel_done(&c);
	assert_int_equal(c.fd, -1);
}

static void fire(struct cancel *c, enum cancel_reason reason)
{
	if (reason != CANCEL_NONE)
		cancel_fire(c, reason);
}

static void the_strongest_reason_of_the_chain_counts(void **state)
{
	static const struct {
		enum cancel_reason top, middle, bottom, want;
		int code;
	} rows[] = {
		{ CANCEL_NONE, CANCEL_NONE, CANCEL_NONE, CANCEL_NONE, OK },
		{ CANCEL_NONE, CANCEL_NONE, CANCEL_USER, CANCEL_USER, E_CANCELED },
		{ CANCEL_USER, CANCEL_NONE, CANCEL_NONE, CANCEL_USER, E_CANCELED },
		{ CANCEL_DEADLINE, CANCEL_NONE, CANCEL_USER, CANCEL_USER, E_CANCELED },
		{ CANCEL_USER, CANCEL_NONE, CANCEL_DEADLINE, CANCEL_USER, E_CANCELED },
		{ CANCEL_SHUTDOWN, CANCEL_USER, CANCEL_NONE, CANCEL_SHUTDOWN, E_CANCELED },
		{ CANCEL_USER, CANCEL_SHUTDOWN, CANCEL_DEADLINE, CANCEL_SHUTDOWN, E_CANCELED },
		{ CANCEL_NONE, CANCEL_DEADLINE, CANCEL_NONE, CANCEL_DEADLINE, E_TIMEOUT },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct cancel top, middle, bottom;
		struct err e = { 0 };
		init(&top, NULL, 0);
		init(&middle, &top, 0);
		init(&bottom, &middle, 0);
		fire(&top, rows[i].top);
		fire(&middle, rows[i].middle);
		fire(&bottom, rows[i].bottom);
		assert_int_equal(cancel_reason(&bottom), rows[i].want);
		assert_int_equal(cancel_check(&bottom, &e), rows[i].code);
		assert_int_equal(e.code, rows[i].code);
		cancel_done(&bottom);
		cancel_done(&middle);
		cancel_done(&top);
	}
}

static void a_child_does_not_end_its_parent(void **state)
{
	struct cancel up, c;

	init(&up, NULL, 0);
	init(&c, &up, 1);
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(cancel_reason(&up), CANCEL_NONE);
	assert_true(cancel_deadline(&up) == INT64_MAX);
	cancel_done(&c);
	cancel_done(&up);
}

static void the_nearest_deadline_of_the_chain_counts(void **state)
{
	struct cancel up, c, far;
	int64_t now = clock_mono_ms();

	init(&up, NULL, 1000000);
	init(&c, &up, 2000000);
	assert_true(cancel_deadline(&c) >= now + 1000000);
	assert_true(cancel_deadline(&c) < now + 2000000);
	init(&far, &c, INT64_MAX); /* beyond all time is no deadline */
	assert_true(cancel_deadline(&far) < now + 2000000);
	cancel_done(&far);
	cancel_done(&c);
	cancel_done(&up);
}

static void a_deadline_ends_a_wait(void **state)
{
	struct cancel up, c;
	struct err e = { 0 };
	int64_t before = clock_mono_ms();

	init(&up, NULL, 20);
	init(&c, &up, LONG_MS);
	assert_int_equal(wait_fd(-1, 0, 0, &c, &e), E_TIMEOUT);
	assert_string_equal(e.msg, "deadline passed");
	assert_in_range(clock_mono_ms() - before, 20, LONG_MS - 1);
	assert_int_equal(cancel_reason(&c), CANCEL_DEADLINE);
	/* Once passed, nothing more is begun, whatever is ready. */
	struct bell b;
	assert_int_equal(bell_init(&b, NULL), OK);
	bell_ring(&b);
	assert_int_equal(wait_fd(b.fd, POLLIN, 0, &c, NULL), E_TIMEOUT);
	bell_done(&b);
	cancel_done(&c);
	cancel_done(&up);
}

static void a_limit_of_its_own_ends_a_wait(void **state)
{
	int64_t before = clock_mono_ms();

	assert_int_equal(wait_fd(-1, 0, before + 20, NULL, NULL), E_TIMEOUT);
	assert_in_range(clock_mono_ms() - before, 20, LONG_MS);
	/* A limit that has passed still looks once. */
	struct bell b;
	assert_int_equal(bell_init(&b, NULL), OK);
	assert_int_equal(wait_fd(b.fd, POLLIN, 1, NULL, NULL), E_TIMEOUT);
	bell_ring(&b);
	assert_int_equal(wait_fd(b.fd, POLLIN, 1, NULL, NULL), OK);
	bell_done(&b);
}

static void sleeping_the_whole_time_is_success(void **state)
{
	struct cancel c;
	int64_t before = clock_mono_ms();

	assert_int_equal(wait_ms(15, NULL, NULL), OK);
	assert_in_range(clock_mono_ms() - before, 15, LONG_MS);
	assert_int_equal(wait_ms(0, NULL, NULL), OK);
	assert_int_equal(wait_ms(-7, NULL, NULL), OK);
	init(&c, NULL, 10);
	assert_int_equal(wait_ms(LONG_MS, &c, NULL), E_TIMEOUT);
	cancel_done(&c);
	init(&c, NULL, 0);
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(wait_ms(0, &c, NULL), E_CANCELED);
	cancel_done(&c);
}

/* Fires once the waiting thread has said that it is about to wait. */
struct firing {
	struct cancel *c;
	struct bell waiting;
	int64_t fired_us;
};

static void *fire_soon(void *arg)
{
	struct firing *f = arg;

	(void)!wait_fd(f->waiting.fd, POLLIN, 0, NULL, NULL);
	(void)!wait_ms(5, NULL, NULL);
	f->fired_us = clock_mono_us();
	cancel_fire(f->c, CANCEL_USER);
	return NULL;
}

static void firing_from_another_thread_ends_a_wait_at_once(void **state)
{
	struct cancel up, c;
	struct firing f = { .c = &up };
	struct thread t = { 0 };

	init(&up, NULL, 0);
	init(&c, &up, LONG_MS);
	assert_int_equal(bell_init(&f.waiting, NULL), OK);
	assert_int_equal(thread_start(&t, "fire", fire_soon, &f, NULL), OK);
	bell_ring(&f.waiting);
	assert_int_equal(wait_ms(LONG_MS, &c, NULL), E_CANCELED);
	int64_t now = clock_mono_us();
	thread_join(&t);
	assert_true(now - f.fired_us < 1000000);
	bell_done(&f.waiting);
	cancel_done(&c);
	cancel_done(&up);
}

static void many_descriptors_are_waited_for_at_once(void **state)
{
	struct bell b[3];
	struct pollfd p[32];

	for (size_t i = 0; i < COUNT(b); i++)
		assert_int_equal(bell_init(&b[i], NULL), OK);
	for (size_t i = 0; i < COUNT(p); i++)
		p[i] = (struct pollfd){ .fd = i < COUNT(b) ? b[i].fd : -1,
					.events = POLLIN,
					.revents = 77 };
	assert_int_equal(wait_fds(p, COUNT(p), 1, NULL, NULL), E_TIMEOUT);
	bell_ring(&b[0]);
	bell_ring(&b[2]);
	bell_ring(&b[2]);
	assert_int_equal(wait_fds(p, COUNT(p), 0, NULL, NULL), OK);
	assert_int_equal(p[0].revents, POLLIN);
	assert_int_equal(p[1].revents, 0);
	assert_int_equal(p[2].revents, POLLIN);
	assert_int_equal(p[31].revents, 0);
	assert_true(bell_hear(&b[0]));
	assert_true(bell_hear(&b[2]));
	assert_false(bell_hear(&b[2])); /* somebody has heard it */
	assert_false(bell_hear(&b[1]));
	assert_int_equal(wait_fds(p, COUNT(p), 1, NULL, NULL), E_TIMEOUT);
	for (size_t i = 0; i < COUNT(b); i++)
		bell_done(&b[i]);
}

static void a_hang_up_counts_as_ready(void **state)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	(void)close(p[1]);
	assert_int_equal(wait_fd(p[0], POLLIN, 0, NULL, NULL), OK);
	(void)close(p[0]);
	assert_int_equal(wait_fd(p[0], POLLIN, 0, NULL, NULL), OK); /* the read will tell */
}

static volatile sig_atomic_t alarms;

static void count_alarm(int signo)
{
	(void)signo;
	alarms++;
}

static void a_signal_does_not_shorten_a_wait(void **state)
{
	struct sigaction act = { .sa_handler = count_alarm }, old;
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, off = { 0 };
	int64_t before = clock_mono_ms();

	assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
	assert_int_equal(wait_ms(30, NULL, NULL), OK);
	assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	assert_true(alarms > 0);
	assert_true(clock_mono_ms() - before >= 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_ends_work_without_a_token),
		cmocka_unit_test(the_first_reason_stays),
		cmocka_unit_test(the_strongest_reason_of_the_chain_counts),
		cmocka_unit_test(a_child_does_not_end_its_parent),
		cmocka_unit_test(the_nearest_deadline_of_the_chain_counts),
		cmocka_unit_test(a_deadline_ends_a_wait),
		cmocka_unit_test(a_limit_of_its_own_ends_a_wait),
		cmocka_unit_test(sleeping_the_whole_time_is_success),
		cmocka_unit_test(firing_from_another_thread_ends_a_wait_at_once),
		cmocka_unit_test(many_descriptors_are_waited_for_at_once),
		cmocka_unit_test(a_hang_up_counts_as_ready),
		cmocka_unit_test(a_signal_does_not_shorten_a_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

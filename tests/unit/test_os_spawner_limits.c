/*
 * The spawner in narrow places: started without stdio, too few descriptors, all places
 * taken, sockets that are full.
 */
#include "children.h"
#include "daemons.h"

#include "os/clock.h"
#include "os/file.h"
#include "os/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the daemons -------------------------------------------------------------------------- */

/* Started with 0, 1 and 2 closed. */
static int mode_closed(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct proc_opt opt = { .argv = ARGV("ls", "/proc/self/fd"),
				.env = ARGV(PATH_ENV),
				.in = PROC_FD,
				.out = PROC_PIPE,
				.err = PROC_FD,
				.fds = { 0, -1, 2 } };
	struct err e = { 0 };
	struct proc *p = NULL;
	int status = -1;

	need(spawner_start(&e), &e);
	need(proc_start(&p, &opt, NULL, &e), &e);
	need(proc_wait(p, &status, soon(), NULL, &e), &e);
	char text[64] = "";
	(void)!read(proc_fd(p, 1), text, sizeof text - 1);
	say("%s: %s", proc_status_text(&a, status).p, text);
	for (int fd = 0; fd <= 2; fd++)
		say("%d %s\n", fd, fcntl(fd, F_GETFD) >= 0 ? "open" : "closed");
	proc_close(p);
	spawner_stop();
	return 0;
}

static int mode_few_descriptors(void)
{
	struct rlimit l = { 40, 400 };
	struct proc *p[64] = { 0 };
	struct err e = { 0 };
	size_t n = 0;

	(void)setrlimit(RLIMIT_NOFILE, &l);
	need(spawner_start(&e), &e);
	for (int i = 0; i < 100; i++)
		run_shell("exit 0");
	say("in a row\n");
	while (n < COUNT(p) && (p[n] = shell("sleep 300", NULL, &e)))
		n++;
	say("at once: %s, %s\n", n >= 10 && n < COUNT(p) ? "some" : "odd", e.msg);
	while (n > 0)
		proc_close(p[--n]);
	/* The same with room here, but none in the spawner. */
	l.rlim_cur = 400;
	(void)setrlimit(RLIMIT_NOFILE, &l);
	while (n < COUNT(p) && (p[n] = shell("sleep 300", NULL, &e)))
		n++;
	say("in the spawner: %s, %s\n", n >= 10 && n < COUNT(p) ? "some" : "odd", e.msg);
	while (n > 0)
		proc_close(p[--n]);
	run_shell("echo again");
	spawner_stop();
	return 0;
}

static int mode_full(void)
{
	struct proc *p[129] = { 0 };
	struct err e = { 0 };
	size_t n = 0;

	need(spawner_start(&e), &e);
	while (n < COUNT(p) && (p[n] = shell("exec sleep 300", NULL, &e)))
		n++;
	say("%zu, then %d %s\n", n, e.code, e.msg);
	proc_close(p[--n]);
	run_shell("echo one free, one more");
	spawner_stop();
	return 0;
}

/* Requests pile up while the spawner is stopped; each caller gives up in its own time. */
static int mode_stopped_spawner(void)
{
	static char big[64 * 1024];
	struct err e = { 0 };
	int timed_out = 0;

	memset(big, 'x', sizeof big - 1);
	need(spawner_start(&e), &e);
	run_shell("exit 0"); /* it has its name once it has started something */
	int64_t spawner = child_named(getpid(), "gantry-spawner");
	signal_found(spawner, SIGSTOP);
	for (int i = 0; i < 12; i++) {
		struct proc_opt opt = { .argv = ARGV("sleep", "300", big),
					.out = PROC_FD,
					.fds = { -1, REPORT_FD, -1 } };
		struct proc *p = NULL;
		struct cancel c;
		need(cancel_init(&c, NULL, 5, &e), &e);
		timed_out += proc_start(&p, &opt, &c, &e) == E_TIMEOUT;
		cancel_done(&c);
	}
	signal_found(spawner, SIGCONT);
	say("timed out %d\n", timed_out);
	run_shell("echo works again");
	spawner_stop();
	return 0;
}

/* Signals pile up while the supervisor is stopped: KILL still counts. */
static int mode_stopped_supervisor(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	int status = 0;

	need(spawner_start(&e), &e);
	struct proc *p = must_shell("exec sleep 300");
	int64_t supervisor = parent_of(proc_pid(p));
	signal_found(supervisor, SIGSTOP);
	for (int i = 0; i < 5000; i++)
		proc_signal(p, SIGWINCH);
	proc_signal(p, SIGKILL);
	signal_found(supervisor, SIGCONT);
	need(proc_wait(p, &status, soon(), NULL, &e), &e);
	say("%s\n", proc_status_text(&a, status).p);
	proc_close(p);
	spawner_stop();
	return 0;
}

/* A supervisor that has not read all signals when it ends resets the connection. */
static int mode_unread_signals(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	int status = 0;

	need(spawner_start(&e), &e);
	struct proc *p = must_shell("exec sleep 300");
	int64_t supervisor = parent_of(proc_pid(p));
	signal_found(supervisor, SIGSTOP);
	for (int i = 0; i < 50; i++)
		proc_signal(p, SIGWINCH);
	SCOPED(fd_drop) int child = pidfd_of(proc_pid(p));
	signal_found(proc_pid(p), SIGTERM);
	need(wait_fd(child, POLLIN, soon(), NULL, &e), &e);
	signal_found(supervisor, SIGCONT);
	struct pollfd hup = { .fd = proc_exit_fd(p) };
	need(wait_fds(&hup, 1, soon(), NULL, &e), &e);
	need(proc_wait(p, &status, soon(), NULL, &e), &e);
	say("%s\n", proc_status_text(&a, status).p);
	proc_close(p);
	spawner_stop();
	return 0;
}

static const struct mode modes[] = {
	{ "closed", mode_closed },
	{ "few-descriptors", mode_few_descriptors },
	{ "full", mode_full },
	{ "stopped-spawner", mode_stopped_spawner },
	{ "stopped-supervisor", mode_stopped_supervisor },
	{ "unread-signals", mode_unread_signals },
};

/* ---- the tests ---------------------------------------------------------------------------- */

static void it_works_when_started_without_stdio(void **state)
{
	expect("closed", "exit 0: 0\n1\n2\n3\n0 open\n1 open\n2 open\n");
}

static void few_descriptors_are_an_error_and_no_more(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct daemon d = launch("few-descriptors");

	fd_drop(&d.in);
	str got = read_until(&a, d.out, NULL);
	finish(&d);
	assert_true(str_starts(got, S("in a row\nat once: some, sh: ")));
	assert_true(str_has(got, S("Too many open files\nin the spawner: some, sh: ")));
	assert_true(str_ends(got, S("Too many open files\nagain\n")));
}

static void the_129th_child_is_refused(void **state)
{
	expect("full", "128, then -5 sh: 128 children run already\n"
		       "one free, one more\n");
}

static void a_start_ends_in_time_when_the_spawner_does_not_answer(void **state)
{
	expect("stopped-spawner", "timed out 12\nworks again\n");
}

static void kill_is_not_lost_behind_other_signals(void **state)
{
	expect("stopped-supervisor", "killed by signal 9\n");
}

static void the_end_is_read_after_a_reset_connection(void **state)
{
	expect("unread-signals", "killed by signal 15\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_works_when_started_without_stdio),
		cmocka_unit_test(few_descriptors_are_an_error_and_no_more),
		cmocka_unit_test(the_129th_child_is_refused),
		cmocka_unit_test(a_start_ends_in_time_when_the_spawner_does_not_answer),
		cmocka_unit_test(kill_is_not_lost_behind_other_signals),
		cmocka_unit_test(the_end_is_read_after_a_reset_connection),
	};

	if (argc > 1)
		run_mode(modes, COUNT(modes), argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

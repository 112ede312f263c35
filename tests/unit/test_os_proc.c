/*
 * Children by way of the spawner: what a caller of proc_start() is promised.
 */
#include "children.h"

#include "os/clock.h"
#include "os/file.h"
#include "os/thread.h"
#include "os/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define assert_text(s, lit)                                                                    \
	do {                                                                                   \
		str got_ = (s);                                                                \
		if (!str_eq(got_, S(lit)))                                                     \
			fail_msg("got \"%.*s\"", STRF(got_));                                  \
	} while (0)

/* A number of seconds for sleep(1) that no other process has, so that it can be found. */
static char mark[32];
static char script[512];

static const char *const *sh(const char *fmt)
{
	(void)snprintf(script, sizeof script, fmt, mark, mark);
	static const char *const args[] = { "sh", "-c", script, NULL };
	return args;
}

static void pipes_and_the_exit_status_arrive(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = start(SH("read x; echo got $x; exit 7"));
	int status = 0;

	assert_int_equal(fd_write_all(proc_fd(p, 0), S("input\n"), NULL, NULL), OK);
	assert_text(read_until(&a, proc_fd(p, 1), NULL), "got input\n");
	assert_int_equal(proc_wait(p, &status, soon(), NULL, NULL), OK);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void stdin_ends_when_closed(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = start(ARGV("cat"));

	assert_int_equal(fd_write_all(proc_fd(p, 0), S("abc"), NULL, NULL), OK);
	proc_close_stdin(p);
	assert_int_equal(proc_fd(p, 0), -1);
	assert_text(read_until(&a, proc_fd(p, 1), NULL), "abc");
	assert_int_equal(proc_wait(p, NULL, soon(), NULL, NULL), OK);
}

static void a_pipe_that_the_child_closes_ends_at_once(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = start(SH("echo x; exec >&-; read x; exit 2"));
	int status = 0;

	assert_text(read_until(&a, proc_fd(p, 1), NULL), "x\n");
	assert_int_equal(proc_wait(p, &status, clock_mono_ms() + 1, NULL, NULL), E_TIMEOUT);
	proc_stop(p, TEST_MS, 0, &status);
	assert_text(proc_status_text(&a, status), "exit 2");
}

static void stderr_has_its_own_pipe_and_null_is_empty(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = NULL;
	struct proc_opt opt = { .argv = SH("cat; echo out; echo err >&2"),
				.env = ARGV(PATH_ENV),
				.out = PROC_PIPE,
				.err = PROC_PIPE };

	assert_int_equal(proc_start(&p, &opt, NULL, NULL), OK);
	assert_int_equal(proc_fd(p, 0), -1);
	assert_text(read_until(&a, proc_fd(p, 2), NULL), "err\n");
	assert_text(read_until(&a, proc_fd(p, 1), NULL), "out\n");
}

static void the_environment_is_exactly_what_was_given(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = NULL;
	struct proc_opt opt = { .argv = ARGV("env"),
				.env = ARGV("B=x=y", "PATH=/nowhere:/usr/bin", "A=two words",
					    "EMPTY="),
				.out = PROC_PIPE };

	assert_int_equal(proc_start(&p, &opt, NULL, NULL), OK);
	assert_text(read_until(&a, proc_fd(p, 1), NULL),
		    "B=x=y\nPATH=/nowhere:/usr/bin\nA=two words\nEMPTY=\n");
}

static void no_environment_at_all_still_finds_programs(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = NULL;
	struct proc_opt opt = { .argv = ARGV("env"), .out = PROC_PIPE };

	assert_int_equal(proc_start(&p, &opt, NULL, NULL), OK);
	assert_text(read_until(&a, proc_fd(p, 1), NULL), "");
}

static void the_working_directory_is_the_one_asked_for(void **state)
{
	static const struct {
		const char *cwd, *want;
	} rows[] = { { "/usr", "/usr\n" }, { NULL, "/\n" } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		SCOPED(proc_drop) struct proc *p = NULL;
		struct proc_opt opt = { .argv = ARGV("/bin/pwd"),
					.cwd = rows[i].cwd,
					.out = PROC_PIPE };
		assert_int_equal(proc_start(&p, &opt, NULL, NULL), OK);
		assert_string_equal(read_until(&a, proc_fd(p, 1), NULL).p, rows[i].want);
	}
}

static void a_working_directory_that_was_swapped_starts_nothing(void **state)
{
	static const struct {
		const char *cwd, *is;
		int code;
	} rows[] = { { "/usr", "/usr", OK },
		     { "/usr/bin/..", "/usr", OK },
		     { "/usr", "/", E_IO } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(proc_drop) struct proc *p = NULL;
		struct stat st;
		struct proc_opt opt = { .argv = ARGV("/bin/true"),
					.cwd = rows[i].cwd,
					.cwd_is = &st };
		struct err e = { 0 };
		assert_int_equal(stat(rows[i].is, &st), 0);
		int rc = proc_start(&p, &opt, NULL, &e);
		if (rc != rows[i].code)
			fail_msg("row %zu: %d, %s", i, rc, e.msg);
	}
}

static void what_cannot_be_started_says_why(void **state)
{
	static char dir[] = "/tmp/gantry-proc-XXXXXX";
	static char big[128 * 1024];
	SCOPED(arena_free) struct arena a = { 0 };

	assert_non_null(mkdtemp(dir));
	memset(big, 'x', sizeof big - 1);
	const char *script_path = arena_fmt(&a, "%s/script", dir).p;
	const char *plain = arena_fmt(&a, "%s/plain", dir).p;
	const char *garbage = arena_fmt(&a, "%s/garbage", dir).p;
	const char *path = arena_fmt(&a, "PATH=%s:/usr/bin", dir).p;
	assert_int_equal(file_create(script_path, S("#!/no/such/sh\n"), 0755, NULL), OK);
	assert_int_equal(file_create(plain, S("hello\n"), 0644, NULL), OK);
	assert_int_equal(file_create(garbage, S("hello\n"), 0755, NULL), OK);
	const struct {
		const char *program, *cwd;
		int code;
		const char *says;
	} rows[] = {
		{ "no-such-program", NULL, E_NOENT, "no-such-program: no such program" },
		{ "/usr/bin/no-such", NULL, E_NOENT, "/usr/bin/no-such: no such program" },
		{ "/etc/passwd/x", NULL, E_NOENT, "/etc/passwd/x: no such program" },
		{ "script", NULL, E_NOENT, "script: its interpreter was not found" },
		{ "plain", NULL, E_DENIED, "plain: not executable" },
		{ "garbage", NULL, E_DENIED, "garbage: not executable" },
		{ dir, NULL, E_DENIED, "not executable" },
		{ "true", "/no/such/dir", E_NOENT, "true: working directory /no/such/dir: " },
		{ "true", "/etc/passwd", E_NOENT, "true: working directory /etc/passwd: " },
		{ "", NULL, E_INVAL, "no program named" },
		{ big, NULL, E_LIMIT, "arguments and environment over 96 KiB" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct proc_opt opt = { .argv = ARGV(rows[i].program),
					.env = ARGV(path),
					.cwd = rows[i].cwd };
		struct proc *p = NULL;
		struct err e = { 0 };
		assert_int_equal(proc_start(&p, &opt, NULL, &e), rows[i].code);
		assert_null(p);
		if (!strstr(e.msg, rows[i].says))
			fail_msg("%s: %s", rows[i].program, e.msg);
	}
	(void)unlink(script_path);
	(void)unlink(plain);
	(void)unlink(garbage);
	(void)rmdir(dir);
}

static void the_child_has_no_descriptor_but_stdio(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int status;

	/* 3 is the directory that ls itself reads; main() opened some without close-on-exec
	 * before the spawner existed, and here is another. */
	SCOPED(fd_drop) int open_fd = open("/dev/null", O_RDONLY);
	assert_true(open_fd > 2);
	assert_text(run(&a, ARGV("ls", "/proc/self/fd"), &status), "0\n1\n2\n3\n");
}

static void no_signal_is_blocked_or_ignored_in_the_child(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int status;

	assert_text(run(&a, ARGV("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"), &status),
		    "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void background_processes_end_with_the_child(void **state)
{
	static const char *const scripts[] = {
		"sleep %s & echo hi", /* holds the pipe */
		"setsid sleep %s & sleep %s & echo hi",
		"(setsid sh -c 'setsid sh -c \"sleep %s; :\" & sleep %s; :' &) & echo hi",
		"(trap '' TERM HUP INT; (sleep %s &) &) & echo hi", /* double fork */
	};

	for (size_t i = 0; i < COUNT(scripts); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int status = -1;
		assert_text(run(&a, sh(scripts[i]), &status), "hi\n");
		assert_int_equal(status, 0);
		assert_int_equal(with_argument(mark), 0);
	}
}

static void a_process_that_forks_and_exits_in_a_loop_is_caught(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int status = -1;

	(void)snprintf(script, sizeof script,
		       "import os, time\nprint('hi', flush=True)\nif os.fork() == 0:\n"
		       " os.setsid()\n t = time.time() + 60\n while time.time() < t:\n"
		       "  if os.fork(): os._exit(0)\n");
	assert_text(run(&a, ARGV("/usr/bin/python3", "-c", script, mark), &status), "hi\n");
	assert_int_equal(status, 0);
	assert_int_equal(with_argument(mark), 0);
}

static void a_child_that_ignores_term_is_killed_in_the_end(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop)
	struct proc *p = start(sh("trap '' TERM; setsid sleep %s & echo; sleep %s"));
	int status = 0;

	(void)read_until(&a, proc_fd(p, 1), "\n");
	proc_stop(p, 20, 20, &status);
	assert_text(proc_status_text(&a, status), "killed by signal 9");
	assert_int_equal(with_argument(mark), 0);
}

static void term_reaches_a_handler(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop)
	struct proc *p = start(sh("trap 'exit 5' TERM; echo; sleep %s & wait"));
	int status = 0;

	(void)read_until(&a, proc_fd(p, 1), "\n");
	proc_stop(p, 0, TEST_MS, &status);
	assert_text(proc_status_text(&a, status), "exit 5");
	assert_int_equal(with_argument(mark), 0);
}

static void stop_leaves_time_to_end_by_itself_at_the_end_of_stdin(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = start(SH("cat; exit 6"));
	int status = 0;

	proc_stop(p, TEST_MS, 0, &status);
	assert_text(proc_status_text(&a, status), "exit 6");
}

static void the_end_can_be_seen_again_and_again(void **state)
{
	SCOPED(proc_drop) struct proc *p = start(SH("exit 3"));
	int status = 0;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(wait_fd(proc_exit_fd(p), POLLIN, soon(), NULL, NULL), OK);
		assert_int_equal(proc_wait(p, &status, soon(), NULL, NULL), OK);
		assert_int_equal(WEXITSTATUS(status), 3);
	}
	proc_signal(p, SIGTERM);
	proc_signal(p, SIGKILL);
	assert_int_equal(proc_wait(p, &status, soon(), NULL, NULL), OK);
	assert_int_equal(WEXITSTATUS(status), 3);
}

static void waiting_ends_at_its_limit_and_on_cancel(void **state)
{
	SCOPED(proc_drop) struct proc *p = start(ARGV("cat"));
	struct cancel c;
	int status = 77;

	assert_int_equal(proc_wait(p, &status, clock_mono_ms() + 5, NULL, NULL), E_TIMEOUT);
	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(proc_wait(p, &status, soon(), &c, NULL), E_CANCELED);
	assert_int_equal(status, 77);
	cancel_done(&c);
}

static void a_cancelled_start_leaves_nothing(void **state)
{
	struct proc_opt opt = { .argv = ARGV("sleep", mark), .env = ARGV(PATH_ENV) };
	struct proc *p = NULL;
	struct cancel c;

	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	cancel_fire(&c, CANCEL_SHUTDOWN);
	assert_int_equal(proc_start(&p, &opt, &c, NULL), E_CANCELED);
	assert_null(p);
	cancel_done(&c);
	/* Requests are served in order, so the cancelled one has been looked at by now, and
	 * its supervisor ends it without being asked. */
	proc_close(start(ARGV("true")));
	int64_t until = soon();
	while (with_argument(mark) && clock_mono_ms() < until)
		assert_int_equal(wait_ms(1, NULL, NULL), OK);
	assert_int_equal(with_argument(mark), 0);
}

static void *start_many(void *arg)
{
	int *bad = arg;

	for (int i = 0; i < 20; i++) {
		struct proc_opt opt = { .argv = ARGV("echo", mark),
					.env = ARGV(PATH_ENV),
					.out = PROC_PIPE };
		struct proc *p = NULL;
		int status = -1;
		char text[64] = "";
		if (proc_start(&p, &opt, NULL, NULL) < 0) {
			++*bad;
			continue;
		}
		*bad += proc_wait(p, &status, soon(), NULL, NULL) != OK || status != 0;
		*bad += read(proc_fd(p, 1), text, sizeof text) != (ssize_t)strlen(mark) + 1;
		proc_close(p);
	}
	return NULL;
}

static void threads_start_children_in_parallel(void **state)
{
	struct thread t[8] = { 0 };
	int bad[8] = { 0 };

	for (size_t i = 0; i < COUNT(t); i++)
		assert_int_equal(thread_start(&t[i], "start", start_many, &bad[i], NULL), OK);
	for (size_t i = 0; i < COUNT(t); i++) {
		thread_join(&t[i]);
		assert_int_equal(bad[i], 0);
	}
}

static void closing_leaves_no_descriptor_and_no_process(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t spawner = child_named(getpid(), "gantry-spawner"), pids[4];
	size_t before, after;
	str *names;
	int status;

	assert_true(spawner > 0);
	assert_int_equal(dir_list(&names, &before, &a, "/proc/self/fd", 1000, NULL), OK);
	for (int i = 0; i < 20; i++)
		(void)run(&a, ARGV("true"), &status);
	proc_close(start(ARGV("sleep", mark)));
	assert_int_equal(with_argument(mark), 0);
	assert_int_equal(dir_list(&names, &after, &a, "/proc/self/fd", 1000, NULL), OK);
	assert_int_equal(before, after);
	assert_int_equal(children_of(spawner, pids, COUNT(pids)), 0);
}

static void closing_one_does_not_wait_for_another(void **state)
{
	struct proc *first = start(ARGV("sleep", mark)), *second = start(ARGV("sleep", mark));
	int64_t before = clock_mono_ms();

	proc_close(first);
	assert_true(clock_mono_ms() - before < 2500);
	assert_true(with_argument(mark) == proc_pid(second));
	proc_close(second);
}

static void exits_are_described(void **state)
{
	static const struct {
		const char *script, *want;
	} rows[] = {
		{ "exit 0", "exit 0" },
		{ "exit 255", "exit 255" },
		{ "kill -9 $$", "killed by signal 9" },
		{ "kill -15 $$", "killed by signal 15" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int status = -1;
		(void)run(&a, SH(rows[i].script), &status);
		assert_string_equal(proc_status_text(&a, status).p, rows[i].want);
	}
	SCOPED(arena_free) struct arena a = { 0 };
	assert_text(proc_status_text(&a, PROC_LOST), "lost");
}

static void a_stale_child_is_killed_only_if_it_is_the_same(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(proc_drop) struct proc *p = start(sh("sleep %s & echo; wait"));
	int64_t pid = proc_pid(p), started = proc_start_time(pid);
	str boot = proc_boot_id(&a);
	int status = 0;

	(void)read_until(&a, proc_fd(p, 1), "\n");
	assert_int_equal(boot.n, 36);
	assert_true(started > 0);
	assert_false(proc_kill_stale(S("another-boot"), pid, started));
	assert_false(proc_kill_stale(S(""), pid, started));
	assert_false(proc_kill_stale(boot, pid, started + 1));
	assert_false(proc_kill_stale(boot, pid, 0));
	assert_false(proc_kill_stale(boot, 0, 0));
	assert_false(proc_kill_stale(boot, getpgrp(), proc_start_time(getpgrp())));
	assert_int_equal(proc_wait(p, &status, clock_mono_ms() + 1, NULL, NULL), E_TIMEOUT);
	assert_true(proc_kill_stale(boot, pid, started));
	assert_int_equal(proc_wait(p, &status, soon(), NULL, NULL), OK);
	assert_text(proc_status_text(&a, status), "killed by signal 9");
	assert_int_equal(proc_start_time(pid), 0);
	assert_false(proc_kill_stale(boot, pid, started));
}

/* Ignored and blocked signals, one of libc's own among them, as a careless parent leaves
 * them: none must reach a child. */
static void inherit_bad_signals(void)
{
	unsigned long ignore[8] = { (unsigned long)SIG_IGN };
	sigset_t set;

	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	(void)sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	(void)syscall(SYS_rt_sigaction, 32, ignore, NULL, 8);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipes_and_the_exit_status_arrive),
		cmocka_unit_test(stdin_ends_when_closed),
		cmocka_unit_test(a_pipe_that_the_child_closes_ends_at_once),
		cmocka_unit_test(stderr_has_its_own_pipe_and_null_is_empty),
		cmocka_unit_test(the_environment_is_exactly_what_was_given),
		cmocka_unit_test(no_environment_at_all_still_finds_programs),
		cmocka_unit_test(the_working_directory_is_the_one_asked_for),
		cmocka_unit_test(a_working_directory_that_was_swapped_starts_nothing),
		cmocka_unit_test(what_cannot_be_started_says_why),
		cmocka_unit_test(the_child_has_no_descriptor_but_stdio),
		cmocka_unit_test(no_signal_is_blocked_or_ignored_in_the_child),
		cmocka_unit_test(background_processes_end_with_the_child),
		cmocka_unit_test(a_process_that_forks_and_exits_in_a_loop_is_caught),
		cmocka_unit_test(a_child_that_ignores_term_is_killed_in_the_end),
		cmocka_unit_test(term_reaches_a_handler),
		cmocka_unit_test(stop_leaves_time_to_end_by_itself_at_the_end_of_stdin),
		cmocka_unit_test(the_end_can_be_seen_again_and_again),
		cmocka_unit_test(waiting_ends_at_its_limit_and_on_cancel),
		cmocka_unit_test(a_cancelled_start_leaves_nothing),
		cmocka_unit_test(threads_start_children_in_parallel),
		cmocka_unit_test(closing_leaves_no_descriptor_and_no_process),
		cmocka_unit_test(closing_one_does_not_wait_for_another),
		cmocka_unit_test(exits_are_described),
		cmocka_unit_test(a_stale_child_is_killed_only_if_it_is_the_same),
	};
	struct err e = { 0 };

	(void)snprintf(mark, sizeof mark, "300.%d", (int)getpid());
	inherit_bad_signals();
	if (open("/dev/null", O_RDONLY) < 0 || open("/dev/null", O_RDONLY) < 0 ||
	    spawner_start(&e) < 0) {
		(void)fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	spawner_stop();
	return failed;
}

/*
 * What the spawner leaves behind: nothing, when the daemon, the spawner or a supervisor is
 * killed, and no secret in any memory but that of the child it is for.
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
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the daemons -------------------------------------------------------------------------- */

/* Two children with descendants in other groups and sessions. */
static int mode_brood(void)
{
	const char *script =
		"setsid sleep 300 & (setsid sh -c 'trap \"\" HUP TERM; sleep 300; :' &)"
		" ; echo up; sleep 300; :";
	struct err e = { 0 };

	need(spawner_start(&e), &e);
	struct proc *first = must_shell(script), *second = must_shell(script);
	say("first %lld second %lld\n", (long long)proc_pid(first),
	    (long long)proc_pid(second));
	say_end("first", first, soon());
	await_stdin_end();
	say_end("second", second, clock_mono_ms() + 1);
	struct proc *third = shell("exit 0", NULL, &e);
	say("third: %s\n", third ? "started" : e.msg);
	spawner_stop();
	say_end("second", second, clock_mono_ms() + 1);
	spawner_stop();
	return 0;
}

static int mode_hide(void)
{
	struct err e = { 0 };
	char c;

	need(spawner_start(&e), &e);
	(void)must_shell("sleep 300");
	say("started\n");
	(void)!read(0, &c, 1);
	need(spawner_hide(&e), &e);
	say("hidden, dumpable %d\n", prctl(PR_GET_DUMPABLE));
	await_stdin_end();
	return 0;
}

/* A child with a secret of its own, made up only now. */
static int mode_forget(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char token[ID_LONG_LEN + 1];
	struct err e = { 0 };
	struct proc *p = NULL;

	need(spawner_start(&e), &e);
	id_long(token);
	struct proc_opt opt = { .argv = ARGV("sh", "-c", "echo up; sleep 300; exit"),
				.env = ARGV(PATH_ENV, arena_fmt(&a, "TOKEN=%s", token).p),
				.out = PROC_FD,
				.fds = { -1, REPORT_FD, -1 } };
	need(proc_start(&p, &opt, NULL, &e), &e);
	/* The next request, shorter, is served when this one is done with. */
	run_shell("exit");
	say("%lld %s\n", (long long)proc_pid(p), token);
	await_stdin_end();
	return 0;
}

/* A service manager stops a service by a TERM to every process of it. */
static int mode_termed(void)
{
	struct err e = { 0 };
	char c;

	need(spawner_start(&e), &e);
	struct proc *p = must_shell("trap '' TERM; echo up; read x; echo lived");
	int64_t spawner = child_named(getpid(), "gantry-spawner");
	(void)!read(0, &c, 1); /* the test has seen "up" */
	signal_found(spawner, SIGTERM);
	signal_found(parent_of(proc_pid(p)), SIGTERM);
	signal_found(spawner, SIGHUP);
	proc_close_stdin(p);
	say_end("child", p, soon());
	proc_close(p);
	run_shell("echo spawner lived");
	spawner_stop();
	return 0;
}

static int mode_without_proc(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	int status = -1;

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/proc", "tmpfs", 0, NULL) != 0) {
		say("not permitted\n");
		return 0;
	}
	need(spawner_start(&e), &e);
	/* The parent's number makes processes that only this test will find. */
	const char *script =
		arena_fmt(&a,
			  "trap 'exit 4' USR1; sleep 301.%d & "
			  "setsid sh -c \"kill -USR1 $$; exec sleep 302.%d >&2\" & "
			  "wait; wait",
			  (int)getppid(), (int)getppid())
			.p;
	struct proc *p = must_shell(script);
	need(proc_wait(p, &status, soon(), NULL, &e), &e);
	say("%s, pid %s, boot id %zu\n", proc_status_text(&a, status).p,
	    proc_start_time(getpid()) ? "known" : "unknown", proc_boot_id(&a).n);
	proc_close(p);
	p = must_shell(arena_fmt(&a, "sleep 301.%d; :", (int)getppid()).p);
	proc_stop(p, 0, 0, &status);
	say("%s\n", proc_status_text(&a, status).p);
	spawner_stop();
	return 0;
}

static int mode_other_user(void)
{
	struct err e = { 0 };

	if (setgid(65532) != 0 || setuid(65532) != 0) {
		say("not permitted\n");
		return 0;
	}
	need(spawner_start(&e), &e);
	need(spawner_hide(&e), &e);
	struct proc *p = must_shell("setsid sleep 300 & (setsid sleep 300 &); id -u");
	say_end("child", p, soon());
	spawner_stop();
	return 0;
}

/* A set-uid program that became another user wholly cannot be killed by the one who called
 * it.  The copy of the interpreter in argv is one. */
static int mode_beyond_reach(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *mark = arena_fmt(&a, "303.%d", (int)getppid()).p;
	const char *python = arena_fmt(&a, "/tmp/gantry-setuid-%d", (int)getppid()).p;
	const char *code = "import os, time\nos.setresuid(0, 0, 0)\nprint('up', flush=True)\n"
			   "os.close(1)\ntime.sleep(300)";
	struct proc_opt opt = { .argv = ARGV(python, "-c", code, mark),
				.env = ARGV(PATH_ENV),
				.out = PROC_PIPE };
	struct err e = { 0 };
	struct proc *p = NULL;
	int status = 0;

	if (setgid(65532) != 0 || setuid(65532) != 0) {
		say("not permitted\n");
		return 0;
	}
	need(spawner_start(&e), &e);
	need(proc_start(&p, &opt, NULL, &e), &e);
	if (!str_eq(read_until(&a, proc_fd(p, 1), NULL), S("up\n"))) {
		say("not permitted\n"); /* no set-uid programs on this mount */
		return 0;
	}
	proc_stop(p, 0, 1, &status);
	say("%s\n", proc_status_text(&a, status).p);
	proc_close(p);
	run_shell("echo others run");
	spawner_stop();
	say("stopped\n");
	return 0;
}

static const struct mode modes[] = {
	{ "brood", mode_brood },
	{ "hide", mode_hide },
	{ "forget", mode_forget },
	{ "termed", mode_termed },
	{ "without-proc", mode_without_proc },
	{ "other-user", mode_other_user },
	{ "beyond-reach", mode_beyond_reach },
};

/* ---- the tests ---------------------------------------------------------------------------- */

#define BROOD 32

struct brood {
	struct daemon d;
	int64_t spawner, first, second;
	int fds[BROOD]; /* a pidfd for each descendant of root */
	size_t n;
};

static void add_descendants(struct brood *b, int64_t root)
{
	int64_t pids[BROOD];
	size_t n = children_of(root, pids, COUNT(pids));

	for (size_t i = 0; i < n; i++) {
		assert_true(b->n < BROOD);
		b->fds[b->n++] = pidfd_of(pids[i]);
		add_descendants(b, pids[i]);
	}
}

/* Wait until both children have started all they start. */
static struct brood launch_brood(struct arena *a)
{
	struct brood b = { .d = launch("brood") };
	long long first = 0, second = 0;
	str text = S("");

	while (!(str_has(text, S("second")) && str_find(text, S("up\n")) != SIZE_MAX &&
		 str_has(str_sub(text, str_find(text, S("up\n")) + 3, text.n), S("up\n"))))
		text = arena_cat(a, text, read_until(a, b.d.out, "\n"));
	const char *line = strstr(text.p, "first ");
	assert_int_equal(sscanf(line, "first %lld second %lld", &first, &second), 2);
	b.first = first;
	b.second = second;
	b.spawner = child_named(b.d.pid, "gantry-spawner");
	assert_true(b.spawner > 0);
	return b;
}

static void nothing_survives_a_killed_daemon(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct brood b = launch_brood(&a);

	add_descendants(&b, b.d.pid);
	assert_true(b.n >= 9); /* the spawner, two supervisors, two shells, their children */
	int64_t before = clock_mono_ms();
	(void)kill(b.d.pid, SIGKILL);
	for (size_t i = 0; i < b.n; i++)
		await_end(b.fds[i]);
	assert_true(clock_mono_ms() - before < 2000);
	(void)read_until(&a, b.d.out, NULL);
	finish(&b.d);
}

static void nothing_survives_a_killed_spawner_and_the_daemon_is_told(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct brood b = launch_brood(&a);

	add_descendants(&b, b.spawner);
	signal_found(b.spawner, SIGKILL);
	for (size_t i = 0; i < b.n; i++)
		await_end(b.fds[i]);
	fd_drop(&b.d.in);
	assert_string_equal(read_until(&a, b.d.out, NULL).p,
			    "first: killed by signal 9\nsecond: killed by signal 9\n"
			    "third: sh: the spawner process is gone\n"
			    "second: killed by signal 9\n");
	finish(&b.d);
}

static void a_killed_supervisor_loses_its_own_child_and_no_other(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct brood b = launch_brood(&a);

	add_descendants(&b, parent_of(b.first));
	assert_true(b.n >= 3);
	/* The spawner held, the child itself goes with its supervisor all the same. */
	int child = pidfd_of(b.first);
	signal_found(b.spawner, SIGSTOP);
	signal_found(parent_of(b.first), SIGKILL);
	await_end(child);
	signal_found(b.spawner, SIGCONT);
	assert_string_equal(read_until(&a, b.d.out, "\n").p, "first: lost\n");
	/* "lost" comes only when all are gone already. */
	for (size_t i = 0; i < b.n; i++) {
		assert_int_equal(wait_fd(b.fds[i], POLLIN, clock_mono_ms(), NULL, NULL), OK);
		(void)close(b.fds[i]);
	}
	assert_true(parent_of(b.second) > 0);
	fd_drop(&b.d.in);
	/* The daemon ends the rest by spawner_stop(). */
	assert_string_equal(read_until(&a, b.d.out, NULL).p,
			    "second: runs\nthird: started\nsecond: killed by signal 9\n");
	finish(&b.d);
}

static bool environ_has_secret(int64_t pid)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *path = arena_fmt(&a, "/proc/%lld/environ", (long long)pid).p;
	str text;

	assert_int_equal(file_read(&text, &a, path, 1 << 20, NULL), OK);
	return str_has(text, S(DAEMON_SECRET));
}

static void no_environment_block_is_left_to_read(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct daemon d = launch("hide");

	if (getuid() != 0)
		skip(); /* not even readable */
	assert_string_equal(read_until(&a, d.out, "started\n").p, "started\n");
	int64_t spawner = child_named(d.pid, "gantry-spawner");
	int64_t supervisor = child_named(spawner, "gantry-super");
	assert_true(spawner > 0 && supervisor > 0);
	assert_true(environ_has_secret(d.pid)); /* so the search does find it */
	assert_int_equal(write(d.in, "x", 1), 1);
	assert_string_equal(read_until(&a, d.out, "\n").p, "hidden, dumpable 0\n");
	assert_false(environ_has_secret(d.pid));
	assert_false(environ_has_secret(spawner));
	assert_false(environ_has_secret(supervisor));
	fd_drop(&d.in);
	(void)read_until(&a, d.out, NULL);
	finish(&d);
}

/* Is text anywhere in the writable memory of pid? */
static bool memory_has(int64_t pid, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *mem_path = arena_fmt(&a, "/proc/%lld/mem", (long long)pid).p;
	SCOPED(fd_drop) int mem = open(mem_path, O_RDONLY | O_CLOEXEC);
	str maps;

	assert_true(mem >= 0);
	assert_int_equal(file_read(&maps, &a,
				   arena_fmt(&a, "/proc/%lld/maps", (long long)pid).p, 1 << 24,
				   NULL),
			 OK);
	while (maps.n) {
		unsigned long long from = 0, to = 0;
		char rights[5] = "";
		str line = str_cut(&maps, '\n');
		if (sscanf(line.p, "%llx-%llx %4s", &from, &to, rights) != 3 ||
		    rights[1] != 'w' || to - from > 64 << 20)
			continue;
		char *p = arena_alloc(&a, 1, to - from);
		ssize_t n = pread(mem, p, to - from, (off_t)from);
		if (n > 0 && str_has((str){ p, (size_t)n }, text))
			return true;
	}
	return false;
}

static void the_secrets_of_a_child_stay_with_it(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct daemon d = launch("forget");
	char token[64] = "";
	long long child = 0;

	if (getuid() != 0)
		skip();
	/* Two processes write here: their lines may come together. */
	str said = read_until(&a, d.out, "\n");
	while (!strchr(said.p, ' '))
		said = arena_cat(&a, said, read_until(&a, d.out, "\n"));
	const char *line = str_starts(said, S("up\n")) ? said.p + 3 : said.p;
	assert_int_equal(sscanf(line, "%lld %63s", &child, token), 2);
	assert_int_equal(strlen(token), ID_LONG_LEN);
	assert_true(memory_has(child, str_of(token))); /* so the search does find it */
	assert_false(memory_has(parent_of(child), str_of(token)));
	assert_false(memory_has(parent_of(parent_of(child)), str_of(token)));
	fd_drop(&d.in);
	(void)read_until(&a, d.out, NULL);
	finish(&d);
}

static void terminating_signals_do_not_end_spawner_or_supervisor(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct daemon d = launch("termed");

	assert_string_equal(read_until(&a, d.out, "up\n").p, "up\n");
	assert_int_equal(write(d.in, "x", 1), 1);
	fd_drop(&d.in);
	assert_string_equal(read_until(&a, d.out, NULL).p,
			    "lived\nchild: exit 0\nspawner lived\n");
	finish(&d);
}

static void without_proc_the_group_is_killed(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	expect("without-proc", "exit 4, pid unknown, boot id 0\nkilled by signal 9\n");
	assert_int_equal(with_argument(arena_fmt(&a, "301.%d", (int)getpid()).p), 0);
	/* What has left the group survives here; the test ends it. */
	int64_t survivor = with_argument(arena_fmt(&a, "302.%d", (int)getpid()).p);
	assert_true(survivor > 0);
	assert_int_equal(kill((pid_t)survivor, SIGKILL), 0);
}

static void an_unprivileged_daemon_ends_its_children_too(void **state)
{
	expect("other-user", "65532\nchild: exit 0\n");
}

static int make_setuid_copy(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *path = arena_fmt(&a, "/tmp/gantry-setuid-%d", (int)getpid()).p;
	str binary;

	*state = NULL;
	if (file_read(&binary, &a, "/usr/bin/python3", 1 << 26, NULL) < 0)
		return 0;
	return file_write_atomic(path, binary, 04755, NULL) == OK ? 0 : -1;
}

static int remove_setuid_copy(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t pid = with_argument(arena_fmt(&a, "303.%d", (int)getpid()).p);

	if (pid > 0)
		signal_found(pid, SIGKILL);
	(void)unlink(arena_fmt(&a, "/tmp/gantry-setuid-%d", (int)getpid()).p);
	return 0;
}

static void what_may_not_be_killed_is_given_up(void **state)
{
	int64_t before = clock_mono_ms();

	expect("beyond-reach", "lost\nothers run\nstopped\n");
	assert_true(clock_mono_ms() - before < 10000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_survives_a_killed_daemon),
		cmocka_unit_test(nothing_survives_a_killed_spawner_and_the_daemon_is_told),
		cmocka_unit_test(a_killed_supervisor_loses_its_own_child_and_no_other),
		cmocka_unit_test(no_environment_block_is_left_to_read),
		cmocka_unit_test(the_secrets_of_a_child_stay_with_it),
		cmocka_unit_test(terminating_signals_do_not_end_spawner_or_supervisor),
		cmocka_unit_test(without_proc_the_group_is_killed),
		cmocka_unit_test(an_unprivileged_daemon_ends_its_children_too),
		cmocka_unit_test_setup_teardown(what_may_not_be_killed_is_given_up,
						make_setuid_copy, remove_setuid_copy),
	};

	if (argc > 1)
		run_mode(modes, COUNT(modes), argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

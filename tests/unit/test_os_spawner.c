/*
 * The spawner when things go wrong: the daemon, the spawner or a supervisor killed, odd ways
 * to be started, too few descriptors, sockets that are full.  Each daemon is this program
 * executed again with the name of a mode; it reports on its stdout, which its children
 * hold too, so that the end of that stream says that all of them are gone.
 */
#include "children.h"

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

#define SECRET "gantry-test-secret-5d1f"
#define REPORT_FD 9

/* ---- the daemons -------------------------------------------------------------------------- */

static void say(const char *fmt, ...) PRINTF(1, 2);

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vdprintf(REPORT_FD, fmt, ap);
	va_end(ap);
}

static void need(int rc, const struct err *e)
{
	if (rc == OK)
		return;
	say("failed: %s\n", e->msg);
	_exit(1);
}

/* Start a shell line whose output is our report. */
static struct proc *shell(const char *script, const struct cancel *c, struct err *e)
{
	struct proc_opt opt = { .argv = SH(script),
				.env = ARGV(PATH_ENV),
				.in = PROC_PIPE,
				.out = PROC_FD,
				.fds = { -1, REPORT_FD, -1 } };
	struct proc *p = NULL;

	return proc_start(&p, &opt, c, e) == OK ? p : NULL;
}

static struct proc *must_shell(const char *script)
{
	struct err e = { 0 };
	struct proc *p = shell(script, NULL, &e);

	need(p ? OK : e.code, &e);
	return p;
}

static void run_shell(const char *script)
{
	struct proc *p = must_shell(script);
	struct err e = { 0 };

	need(proc_wait(p, NULL, soon(), NULL, &e), &e);
	proc_close(p);
}

static void await_stdin_end(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

static void say_end(const char *who, struct proc *p, int64_t until)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int status;

	if (proc_wait(p, &status, until, NULL, NULL) == OK)
		say("%s: %s\n", who, proc_status_text(&a, status).p);
	else
		say("%s: runs\n", who);
}

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
	struct proc_opt opt = { .argv = ARGV("sh", "-c", "echo up; exec sleep 300"),
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
	int64_t spawner = child_named(getpid(), "gantry-spawner");
	(void)kill((pid_t)spawner, SIGSTOP);
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
	(void)kill((pid_t)spawner, SIGCONT);
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
	(void)kill((pid_t)supervisor, SIGSTOP);
	for (int i = 0; i < 5000; i++)
		proc_signal(p, SIGWINCH);
	proc_signal(p, SIGKILL);
	(void)kill((pid_t)supervisor, SIGCONT);
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
	(void)kill((pid_t)supervisor, SIGSTOP);
	for (int i = 0; i < 50; i++)
		proc_signal(p, SIGWINCH);
	SCOPED(fd_drop) int child = pidfd_of(proc_pid(p));
	(void)kill((pid_t)proc_pid(p), SIGTERM);
	need(wait_fd(child, POLLIN, soon(), NULL, &e), &e);
	(void)kill((pid_t)supervisor, SIGCONT);
	struct pollfd hup = { .fd = proc_exit_fd(p) };
	need(wait_fds(&hup, 1, soon(), NULL, &e), &e);
	need(proc_wait(p, &status, soon(), NULL, &e), &e);
	say("%s\n", proc_status_text(&a, status).p);
	proc_close(p);
	spawner_stop();
	return 0;
}

/* A service manager stops a service by a TERM to every process of it. */
static int mode_termed(void)
{
	struct err e = { 0 };
	char c;

	need(spawner_start(&e), &e);
	int64_t spawner = child_named(getpid(), "gantry-spawner");
	struct proc *p = must_shell("trap '' TERM; echo up; read x; echo lived");
	(void)!read(0, &c, 1); /* the test has seen "up" */
	(void)kill((pid_t)spawner, SIGTERM);
	(void)kill((pid_t)parent_of(proc_pid(p)), SIGTERM);
	(void)kill((pid_t)spawner, SIGHUP);
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

static const struct mode {
	const char *name;
	int (*run)(void);
} modes[] = {
	{ "brood", mode_brood },
	{ "hide", mode_hide },
	{ "forget", mode_forget },
	{ "closed", mode_closed },
	{ "few-descriptors", mode_few_descriptors },
	{ "full", mode_full },
	{ "stopped-spawner", mode_stopped_spawner },
	{ "stopped-supervisor", mode_stopped_supervisor },
	{ "unread-signals", mode_unread_signals },
	{ "termed", mode_termed },
	{ "without-proc", mode_without_proc },
	{ "other-user", mode_other_user },
	{ "beyond-reach", mode_beyond_reach },
};

/* ---- the tests ---------------------------------------------------------------------------- */

struct daemon {
	pid_t pid;
	int in, out; /* its stdin, its report */
};

static struct daemon launch(const char *mode)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		/* REPORT_FD is inherited without close-on-exec, as a careless parent does. */
		int report = fcntl(out[1], F_DUPFD, REPORT_FD + 1);
		(void)dup2(in[0], 0);
		(void)dup2(report, REPORT_FD);
		(void)close(report);
		if (strcmp(mode, "closed") == 0)
			for (int fd = 0; fd <= 2; fd++)
				(void)close(fd);
		(void)execve("/proc/self/exe", (char *[]){ "daemon", (char *)mode, NULL },
			     (char *[]){ PATH_ENV, "KEY=" SECRET, NULL });
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	return (struct daemon){ .pid = pid, .in = in[1], .out = out[0] };
}

static void finish(struct daemon *d)
{
	fd_drop(&d->in);
	fd_drop(&d->out);
	assert_int_equal(waitpid(d->pid, NULL, 0), d->pid);
}

/* Run a mode to its end and compare what it said. */
static void expect(const char *mode, const char *want)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct daemon d = launch(mode);

	fd_drop(&d.in);
	str got = read_until(&a, d.out, NULL);
	finish(&d);
	if (str_eq(got, S("not permitted\n")))
		skip();
	assert_string_equal(got.p, want);
}

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
	(void)kill((pid_t)b.spawner, SIGKILL);
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
	(void)kill((pid_t)b.spawner, SIGSTOP);
	(void)kill((pid_t)parent_of(b.first), SIGKILL);
	await_end(child);
	(void)kill((pid_t)b.spawner, SIGCONT);
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
	return str_has(text, S(SECRET));
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
	str said = read_until(&a, d.out, "up\n");
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
		(void)kill((pid_t)pid, SIGKILL);
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
		cmocka_unit_test(it_works_when_started_without_stdio),
		cmocka_unit_test(few_descriptors_are_an_error_and_no_more),
		cmocka_unit_test(the_129th_child_is_refused),
		cmocka_unit_test(a_start_ends_in_time_when_the_spawner_does_not_answer),
		cmocka_unit_test(kill_is_not_lost_behind_other_signals),
		cmocka_unit_test(the_end_is_read_after_a_reset_connection),
		cmocka_unit_test(terminating_signals_do_not_end_spawner_or_supervisor),
		cmocka_unit_test(without_proc_the_group_is_killed),
		cmocka_unit_test(an_unprivileged_daemon_ends_its_children_too),
		cmocka_unit_test_setup_teardown(what_may_not_be_killed_is_given_up,
						make_setuid_copy, remove_setuid_copy),
	};

	for (size_t i = 0; argc == 2 && i < COUNT(modes); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			_exit(modes[i].run());
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Daemons for the spawner tests; daemons.h says what each function does.
 */
#include "daemons.h"

#include "children.h"
#include "os/clock.h"
#include "os/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vdprintf(REPORT_FD, fmt, ap);
	va_end(ap);
}

void need(int rc, const struct err *e)
{
	if (rc == OK)
		return;
	say("failed: %s\n", e->msg);
	_exit(1);
}

/* Start a shell line whose output is our report. */
struct proc *shell(const char *script, const struct cancel *c, struct err *e)
{
	struct proc_opt opt = { .argv = SH(script),
				.env = ARGV(PATH_ENV),
				.in = PROC_PIPE,
				.out = PROC_FD,
				.fds = { -1, REPORT_FD, -1 } };
	struct proc *p = NULL;

	return proc_start(&p, &opt, c, e) == OK ? p : NULL;
}

struct proc *must_shell(const char *script)
{
	struct err e = { 0 };
	struct proc *p = shell(script, NULL, &e);

	need(p ? OK : e.code, &e);
	return p;
}

void run_shell(const char *script)
{
	struct proc *p = must_shell(script);
	struct err e = { 0 };

	need(proc_wait(p, NULL, soon(), NULL, &e), &e);
	proc_close(p);
}

void await_stdin_end(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

void say_end(const char *who, struct proc *p, int64_t until)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int status;

	if (proc_wait(p, &status, until, NULL, NULL) == OK)
		say("%s: %s\n", who, proc_status_text(&a, status).p);
	else
		say("%s: runs\n", who);
}

struct daemon launch(const char *mode)
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
			     (char *[]){ PATH_ENV, "KEY=" DAEMON_SECRET, NULL });
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	return (struct daemon){ .pid = pid, .in = in[1], .out = out[0] };
}

void finish(struct daemon *d)
{
	fd_drop(&d->in);
	fd_drop(&d->out);
	assert_int_equal(waitpid(d->pid, NULL, 0), d->pid);
}

/* Run a mode to its end and compare what it said. */
void expect(const char *mode, const char *want)
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

void run_mode(const struct mode *modes, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(modes[i].name, name) == 0)
			_exit(modes[i].run());
	_exit(99);
}

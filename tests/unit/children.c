/*
 * Helpers of the child tests; children.h says what each does.
 */
#include "children.h"

#include "base/buf.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

int64_t soon(void)
{
	return clock_mono_ms() + TEST_MS;
}

struct proc *start(const char *const *argv)
{
	struct proc_opt opt = {
		.argv = argv, .env = ARGV(PATH_ENV), .in = PROC_PIPE, .out = PROC_PIPE
	};
	struct proc *p = NULL;
	struct err e = { 0 };

	if (proc_start(&p, &opt, NULL, &e) < 0)
		fail_msg("%s", e.msg);
	return p;
}

str read_until(struct arena *a, int fd, const char *last)
{
	struct buf b = buf_in(a, 1 << 20);
	int64_t until = soon();
	struct err e = { 0 };

	for (;;) {
		if (last && b.n && str_ends(buf_str(&b), str_of(last)))
			break;
		if (wait_fd(fd, POLLIN, until, NULL, &e) < 0)
			fail_msg("nothing to read: %s; so far: %.200s", e.msg, buf_str(&b).p);
		char *room = buf_room(&b, 4096);
		assert_non_null(room);
		ssize_t n = read(fd, room, 4096);
		if (n <= 0)
			break;
		buf_filled(&b, (size_t)n);
	}
	return buf_str(&b);
}

str run(struct arena *a, const char *const *argv, int *status)
{
	SCOPED(proc_drop) struct proc *p = start(argv);

	proc_close_stdin(p);
	str out = read_until(a, proc_fd(p, 1), NULL);
	assert_int_equal(proc_wait(p, status, soon(), NULL, NULL), OK);
	return out;
}

/* The text after the name in /proc/PID/stat, and the name. */
static bool stat_of(struct arena *a, int64_t pid, str *name, str *rest)
{
	const char *path = arena_fmt(a, "/proc/%lld/stat", (long long)pid).p;
	str s;

	if (file_read(&s, a, path, 4096, NULL) < 0)
		return false;
	const char *from = memchr(s.p, '(', s.n), *to = memrchr(s.p, ')', s.n);
	if (!from || !to)
		return false;
	*name = (str){ from + 1, (size_t)(to - from - 1) };
	*rest = (str){ to + 2, (size_t)(s.p + s.n - to - 2) };
	return true;
}

int64_t parent_of(int64_t pid)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t parent = 0;
	str name, rest;

	if (!stat_of(&a, pid, &name, &rest))
		return 0;
	(void)str_cut(&rest, ' ');
	return str_i64(str_cut(&rest, ' '), &parent) ? parent : 0;
}

size_t children_of(int64_t parent, int64_t *pids, size_t max)
{
	SCOPED(arena_free) struct arena a = { 0 };
	size_t n = 0, found = 0;
	str *names;
	int64_t pid;

	assert_int_equal(dir_list(&names, &n, &a, "/proc", 100000, NULL), OK);
	for (size_t i = 0; i < n && found < max; i++)
		if (str_i64(names[i], &pid) && parent_of(pid) == parent)
			pids[found++] = pid;
	return found;
}

int64_t child_named(int64_t parent, const char *comm)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t pids[256];
	size_t n = children_of(parent, pids, COUNT(pids));
	str name, rest;

	for (size_t i = 0; i < n; i++)
		if (stat_of(&a, pids[i], &name, &rest) && str_eq(name, str_of(comm)))
			return pids[i];
	return 0;
}

void signal_found(int64_t pid, int signo)
{
	if (pid <= 1)
		abort();
	(void)kill((pid_t)pid, signo);
}

int64_t with_argument(const char *arg)
{
	SCOPED(arena_free) struct arena a = { 0 };
	size_t n = 0;
	str *names, text;
	int64_t pid;

	assert_int_equal(dir_list(&names, &n, &a, "/proc", 100000, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_fmt(&a, "/proc/%s/cmdline", names[i].p).p;
		if (!str_i64(names[i], &pid) || file_read(&text, &a, path, 1 << 20, NULL) < 0)
			continue;
		while (text.n)
			if (str_eq(str_cut(&text, '\0'), str_of(arg)))
				return pid;
	}
	return 0;
}

int pidfd_of(int64_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	assert_true(fd >= 0);
	return fd;
}

void await_end(int pidfd)
{
	struct err e = { 0 };

	if (wait_fd(pidfd, POLLIN, soon(), NULL, &e) < 0)
		fail_msg("a process is still there: %s", e.msg);
	(void)close(pidfd);
}

/*
 * Children as the daemon sees them: a control socket, three pipes and a process id.  The
 * events that come from the supervisor are only peeked at once the child has started, so
 * that the last of them stays readable for every thread that waits, at any time.
 */
#include "os/proc.h"

#include "base/buf.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/spawner.h"
#include "os/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 10000 /* a file system that hangs must not hold us for ever */
#define KILL_MS 5000 /* the same for a process stuck in the kernel */
#define RETRY_MS 5

struct proc {
	struct arena a; /* this struct lives in it */
	int ctl;
	int fd[3]; /* our ends of the pipes, or -1 */
	pid_t pid;
};

static void request_box(struct buf *b, const struct sandbox *box, struct spawner_request *r)
{
	r->box = *box;
	buf_add(b, str_of(box->tmp));
	buf_addc(b, '\0');
	for (; r->rules_n < box->rules_n; r->rules_n++) {
		buf_addc(b, (char)box->rules[r->rules_n].access);
		buf_add(b, str_of(box->rules[r->rules_n].path));
		buf_addc(b, '\0');
	}
}

static int request_text(struct buf *b, const struct proc_opt *opt, struct spawner_request *r)
{
	buf_add(b, str_of(opt->cwd ? opt->cwd : "/"));
	buf_addc(b, '\0');
	if (opt->cwd_is) {
		r->cwd_dev = opt->cwd_is->st_dev;
		r->cwd_ino = opt->cwd_is->st_ino;
	}
	for (; opt->argv[r->argc]; r->argc++) {
		buf_add(b, str_of(opt->argv[r->argc]));
		buf_addc(b, '\0');
	}
	for (; opt->env && opt->env[r->envc]; r->envc++) {
		buf_add(b, str_of(opt->env[r->envc]));
		buf_addc(b, '\0');
	}
	if (opt->box)
		request_box(b, opt->box, r);
	return b->full || r->argc > SPAWNER_STRINGS || r->envc > SPAWNER_STRINGS - r->argc ||
			       r->rules_n > SANDBOX_RULES
		       ? E_LIMIT
		       : OK;
}

/* One message with the four descriptors.  The socket never blocks us: when it is full, or
 * too many descriptors are under way, wait under c. */
static int send_request(const struct spawner_request *r, str text, const int fds[SPAWNER_FDS],
			const struct cancel *c, struct err *e)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SPAWNER_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec iov[] = { { (void *)r, offsetof(struct spawner_message, text) },
			       { (void *)text.p, text.n } };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = COUNT(iov),
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	int64_t until = clock_mono_ms() + START_MS;
	int rc = OK;

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(SPAWNER_FDS * sizeof(int));
	memcpy(CMSG_DATA(&control.align), fds, SPAWNER_FDS * sizeof(int));
	while (rc == OK) {
		if (sendmsg(spawner_socket(), &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return OK;
		if (errno == EAGAIN)
			rc = wait_fd(spawner_socket(), POLLOUT, until, c, e);
		else if (errno == ETOOMANYREFS && clock_mono_ms() < until)
			rc = wait_ms(RETRY_MS, c, e);
		else if (errno == EPIPE || errno == ECONNRESET || errno == EBADF)
			return err_set(e, E_IO, "the spawner process is gone");
		else if (errno != EINTR)
			return err_sys(e, "spawner");
	}
	return rc;
}

/* One pipe or descriptor of the child: theirs in *theirs (to be closed when *owned), ours
 * in *ours. */
static int open_stdio(const struct proc_opt *opt, int which, int *ours, int *theirs,
		      bool *owned, struct err *e)
{
	const enum proc_stdio how[] = { opt->in, opt->out, opt->err };
	int pair[2];

	*owned = how[which] != PROC_FD;
	if (how[which] == PROC_FD) {
		*theirs = opt->fds[which];
		return OK;
	}
	if (how[which] == PROC_NULL) {
		*theirs = null_open(O_RDWR, e);
		return *theirs < 0 ? *theirs : OK;
	}
	if (pipe2(pair, O_CLOEXEC) != 0)
		return err_sys(e, "pipe");
	*ours = pair[which == 0 ? 1 : 0];
	*theirs = pair[which == 0 ? 0 : 1];
	return fcntl(*ours, F_SETFL, O_NONBLOCK) == 0 ? OK : err_sys(e, "pipe");
}

static int open_control(struct proc *p, int *theirs, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_sys(e, "control socket");
	p->ctl = pair[0];
	*theirs = pair[1];
	return OK;
}

/* Everything up to the sent request. */
static int request(struct proc *p, const struct proc_opt *opt, const struct cancel *c,
		   struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct spawner_request r = { .confined = opt->box != NULL };
	struct buf b = buf_in(&a, SPAWNER_TEXT);
	int fds[SPAWNER_FDS] = { -1, -1, -1, -1 };
	bool owned[SPAWNER_FDS] = { true, true, true, true };

	if (request_text(&b, opt, &r) < 0)
		return err_set(e, E_LIMIT, "%.80s: arguments and environment over %zu KiB",
			       opt->argv[0], SPAWNER_TEXT / 1024);
	int rc = open_control(p, &fds[0], e);
	for (int i = 0; rc == OK && i < 3; i++)
		rc = open_stdio(opt, i, &p->fd[i], &fds[i + 1], &owned[i + 1], e);
	if (rc == OK)
		rc = send_request(&r, buf_str(&b), fds, c, e);
	for (size_t i = 0; i < COUNT(fds); i++)
		if (owned[i])
			fd_drop(&fds[i]);
	return rc < 0 ? err_wrap(e, rc, "%.80s", opt->argv[0]) : OK;
}

/* The next event, left in the queue when flags say MSG_PEEK.  False when there is none yet;
 * the end of the stream is GONE. */
static bool next_event(const struct proc *p, int flags, struct spawner_event *ev)
{
	ssize_t n;

	/* A supervisor that left a signal of ours unread gives one ECONNRESET before its
	 * last event. */
	do
		n = recv(p->ctl, ev, sizeof *ev, flags | MSG_DONTWAIT);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n != (ssize_t)sizeof *ev)
		*ev = (struct spawner_event){ .type = SPAWNER_GONE };
	return true;
}

static int start_error(const struct proc_opt *opt, const struct spawner_event *ev,
		       struct err *e)
{
	const char *name = opt->argv[0];
	bool denied = ev->value == EACCES || ev->value == EPERM || ev->value == ENOEXEC;

	errno = ev->value;
	if (ev->type == SPAWNER_FULL)
		return err_set(e, E_LIMIT, "%.80s: %d children run already", name,
			       SPAWNER_CHILDREN);
	if (ev->type != SPAWNER_FAILED)
		return err_set(e, E_IO, "%.80s: lost while starting", name);
	if (ev->stage == STAGE_CWD)
		return err_sys(e, "%.80s: working directory %.120s", name,
			       opt->cwd ? opt->cwd : "/");
	if (ev->stage == STAGE_SANDBOX)
		return err_sys(e, "%.80s: sandbox", name);
	if (ev->stage == STAGE_INTERPRETER)
		return err_set(e, E_NOENT, "%.80s: its interpreter was not found", name);
	if (ev->stage == STAGE_EXEC && denied)
		return err_set(e, E_DENIED, "%.80s: not executable", name);
	if (ev->stage == STAGE_EXEC && (ev->value == ENOENT || ev->value == ENOTDIR))
		return err_set(e, E_NOENT, "%.80s: no such program", name);
	return err_sys(e, "%.80s: start", name);
}

static int await_start(struct proc *p, const struct proc_opt *opt, const struct cancel *c,
		       struct err *e)
{
	int64_t until = clock_mono_ms() + START_MS;
	struct spawner_event ev;

	for (;;) {
		int rc = wait_fd(p->ctl, POLLIN, until, c, e);
		if (rc < 0)
			return err_wrap(e, rc, "%.80s: start", opt->argv[0]);
		if (next_event(p, 0, &ev))
			break;
	}
	if (ev.type != SPAWNER_STARTED)
		return start_error(opt, &ev, e);
	p->pid = ev.value;
	return OK;
}

/* Closing the control socket is what kills. */
static void let_go(struct proc *p)
{
	struct arena a = p->a;

	fd_drop(&p->ctl);
	for (int i = 0; i < 3; i++)
		fd_drop(&p->fd[i]);
	arena_free(&a);
}

int proc_start(struct proc **out, const struct proc_opt *opt, const struct cancel *c,
	       struct err *e)
{
	struct arena a = { 0 };

	if (!opt->argv || !opt->argv[0] || !opt->argv[0][0])
		return err_set(e, E_INVAL, "no program named");
	struct proc *p = NEW(&a, struct proc);
	*p = (struct proc){ .a = a, .ctl = -1, .fd = { -1, -1, -1 } };
	int rc = request(p, opt, c, e);
	if (rc == OK)
		rc = await_start(p, opt, c, e);
	if (rc < 0) {
		let_go(p);
		return rc;
	}
	*out = p;
	return OK;
}

int proc_fd(const struct proc *p, int which)
{
	return p->fd[which];
}

void proc_close_stdin(struct proc *p)
{
	fd_drop(&p->fd[0]);
}

int64_t proc_pid(const struct proc *p)
{
	return p->pid;
}

int proc_exit_fd(const struct proc *p)
{
	return p->ctl;
}

int proc_wait(struct proc *p, int *status, int64_t until_ms, const struct cancel *c,
	      struct err *e)
{
	struct spawner_event ev;

	for (;;) {
		int rc = wait_fd(p->ctl, POLLIN, until_ms, c, e);
		if (rc < 0)
			return rc;
		if (next_event(p, MSG_PEEK, &ev))
			break;
	}
	if (status)
		*status = ev.type == SPAWNER_EXITED ? ev.value : PROC_LOST;
	return OK;
}

bool proc_left_some(const struct proc *p)
{
	struct spawner_event ev;

	return next_event(p, MSG_PEEK, &ev) && ev.type == SPAWNER_EXITED && ev.stage != 0;
}

void proc_signal(struct proc *p, int signo)
{
	/* Unlike a message, the end of the stream cannot be lost on a full socket. */
	if (signo == SIGKILL)
		(void)shutdown(p->ctl, SHUT_WR);
	else
		(void)send(p->ctl, &signo, sizeof signo, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool ends_within(struct proc *p, int64_t ms, int *status)
{
	return ms > 0 && proc_wait(p, status, clock_mono_ms() + ms, NULL, NULL) == OK;
}

void proc_stop(struct proc *p, int64_t eof_ms, int64_t term_ms, int *status)
{
	if (status)
		*status = PROC_LOST;
	proc_close_stdin(p);
	if (ends_within(p, eof_ms, status))
		return;
	if (term_ms > 0) {
		proc_signal(p, SIGTERM);
		if (ends_within(p, term_ms, status))
			return;
	}
	proc_signal(p, SIGKILL);
	(void)ends_within(p, KILL_MS, status);
}

void proc_close(struct proc *p)
{
	struct spawner_event ev = { .type = SPAWNER_STARTED };
	int64_t until = clock_mono_ms() + KILL_MS;

	if (!p)
		return;
	proc_signal(p, SIGKILL);
	/* Past the last event comes the end of the stream: the supervisor is reaped and its
	 * place free, so whoever starts another now is not refused for this one. */
	do
		if (wait_fd(p->ctl, POLLIN, until, NULL, NULL) < 0)
			break;
	while (!next_event(p, 0, &ev) || ev.type != SPAWNER_GONE);
	let_go(p);
}

void proc_drop(struct proc **p)
{
	proc_close(*p);
	*p = NULL;
}

str proc_status_text(struct arena *a, int status)
{
	if (status == PROC_LOST)
		return S("lost");
	if (WIFSIGNALED(status))
		return arena_fmt(a, "killed by signal %d", WTERMSIG(status));
	return arena_fmt(a, "exit %d", WEXITSTATUS(status));
}

str proc_boot_id(struct arena *a)
{
	str id;

	if (file_read(&id, a, "/proc/sys/kernel/random/boot_id", 128, NULL) < 0)
		return S("");
	return str_trim(id);
}

int64_t proc_start_time(int64_t pid)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t ticks = 0;
	char path[48];
	str stat;

	(void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	if (pid <= 0 || file_read(&stat, &a, path, 4096, NULL) < 0)
		return 0;
	/* The name may hold anything: field 3 follows the last parenthesis. */
	const char *end = memrchr(stat.p, ')', stat.n);
	str rest = end ? str_sub(stat, (size_t)(end - stat.p) + 2, stat.n) : S("");
	for (int field = 3; field < 22; field++)
		(void)str_cut(&rest, ' ');
	return str_i64(str_cut(&rest, ' '), &ticks) ? ticks : 0;
}

bool proc_kill_stale(str boot_id, int64_t pid, int64_t start_time)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (boot_id.n == 0 || pid <= 1 || start_time == 0 || pid == getpgrp() ||
	    !str_eq(boot_id, proc_boot_id(&a)) || proc_start_time(pid) != start_time)
		return false;
	return kill((pid_t)-pid, SIGKILL) == 0;
}

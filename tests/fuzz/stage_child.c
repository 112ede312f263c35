/*
 * Children without processes: pipes whose other ends the fuzzer holds.
 */
#include "stage.h"

#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct proc {
	struct stage_child child;
	int fds[3]; /* ours */
	int exit_fd, status;
};

static struct stage_child *children;
static void (*on_child)(void *arg, struct stage_child *c);
static void *on_child_arg;

struct stage_child *stage_children(void)
{
	return children;
}

void stage_on_child(void (*fn)(void *arg, struct stage_child *c), void *arg)
{
	on_child = fn;
	on_child_arg = arg;
}

/* A pipe; the ends of ours do not block, and neither do the fuzzer's. */
static void make_pipe(int *reads, int *writes)
{
	int fds[2];

	must(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
	*reads = fds[0];
	*writes = fds[1];
}

int proc_start(struct proc **out, const struct proc_opt *opt, const struct cancel *c,
	       struct err *e)
{
	struct proc *p = calloc(1, sizeof *p);

	(void)opt;
	(void)c;
	(void)e;
	must(p);
	make_pipe(&p->child.in, &p->fds[0]);
	make_pipe(&p->fds[1], &p->child.out);
	make_pipe(&p->fds[2], &p->child.err);
	p->exit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(p->exit_fd >= 0);
	p->child.next = children;
	children = &p->child;
	*out = p;
	if (on_child)
		on_child(on_child_arg, &p->child);
	return OK;
}

void stage_child_end(struct stage_child *c, int status)
{
	struct proc *p = (struct proc *)c;
	uint64_t one = 1;

	if (c->over)
		return;
	c->over = true;
	p->status = status;
	fd_drop(&c->in);
	fd_drop(&c->out);
	fd_drop(&c->err);
	must(write(p->exit_fd, &one, sizeof one) == sizeof one);
}

int proc_fd(const struct proc *p, int which)
{
	return p->fds[which];
}

void proc_close_stdin(struct proc *p)
{
	fd_drop(&p->fds[0]);
}

int64_t proc_pid(const struct proc *p)
{
	(void)p;
	return 4242;
}

int proc_exit_fd(const struct proc *p)
{
	return p->exit_fd;
}

int proc_wait(struct proc *p, int *status, int64_t until_ms, const struct cancel *c,
	      struct err *e)
{
	int rc = wait_fd(p->exit_fd, POLLIN, until_ms, c, e);

	if (rc == OK && status)
		*status = p->status;
	return rc;
}

bool proc_left_some(const struct proc *p)
{
	(void)p;
	return false;
}

void proc_signal(struct proc *p, int signo)
{
	if (signo == SIGKILL || !p->child.hangs)
		stage_child_end(&p->child, signo);
}

void proc_stop(struct proc *p, int64_t eof_ms, int64_t term_ms, int *status)
{
	proc_close_stdin(p);
	if (!p->child.hangs)
		stage_child_end(&p->child, 0);
	if (!p->child.over && eof_ms &&
	    proc_wait(p, NULL, clock_mono_ms() + eof_ms, NULL, NULL) < 0 && term_ms) {
		proc_signal(p, SIGTERM);
		(void)!proc_wait(p, NULL, clock_mono_ms() + term_ms, NULL, NULL);
	}
	proc_signal(p, SIGKILL);
	if (status)
		*status = p->status;
}

void proc_close(struct proc *p)
{
	struct stage_child **at = &children;

	if (!p)
		return;
	stage_child_end(&p->child, SIGKILL);
	while (*at != &p->child)
		at = &(*at)->next;
	*at = p->child.next;
	for (int i = 0; i < 3; i++)
		fd_drop(&p->fds[i]);
	fd_drop(&p->exit_fd);
	free(p);
}

void proc_drop(struct proc **p)
{
	proc_close(*p);
	*p = NULL;
}

str proc_status_text(struct arena *a, int status)
{
	return arena_fmt(a, "status %d", status);
}

str proc_boot_id(struct arena *a)
{
	(void)a;
	return S("boot");
}

int64_t proc_start_time(int64_t pid)
{
	return pid;
}

bool proc_kill_stale(str boot_id, int64_t pid, int64_t start_time)
{
	(void)boot_id;
	(void)pid;
	(void)start_time;
	return false;
}

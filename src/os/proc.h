/*
 * os/proc: child processes, by way of the spawner.
 *
 *   daemon <-- socket --> spawner <-- socket --> supervisor --> child
 *
 * The spawner is a second process forked first thing in main(), before secrets are read or
 * threads exist.  Per child it forks a supervisor (a subreaper) that sets session, group,
 * environment and limits, execs, and at the end kills every descendant, setsid or not, also
 * when this process dies in any way.  The exit arrives over a descriptor.
 *
 * Threads  all from any thread, but spawner_start() from main before the first thread.
 * Blocks   proc_start() until the child was executed or failed to (bounded, cancellable).
 * Owns     a struct proc owns its pipes and the child; proc_close() ends both.
 * Limits   128 children; argv, environment and sandbox 96 KiB.
 */
#ifndef OS_PROC_H
#define OS_PROC_H

#include "base/arena.h"
#include "os/cancel.h"
#include "os/sandbox.h"

#include <sys/stat.h>

/* Fork the spawner.  Call first thing in main: descriptors 0, 1 and 2 are open after it.
 * Then spawner_hide() once the environment has been copied: wipes the initial environment block
 * and makes this process not dumpable. */
int spawner_start(struct err *e) MUSTUSE;
int spawner_hide(struct err *e) MUSTUSE;
void spawner_stop(void); /* kills what is left, reaps the spawner; twice is fine */

struct proc;

enum proc_stdio { PROC_NULL, PROC_PIPE, PROC_FD };

struct proc_opt {
	const char *const *argv; /* argv[0] is looked up in PATH of env when it has no slash */
	const char *const *env; /* the whole environment, "K=V", NULL-terminated */
	const char *cwd; /* absolute; NULL: "/" */
	const struct stat *cwd_is; /* the directory that must be there; NULL: any */
	enum proc_stdio in, out, err;
	int fds[3]; /* for PROC_FD, borrowed */
	const struct sandbox *box; /* NULL: as free as we are */
};

/* E_NOENT no such program, E_DENIED not executable, E_LIMIT, E_IO. */
int proc_start(struct proc **out, const struct proc_opt *opt, const struct cancel *c,
	       struct err *e) MUSTUSE;

/* Our end of a pipe (0 in: write, 1 out, 2 err: read), non-blocking; -1 if none.
 * proc_close_stdin() gives the child its EOF; no other thread may be writing then. */
int proc_fd(const struct proc *p, int which);
void proc_close_stdin(struct proc *p);

int64_t proc_pid(const struct proc *p);

/* Readable once the child has ended and its descendants are gone. */
int proc_exit_fd(const struct proc *p);

/* The status of a child whose end nobody saw: its supervisor was killed (and all of the
 * child's processes with it), or the child would not die. */
#define PROC_LOST (-1)

/* Wait for that; *status (may be NULL) is as of waitpid(2), or PROC_LOST.  Again and by
 * several threads is fine.  E_TIMEOUT until_ms, or the cancel codes. */
int proc_wait(struct proc *p, int *status, int64_t until_ms, const struct cancel *c,
	      struct err *e) MUSTUSE;

/* After its end: were there processes it had left behind, which were ended then? */
bool proc_left_some(const struct proc *p);

/* signo to the child's process group; SIGKILL kills all descendants. */
void proc_signal(struct proc *p, int signo);

/* stdin EOF, wait eof_ms; TERM, wait term_ms; KILL; reap.  Then *status (may be NULL).  A
 * step of 0 ms is left out; a process stuck in the kernel is given up after 5 s. */
void proc_stop(struct proc *p, int64_t eof_ms, int64_t term_ms, int *status);

/* Kill if still there, reap, close the pipes, free; given up after 5 s.  NULL is fine. */
void proc_close(struct proc *p);
void proc_drop(struct proc **p); /* for SCOPED */

/* The shape of an exit: "exit 3", "killed by signal 9", "lost". */
str proc_status_text(struct arena *a, int status);

/* For recovery after a crash: where a child came from.  The boot id and the start time of
 * pid from /proc ("" and 0 without it), and: kill the group of pid if boot id and start
 * time still match.  True when something was killed. */
str proc_boot_id(struct arena *a);
int64_t proc_start_time(int64_t pid);
bool proc_kill_stale(str boot_id, int64_t pid, int64_t start_time);

#endif

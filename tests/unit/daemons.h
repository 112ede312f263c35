/*
 * A daemon for the spawner tests is the test program itself, executed again with the name of
 * a mode.  It reports on REPORT_FD, which its children hold too, so that the end of that
 * stream says that all of them are gone.
 */
#ifndef TESTS_UNIT_DAEMONS_H
#define TESTS_UNIT_DAEMONS_H

#include "os/proc.h"

#include <sys/types.h>

#define REPORT_FD 9
#define DAEMON_SECRET "gantry-test-secret-5d1f" /* in the environment of every daemon */

struct mode {
	const char *name;
	int (*run)(void); /* the exit status */
};

/* In the program that was executed again. */
NORETURN void run_mode(const struct mode *modes, size_t n, const char *name);

/* ---- in the daemon ------------------------------------------------------------------------ */

void say(const char *fmt, ...) PRINTF(1, 2);

/* End the daemon when rc is an error. */
void need(int rc, const struct err *e);

/* Start a shell line with a pipe to its stdin, its output being our report. */
struct proc *shell(const char *script, const struct cancel *c, struct err *e);
struct proc *must_shell(const char *script);
void run_shell(const char *script); /* to its end */

void await_stdin_end(void);

/* "who: exit 0", or "who: runs" at until. */
void say_end(const char *who, struct proc *p, int64_t until);

/* ---- in the test -------------------------------------------------------------------------- */

struct daemon {
	pid_t pid;
	int in, out; /* its stdin, its report */
};

struct daemon launch(const char *mode);
void finish(struct daemon *d);

/* Run a mode to its end and compare what it said; "not permitted" skips the test. */
void expect(const char *mode, const char *want);

#endif

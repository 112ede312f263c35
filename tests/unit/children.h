/*
 * Helpers for the tests of child processes: running a shell line to its end, reading a pipe
 * under a deadline, and looking processes up in /proc.
 */
#ifndef TESTS_UNIT_CHILDREN_H
#define TESTS_UNIT_CHILDREN_H

#include "os/proc.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script) ARGV("sh", "-c", script)
#define PATH_ENV "PATH=/usr/local/bin:/usr/bin:/bin"
#define TEST_MS 20000 /* long enough for any machine, short enough to be told about it */

int64_t soon(void); /* the deadline TEST_MS from now */

/* Start argv with pipes in and out, stderr to stdout's /dev/null; fails the test. */
struct proc *start(const char *const *argv);

/* All that comes until the end of the stream, or until it ends with last when that is not
 * NULL; fails the test after TEST_MS. */
str read_until(struct arena *a, int fd, const char *last);

/* Start, read stdout to its end, wait. */
str run(struct arena *a, const char *const *argv, int *status);

/* Processes whose parent is parent, at most max; and the one with that name, 0 none. */
size_t children_of(int64_t parent, int64_t *pids, size_t max);
int64_t child_named(int64_t parent, const char *comm);
int64_t parent_of(int64_t pid);

/* Send a signal to the process that one of these found; ends the program when they found none,
 * since 0 and -1 are all of a group and all there are. */
void signal_found(int64_t pid, int signo);

/* A process with exactly this argument; 0 none. */
int64_t with_argument(const char *arg);

/* A descriptor that is readable once the process has ended, waited for: fails the test. */
void await_end(int pidfd);
int pidfd_of(int64_t pid);

#endif

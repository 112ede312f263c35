/*
 * os/wait: the one way to wait.  Everything in the program that sleeps does so here (or
 * in http_do(), which is the same thing for transfers).
 */
#ifndef OS_WAIT_H
#define OS_WAIT_H

#include "os/cancel.h"

#include <poll.h>

/* Wait until fd has one of the poll events, at most until the absolute monotonic
 * until_ms (0: no limit of its own).  OK ready (also on error and hang-up: the next read
 * tells); E_TIMEOUT until_ms passed; E_CANCELED, or E_TIMEOUT for a deadline of the chain.
 * fd -1: waits for nothing but the limits, which is how one sleeps. */
int wait_fd(int fd, short events, int64_t until_ms, const struct cancel *c,
	    struct err *e) MUSTUSE;

/* The same for many; revents are filled in.  Entries of fd -1 are ignored. n <= 32. */
int wait_fds(struct pollfd *fds, size_t n, int64_t until_ms, const struct cancel *c,
	     struct err *e) MUSTUSE;

/* Sleep for ms; OK after the full time, else as above. */
int wait_ms(int64_t ms, const struct cancel *c, struct err *e) MUSTUSE;

/* A doorbell: rings from any thread, heard by whoever waits for its fd to be readable
 * and then calls bell_hear(), which clears it.  Rings are not counted.  Of several who wait
 * all wake; the one for whom bell_hear() is true is to look. */
struct bell {
	int fd;
};
int bell_init(struct bell *b, struct err *e) MUSTUSE;
void bell_done(struct bell *b);
void bell_ring(const struct bell *b);
bool bell_hear(const struct bell *b);

#endif

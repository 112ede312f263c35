/*
 * os/cancel: a token that ends whatever waits under it.
 *
 * Tokens form a chain (daemon <- turn <- call): a child points up, lives in the frame of
 * its user and dies first.  Firing sets a reason and rings an eventfd that every wait
 * polls.  A deadline is part of the token, on the monotonic clock.
 *
 * Threads  cancel_fire() from any thread while the token lives; the rest from any thread.
 */
#ifndef OS_CANCEL_H
#define OS_CANCEL_H

#include "base/err.h"

#include <stdatomic.h>

enum cancel_reason {
	CANCEL_NONE,
	CANCEL_USER, /* /stop, Ctrl-C */
	CANCEL_DEADLINE, /* its own deadline or that of a token above */
	CANCEL_SHUTDOWN, /* the process ends; work resumes after the restart */
};

struct cancel {
	const struct cancel *up;
	int fd; /* eventfd, owned */
	_Atomic int reason; /* enum cancel_reason */
	int64_t deadline_ms; /* monotonic; 0 none */
};

/* timeout_ms 0: no deadline of its own.  up may be NULL. */
int cancel_init(struct cancel *c, const struct cancel *up, int64_t timeout_ms,
		struct err *e) MUSTUSE;
void cancel_done(struct cancel *c);

/* The first reason stays; safe to call twice. */
void cancel_fire(struct cancel *c, enum cancel_reason reason);

/* Why work under c has to end, looking up the chain; SHUTDOWN outranks USER outranks
 * DEADLINE.  c may be NULL: CANCEL_NONE. */
enum cancel_reason cancel_reason(const struct cancel *c);

/* OK, or E_CANCELED / E_TIMEOUT with a sentence. */
int cancel_check(const struct cancel *c, struct err *e) MUSTUSE;

/* The nearest deadline of the chain, monotonic; INT64_MAX when there is none. */
int64_t cancel_deadline(const struct cancel *c);

#endif

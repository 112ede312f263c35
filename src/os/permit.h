/*
 * os/permit: the right to do something that may wait, for one thread at a time.  Unlike a
 * lock it may be held across a wait, and waiting for it can be cancelled.  What the holder
 * wrote is seen by the next one.
 *
 * Threads  any; not recursive.
 */
#ifndef OS_PERMIT_H
#define OS_PERMIT_H

#include "os/cancel.h"

struct permit {
	int fd; /* an eventfd that counts to one */
};

int permit_init(struct permit *p, struct err *e) MUSTUSE;
void permit_done(struct permit *p);

bool permit_try(const struct permit *p);
int permit_take(const struct permit *p, const struct cancel *c, struct err *e) MUSTUSE;
void permit_give(const struct permit *p);

#endif

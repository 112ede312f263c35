/*
 * store/baton: the right to write, handed from thread to thread in the order they asked.
 * Internal to store/.
 *
 * It is not a mutex: it is held across a whole transaction with its fsync, and waiting for
 * it can be cancelled.
 *
 * Threads  any.
 */
#ifndef STORE_BATON_H
#define STORE_BATON_H

#include "base/arena.h"
#include "os/cancel.h"

struct baton;

struct baton *baton_new(struct arena *a);
void baton_free(struct baton *b);

/* Wait for it, at most until until_ms (monotonic).  E_TIMEOUT, E_CANCELED. */
int baton_take(struct baton *b, int64_t until_ms, const struct cancel *c,
	       struct err *e) MUSTUSE;
void baton_pass(struct baton *b);

#endif

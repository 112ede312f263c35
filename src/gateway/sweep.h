/*
 * gateway/sweep: what is done every minute, beside all else: what processes that died left behind
 * is taken up, and what nobody uses, or is too old to keep, goes.
 *
 * Threads  the clock's.
 */
#ifndef GATEWAY_SWEEP_H
#define GATEWAY_SWEEP_H

#include "gateway/engine.h"

struct sweep {
	int64_t retain_at_ms; /* when it next looks for what is too old */
};

int sweep_up(struct sweep *s, struct engine *g, const struct cancel *c, struct err *e) MUSTUSE;

#endif

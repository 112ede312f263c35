/*
 * gateway/questions: what the clock does about questions to people: those whose time is over are
 * ended, and those of an earlier process are asked again, once.
 *
 * Threads  one, the clock's.
 * Blocks   on transactions only.
 */
#ifndef GATEWAY_QUESTIONS_H
#define GATEWAY_QUESTIONS_H

#include "gateway/engine.h"

/* One look.  *reposted: they were asked again on this channel; set by the first that works.
 * *at_ms (wall), on an error too: when to look again; INT64_MAX: there is no question. */
int questions_look(struct engine *g, str channel, bool *reposted, const struct cancel *c,
		   int64_t *at_ms, struct err *e) MUSTUSE;

#endif

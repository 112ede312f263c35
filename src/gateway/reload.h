/*
 * gateway/reload: SIGHUP.  The configuration, the persona and the manifest are read again on a
 * thread of its own, so that main goes on hearing signals while servers that are gone take
 * their time to end.
 *
 * Threads  ask and end from main.
 * Owns     its thread, from the first ask to the end.
 */
#ifndef GATEWAY_RELOAD_H
#define GATEWAY_RELOAD_H

#include "gateway/gateway.h"
#include "os/thread.h"

struct reload {
	struct engine *g;
	const struct gateway_opt *opt;
	struct thread thread;
	_Atomic int state;
};

/* Never waits.  While one runs, another follows it; more than one are one. */
void reload_ask(struct reload *r);

/* Wait for the one that runs. */
void reload_end(struct reload *r);

#endif

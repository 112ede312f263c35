/*
 * gateway/gateway: the daemon, from start to stop.
 */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include "chan/chan.h"
#include "config/load.h"
#include "gateway/engine.h"
#include "os/notify.h"

struct gateway_opt {
	struct channel *channel;
	struct approver *approver; /* NULL: nobody can be asked */
	bool stream;
	int signals; /* signalfd, borrowed */
	const struct notify *notify; /* the service manager, NULL none */
	/* Read the configuration again (SIGHUP): a new object, or an error. */
	int (*reload)(void *arg, struct config **out, struct err *e);
	void *arg;
};

/* Run until a signal, the end of input, or a fatal error.  *signo is the signal that ended
 * it, 0 for the others.  OK after a clean stop. */
int gateway_run(struct engine *g, const struct gateway_opt *opt, int *signo,
		struct err *e) MUSTUSE;

#endif

/*
 * cli/own: turns that a command runs itself, for prompt and chat.  Their rows belong to this
 * process, so no daemon touches them, and the answers come back through the outbox like any
 * other.
 */
#ifndef CLI_OWN_H
#define CLI_OWN_H

#include "cli/cli.h"
#include "gateway/work.h"

#define OWN_CHANNEL "cli"

struct own {
	struct engine *g;
	struct work_opt work; /* only = our owner */
	str address;
	int signals; /* signalfd, borrowed */
	/* Called about every 100 ms of a turn, for a spinner; may be NULL. */
	void (*on_tick)(void *arg);
	void *arg;
};

/* Insert text as a row, run its turn, deliver the answer.  *signo: the signal that cancelled
 * it, else 0; turn: its id (ID_LEN + 1 bytes).  A turn that failed is OK too: its answer
 * says so; see store_turn_state(). */
int own_turn(struct own *o, str text, char *turn, int *signo, struct err *e) MUSTUSE;

#endif

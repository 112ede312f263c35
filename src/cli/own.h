/*
 * cli/own: turns that a command runs itself, for prompt and chat.  Their rows belong to this
 * process, so no daemon touches them, and the answers come back through the outbox like any
 * other.
 *
 * A thread of its own hears the signals: while a turn runs the first SIGINT, SIGTERM or SIGHUP
 * acts like /stop; a second one, any while none runs, and every SIGTERM and SIGHUP fire
 * .leave.
 */
#ifndef CLI_OWN_H
#define CLI_OWN_H

#include "cli/cli.h"
#include "cli/hear.h"
#include "gateway/work.h"

#include <stdatomic.h>

#define OWN_CHANNEL "cli"

struct own {
	struct engine *g;
	struct work_opt work; /* only = our owner */
	str address;
	bool no_rows; /* the session is not ours alone: a signal ends the turn, and drops nothing */
	int signals; /* signalfd, borrowed */
	void (*on_tick)(void *arg); /* every 100 ms of a turn, from the thread; may be NULL */
	void (*on_resize)(void *arg); /* SIGWINCH; may be NULL */
	void *arg;

	struct cancel leave; /* the command should end */
	_Atomic int signo; /* the last one that mattered, 0 none */
	/* Private. */
	struct hear hear;
	struct bell kick;
	_Atomic bool busy, stopped;
};

/* The fields up to arg are set by the caller, before. */
int own_open(struct own *o, struct err *e) MUSTUSE;
void own_close(struct own *o);

/* Insert text as a row, run its turn, deliver the answer; turn gets its id (ID_LEN + 1
 * bytes), "" when it never began.  A turn that failed is OK: its answer says so, see
 * store_turn_state().  E_CANCELED: stopped while it waited for another turn of the session. */
int own_turn(struct own *o, str text, char *turn, struct err *e) MUSTUSE;

/* Between these a signal fires token, a child of .leave, as it would a turn's.  For a command that
 * takes time; own_end() is for an own_begin() that was OK. */
int own_begin(struct own *o, struct cancel *token, struct err *e) MUSTUSE;
void own_end(struct own *o, struct cancel *token);

/* Run the turn of a row of ours that is there already; nothing is delivered.  As above. */
int own_run(struct own *o, int64_t row, char *turn, struct err *e) MUSTUSE;

#endif

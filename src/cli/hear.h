/*
 * cli/hear: a thread of its own that hears the signals, while a command does something else.
 *
 * Threads  start and stop from one; on_signal and on_tick are called in the thread.
 * Owns     the bell and the thread; signals is borrowed.
 * After    when the descriptor breaks the thread ends by itself: nothing is heard any more.
 */
#ifndef CLI_HEAR_H
#define CLI_HEAR_H

#include "os/thread.h"
#include "os/wait.h"

struct hear {
	int signals; /* signalfd */
	void (*on_signal)(void *arg, int signo);
	void (*on_tick)(void *arg); /* every 100 ms; NULL: never */
	void *arg;
	/* Private. */
	struct bell quit;
	struct thread thread;
};

/* The fields up to arg are set by the caller, before; .quit.fd is -1. */
int hear_start(struct hear *h, struct err *e) MUSTUSE;
void hear_stop(struct hear *h); /* also when it never started */

#endif

/*
 * os/thread: threads with an explicit stack.  (Locks are plain pthread mutexes; the lock table
 * in ARCHITECTURE.md says which files have one.)
 *
 * Who starts a thread joins it.  All signals are blocked in every thread; main reads them
 * from a signalfd.
 */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include "base/err.h"

#include <pthread.h>

struct thread {
	pthread_t id;
	bool running;
	char name[16];
	void *(*fn)(void *arg);
	void *arg;
};

/* Start fn(arg) with a 512 KiB stack. name (<= 15 bytes) is for ps and debuggers.  t stays
 * where it is until the thread is joined. */
int thread_start(struct thread *t, const char *name, void *(*fn)(void *), void *arg,
		 struct err *e) MUSTUSE;
void thread_join(struct thread *t);

#endif

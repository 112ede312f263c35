/*
 * Threads.  Signals are blocked around the creation, so that the new thread inherits a full
 * mask and never runs a moment without it.
 */
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

#define STACK_SIZE (512 * 1024)

/* To name another thread is to write to a file of it below /proc; to name oneself is one call. */
static void *begin(void *arg)
{
	const struct thread *t = arg;

	(void)prctl(PR_SET_NAME, t->name);
	return t->fn(t->arg);
}

int thread_start(struct thread *t, const char *name, void *(*fn)(void *), void *arg,
		 struct err *e)
{
	pthread_attr_t attr;
	sigset_t all, old;

	assert(!t->running);
	if ((errno = pthread_attr_init(&attr)) != 0)
		return err_sys(e, "thread %s", name);
	int rc = pthread_attr_setstacksize(&attr, STACK_SIZE);
	assert(rc == 0);
	(void)snprintf(t->name, sizeof t->name, "%s", name);
	t->fn = fn;
	t->arg = arg;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&t->id, &attr, begin, t);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	if ((errno = rc) != 0)
		return err_sys(e, "thread %s", name);
	t->running = true;
	return OK;
}

void thread_join(struct thread *t)
{
	if (!t->running)
		return;
	int rc = pthread_join(t->id, NULL);
	assert(rc == 0);
	t->running = false;
}

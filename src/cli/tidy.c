/*
 * The thread that tidies up, and its end.
 */
#include "cli/tidy.h"

#include "gateway/work.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "store/system.h"
#include "store/watch.h"

#include <poll.h>
#include <stdio.h>

#define MOMENT_MS 500

static void *tidy_main(void *arg)
{
	struct tidy *t = arg;
	struct err e = { 0 };
	int rc;

	while ((rc = work_tidy(t->g, &t->stop, &e)) == OK)
		;
	if (rc != E_NOENT && rc != E_CANCELED)
		log_warn("tidy.failed", "err=\"%s\"", e.msg);
	bell_ring(&t->done);
	return NULL;
}

/* A daemon does it, or nothing is to do. */
static bool due(struct tidy *t)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str lock = arena_fmt(&a, "%.*s.lock", STRF(t->g->cfg->store.dsn));
	bool ready = false;
	int64_t pid;

	return !lock_probe(lock.p, &pid) && work_schedule(t->g, t->leave, NULL) == OK &&
	       store_system_ready(t->g->store, S(WATCH_WHAT), &ready, NULL) == OK && ready;
}

void tidy_start(struct tidy *t)
{
	if (t->thread.running || !due(t))
		return;
	t->stop.fd = t->done.fd = -1;
	if (cancel_init(&t->stop, t->leave, 0, NULL) == OK && bell_init(&t->done, NULL) == OK &&
	    thread_start(&t->thread, "tidy", tidy_main, t, NULL) == OK)
		return;
	bell_done(&t->done);
	cancel_done(&t->stop);
}

void tidy_stop(struct tidy *t)
{
	if (!t->thread.running)
		return;
	cancel_fire(&t->stop, CANCEL_SHUTDOWN);
	thread_join(&t->thread);
	bell_done(&t->done);
	cancel_done(&t->stop);
}

void tidy_finish(struct tidy *t, int64_t most_ms, bool say)
{
	int64_t now = clock_mono_ms();

	tidy_start(t);
	if (!t->thread.running)
		return;
	if (wait_fd(t->done.fd, POLLIN, now + MOMENT_MS, t->leave, NULL) == E_TIMEOUT) {
		if (say)
			(void)fputs("tidying up the conversation and memory; Ctrl-C leaves at "
				    "once\n",
				    stderr);
		(void)!wait_fd(t->done.fd, POLLIN, now + most_ms, t->leave, NULL);
	}
	tidy_stop(t);
}

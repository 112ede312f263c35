/*
 * Hearing signals beside a command.  What they mean is the business of who asked.
 */
#include "cli/hear.h"

#include "os/clock.h"
#include "os/signals.h"

#define TICK_MS 100

static void *hear_main(void *arg)
{
	struct hear *h = arg;

	for (;;) {
		struct pollfd fds[] = { { .fd = h->quit.fd, .events = POLLIN },
					{ .fd = h->signals, .events = POLLIN } };
		int64_t until = h->on_tick ? clock_mono_ms() + TICK_MS : 0;
		int signo, rc = wait_fds(fds, COUNT(fds), until, NULL, NULL);
		if (rc == E_TIMEOUT) {
			h->on_tick(h->arg);
			continue;
		}
		/* Asked again, a broken descriptor would say the same at once. */
		if (rc < 0 || fds[0].revents || (fds[1].revents & (POLLERR | POLLNVAL)))
			return NULL;
		while ((signo = signals_next(h->signals)) != 0)
			h->on_signal(h->arg, signo);
	}
}

int hear_start(struct hear *h, struct err *e)
{
	int rc = bell_init(&h->quit, e);

	return rc < 0 ? rc : thread_start(&h->thread, "signals", hear_main, h, e);
}

void hear_stop(struct hear *h)
{
	if (h->thread.running) {
		bell_ring(&h->quit);
		thread_join(&h->thread);
	}
	bell_done(&h->quit);
}

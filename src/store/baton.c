/*
 * The baton of the writers.  Nobody waiting: one short lock.  Otherwise each waiter lies in
 * the queue with a bell of its own, in its own frame, and the holder hands the baton to
 * the first: no waiter is overtaken, however fast others come back for more.
 */
#include "store/baton.h"

#include "os/wait.h"

#include <assert.h>
#include <pthread.h>

struct waiter {
	struct waiter *next;
	struct bell bell;
	bool given;
};

struct baton {
	pthread_mutex_t lock; /* guards what follows */
	bool held;
	struct waiter *first, **last;
};

struct baton *baton_new(struct arena *a)
{
	struct baton *b = NEW(a, struct baton);

	(void)pthread_mutex_init(&b->lock, NULL);
	b->last = &b->first;
	return b;
}

void baton_free(struct baton *b)
{
	assert(!b->held && !b->first);
	(void)pthread_mutex_destroy(&b->lock);
}

static bool take_or_queue(struct baton *b, struct waiter *w)
{
	bool got;

	(void)pthread_mutex_lock(&b->lock);
	got = !b->held;
	if (got) {
		b->held = true;
	} else if (w) {
		*b->last = w;
		b->last = &w->next;
	}
	(void)pthread_mutex_unlock(&b->lock);
	return got;
}

/* Leave the queue; false when the baton had been handed over meanwhile. */
static bool leave(struct baton *b, struct waiter *w)
{
	bool waiting;

	(void)pthread_mutex_lock(&b->lock);
	waiting = !w->given;
	if (waiting) {
		struct waiter **at = &b->first;
		while (*at != w)
			at = &(*at)->next;
		*at = w->next;
		if (b->last == &w->next)
			b->last = at;
	}
	(void)pthread_mutex_unlock(&b->lock);
	return waiting;
}

int baton_take(struct baton *b, int64_t until_ms, const struct cancel *c, struct err *e)
{
	struct waiter w = { 0 };
	int rc = cancel_check(c, e);

	if (rc < 0 || take_or_queue(b, NULL))
		return rc;
	rc = bell_init(&w.bell, e);
	if (rc < 0)
		return rc;
	if (!take_or_queue(b, &w)) {
		rc = wait_fd(w.bell.fd, POLLIN, until_ms, c, e);
		if (!leave(b, &w) && rc < 0)
			baton_pass(b); /* it came too late for us */
	}
	bell_done(&w.bell);
	return rc;
}

void baton_pass(struct baton *b)
{
	(void)pthread_mutex_lock(&b->lock);
	struct waiter *w = b->first;
	assert(b->held);
	if (w) {
		b->first = w->next;
		if (!b->first)
			b->last = &b->first;
		w->given = true;
		/* Under the lock: once it is released, the waiter's frame may be gone. */
		bell_ring(&w->bell);
	} else {
		b->held = false;
	}
	(void)pthread_mutex_unlock(&b->lock);
}

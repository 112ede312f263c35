/*
 * Waiting: one poll(2) over the descriptors, the eventfds of the cancel chain and the
 * nearest deadline.  A poll that is interrupted or cut short by the seam goes round again.
 */
#include "os/wait.h"

#include "base/memory.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/seam.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FDS_MAX 32
#define CHAIN_MAX 16

/* What poll(2) may wait at most; -1 when there is no limit. */
static int poll_ms(int64_t until_ms, const struct cancel *c)
{
	int64_t limit = cancel_deadline(c);

	if (until_ms && until_ms < limit)
		limit = until_ms;
	if (limit == INT64_MAX)
		return -1;
	int64_t left = limit - clock_mono_ms();
	if (left < 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}

/* 1 when a descriptor is ready, 0 when not (yet), else a code. */
static int poll_once(struct pollfd *fds, size_t n, int ms, const struct cancel *c,
		     struct err *e)
{
	struct pollfd all[FDS_MAX + CHAIN_MAX];
	size_t total = 0;
	int ready = 0;

	for (size_t i = 0; i < n; i++) {
		fds[i].revents = 0;
		all[total++] = fds[i];
	}
	for (; c; c = c->up) {
		assert(total < COUNT(all));
		all[total++] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
	}
	if (poll(all, total, seam_slice(ms)) < 0) {
		/* Whoever waits could only go on as if what it waits for had come to nothing. */
		if (errno == ENOMEM)
			memory_out("the kernel has none for poll");
		return errno == EINTR ? 0 : err_sys(e, "poll");
	}
	for (size_t i = 0; i < n; i++) {
		fds[i].revents = all[i].revents;
		ready |= all[i].revents != 0;
	}
	return ready;
}

int wait_fds(struct pollfd *fds, size_t n, int64_t until_ms, const struct cancel *c,
	     struct err *e)
{
	assert(n <= FDS_MAX);
	for (;;) {
		int ms = poll_ms(until_ms, c), rc = cancel_check(c, e);
		if (rc < 0)
			return rc;
		rc = poll_once(fds, n, ms, c, e);
		if (rc != 0)
			return rc < 0 ? rc : OK;
		rc = cancel_check(c, e);
		if (rc < 0)
			return rc;
		if (until_ms && clock_mono_ms() >= until_ms)
			return err_set(e, E_TIMEOUT, "timed out");
	}
}

int wait_fd(int fd, short events, int64_t until_ms, const struct cancel *c, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = events };

	return wait_fds(&p, 1, until_ms, c, e);
}

int wait_ms(int64_t ms, const struct cancel *c, struct err *e)
{
	int64_t until;
	int rc = cancel_check(c, e);

	if (rc < 0 || ms <= 0)
		return rc;
	if (__builtin_add_overflow(clock_mono_ms(), ms, &until))
		until = INT64_MAX;
	rc = wait_fd(-1, 0, until, c, e);
	/* Time is up either way; only the chain can say whether that is an error. */
	return rc == E_TIMEOUT ? cancel_check(c, e) : rc;
}

int bell_init(struct bell *b, struct err *e)
{
	b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return b->fd < 0 ? err_sys(e, "eventfd") : OK;
}

void bell_done(struct bell *b)
{
	fd_drop(&b->fd);
}

void bell_ring(const struct bell *b)
{
	uint64_t one = 1;

	(void)!write(b->fd, &one, sizeof one);
}

bool bell_hear(const struct bell *b)
{
	uint64_t rings;

	return read(b->fd, &rings, sizeof rings) > 0;
}

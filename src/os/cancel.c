/*
 * Cancel tokens.  A token knows only the one above it; there is no list of children, so
 * firing is one atomic store and one ring, and a check walks a handful of links.
 */
#include "os/cancel.h"

#include "os/clock.h"
#include "os/file.h"

#include <assert.h>
#include <sys/eventfd.h>
#include <unistd.h>

int cancel_init(struct cancel *c, const struct cancel *up, int64_t timeout_ms, struct err *e)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int64_t deadline = 0;

	if (fd < 0)
		return err_sys(e, "cancel token");
	if (timeout_ms > 0 && __builtin_add_overflow(clock_mono_ms(), timeout_ms, &deadline))
		deadline = 0;
	c->up = up;
	c->fd = fd;
	c->deadline_ms = deadline;
	atomic_init(&c->reason, CANCEL_NONE);
	return OK;
}

void cancel_done(struct cancel *c)
{
	fd_drop(&c->fd);
}

void cancel_fire(struct cancel *c, enum cancel_reason reason)
{
	int none = CANCEL_NONE;
	uint64_t one = 1;

	assert(reason != CANCEL_NONE);
	if (atomic_compare_exchange_strong(&c->reason, &none, (int)reason))
		(void)!write(c->fd, &one, sizeof one);
}

static int rank(enum cancel_reason reason)
{
	static const int ranks[] = {
		[CANCEL_NONE] = 0,
		[CANCEL_DEADLINE] = 1,
		[CANCEL_USER] = 2,
		[CANCEL_SHUTDOWN] = 3,
	};

	return ranks[reason];
}

enum cancel_reason cancel_reason(const struct cancel *c)
{
	enum cancel_reason worst = CANCEL_NONE;
	int64_t now = 0;

	for (; c; c = c->up) {
		enum cancel_reason mine = (enum cancel_reason)atomic_load(&c->reason);
		if (c->deadline_ms && !now)
			now = clock_mono_ms();
		if (mine == CANCEL_NONE && c->deadline_ms && now >= c->deadline_ms)
			mine = CANCEL_DEADLINE;
		if (rank(mine) > rank(worst))
			worst = mine;
	}
	return worst;
}

int cancel_check(const struct cancel *c, struct err *e)
{
	switch (cancel_reason(c)) {
	case CANCEL_USER:
		return err_set(e, E_CANCELED, "canceled");
	case CANCEL_SHUTDOWN:
		return err_set(e, E_CANCELED, "interrupted by shutdown");
	case CANCEL_DEADLINE:
		return err_set(e, E_TIMEOUT, "deadline passed");
	case CANCEL_NONE:
		break;
	}
	return OK;
}

int64_t cancel_deadline(const struct cancel *c)
{
	int64_t nearest = INT64_MAX;

	for (; c; c = c->up)
		if (c->deadline_ms && c->deadline_ms < nearest)
			nearest = c->deadline_ms;
	return nearest;
}

/*
 * Permits: the kernel's counter is the permit, reading it is taking it.
 */
#include "os/permit.h"

#include "os/file.h"
#include "os/wait.h"

#include <sys/eventfd.h>
#include <unistd.h>

int permit_init(struct permit *p, struct err *e)
{
	p->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	return p->fd < 0 ? err_sys(e, "eventfd") : OK;
}

void permit_done(struct permit *p)
{
	fd_drop(&p->fd);
}

bool permit_try(const struct permit *p)
{
	uint64_t one;

	return read(p->fd, &one, sizeof one) == (ssize_t)sizeof one;
}

int permit_take(const struct permit *p, const struct cancel *c, struct err *e)
{
	while (!permit_try(p)) {
		int rc = wait_fd(p->fd, POLLIN, 0, c, e);
		if (rc < 0)
			return rc;
	}
	return OK;
}

void permit_give(const struct permit *p)
{
	uint64_t one = 1;

	(void)!write(p->fd, &one, sizeof one);
}

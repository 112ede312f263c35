/*
 * A disk that fills up: the next .writes of SQLite fail with ENOSPC.  Included once in a
 * program; its pwrite stands in place of libc's.
 */
#ifndef UNIT_FULL_DISK_H
#define UNIT_FULL_DISK_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int full_writes; /* how many more fail; negative: all of them */

static ssize_t full_pwrite(int fd, const void *p, size_t n, long at)
{
	int left = atomic_load(&full_writes);

	if (left != 0) {
		if (left > 0)
			atomic_fetch_sub(&full_writes, 1);
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	return full_pwrite(fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
	return full_pwrite(fd, p, n, at);
}

#endif

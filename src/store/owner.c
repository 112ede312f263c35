/*
 * Who is alive.  Each process that writes holds a flock on a file of its own for life; its
 * name is the owner of the claims it makes.  The kernel drops the lock with the process, so
 * a free lock means a dead owner, whatever its pid is used for by now.
 */
#include "store/internal.h"

#include "os/file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNER_TRIES 5
#define OWNERS_MAX 100000

/* A sweep may have removed the file between its creation and the lock. */
static bool still_there(const char *path, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int owner_take(struct store *s, struct err *e)
{
	int rc = E_BUSY;

	for (int i = 0; i < OWNER_TRIES; i++) {
		id_new(s->owner);
		str path = arena_fmt(&s->arena, "%s/%s", s->owners_dir, s->owner);
		int fd = -1;
		rc = lock_take(&fd, path.p, e);
		if (rc == OK && still_there(path.p, fd)) {
			s->owner_fd = fd;
			s->owner_path = path.p;
			return OK;
		}
		if (rc == OK)
			fd_drop(&fd);
		else if (rc != E_BUSY)
			return rc;
	}
	return err_set(e, E_BUSY, "%s: no owner file could be locked", s->owners_dir);
}

void owner_leave(struct store *s)
{
	if (s->owner_fd < 0)
		return;
	(void)unlink(s->owner_path);
	fd_drop(&s->owner_fd);
}

bool owner_alive(const struct store *s, str owner)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (str_eq(owner, str_of(s->owner)))
		return true;
	/* Names are ids of ours; anything else never was an owner. */
	if (owner.n != ID_LEN || str_has(owner, S("/")))
		return false;
	return lock_probe(arena_fmt(&a, "%s/%.*s", s->owners_dir, STRF(owner)).p, NULL);
}

void owner_sweep(const struct store *s)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *names;
	size_t n;

	if (dir_list(&names, &n, &a, s->owners_dir, OWNERS_MAX, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (names[i].n == ID_LEN && !owner_alive(s, names[i]))
			(void)unlink(arena_fmt(&a, "%s/%.*s", s->owners_dir, STRF(names[i])).p);
}

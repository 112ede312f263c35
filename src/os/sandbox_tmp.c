/*
 * Removing the temporary directory of a sandbox, with whatever a hostile program left in it:
 * links, directories nobody may read, trees deeper than any recursion.  Nothing is followed and
 * nothing recursed into: what lies in a subdirectory is moved up before that is removed, until
 * all is in one place.  No process that could interfere is left by then.
 */
#include "os/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX 32

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool remove_one(int at, const char *name)
{
	return unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0;
}

/* Under a name that is not taken in top. */
static bool move_up(int dir, const char *name, int top, unsigned *counter)
{
	char to[32];

	/* Only directories come here; to move one it has to be writable itself. */
	(void)!fchmodat(dir, name, 0700, 0);
	for (int i = 0; i < NAMES_MAX; i++) {
		(void)snprintf(to, sizeof to, ".gone-%u", (*counter)++);
		if (faccessat(top, to, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
		    renameat(dir, name, top, to) == 0)
			return true;
	}
	return false;
}

/* Take out what is in the open directory fd, which is closed.  What is not empty is moved up to
 * top, or where fd is the top itself (top -1) emptied first.  How many entries were dealt with. */
static size_t empty_dir(int fd, int top, unsigned *counter);

static bool flatten(int top, const char *name, unsigned *counter)
{
	int fd = open_dir(top, name);

	/* It is ours, whatever its mode. */
	if (fd < 0 && errno == EACCES && fchmodat(top, name, 0700, 0) == 0)
		fd = open_dir(top, name);
	if (fd < 0)
		return false;
	(void)!fchmod(fd, 0700);
	return empty_dir(fd, top, counter) > 0;
}

static size_t empty_dir(int fd, int top, unsigned *counter)
{
	DIR *d = fdopendir(fd);
	size_t done = 0;

	if (!d) {
		(void)close(fd);
		return 0;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (remove_one(dirfd(d), e->d_name))
			done++;
		else if (top < 0)
			done += flatten(dirfd(d), e->d_name, counter);
		else
			done += move_up(dirfd(d), e->d_name, top, counter);
	}
	(void)closedir(d);
	return done;
}

void sandbox_remove_tmp(const char *path)
{
	unsigned counter = 0;
	int fd;

	while ((fd = open_dir(AT_FDCWD, path)) >= 0) {
		(void)!fchmod(fd, 0700);
		if (empty_dir(fd, -1, &counter) == 0)
			break;
	}
	(void)rmdir(path);
}

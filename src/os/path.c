/*
 * Looking at paths.  Answers are true for the moment they are given; whoever opens the file
 * afterwards still handles its errors.
 */
#include "os/path.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum path_kind path_kind(const char *path, unsigned *mode)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return PATH_NONE;
	if (mode)
		*mode = st.st_mode & 07777;
	return S_ISREG(st.st_mode) ? PATH_FILE : S_ISDIR(st.st_mode) ? PATH_DIR : PATH_OTHER;
}

bool path_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool path_taken(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool dir_writable(const char *path)
{
	return path_kind(path, NULL) == PATH_DIR && access(path, W_OK | X_OK) == 0;
}

str path_dir(struct arena *a, str path)
{
	size_t n = path.n;

	while (n > 1 && path.p[n - 1] == '/')
		n--;
	while (n && path.p[n - 1] != '/')
		n--;
	while (n > 1 && path.p[n - 1] == '/')
		n--;
	return n ? arena_dup(a, str_sub(path, 0, n)) : arena_dup(a, S("."));
}

str path_existing(struct arena *a, str path)
{
	str p = arena_dup(a, path);

	while (p.n > 1 && path_kind(p.p, NULL) == PATH_NONE)
		p = path_dir(a, p);
	return p;
}

str path_cwd(struct arena *a)
{
	char p[PATH_MAX];

	return arena_dup(a, getcwd(p, sizeof(p)) ? str_of(p) : S("/"));
}

/*
 * Lookups below roots.  What a path means as text is base/path's; here the kernel is asked,
 * always with RESOLVE_BENEATH and from a descriptor of the root that is opened per call.
 */
#include "os/beneath.h"

#include "base/path.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOPS_MAX 8
#define RACES_MAX 64 /* a rename elsewhere makes the kernel give up on a ".." */
#define FOLLOW (RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)
#define NO_LINKS (FOLLOW | RESOLVE_NO_SYMLINKS)

/* Where a path is: an open root and the rest of the name. */
struct spot {
	int root; /* O_PATH, owned */
	str root_name; /* as the kernel calls it */
	const char *rel;
};

static void spot_drop(struct spot *s)
{
	fd_drop(&s->root);
}

static int open_beneath(int dir, const char *rel, int flags, unsigned mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = resolve,
	};
	long fd = -1;

	for (int i = 0; i < RACES_MAX; i++) {
		fd = syscall(SYS_openat2, dir, rel, &how, sizeof how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

int beneath_supported(struct err *e)
{
	SCOPED(fd_drop) int fd = open_beneath(AT_FDCWD, ".", O_PATH, 0, RESOLVE_BENEATH);

	if (fd >= 0)
		return OK;
	if (errno == ENOSYS)
		return err_set(e, E_IO,
			       "the file tools need the system call openat2, which this "
			       "kernel lacks; use Linux 5.6 or later, or switch them off");
	if (errno == EPERM)
		return err_set(e, E_IO,
			       "the file tools need the system call openat2, which the "
			       "container's seccomp profile forbids; allow it, or switch "
			       "them off");
	return OK; /* the call is there; this directory is just not readable */
}

/* Through /proc the name is exact; without it, the name that was configured has to do. */
static str name_of(struct arena *a, int fd, str otherwise)
{
	char link[40], name[PATH_MAX];

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof name);
	if (n <= 0 || (size_t)n >= sizeof name || name[0] != '/')
		return otherwise;
	return arena_dup(a, (str){ name, (size_t)n });
}

static int root_open(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void take(struct arena *a, struct spot *s, int *root, str name, str rel)
{
	*s = (struct spot){ .root = *root, .root_name = name, .rel = arena_cstr(a, rel) };
	*root = -1;
}

/* The first root, by its configured or real name, that abs is below.  False: none. */
static int pick_root(const struct beneath *b, struct arena *a, str abs, bool make,
		     struct spot *out, struct err *e)
{
	str rel;

	for (size_t i = 0; i < b->n; i++) {
		str name;
		int rc = path_absolute(&name, a, b->roots[i], b->home, S("/"), e);
		if (rc < 0)
			return err_wrap(e, rc, "root %.*s", STRF(b->roots[i]));
		bool below = path_below(name, abs, &rel);
		SCOPED(fd_drop) int fd = root_open(name.p);
		if (fd < 0 && errno == ENOENT && below && make) {
			rc = dir_make(name.p, 0755, e);
			if (rc < 0)
				return rc;
			fd = root_open(name.p);
		}
		if (fd < 0 && below)
			return err_sys(e, "%s", name.p);
		if (fd < 0)
			continue;
		str real = name_of(a, fd, name);
		if (below || path_below(real, abs, &rel)) {
			take(a, out, &fd, real, rel);
			return OK;
		}
	}
	return err_set(e, E_DENIED, "outside the allowed directories");
}

/* abs may lead into a root by links above it: its deepest existing directory resolved.  What
 * this finds is only a name; the lookup below the root decides. */
static str real_name(struct arena *a, str abs)
{
	char real[PATH_MAX];

	for (size_t n = abs.n; n > 1;) {
		const char *head = arena_cstr(a, str_sub(abs, 0, n));
		if (realpath(head, real))
			return arena_cat(a, str_of(real), str_sub(abs, n, abs.n));
		while (n > 1 && abs.p[n - 1] != '/')
			n--;
		n -= n > 1;
	}
	return abs;
}

static int find_root(const struct beneath *b, struct arena *a, str abs, bool make,
		     struct spot *out, struct err *e)
{
	int rc = pick_root(b, a, abs, make, out, e);

	if (rc != E_DENIED)
		return rc;
	str real = real_name(a, abs);
	return str_eq(real, abs) ? rc : pick_root(b, a, real, make, out, e);
}

/* The first component of the spot that is a link, replaced by what it points to. */
static bool splice_link(const struct spot *s, struct arena *a, str *abs)
{
	str rel = str_of(s->rel);

	for (size_t i = 1; i <= rel.n; i++) {
		if (i < rel.n && rel.p[i] != '/')
			continue;
		char target[PATH_MAX];
		struct stat st;
		const char *head = arena_cstr(a, str_sub(rel, 0, i));
		SCOPED(fd_drop)
		int fd = open_beneath(s->root, head, O_PATH | O_NOFOLLOW, 0, FOLLOW);
		if (fd < 0 || fstat(fd, &st) != 0)
			return false;
		if (!S_ISLNK(st.st_mode))
			continue;
		ssize_t n = readlinkat(fd, "", target, sizeof target);
		if (n <= 0 || (size_t)n >= sizeof target)
			return false;
		str rest = str_sub(rel, i, rel.n);
		str above = str_sub(rel, 0, i);
		while (above.n && above.p[above.n - 1] != '/')
			above.n--;
		/* A target may be called ~, which is no home directory here. */
		const char *here = target[0] == '/' ? "" : "./";
		str name = arena_fmt(a, "%s%.*s%.*s", here, (int)n, target, STRF(rest));
		str base = arena_fmt(a, "%.*s/%.*s", STRF(s->root_name), STRF(above));
		return path_absolute(abs, a, name, (str){ 0 }, base, NULL) == OK;
	}
	return false;
}

/* What path stands for, before links are looked at. */
static int absolute(const struct beneath *b, struct arena *a, str path, str *abs, struct err *e)
{
	str base = b->n ? b->roots[0] : S("/");
	int rc = OK;

	if (b->n == 0)
		return err_set(e, E_DENIED, "no directories are allowed");
	if (base.n && base.p[0] == '~')
		rc = path_absolute(&base, a, base, b->home, S("/"), e);
	return rc < 0 ? rc : path_absolute(abs, a, path, b->home, base, e);
}

bool beneath_is_root(const struct beneath *b, struct arena *a, str path)
{
	str abs, root;

	if (absolute(b, a, path, &abs, NULL) < 0)
		return false;
	for (size_t i = 0; i < b->n; i++)
		if (path_absolute(&root, a, b->roots[i], b->home, S("/"), NULL) == OK &&
		    str_eq(root, abs))
			return true;
	return false;
}

/* Hold what abs names.  E_NOENT: *where is the root and the name, links taken out, at which
 * it is missing. */
static int look(const struct beneath *b, struct arena *a, str path, bool make,
		struct spot *where, int *fd, struct err *e)
{
	str abs;
	int rc = absolute(b, a, path, &abs, e);

	for (int hops = 0; rc == OK; hops++) {
		spot_drop(where);
		rc = find_root(b, a, abs, make, where, e);
		if (rc < 0)
			break;
		*fd = open_beneath(where->root, where->rel, O_PATH, 0, FOLLOW);
		if (*fd >= 0)
			return OK;
		int errnum = errno;
		if ((errnum != EXDEV && errnum != ENOENT) || !splice_link(where, a, &abs)) {
			if (errnum == EXDEV)
				return err_set(e, E_DENIED, "outside the allowed directories");
			errno = errnum;
			return err_sys(e, "cannot open it");
		}
		if (hops == HOPS_MAX)
			return err_set(e, E_DENIED, "more than %d symbolic links", HOPS_MAX);
	}
	return rc;
}

int beneath_look(const struct beneath *b, struct arena *a, str path, int *fd, struct stat *st,
		 struct err *e)
{
	SCOPED(spot_drop) struct spot where = { .root = -1 };
	SCOPED(fd_drop) int held = -1;
	int rc = look(b, a, path, false, &where, &held, e);

	if (rc < 0)
		return rc;
	if (fstat(held, st) != 0)
		return err_sys(e, "cannot look at it");
	*fd = held;
	held = -1;
	return OK;
}

static int check(const struct beneath *b, const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return err_set(e, E_INVAL, "not a regular file");
	if (b->own_file && b->own_file(b->own_arg, st->st_dev, st->st_ino))
		return err_set(e, E_DENIED, "this is the agent's own database");
	return OK;
}

int beneath_open(const struct beneath *b, int held, int flags, int *fd, struct err *e)
{
	struct stat before, after;
	char name[40];

	if (fstat(held, &before) != 0)
		return err_sys(e, "cannot look at it");
	int rc = check(b, &before, e);
	if (rc < 0)
		return rc;
	/* The same file whatever its name means by now. */
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", held);
	int real = open(name, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (real < 0 && errno == ENOENT)
		return err_set(e, E_IO, "cannot open it: /proc is not mounted");
	if (real < 0)
		return err_sys(e, "cannot open it");
	if (fstat(real, &after) != 0 || after.st_dev != before.st_dev ||
	    after.st_ino != before.st_ino || check(b, &after, e) < 0) {
		/* Not closed: closing any descriptor of the database drops its locks. */
		return err_set(e, E_DENIED, "the file changed while it was opened");
	}
	*fd = real;
	return OK;
}

/* The directory of the spot, made as far as it is missing; *name is what goes into it. */
static int make_parents(const struct spot *s, struct arena *a, int *out, const char **name,
			struct err *e)
{
	str rest = str_of(s->rel), part = str_cut(&rest, '/');
	SCOPED(fd_drop)
	int dir = open_beneath(s->root, ".", O_PATH | O_DIRECTORY, 0, NO_LINKS);

	for (; dir >= 0 && rest.n; part = str_cut(&rest, '/')) {
		const char *sub = arena_cstr(a, part);
		int next = open_beneath(dir, sub, O_PATH | O_DIRECTORY, 0, NO_LINKS);
		if (next < 0 && errno == ENOENT &&
		    (mkdirat(dir, sub, 0755) == 0 || errno == EEXIST))
			next = open_beneath(dir, sub, O_PATH | O_DIRECTORY, 0, NO_LINKS);
		if (next < 0)
			return err_sys(e, "directory %s", sub);
		fd_drop(&dir);
		dir = next;
	}
	if (dir < 0)
		return err_sys(e, "directory");
	*name = arena_cstr(a, part);
	*out = dir;
	dir = -1;
	return OK;
}

/* Would SQLite take a file of this name in dir for part of our database? */
static bool own_name(const struct beneath *b, struct arena *a, int dir, const char *name)
{
	str path = str_of(b->own_path), base = path;
	struct stat here, there;

	while (str_has(base, S("/")))
		(void)str_cut(&base, '/');
	if (base.n == 0 || !str_starts(str_of(name), base))
		return false;
	const char *parent = arena_fmt(a, "%.*s.", (int)(path.n - base.n), path.p).p;
	return fstat(dir, &here) != 0 || stat(parent, &there) != 0 ||
	       (here.st_dev == there.st_dev && here.st_ino == there.st_ino);
}

int beneath_create(const struct beneath *b, struct arena *a, str path, int *fd, struct err *e)
{
	SCOPED(spot_drop) struct spot where = { .root = -1 };
	SCOPED(fd_drop) int held = -1;
	SCOPED(fd_drop) int dir = -1;
	const char *name = "";
	int rc = look(b, a, path, true, &where, &held, e);

	if (rc == OK)
		return err_set(e, E_BUSY, "already exists");
	if (rc != E_NOENT)
		return rc;
	rc = make_parents(&where, a, &dir, &name, e);
	if (rc < 0)
		return rc;
	if (b->own_path && own_name(b, a, dir, name))
		return err_set(e, E_DENIED, "this is a name of the agent's own database");
	*fd = open_beneath(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0644, NO_LINKS);
	if (*fd < 0 && errno == EEXIST)
		return err_set(e, E_BUSY, "already exists");
	return *fd < 0 ? err_sys(e, "cannot create it") : OK;
}

int beneath_subdir(int dir, const char *name, int *fd, struct err *e)
{
	*fd = open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, NO_LINKS);
	return *fd < 0 ? err_sys(e, "cannot open it") : OK;
}

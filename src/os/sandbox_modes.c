/*
 * Who changes the mode of a file is not asked by Landlock, and a seccomp filter sees no paths.
 * So the filter hands such calls to the supervisor, which looks the file up itself and, where
 * the rules give writing, changes the mode in the caller's place.  What the caller's memory
 * says is read once and never again: a path that changes meanwhile changes nothing.
 */
#include "os/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NR_FCHMODAT2 452
#define PAGE 4096
#define LATER 512 /* bytes for what the kernel writes and reads */
#define SET_ID 06000
#define MODE_MASK 07777

/* One supervisor, one sandbox: these exist once, there. */
static struct sandbox_rule places[SANDBOX_RULES];
static size_t places_n;

/* What is asked for. */
struct wish {
	pid_t pid;
	int dir; /* the caller's number */
	uint64_t path; /* in the caller; 0: dir itself is meant */
	mode_t mode;
	int flags;
};

void sandbox_modes_learn(const struct sandbox *box)
{
	places_n = 0;
	if (!(box->flags & SANDBOX_MODES))
		return;
	for (size_t i = 0; i < box->rules_n; i++) {
		const struct sandbox_rule *r = &box->rules[i];
		bool hidden = (r->access & SANDBOX_HIDE) && (r->access & SANDBOX_SURE);
		if (!hidden && !(r->access & SANDBOX_WRITE))
			continue;
		char *path = realpath(r->path, NULL);
		if (path)
			places[places_n++] = (struct sandbox_rule){ path, r->access };
	}
}

/* By syscall, since C libraries do not agree on the type of what. */
static int control(int fd, unsigned long what, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, what, arg);
}

static size_t depth_in(const char *path, const char *place)
{
	size_t n = strlen(place);

	return strncmp(path, place, n) == 0 && (path[n] == '\0' || path[n] == '/') ? n : 0;
}

/* The nearest place above decides. */
static bool may_write(const char *path)
{
	size_t best = 0;
	bool may = false;

	for (size_t i = 0; i < places_n; i++) {
		size_t n = depth_in(path, places[i].path);
		bool hides = places[i].access & SANDBOX_HIDE;

		if (n > best || (n == best && n > 0 && !hides)) {
			best = n;
			may = !hides;
		}
	}
	return may;
}

/* Not over the border of a page: the next one may not be there. */
static bool read_path(pid_t pid, uint64_t at, char path[PATH_MAX])
{
	size_t done = 0;

	while (done < PATH_MAX) {
		size_t n = PAGE - (size_t)((at + done) % PAGE);
		struct iovec mine = { path + done, n < PATH_MAX - done ? n : PATH_MAX - done };
		struct iovec theirs = { (void *)(uintptr_t)(at + done), mine.iov_len };
		ssize_t got = process_vm_readv(pid, &mine, 1, &theirs, 1, 0);

		if (got <= 0)
			return false;
		if (memchr(path + done, '\0', (size_t)got))
			return true;
		done += (size_t)got;
	}
	errno = ENAMETOOLONG;
	return false;
}

/* The caller's own names in /proc would be ours here. */
static const char *caller_path(const struct wish *w, const char *path, char out[PATH_MAX])
{
	static const char *const selves[] = { "/proc/self/", "/proc/thread-self/", "/dev/fd/" };

	for (size_t i = 0; i < COUNT(selves); i++) {
		size_t n = strlen(selves[i]);
		if (strncmp(path, selves[i], n) != 0)
			continue;
		(void)snprintf(out, PATH_MAX, "/proc/%d/%s%s", (int)w->pid, i == 2 ? "fd/" : "",
			       path + n);
		return out;
	}
	return path;
}

/* An O_PATH descriptor of the file that is meant. */
static int open_meant(const struct wish *w, const char *path)
{
	char name[PATH_MAX];
	int follow = w->flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0;

	if (path[0] == '/')
		return open(caller_path(w, path, name), O_PATH | O_CLOEXEC | follow);
	if (w->dir == AT_FDCWD)
		(void)snprintf(name, sizeof name, "/proc/%d/cwd", (int)w->pid);
	else
		(void)snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)w->pid, w->dir);
	int dir = open(name, O_PATH | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT)
		errno = EBADF;
	if (dir < 0 || path[0] == '\0')
		return dir;
	int fd = openat(dir, path, O_PATH | O_CLOEXEC | follow), errnum = errno;
	(void)close(dir);
	errno = errnum;
	return fd;
}

static int change(int fd, mode_t mode)
{
	char self[64], path[PATH_MAX];
	struct stat st;

	(void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(self, path, sizeof path - 1);
	if (n < 0 || fstat(fd, &st) != 0)
		return errno;
	path[n] = '\0';
	if (S_ISLNK(st.st_mode))
		return EOPNOTSUPP;
	if (!may_write(path) || (mode & SET_ID))
		return EPERM;
	return chmod(self, mode & MODE_MASK) == 0 ? 0 : errno;
}

/* The errno for the caller, 0 for done. */
static int fulfil(const struct wish *w, int listener, uint64_t id)
{
	char path[PATH_MAX] = "";

	if (w->path && !read_path(w->pid, w->path, path))
		return errno;
	/* Still the process that asked, so it was its memory. */
	if (control(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) != 0)
		return EPERM;
	if (w->path && path[0] == '\0' && !(w->flags & AT_EMPTY_PATH))
		return ENOENT;
	int fd = open_meant(w, path);
	if (fd < 0)
		return errno;
	int rc = change(fd, w->mode);
	(void)close(fd);
	return rc;
}

static bool understand(const struct seccomp_notif *n, struct wish *w)
{
	const __u64 *a = n->data.args;

	*w = (struct wish){ .pid = (pid_t)n->pid, .dir = AT_FDCWD };
	switch (n->data.nr) {
#ifdef SYS_chmod
	case SYS_chmod:
		w->path = a[0];
		w->mode = (mode_t)a[1];
		return true;
#endif
	case SYS_fchmod:
		w->dir = (int)a[0];
		w->mode = (mode_t)a[1];
		return w->dir >= 0;
	case SYS_fchmodat:
	case NR_FCHMODAT2:
		w->dir = (int)a[0];
		w->path = a[1];
		w->mode = (mode_t)a[2];
		w->flags = n->data.nr == NR_FCHMODAT2 ? (int)a[3] : 0;
		return w->path != 0;
	default:
		return false;
	}
}

bool sandbox_modes_answer(int listener)
{
	/* A newer kernel may have more to say than our header knows of. */
	union {
		struct seccomp_notif is;
		char room[LATER];
	} ask = { .room = { 0 } };
	union {
		struct seccomp_notif_resp is;
		char room[LATER];
	} reply = { .room = { 0 } };
	struct wish w;

	if (control(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) != 0)
		return errno == EINTR || errno == ENOENT;
	reply.is.id = ask.is.id;
	reply.is.error = understand(&ask.is, &w) ? -fulfil(&w, listener, ask.is.id) : -EPERM;
	/* Whoever asked may be gone. */
	(void)control(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
	return true;
}

/*
 * Files, directories and locks.  Whole files are read and written at once; what is too
 * large for that is streamed by its consumer and does not come here.
 */
#include "os/file.h"

#include "base/buf.h"
#include "os/clock.h"
#include "os/path.h"
#include "os/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NOREPLACE 1u /* RENAME_NOREPLACE, which not every C library names */
#define READ_STEP 65536
#define PROBE_MS 1000 /* for a probe that was put off the processor in the middle */

void fd_drop(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static ssize_t read_some(int fd, void *p, size_t n)
{
	ssize_t got;

	do
		got = read(fd, p, n);
	while (got < 0 && errno == EINTR);
	return got;
}

int null_open(int how, struct err *e)
{
	int fd = open("/dev/null", how | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	fd = memfd_create("null", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
		fd_drop(&fd);
		return err_sys(e, "/dev/null");
	}
	return fd;
}

int file_read_fd(str *out, struct arena *a, int fd, size_t max, struct err *e)
{
	struct buf b = buf_in(a, max);
	size_t step = READ_STEP;
	struct stat st;
	ssize_t got;

	/* A known size makes it one read into one block; it is a hint and nothing more. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 &&
	    (uint64_t)st.st_size < max)
		step = (size_t)st.st_size + (st.st_size ? 1 : 4096);
	for (;;) {
		char beyond;
		size_t want = max - b.n < step ? max - b.n : step;
		got = read_some(fd, want ? buf_room(&b, want) : &beyond, want ? want : 1);
		if (got > 0 && want == 0)
			return err_set(e, E_LIMIT, "more than %zu bytes", max);
		if (got <= 0)
			break;
		buf_filled(&b, (size_t)got);
		/* Less than was asked for: most likely the end, which needs no room. */
		step = (size_t)got < want ? 1 : READ_STEP;
	}
	if (got < 0)
		return err_sys(e, "read");
	*out = buf_str(&b);
	return OK;
}

int file_read(str *out, struct arena *a, const char *path, size_t max, struct err *e)
{
	/* Not blocking, or opening a FIFO would wait for a writer. */
	SCOPED(fd_drop) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return err_sys(e, "%s", path);
	if (fstat(fd, &st) != 0)
		return err_sys(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_INVAL, "%s: not a regular file", path);
	int rc = file_read_fd(out, a, fd, max, e);
	return rc < 0 ? err_wrap(e, rc, "%s", path) : OK;
}

/* All of s to a regular file and to the disk. */
static int write_and_sync(int fd, str s, unsigned mode, const char *path, struct err *e)
{
	int rc = fd_write_all(fd, s, NULL, e);

	if (rc < 0)
		return err_wrap(e, rc, "%s", path);
	/* The mode is taken from under the umask; a mount that knows no modes is fine. */
	(void)fchmod(fd, (mode_t)mode);
	return fsync(fd) == 0 ? OK : err_sys(e, "%s: fsync", path);
}

/* Make the name itself durable.  Some mounts refuse to sync a directory: no harm. */
static void sync_parent(const char *path)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int n = slash ? (int)(slash - path) : 0;

	(void)snprintf(dir, sizeof dir, "%.*s", slash && n == 0 ? 1 : n, path);
	SCOPED(fd_drop)
	int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)fsync(fd);
}

int file_write_atomic(const char *path, str content, unsigned mode, struct err *e)
{
	char target[PATH_MAX], temp[PATH_MAX], id[ID_LEN + 1];
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;

	/* A symbolic link stays; what it points to is replaced. */
	if (!realpath(path, target) &&
	    snprintf(target, sizeof target, "%s", path) >= (int)sizeof target)
		return err_set(e, E_INVAL, "path too long: %.80s...", path);
	struct stat st;
	if (stat(target, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, E_INVAL, "%s: not a regular file", path);
	id_new(id);
	if (snprintf(temp, sizeof temp, "%s.%s.tmp", target, id) >= (int)sizeof temp)
		return err_set(e, E_INVAL, "path too long: %.80s...", path);
	SCOPED(fd_drop) int fd = open(temp, flags, (mode_t)mode);
	if (fd < 0)
		return err_sys(e, "%s: create", path);
	int rc = write_and_sync(fd, content, mode, path, e);
	if (rc == OK && rename(temp, target) != 0)
		rc = err_sys(e, "%s: rename", path);
	if (rc < 0)
		(void)unlink(temp);
	else
		sync_parent(target);
	return rc;
}

int file_append(const char *path, str content, size_t max, unsigned mode, struct err *e)
{
	SCOPED(fd_drop)
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      (mode_t)mode);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_INVAL, "%s: not a regular file", path);
	if (content.n > max || (uint64_t)st.st_size > max - content.n)
		return err_set(e, E_LIMIT, "%s: more than %zu bytes", path, max);
	ssize_t n = write(fd, content.p, content.n);
	if (n >= 0 && (size_t)n < content.n) {
		/* A piece of it is worse than nothing. */
		(void)!ftruncate(fd, st.st_size);
		return err_set(e, E_FULL, "%s: no room", path);
	}
	return n < 0 || fsync(fd) != 0 ? err_sys(e, "%s", path) : OK;
}

int file_create(const char *path, str content, unsigned mode, struct err *e)
{
	SCOPED(fd_drop)
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);

	if (fd < 0 && errno == EEXIST)
		return err_set(e, E_BUSY, "%s: exists already", path);
	if (fd < 0)
		return err_sys(e, "%s", path);
	int rc = write_and_sync(fd, content, mode, path, e);
	if (rc < 0)
		(void)unlink(path);
	else
		sync_parent(path);
	return rc;
}

static int not_named(const char *path, struct err *e)
{
	return errno == EEXIST ? err_set(e, E_BUSY, "%s: exists already", path)
			       : err_sys(e, "%s", path);
}

/* part gets its name, where there is nothing.  Mounts without a rename that replaces nothing
 * have hard links; there nothing is named that cannot lose its other name. */
static int name_it(const char *part, const char *path, struct err *e)
{
	if (syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, path, NOREPLACE) != 0) {
		if (errno == EEXIST || link(part, path) != 0)
			return not_named(path, e);
		if (unlink(part) != 0) {
			int rc = err_sys(e, "%s: remove", part);
			(void)unlink(path);
			return rc;
		}
	}
	sync_parent(path);
	return OK;
}

int file_place(const char *path, str content, unsigned mode, struct err *e)
{
	char temp[PATH_MAX], id[ID_LEN + 1];

	id_new(id);
	if (snprintf(temp, sizeof temp, "%s.%s.tmp", path, id) >= (int)sizeof temp)
		return err_set(e, E_INVAL, "path too long: %.80s...", path);
	SCOPED(fd_drop)
	int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
	if (fd < 0)
		return err_sys(e, "%s: create", path);
	int rc = write_and_sync(fd, content, mode, path, e);
	if (rc == OK)
		rc = name_it(temp, path, e);
	if (rc < 0)
		(void)unlink(temp);
	return rc;
}

int file_settle(const char *part, const char *path, struct err *e)
{
	SCOPED(fd_drop) int fd = open(part, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fsync(fd) != 0)
		return err_sys(e, "%s", part);
	return name_it(part, path, e);
}

bool file_same(const char *x, const char *y)
{
	SCOPED(fd_drop) int a = open(x, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	SCOPED(fd_drop) int b = open(y, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char one[8192], two[8192];
	ssize_t n = -1, m;

	if (a < 0 || b < 0)
		return false;
	for (off_t at = 0; (n = pread(a, one, sizeof one, at)) > 0; at += n) {
		m = pread(b, two, sizeof two, at);
		if (m != n || memcmp(one, two, (size_t)n) != 0)
			return false;
	}
	return n == 0 && lseek(a, 0, SEEK_END) == lseek(b, 0, SEEK_END);
}

static int make_one(const char *path, unsigned mode, struct err *e)
{
	if (mkdir(path, (mode_t)mode) == 0)
		return OK;
	int errnum = errno;
	if (path_kind(path, NULL) == PATH_DIR)
		return OK;
	if (errnum == EEXIST || errnum == ENOTDIR)
		return err_set(e, E_INVAL, "%s: not a directory", path);
	errno = errnum;
	return err_sys(e, "%s: make directory", path);
}

int dir_make(const char *path, unsigned mode, struct err *e)
{
	char part[PATH_MAX];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof part)
		return err_set(e, E_INVAL, "bad directory name \"%.80s\"", path);
	if (path_kind(path, NULL) == PATH_DIR)
		return OK;
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		int rc = make_one(part, mode, e);
		if (rc < 0)
			return rc;
	}
	return OK;
}

static void dir_drop(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

int64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

int dir_list(str **out, size_t *n, struct arena *a, const char *path, size_t max, struct err *e)
{
	SCOPED(dir_drop) DIR *d = opendir(path);
	size_t count = 0, room = 0;
	struct dirent *entry;
	str *names = NULL;

	if (!d)
		return err_sys(e, "%s", path);
	while (errno = 0, (entry = readdir(d))) {
		str name = str_of(entry->d_name);
		if (str_eq(name, S(".")) || str_eq(name, S("..")))
			continue;
		if (count == max)
			return err_set(e, E_LIMIT, "%s: more than %zu entries", path, max);
		if (count == room) {
			size_t more = room ? room * 2 : 32;
			names = arena_grow(a, names, room * sizeof *names,
					   more * sizeof *names);
			room = more;
		}
		names[count++] = arena_dup(a, name);
	}
	if (errno != 0)
		return err_sys(e, "%s", path);
	if (count > 1)
		qsort(names, count, sizeof *names, str_by_bytes);
	*out = names;
	*n = count;
	return OK;
}

bool disk_room(const char *path, int64_t *left, int64_t *size)
{
	struct statvfs fs;

	if (statvfs(path, &fs) != 0)
		return false;
	*left = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	*size = (int64_t)fs.f_blocks * (int64_t)fs.f_frsize;
	return *size > 0;
}

#define SYNC_TRIES 5
#define SYNC_BYTES 4096

/* A file of dir that has no name; where the file system cannot do that, one that had a name for a
 * moment. */
static int nameless(const char *dir, struct err *e)
{
	char path[PATH_MAX];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd >= 0 ? fd : err_sys(e, "%s: make a file", dir);
	(void)snprintf(path, sizeof path, "%s/.gantry-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "%s: make a file", dir);
	(void)unlink(path);
	return fd;
}

int disk_sync_time(const char *dir, int64_t *us, struct err *e)
{
	static const char bytes[SYNC_BYTES];
	int64_t took[SYNC_TRIES];
	SCOPED(fd_drop) int fd = nameless(dir, e);

	if (fd < 0)
		return fd;
	for (size_t i = 0; i < SYNC_TRIES; i++) {
		int64_t began = clock_mono_us();
		if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes || fsync(fd) < 0)
			return err_sys(e, "%s: write and fsync", dir);
		int64_t one = clock_mono_us() - began;
		size_t k = i;
		for (; k && took[k - 1] > one; k--)
			took[k] = took[k - 1];
		took[k] = one;
	}
	*us = took[SYNC_TRIES / 2];
	return OK;
}

int fd_write_all(int fd, str s, const struct cancel *c, struct err *e)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return err_sys(e, "write");
	/* A descriptor that blocks (it may be shared with others, so it stays that way) is
	 * given only as much at a time as a pipe takes once it polls writable. */
	bool blocks = !(flags & O_NONBLOCK);
	while (s.n > 0) {
		size_t n = blocks && s.n > PIPE_BUF ? PIPE_BUF : s.n;
		int rc = blocks ? wait_fd(fd, POLLOUT, 0, c, e) : OK;
		if (rc < 0)
			return rc;
		ssize_t done = write(fd, s.p, n);
		if (done >= 0) {
			s = str_sub(s, (size_t)done, s.n);
		} else if (errno == EAGAIN) {
			rc = wait_fd(fd, POLLOUT, 0, c, e);
			if (rc < 0)
				return rc;
		} else if (errno != EINTR) {
			return err_sys(e, "write");
		}
	}
	return OK;
}

static int64_t pid_in(int fd)
{
	char text[24];
	int64_t pid = 0;
	ssize_t n = pread(fd, text, sizeof text, 0);

	return n > 0 && str_i64(str_trim((str){ text, (size_t)n }), &pid) ? pid : 0;
}

/* An exclusive lock, or EWOULDBLOCK.  lock_probe() holds a shared one for an instant: where
 * we can get a shared one too, it was only that, and we try again. */
static bool lock_exclusive(int fd)
{
	int64_t until = clock_mono_ms() + PROBE_MS;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK || flock(fd, LOCK_SH | LOCK_NB) != 0)
			return false;
		(void)flock(fd, LOCK_UN);
		if (clock_mono_ms() >= until) {
			errno = EWOULDBLOCK;
			return false;
		}
		(void)sched_yield();
	}
	return true;
}

int lock_borrow(int *fd, const char *path, struct err *e)
{
	SCOPED(fd_drop)
	int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);

	if (lock < 0)
		return err_sys(e, "%s", path);
	if (!lock_exclusive(lock)) {
		if (errno == EWOULDBLOCK)
			return err_set(e, E_BUSY, "%s: held by process %lld", path,
				       (long long)pid_in(lock));
		return err_sys(e, "%s: lock", path);
	}
	*fd = lock;
	lock = -1;
	return OK;
}

int lock_take(int *fd, const char *path, struct err *e)
{
	char text[24];
	int rc = lock_borrow(fd, path, e);

	if (rc < 0)
		return rc;
	int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
	/* The number is for humans; the lock counts even on a full disk. */
	if (ftruncate(*fd, 0) == 0)
		(void)!pwrite(*fd, text, (size_t)n, 0);
	return OK;
}

bool lock_probe(const char *path, int64_t *pid)
{
	SCOPED(fd_drop) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return false;
	if (pid)
		*pid = pid_in(fd);
	return true;
}

/*
 * The seam of build/test/gantry: time that a test can step, and kernel calls that fail or
 * kill the process when a test says so.
 *
 *   GANTRY_CLOCK=FILE     the file holds an int64 of this machine's byte order: milliseconds
 *                         added to the wall clock and to the monotonic one, read anew each
 *                         time.  No wait in the kernel lasts over 10 ms then, so a step
 *                         is noticed at once.  A second int64, when it is there, is added to
 *                         the wall clock alone: a clock that is set, a machine that slept.
 *   GANTRY_FAULT=F,F,...  each F one of
 *                         CALL:N         the N-th call of that kind fails with EIO
 *                         CALL:N:ERRNO   with that error, a name like ENOSPC or a number
 *                         CALL:N+[:...]  and all after it too
 *                         CALL:N-M[:...] and all after it up to the M-th
 *                         kill:CALL:N    SIGKILL to ourselves just before the N-th call
 *                         when:FILE      calls count only once FILE is there
 *   GANTRY_LANDLOCK=N     the kernel seems to have no higher ABI of Landlock; 0: none at all.
 *   GANTRY_UNCONFINED=1   the daemon does not confine itself.
 *   GANTRY_LISTEN=1       at its first wait the daemon tries to open ports and says on stderr
 *                         what came of it.
 *
 * CALL is one of read write pread pwrite fsync fdatasync open rename ftruncate unlink mkdir
 * (openat counts as open).  Calls on sockets and on eventfds and their like do not count:
 * those do not fail like that.  Only the process that was started counts, so neither
 * the spawner nor a supervisor; SQLite's own calls count as well as ours.
 *
 * The functions below stand in the program itself, so the dynamic linker takes them for
 * those of libc, in our own code as in the libraries.  The real ones are the next in line.
 * A word that is not understood ends the program: a fault that never comes proves nothing.
 */
#undef _FORTIFY_SOURCE /* its inline read() and open() would be in the way of ours */

#include "base/str.h"
#include "os/seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_MS 10
#define FAULTS_MAX 16

enum call {
	CALL_READ,
	CALL_WRITE,
	CALL_PREAD,
	CALL_PWRITE,
	CALL_FSYNC,
	CALL_FDATASYNC,
	CALL_OPEN,
	CALL_RENAME,
	CALL_FTRUNCATE,
	CALL_UNLINK,
	CALL_MKDIR,
	CALL_N,
};

static const char *const call_names[CALL_N] = {
	"read", "write",  "pread",     "pwrite", "fsync", "fdatasync",
	"open", "rename", "ftruncate", "unlink", "mkdir",
};

struct fault {
	enum call call;
	int64_t nth, last;
	bool fatal;
	int errnum;
};

/* Written before main() and only read after. */
static struct fault faults[FAULTS_MAX];
static size_t faults_n;
static bool watched[CALL_N];
static pid_t owner;
static const int64_t *clock_offset, *wall_offset;
static char faults_when[PATH_MAX];
static int landlock_max = INT_MAX;
static bool unconfined;
static atomic_bool shall_listen;

static _Atomic int64_t counts[CALL_N];

/* ---- what was asked for ------------------------------------------------------------------- */

static NORETURN void refuse(const char *what, const char *word)
{
	(void)fprintf(stderr, "seam: %s: %s\n", what, word);
	_exit(2);
}

static int errno_of(str name)
{
	static const struct {
		const char *name;
		int value;
	} known[] = {
		{ "EIO", EIO },       { "ENOSPC", ENOSPC }, { "EINTR", EINTR },
		{ "EAGAIN", EAGAIN }, { "EACCES", EACCES }, { "EPERM", EPERM },
		{ "EROFS", EROFS },   { "EMFILE", EMFILE }, { "ENFILE", ENFILE },
		{ "ENOENT", ENOENT }, { "EDQUOT", EDQUOT }, { "ENOMEM", ENOMEM },
		{ "EPIPE", EPIPE },   { "EBUSY", EBUSY },   { "EFBIG", EFBIG },
	};
	int64_t number;

	for (size_t i = 0; i < COUNT(known); i++)
		if (str_eq(name, str_of(known[i].name)))
			return known[i].value;
	return str_i64(name, &number) && number > 0 && number < 4096 ? (int)number : 0;
}

static bool parse_fault(str word, struct fault *f)
{
	*f = (struct fault){ .errnum = EIO, .call = CALL_N };
	str part = str_cut(&word, ':');
	if (str_eq(part, S("kill"))) {
		f->fatal = true;
		part = str_cut(&word, ':');
	}
	for (int c = 0; c < CALL_N; c++)
		if (str_eq(part, str_of(call_names[c])))
			f->call = (enum call)c;
	part = str_cut(&word, ':');
	if (word.n)
		f->errnum = errno_of(word);
	bool onwards = str_ends(part, S("+"));
	part.n -= onwards;
	str first = str_cut(&part, '-');
	if (!str_i64(first, &f->nth) || f->nth <= 0)
		return false;
	f->last = onwards ? INT64_MAX : f->nth;
	if (part.n && !str_i64(part, &f->last))
		return false;
	return f->call != CALL_N && f->last >= f->nth && f->errnum != 0;
}

static void read_faults(const char *text)
{
	str rest = str_of(text);

	while (rest.n) {
		str word = str_cut(&rest, ',');
		if (str_starts(word, S("when:"))) {
			word = str_sub(word, 5, word.n);
			(void)snprintf(faults_when, sizeof faults_when, "%.*s", STRF(word));
			continue;
		}
		if (faults_n == COUNT(faults) || !parse_fault(word, &faults[faults_n]))
			refuse("GANTRY_FAULT not understood", text);
		watched[faults[faults_n++].call] = true;
	}
}

static void map_clock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof *clock_offset)
		refuse("GANTRY_CLOCK is no file of 8 bytes", path);
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (p == MAP_FAILED)
		refuse("GANTRY_CLOCK cannot be mapped", path);
	clock_offset = p;
	if (st.st_size >= (off_t)(2 * sizeof *clock_offset))
		wall_offset = clock_offset + 1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *fault = getenv("GANTRY_FAULT"), *clock = getenv("GANTRY_CLOCK");
	const char *landlock = getenv("GANTRY_LANDLOCK");

	if (clock && *clock)
		map_clock(clock);
	if (fault && *fault)
		read_faults(fault);
	if (landlock && *landlock) {
		int64_t n;
		if (!str_i64(str_of(landlock), &n) || n < 0 || n > 100)
			refuse("GANTRY_LANDLOCK is no number of an ABI", landlock);
		landlock_max = (int)n;
	}
	unconfined = getenv("GANTRY_UNCONFINED") != NULL;
	atomic_store(&shall_listen, getenv("GANTRY_LISTEN") != NULL);
	owner = getpid();
}

/* ---- the sandbox ---------------------------------------------------------------------------- */

int seam_landlock(int abi)
{
	return abi < landlock_max ? abi : landlock_max;
}

bool seam_confine(void)
{
	return !unconfined;
}

static void report(const char *what, long rc)
{
	(void)fprintf(stderr, "seam: %s: %s\n", what, rc < 0 ? strerrorname_np(errno) : "done");
}

/* What a library with a back door would do. */
static void try_ports(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char ring[256] = { 0 };

	report("bind", bind(tcp, (struct sockaddr *)&at, sizeof at));
	report("listen", listen(tcp, 1));
	int rc = accept4(tcp, NULL, NULL, SOCK_CLOEXEC);
	report("accept", rc < 0 && errno == EAGAIN ? 0 : rc);
	report("bind udp", bind(udp, (struct sockaddr *)&at, sizeof at));
	report("io_uring",
	       syscall(SYS_io_uring_setup, 1, ring) < 0 && errno == ENOSYS ? -1 : 0);
	(void)close(tcp);
	(void)close(udp);
}

/* ---- time ----------------------------------------------------------------------------------- */

int seam_clock(clockid_t id, struct timespec *out)
{
	int rc = clock_gettime(id, out);

	if (rc != 0 || !clock_offset)
		return rc;
	int64_t ms = __atomic_load_n(clock_offset, __ATOMIC_RELAXED);
	if (wall_offset && id == CLOCK_REALTIME)
		ms += __atomic_load_n(wall_offset, __ATOMIC_RELAXED);
	int64_t ns = out->tv_nsec + ms % 1000 * 1000000;
	out->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
	out->tv_nsec = ns >= 1000000000 ? ns - 1000000000 : ns < 0 ? ns + 1000000000 : ns;
	return 0;
}

int seam_slice(int ms)
{
	if (getpid() == owner && atomic_exchange(&shall_listen, false))
		try_ports();
	return clock_offset && (ms < 0 || ms > SLICE_MS) ? SLICE_MS : ms;
}

/* ---- faults --------------------------------------------------------------------------------- */

static bool can_fail(int fd)
{
	struct stat st;

	return fd < 0 ||
	       (fstat(fd, &st) == 0 && !S_ISSOCK(st.st_mode) && (st.st_mode & S_IFMT) != 0);
}

/* Count one call; true with errno set when it has to fail.  fd -1: no descriptor. */
static bool fails(enum call call, int fd)
{
	int saved = errno;

	if (!watched[call] || getpid() != owner || !can_fail(fd))
		return false;
	bool counts_now = !faults_when[0] || access(faults_when, F_OK) == 0;
	int64_t nth = counts_now ? atomic_fetch_add(&counts[call], 1) + 1 : 0;
	errno = saved;
	for (size_t i = 0; i < faults_n; i++) {
		const struct fault *f = &faults[i];
		if (f->call != call || nth < f->nth || nth > f->last)
			continue;
		if (f->fatal)
			(void)kill(owner, SIGKILL);
		errno = f->errnum;
		return true;
	}
	return false;
}

static void *next_in_line(_Atomic(void *) *cache, const char *name)
{
	void *f = atomic_load(cache);

	if (!f) {
		f = dlsym(RTLD_NEXT, name);
		atomic_store(cache, f);
	}
	return f;
}

/* Define a function that does as the real one of that name unless it has to fail. */
#define WRAP(call, fd, type, name, params, args)                                               \
	type name params;                                                                      \
	type name params                                                                       \
	{                                                                                      \
		static _Atomic(void *) cache;                                                  \
		if (fails(call, fd))                                                           \
			return -1;                                                             \
		return ((type(*) params)next_in_line(&cache, #name))args;                      \
	}

/* open and its like, whose mode is there only when a file may be made. */
#define WRAP_OPEN(name, params, args)                                                          \
	int name params;                                                                       \
	int name params                                                                        \
	{                                                                                      \
		static _Atomic(void *) cache;                                                  \
		mode_t mode = 0;                                                               \
		if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {                   \
			va_list ap;                                                            \
			va_start(ap, flags);                                                   \
			mode = va_arg(ap, mode_t);                                             \
			va_end(ap);                                                            \
		}                                                                              \
		if (fails(CALL_OPEN, -1))                                                      \
			return -1;                                                             \
		return ((int(*) params)next_in_line(&cache, #name))args;                       \
	}

/* clang-format off */
WRAP(CALL_READ, fd, ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
WRAP(CALL_READ, fd, ssize_t, __read_chk, (int fd, void *p, size_t n, size_t room),
     (fd, p, n, room))
WRAP(CALL_WRITE, fd, ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP(CALL_PREAD, fd, ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
WRAP(CALL_PREAD, fd, ssize_t, pread64, (int fd, void *p, size_t n, off64_t at),
     (fd, p, n, at))
WRAP(CALL_PREAD, fd, ssize_t, __pread_chk,
     (int fd, void *p, size_t n, off_t at, size_t room), (fd, p, n, at, room))
WRAP(CALL_PREAD, fd, ssize_t, __pread64_chk,
     (int fd, void *p, size_t n, off64_t at, size_t room), (fd, p, n, at, room))
WRAP(CALL_PWRITE, fd, ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at),
     (fd, p, n, at))
WRAP(CALL_PWRITE, fd, ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t at),
     (fd, p, n, at))
WRAP(CALL_FSYNC, fd, int, fsync, (int fd), (fd))
WRAP(CALL_FDATASYNC, fd, int, fdatasync, (int fd), (fd))
WRAP(CALL_FTRUNCATE, fd, int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(CALL_FTRUNCATE, fd, int, ftruncate64, (int fd, off64_t n), (fd, n))
WRAP(CALL_RENAME, -1, int, rename, (const char *from, const char *to), (from, to))
WRAP(CALL_UNLINK, -1, int, unlink, (const char *path), (path))
WRAP(CALL_MKDIR, -1, int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(CALL_OPEN, -1, int, __open_2, (const char *path, int flags), (path, flags))
WRAP(CALL_OPEN, -1, int, __open64_2, (const char *path, int flags), (path, flags))
WRAP(CALL_OPEN, -1, int, __openat_2, (int at, const char *path, int flags), (at, path, flags))
WRAP_OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
WRAP_OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))
/* clang-format on */

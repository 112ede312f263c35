/*
 * The calls that can be made to fail.  These functions stand in the program itself, so the
 * dynamic linker takes them for those of libc, in our own code as in the libraries.  The real
 * ones are the next in line.
 */
#undef _FORTIFY_SOURCE /* its inline read() and open() would be in the way of ours */

#include "seam/faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

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
#define WRAP(call, fd, failed, type, name, params, args)                                       \
	type name params;                                                                      \
	type name params                                                                       \
	{                                                                                      \
		static _Atomic(void *) cache;                                                  \
		if (faults_fate(CALL_##call, fd) == FATE_FAIL)                                 \
			return failed;                                                         \
		return ((type(*) params)next_in_line(&cache, #name))args;                      \
	}

/* The same for n bytes, of which it may be that only half are moved. */
#define WRAP_SIZED(call, fd, type, name, params, args)                                         \
	type name params;                                                                      \
	type name params                                                                       \
	{                                                                                      \
		static _Atomic(void *) cache;                                                  \
		enum fate fate = faults_fate(CALL_##call, fd);                                 \
		if (fate == FATE_FAIL)                                                         \
			return -1;                                                             \
		if (fate == FATE_SHORT && n > 1)                                               \
			n /= 2;                                                                \
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
		if (faults_fail(CALL_open))                                                    \
			return -1;                                                             \
		return ((int(*) params)next_in_line(&cache, #name))args;                       \
	}

/* fcntl and its like: only locks and copies of descriptors fail. */
#define WRAP_FCNTL(name)                                                                       \
	int name(int fd, int what, ...);                                                       \
	int name(int fd, int what, ...)                                                        \
	{                                                                                      \
		static _Atomic(void *) cache;                                                  \
		va_list ap;                                                                    \
		va_start(ap, what);                                                            \
		void *arg = va_arg(ap, void *);                                                \
		va_end(ap);                                                                    \
		bool lock = what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK;        \
		if (lock && faults_fail(CALL_lock))                                            \
			return -1;                                                             \
		if (what == F_DUPFD_CLOEXEC && faults_fail(CALL_dup))                          \
			return -1;                                                             \
		return ((int (*)(int, int, void *))next_in_line(&cache, #name))(fd, what,      \
										arg);          \
	}

/* clang-format off */
WRAP_SIZED(read, fd, ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
WRAP_SIZED(read, fd, ssize_t, __read_chk, (int fd, void *p, size_t n, size_t room), (fd, p, n, room))
WRAP_SIZED(write, fd, ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP_SIZED(pread, fd, ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
WRAP_SIZED(pread, fd, ssize_t, pread64, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at))
WRAP_SIZED(pread, fd, ssize_t, __pread_chk, (int fd, void *p, size_t n, off_t at, size_t room),
	   (fd, p, n, at, room))
WRAP_SIZED(pread, fd, ssize_t, __pread64_chk, (int fd, void *p, size_t n, off64_t at, size_t room),
	   (fd, p, n, at, room))
WRAP_SIZED(pwrite, fd, ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
WRAP_SIZED(pwrite, fd, ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at))
WRAP(fsync, fd, -1, int, fsync, (int fd), (fd))
WRAP(fdatasync, fd, -1, int, fdatasync, (int fd), (fd))
WRAP(ftruncate, fd, -1, int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(ftruncate, fd, -1, int, ftruncate64, (int fd, off64_t n), (fd, n))
WRAP(rename, -1, -1, int, rename, (const char *from, const char *to), (from, to))
WRAP(rename, -1, -1, int, renameat, (int f, const char *from, int t, const char *to), (f, from, t, to))
WRAP(unlink, -1, -1, int, unlink, (const char *path), (path))
WRAP(unlink, -1, -1, int, unlinkat, (int at, const char *path, int flags), (at, path, flags))
WRAP(unlink, -1, -1, int, rmdir, (const char *path), (path))
WRAP(mkdir, -1, -1, int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(mkdir, -1, -1, int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
WRAP(mkdir, -1, NULL, char *, mkdtemp, (char *path), (path))
WRAP(open, -1, -1, int, mkostemp, (char *path, int flags), (path, flags))
WRAP(open, -1, -1, int, mkostemp64, (char *path, int flags), (path, flags))
WRAP(open, -1, -1, int, __open_2, (const char *path, int flags), (path, flags))
WRAP(open, -1, -1, int, __open64_2, (const char *path, int flags), (path, flags))
WRAP(open, -1, -1, int, __openat_2, (int at, const char *path, int flags), (at, path, flags))
WRAP_OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
WRAP_OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
WRAP_OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))
WRAP(stat, -1, -1, int, stat, (const char *path, struct stat *st), (path, st))
WRAP(stat, -1, -1, int, stat64, (const char *path, struct stat64 *st), (path, st))
WRAP(stat, -1, -1, int, lstat, (const char *path, struct stat *st), (path, st))
WRAP(stat, -1, -1, int, lstat64, (const char *path, struct stat64 *st), (path, st))
WRAP(stat, -1, -1, int, fstat, (int fd, struct stat *st), (fd, st))
WRAP(stat, -1, -1, int, fstat64, (int fd, struct stat64 *st), (fd, st))
WRAP(stat, -1, -1, int, fstatat, (int at, const char *path, struct stat *st, int flags),
     (at, path, st, flags))
WRAP(stat, -1, -1, int, statvfs, (const char *path, struct statvfs *st), (path, st))
WRAP(access, -1, -1, int, access, (const char *path, int mode), (path, mode))
WRAP(access, -1, -1, int, faccessat, (int at, const char *path, int mode, int flags),
     (at, path, mode, flags))
WRAP(opendir, -1, NULL, DIR *, opendir, (const char *path), (path))
WRAP(opendir, -1, NULL, DIR *, fdopendir, (int fd), (fd))
WRAP(readdir, -1, NULL, struct dirent *, readdir, (DIR *d), (d))
WRAP(readdir, -1, NULL, struct dirent64 *, readdir64, (DIR *d), (d))
WRAP(readlink, -1, -1, ssize_t, readlink, (const char *path, char *p, size_t n), (path, p, n))
WRAP(readlink, -1, -1, ssize_t, readlinkat, (int at, const char *path, char *p, size_t n), (at, path, p, n))
WRAP(readlink, -1, NULL, char *, realpath, (const char *path, char *to), (path, to))
WRAP(readlink, -1, NULL, char *, __realpath_chk, (const char *path, char *to, size_t n), (path, to, n))
WRAP(readlink, -1, NULL, char *, getcwd, (char *p, size_t n), (p, n))
WRAP(link, -1, -1, int, link, (const char *from, const char *to), (from, to))
WRAP(chmod, -1, -1, int, chmod, (const char *path, mode_t mode), (path, mode))
WRAP(chmod, -1, -1, int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(chmod, -1, -1, int, fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags))
WRAP(lock, -1, -1, int, flock, (int fd, int how), (fd, how))
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)
WRAP(dup, -1, -1, int, dup2, (int fd, int to), (fd, to))
WRAP(dup, -1, -1, int, dup3, (int fd, int to, int flags), (fd, to, flags))
WRAP(mmap, -1, MAP_FAILED, void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from),
     (at, n, prot, flags, fd, from))
WRAP(mmap, -1, MAP_FAILED, void *, mmap64, (void *at, size_t n, int prot, int flags, int fd, off64_t from),
     (at, n, prot, flags, fd, from))
WRAP(pipe, -1, -1, int, pipe2, (int fds[2], int flags), (fds, flags))
WRAP(eventfd, -1, -1, int, eventfd, (unsigned n, int flags), (n, flags))
WRAP(signalfd, -1, -1, int, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
WRAP(random, -1, -1, ssize_t, getrandom, (void *p, size_t n, unsigned flags), (p, n, flags))
WRAP(socketpair, -1, -1, int, socketpair, (int domain, int type, int protocol, int fds[2]),
     (domain, type, protocol, fds))
WRAP(socket, -1, -1, int, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(connect, -1, -1, int, connect, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
WRAP_SIZED(send, -1, ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
WRAP_SIZED(send, -1, ssize_t, sendto, (int fd, const void *p, size_t n, int flags,
	   const struct sockaddr *to, socklen_t len), (fd, p, n, flags, to, len))
WRAP(send, -1, -1, ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
WRAP_SIZED(recv, -1, ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags))
WRAP_SIZED(recv, -1, ssize_t, recvfrom, (int fd, void *p, size_t n, int flags, struct sockaddr *from,
	   socklen_t *len), (fd, p, n, flags, from, len))
WRAP(recv, -1, -1, ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
WRAP(poll, -1, -1, int, poll, (struct pollfd *fds, nfds_t n, int ms), (fds, n, ms))
WRAP(thread, -1, errno, int, pthread_create, (pthread_t *t, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg), (t, attr, run, arg))
WRAP(fork, -1, -1, pid_t, fork, (void), ())
WRAP(exec, -1, -1, int, execve, (const char *path, char *const argv[], char *const env[]), (path, argv, env))
WRAP(wait, -1, -1, pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
/* clang-format on */

/* Here a failure is a name server's: try again. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **out)
{
	static _Atomic(void *) cache;
	size_t n = node ? strlen(node) : 0;

	if (faults_fail(CALL_resolve))
		return EAI_AGAIN;
	if (n > 5 && strcmp(node + n - 5, ".test") == 0)
		node = "127.0.0.1";
	return ((int (*)(const char *, const char *, const struct addrinfo *,
			 struct addrinfo **))next_in_line(&cache, "getaddrinfo"))(node, service,
										  hints, out);
}

long syscall(long number, ...)
{
	static _Atomic(void *) cache;
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (faults_fail(CALL_syscall))
		return -1;
	return ((long (*)(long, ...))next_in_line(&cache, "syscall"))(number, a[0], a[1], a[2],
								      a[3], a[4], a[5]);
}

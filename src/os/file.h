/*
 * os/file: files and descriptors.  Every descriptor is close-on-exec from birth.
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/arena.h"
#include "base/err.h"
#include "os/cancel.h"

/* For SCOPED: closes when >= 0. */
void fd_drop(int *fd);

/* A descriptor (close on exec) that reads as empty and keeps nothing: /dev/null, opened for how
 * (O_RDONLY, ...); in a root that has none a sealed empty file of memory, to which writing
 * fails.  E_IO. */
int null_open(int how, struct err *e) MUSTUSE;

/* All of fd, at most max bytes (E_LIMIT beyond). */
int file_read_fd(str *out, struct arena *a, int fd, size_t max, struct err *e) MUSTUSE;

/* All of the regular file at path; E_NOENT, E_DENIED, E_INVAL (not a regular file), E_LIMIT. */
int file_read(str *out, struct arena *a, const char *path, size_t max, struct err *e) MUSTUSE;

/* Write through a temporary file in the same directory, fsync and rename.  E_INVAL where
 * something else than a regular file is. */
int file_write_atomic(const char *path, str content, unsigned mode, struct err *e) MUSTUSE;

/* Add content to the end of the regular file at path (made with mode when absent; no link is
 * followed) in one piece, and fsync.  E_LIMIT: it would have more than max bytes. */
int file_append(const char *path, str content, size_t max, unsigned mode,
		struct err *e) MUSTUSE;

/* Create path with mode only if nothing is there: OK, or E_BUSY when something is. */
int file_create(const char *path, str content, unsigned mode, struct err *e) MUSTUSE;

/* The same, but the file is there whole or not at all, also after a crash. */
int file_place(const char *path, str content, unsigned mode, struct err *e) MUSTUSE;

/* Give the finished file at part its name, for good: fsynced, and only if nothing is there
 * (E_BUSY; part stays then). */
int file_settle(const char *part, const char *path, struct err *e) MUSTUSE;

/* Do both files hold the same bytes?  False also when one cannot be read. */
bool file_same(const char *x, const char *y);

/* Make the directory and its parents; existing ones are fine. */
int dir_make(const char *path, unsigned mode, struct err *e) MUSTUSE;

/* How large the file at path is; 0 when there is none. */
int64_t file_bytes(const char *path);

/* Names in a directory, sorted by bytes; E_NOENT. */
int dir_list(str **out, size_t *n, struct arena *a, const char *path, size_t max,
	     struct err *e) MUSTUSE;

/* Bytes that are free for us on the file system of path, and its size; false: unknown. */
bool disk_room(const char *path, int64_t *left, int64_t *size);

/* How long it takes, in microseconds, until a few KiB written in the directory dir are on the disk:
 * the middle of some tries, through a file without a name that is gone afterwards.  E_FULL, E_DENIED,
 * E_IO. */
int disk_sync_time(const char *dir, int64_t *us, struct err *e) MUSTUSE;

/* Write all bytes, waiting under c for room. */
int fd_write_all(int fd, str s, const struct cancel *c, struct err *e) MUSTUSE;

/* Take an exclusive flock without waiting: OK with *fd owned by the caller, E_BUSY held.
 * The file is created 0600.  take: it then holds our pid, and its time of change is that of the
 * taking.  borrow, for a moment: it stays as who had it last left it.  probe: is it held by
 * another open file description?  A missing file is not held. */
int lock_borrow(int *fd, const char *path, struct err *e) MUSTUSE;
int lock_take(int *fd, const char *path, struct err *e) MUSTUSE;
bool lock_probe(const char *path, int64_t *pid);

#endif

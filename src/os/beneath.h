/*
 * os/beneath: files and directories below given roots, and nothing else.
 *
 * The kernel itself keeps every lookup below the root (openat2 with RESOLVE_BENEATH), so
 * there is no moment between a check and its use in which a link could be put in the way.
 * Links that leave their root by name (absolute ones, for instance) are read here and looked
 * up anew from the root they lead to, at most 8 of them.  A file is first held without being
 * opened (O_PATH), looked at, and only then opened for real, through the held descriptor: a
 * FIFO or device is never opened, nor is a file that own_file knows.
 *
 * Threads  any.  Blocks only in the file system.
 */
#ifndef OS_BENEATH_H
#define OS_BENEATH_H

#include "base/arena.h"
#include "base/err.h"

#include <sys/stat.h>

struct beneath {
	const str *roots; /* directories; a relative path is below the first */
	size_t n;
	str home; /* for ~, "" none */
	/* Is this our own database?  Such files are refused.  May be NULL. */
	bool (*own_file)(void *arg, uint64_t dev, uint64_t ino);
	void *own_arg;
	const char *own_path; /* of the database: no file is created at a name that begins
	                       * like it (a journal would be believed).  NULL none */
};

/* OK, or E_IO: this kernel or its sandbox has no openat2. */
int beneath_supported(struct err *e) MUSTUSE;

/* Hold what path names, links followed: *fd is an O_PATH descriptor, the caller's.
 * E_INVAL a path that is none, E_DENIED outside the roots or not permitted, E_NOENT. */
int beneath_look(const struct beneath *b, struct arena *a, str path, int *fd, struct stat *st,
		 struct err *e) MUSTUSE;

/* Does path name one of the roots, be it there or not? */
bool beneath_is_root(const struct beneath *b, struct arena *a, str path);

/* Open for real what is held: a regular file or a directory (E_INVAL otherwise), E_DENIED our
 * own database.  flags as of open(2), without O_CREAT. */
int beneath_open(const struct beneath *b, int held, int flags, int *fd, struct err *e) MUSTUSE;

/* Create the file path (mode 0644) for writing, with the directories above it (0755), the
 * root included.  E_BUSY something is there already, E_DENIED a name of our database. */
int beneath_create(const struct beneath *b, struct arena *a, str path, int *fd,
		   struct err *e) MUSTUSE;

/* The directory name in dir, itself no link, for reading. */
int beneath_subdir(int dir, const char *name, int *fd, struct err *e) MUSTUSE;

#endif

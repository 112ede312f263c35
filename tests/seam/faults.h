/*
 * seam/faults: kernel calls and allocations of build/test/gantry that fail when a test says so.
 *
 *   GANTRY_FAULT=F,F,...  each F is when:FILE (calls count only once FILE is there) or
 *                         [child:][kill:]CALL:WHEN[:HOW] or [child:][kill:]CALL@PLACE[+][:HOW]
 *     CALL     a name of SEAM_CALLS below
 *     WHEN     N the N-th call of that kind, N+ all from it on, N-M those up to the M-th
 *     PLACE    the first call from that place, with + each; as GANTRY_PLACES tells them
 *     HOW      an error, a name like ENOSPC or a number (EIO unless said); SHORT: half of what
 *              was asked for is read or written, and no error
 *     kill:    SIGKILL to ourselves just before it
 *     child:   counted and failed in the spawner and in supervisors up to exec, and nowhere else;
 *              without it only the process that was started counts
 *   GANTRY_PLACES=FILE    where calls came from is left there, as struct book, also by a process
 *              that is killed.  Without GANTRY_FAULT all kinds are watched, else those it names.
 *
 * A place is the kind of call and who called: the nearest frames of gantry's own code and, for
 * allocations, those of the library in between.  It is the same in each run of one build.
 *
 * A name that ends in .test is this machine's, for the sake of `resolve`: numbers are not looked up.
 *
 * `read` and `write` are those on files and pipes; what is done to a socket counts as `recv` and
 * `send`.  SQLite's calls and those of other libraries count as well as ours.
 */
#ifndef SEAM_FAULTS_H
#define SEAM_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SEAM_CALLS(X)                                                                          \
	X(read)                                                                                \
	X(write)                                                                               \
	X(pread)                                                                               \
	X(pwrite)                                                                              \
	X(fsync)                                                                               \
	X(fdatasync)                                                                           \
	X(open)                                                                                \
	X(rename)                                                                              \
	X(ftruncate)                                                                           \
	X(unlink)                                                                              \
	X(mkdir)                                                                               \
	X(stat)                                                                                \
	X(access)                                                                              \
	X(opendir)                                                                             \
	X(readdir)                                                                             \
	X(readlink)                                                                            \
	X(link)                                                                                \
	X(chmod)                                                                               \
	X(lock)                                                                                \
	X(dup)                                                                                 \
	X(mmap)                                                                                \
	X(pipe)                                                                                \
	X(eventfd)                                                                             \
	X(signalfd)                                                                            \
	X(random)                                                                              \
	X(socketpair)                                                                          \
	X(socket)                                                                              \
	X(connect)                                                                             \
	X(send)                                                                                \
	X(recv)                                                                                \
	X(poll)                                                                                \
	X(resolve)                                                                             \
	X(thread)                                                                              \
	X(fork)                                                                                \
	X(wait)                                                                                \
	X(exec)                                                                                \
	X(syscall)                                                                             \
	X(alloc)

enum seam_call {
#define SEAM_ENUM(name) CALL_##name,
	SEAM_CALLS(SEAM_ENUM)
#undef SEAM_ENUM
		CALL_N
};

enum fate { FATE_NONE, FATE_FAIL, FATE_SHORT };

#define FRAMES 8
#define PLACES 8192
#define MODULES 48
#define MODULE_NAME 48

/* A frame is module << 26 | offset; module 0 is the program itself. */
struct place {
	_Atomic uint64_t hash; /* 0: free */
	uint32_t call, child;
	int64_t nth; /* of its kind, the first from here */
	_Atomic uint32_t times, failed;
	uint32_t frames[FRAMES];
};

struct book {
	char magic[8]; /* "places1" */
	_Atomic int64_t counts[2][CALL_N]; /* of the process, of its children before exec */
	_Atomic int64_t failed;
	char modules[MODULES][MODULE_NAME];
	struct place places[PLACES];
};

/* Read what was asked for; once, from a constructor. */
void faults_begin(void);

/* Count a call; FATE_FAIL leaves errno as the call would.  fd: what it is done to, or -1. */
enum fate faults_fate(enum seam_call call, int fd);

/* The same for calls that cannot be short. */
static inline bool faults_fail(enum seam_call call)
{
	return faults_fate(call, -1) == FATE_FAIL;
}

/* Note in the book (never NULL) where this call comes from; NULL when there is no room. */
struct place *places_note(struct book *book, enum seam_call call, bool child, int64_t nth);

/* Learn which code is where, and make the first unwinding, which allocates. */
void places_begin(struct book *book);

#endif

/*
 * store/store: the one database, which is the truth; threads are only workers on it.
 *
 * Writing goes through a transaction on the single writer connection:
 *
 *	SCOPED(store_rollback) struct tx tx = { 0 };
 *	if ((rc = store_begin(&tx, s, c, e)) < 0 || ...)
 *		return rc;
 *	return store_commit(&tx, e);
 *
 * Between begin and commit call nothing but store functions and pure code: the writer lock
 * is held.  Reading uses read-only connections and sees the last commit.
 *
 * Threads  any, at once.
 * Blocks   store_begin() while another thread or process writes (at most 10 s, then E_BUSY);
 *          the wait is cancellable.  Commit is an fsync.
 * Limits   a row of 64 MiB: E_LIMIT beyond.
 * Errors   E_FULL no room, E_CORRUPT damaged (latched: every later call fails alike),
 *          E_IO (latched when an fsync failed: exit and recover), E_BUSY, E_DENIED.
 *          A failed call inside a transaction dooms it: later calls and the commit fail with
 *          its code.  Only E_NOENT is an answer after which the transaction goes on.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "config/config.h"
#include "os/cancel.h"

enum store_mode {
	STORE_DAEMON, /* creates, migrates, holds <dsn>.lock, checkpoints */
	STORE_CLI, /* creates and migrates; writes beside a daemon */
	STORE_READ, /* creates nothing, migrates nothing; E_NOENT when there is none */
	/* The same of a file that no process writes, with an empty log: not even SQLite's own files
	 * appear beside it.  Who writes it meanwhile makes what is read wrong. */
	STORE_STILL,
};

struct store;

/* E_BUSY: another daemon holds the lock (5 s were waited).  E_INVAL: not ours or newer than
 * this program; E_CORRUPT: damaged or no database at all: either way the file is left alone.
 * Sentences name the path.  Where the file system refuses WAL the rollback journal is used,
 * with a warning in the log.  cfg is copied; an empty data_dir means the database's. */
int store_open(struct store **out, const struct store_cfg *cfg, enum store_mode mode,
	       const struct cancel *c, struct err *e) MUSTUSE;

/* Values that audit rows must not hold, beside what looks like a secret; they are copied, and
 * take the place of earlier ones.  From one thread at a time. */
void store_secrets(struct store *s, const str *values, size_t n);

/* Close the read-only connections that nobody has used for idle_ms, and all but one of those
 * that were seldom used since the last time: each keeps pages and statements. */
void store_tidy_readers(struct store *s, int64_t idle_ms);

/* No transaction may be open.  NULL is fine. */
void store_close(struct store *s);

/* OK, or the latched code (E_CORRUPT, E_IO) after which nothing works any more. */
int store_failed(const struct store *s, struct err *e) MUSTUSE;

/* Look through the whole file (SQLite's quick_check) beside all other work: E_CORRUPT, which is
 * latched, when it is damaged.  Takes as long as the file is large; cancellable.  moves (may be
 * NULL) is called many times a second meanwhile, and may write. */
int store_check(struct store *s, void (*moves)(void *arg), void *arg, const struct cancel *c,
		struct err *e) MUSTUSE;

/* This process as the owner of claims: the name of a file in the data directory on which
 * it holds a flock for life. */
str store_owner(const struct store *s);

/* Is the file with this device and inode the database, its -wal, -shm or -journal: what no
 * tool may open? */
bool store_is_own_file(const struct store *s, uint64_t dev, uint64_t ino);

struct tx {
	struct store *s;
	bool open, failed;
	unsigned news; /* what its commit leaves for others, see store_news() */
};

/* Turns are taken in the order of asking.  E_BUSY after 10 s, E_CANCELED, E_TIMEOUT of c. */
int store_begin(struct tx *tx, struct store *s, const struct cancel *c, struct err *e) MUSTUSE;
int store_commit(struct tx *tx, struct err *e) MUSTUSE;
void store_rollback(struct tx *tx); /* nothing after a commit; for SCOPED */

/* What the commits of this process since the last call left for the threads that look by
 * themselves only now and then: whoever asks rings their bells. */
enum { STORE_NEWS_SYSTEM = 1, /* a system row */ STORE_NEWS_CLOCK = 2 /* a job, a question */ };
unsigned store_news(struct store *s);

/* How many commits this process made; for benches. */
int64_t store_commits(const struct store *s);

#endif

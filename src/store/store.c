/*
 * The store's life: locks, the one writer and its transactions, checkpoints.  What is
 * written in those transactions is in the files named after the tables.
 */
#include "store/internal.h"
#include "store/memory.h"

#include "base/buf.h"
#include "os/file.h"
#include "os/log.h"
#include "os/wait.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_WAIT_MS 5000
#define LOCK_RETRY_MS 50
#define BUSY_MS 10000
#define RETRY_MAX_MS 50
#define CHECKPOINT_PAGES 1024 /* 4 MiB */
#define CHECKPOINT_STEP 256

/* The URI of a file that does not change. */
static const char *still_uri(struct arena *a, str path)
{
	struct buf b = buf_in(a, 3 * path.n + 32);

	buf_add(&b, path.p[0] == '/' ? S("file://") : S("file:"));
	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '/' || c == '-' || c == '_' ||
			     c == '.';
		if (plain)
			buf_addc(&b, (char)c);
		else
			buf_fmt(&b, "%%%02x", c);
	}
	buf_add(&b, S("?immutable=1"));
	return buf_str(&b).p;
}

static int set_paths(struct store *s, const struct store_cfg *cfg, struct err *e)
{
	str dsn = cfg->dsn;
	const char *slash = NULL;

	if (!dsn.n || dsn.n >= PATH_MAX - 16 || str_starts(dsn, S(":")) ||
	    str_starts(dsn, S("file:")))
		return err_set(e, E_INVAL, "\"%.*s\" is not the path of a database",
			       STRF(str_sub(dsn, 0, 100)));
	s->path = arena_cstr(&s->arena, dsn);
	s->read_path = s->mode == STORE_STILL ? still_uri(&s->arena, dsn) : s->path;
	s->lock_path = arena_fmt(&s->arena, "%s.lock", s->path).p;
	slash = strrchr(s->path, '/');
	str dir = slash ? str_sub(dsn, 0, (size_t)(slash - s->path)) : S(".");
	if (slash == s->path)
		dir = S("/");
	str data_dir = cfg->data_dir.n ? cfg->data_dir : dir;
	s->owners_dir = arena_fmt(&s->arena, "%.*s/owners", STRF(data_dir)).p;
	s->blobs_dir = arena_fmt(&s->arena, "%.*s/blobs", STRF(data_dir)).p;
	if (store_reads(s))
		return OK;
	int rc = dir_make(arena_cstr(&s->arena, dir), 0700, e);
	if (rc == OK)
		rc = dir_make(s->owners_dir, 0700, e);
	return rc == OK ? dir_make(s->blobs_dir, 0700, e) : rc;
}

/* Another daemon may be on its way out, and a command checkpoints at its end. */
static int take_daemon_lock(struct store *s, const struct cancel *c, struct err *e)
{
	int64_t until = clock_mono_ms() + LOCK_WAIT_MS, pid = 0;
	int rc;

	while ((rc = lock_take(&s->lock_fd, s->lock_path, e)) == E_BUSY &&
	       clock_mono_ms() < until) {
		rc = wait_ms(LOCK_RETRY_MS, c, e);
		if (rc < 0)
			return rc;
	}
	if (rc != E_BUSY)
		return rc;
	(void)lock_probe(s->lock_path, &pid);
	return err_set(e, E_BUSY, "already running (pid %lld) on %s", (long long)pid, s->path);
}

static int remember_wal(void *arg, sqlite3 *h, const char *name, int pages)
{
	struct store *s = arg;

	(void)h;
	(void)name;
	s->wal_pages = pages;
	return SQLITE_OK;
}

/* What was taken over is to be found at once, also by the second index. */
static int index_adopted(struct store *s, const struct cancel *c, struct err *e)
{
	struct memory_health health;

	return store_memory_check(s, c, &health, e);
}

static int open_all(struct store *s, const struct store_cfg *cfg, const struct cancel *c,
		    struct err *e)
{
	int rc = set_paths(s, cfg, e);

	if (rc < 0)
		return rc;
	struct stat st;
	if (stat(s->path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, E_INVAL, "%s: not a regular file", s->path);
	if (store_reads(s))
		return open_reader(s, e);
	if (s->mode == STORE_DAEMON && (rc = take_daemon_lock(s, c, e)) < 0)
		return rc;
	if ((rc = owner_take(s, e)) < 0 || (rc = open_writer(s, c, e)) < 0)
		return rc;
	s->checkpoint_at = CHECKPOINT_PAGES;
	(void)sqlite3_wal_hook(s->writer->h, remember_wal, s);
	return s->adopted ? index_adopted(s, c, e) : OK;
}

int store_open(struct store **out, const struct store_cfg *cfg, enum store_mode mode,
	       const struct cancel *c, struct err *e)
{
	struct arena a = { 0 };
	struct store *s = NEW(&a, struct store);

	s->arena = a;
	s->mode = mode;
	s->owner_fd = s->lock_fd = -1;
	s->baton = baton_new(&s->arena);
	int rc = readers_new(&s->readers, &s->arena, e);
	if (rc == OK)
		rc = open_all(s, cfg, c, e);
	if (rc < 0) {
		store_close(s);
		return err_wrap(e, rc, "store");
	}
	*out = s;
	return OK;
}

void store_secrets(struct store *s, const str *values, size_t n)
{
	struct str_list *list = NEW(&s->arena, struct str_list);

	*list = str_list_copy(&s->arena, (struct str_list){ values, n });
	/* Who reads the earlier list may go on doing so. */
	atomic_store(&s->secrets, list);
}

/* All of the log into the database, and an empty log.  Only under the daemon lock. */
static void checkpoint_all(struct store *s)
{
	int rc;

	if (atomic_load(&s->latch))
		return;
	rc = sqlite3_wal_checkpoint_v2(s->writer->h, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
				       NULL);
	/* Somebody reads right now, or there is no room: the next one does it. */
	if (rc != SQLITE_OK)
		log_debug("store.checkpoint", "rc=%d", rc);
}

void store_close(struct store *s)
{
	struct arena a;

	if (!s)
		return;
	readers_free(s->readers);
	if (s->writer && s->mode == STORE_CLI && store_commits(s) > 0)
		(void)!lock_borrow(&s->lock_fd, s->lock_path, NULL);
	if (s->writer && s->lock_fd >= 0)
		checkpoint_all(s);
	db_close(s->writer);
	baton_free(s->baton);
	owner_leave(s);
	fd_drop(&s->lock_fd);
	a = s->arena;
	arena_free(&a);
}

str store_owner(const struct store *s)
{
	return str_of(s->owner);
}

bool store_is_own_file(const struct store *s, uint64_t dev, uint64_t ino)
{
	static const char *const tails[] = { "", "-wal", "-shm", "-journal" };
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < COUNT(tails); i++) {
		(void)snprintf(path, sizeof path, "%s%s", s->path, tails[i]);
		if (stat(path, &st) == 0 && st.st_dev == dev && st.st_ino == ino)
			return true;
	}
	return false;
}

int store_failed(const struct store *s, struct err *e)
{
	int code = atomic_load(&s->latch);

	if (code == OK)
		return OK;
	return err_set(e, code, "%s: %s", s->path,
		       code == E_CORRUPT ? "the database is damaged"
					 : "the disk refused a write; a restart recovers");
}

/* The baton, or why not: E_BUSY after the time limit, else what the token says. */
static int take_baton(struct store *s, int64_t until, const struct cancel *c, struct err *e)
{
	int rc = baton_take(s->baton, until, c, e);

	if (rc == E_TIMEOUT && cancel_check(c, e) == OK)
		return err_set(e, E_BUSY, "%s: busy for too long", s->path);
	return rc;
}

/* One try, with the baton in hand; it is passed on unless the transaction is open. */
static int begin_once(struct store *s, const char *how, struct err *e)
{
	int rc = store_failed(s, e);

	s->writer->doomed = OK;
	if (rc == OK)
		rc = db_run(s->writer, how, DB_NO_ARGS, NULL, e);
	if (rc < 0)
		baton_pass(s->baton);
	return rc;
}

/* how is a literal, as for all statements. */
static int begin(struct tx *tx, struct store *s, const char *how, const struct cancel *c,
		 struct err *e)
{
	int64_t until = clock_mono_ms() + BUSY_MS, pause = 1;
	int rc;

	assert(!tx->open);
	if (store_reads(s))
		return err_set(e, E_DENIED, "%s: opened for reading only", s->path);
	for (;;) {
		rc = take_baton(s, until, c, e);
		if (rc < 0)
			return rc;
		rc = begin_once(s, how, e);
		if (rc != E_BUSY)
			break;
		if (clock_mono_ms() >= until)
			return err_set(e, E_BUSY, "%s: locked by another process", s->path);
		rc = wait_ms(pause, c, e);
		if (rc < 0)
			return rc;
		pause = pause * 2 < RETRY_MAX_MS ? pause * 2 : RETRY_MAX_MS;
	}
	if (rc == OK)
		*tx = (struct tx){ .s = s, .open = true };
	return rc;
}

int store_begin(struct tx *tx, struct store *s, const struct cancel *c, struct err *e)
{
	return begin(tx, s, "BEGIN IMMEDIATE", c, e);
}

int tx_look(struct tx *tx, struct store *s, const struct cancel *c, struct err *e)
{
	return begin(tx, s, "BEGIN", c, e);
}

struct db *tx_db(struct tx *tx)
{
	assert(tx->open);
	return tx->s->writer;
}

int tx_refuse(struct tx *tx, struct err *e, int code, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	tx->failed = true;
	if (!tx_db(tx)->doomed)
		tx_db(tx)->doomed = code;
	return err_set(e, code, "%s", text);
}

static void leave(struct tx *tx)
{
	struct db *db = tx->s->writer;

	/* Some failures (a full disk) have rolled back already. */
	if (!sqlite3_get_autocommit(db->h))
		(void)sqlite3_exec(db->h, "ROLLBACK", NULL, NULL, NULL);
	db->doomed = OK;
	tx->open = false;
	baton_pass(tx->s->baton);
}

void store_rollback(struct tx *tx)
{
	if (tx->open)
		leave(tx);
}

/* Without WAL, readers can be in the way of a commit; they are short. */
static int commit(struct db *db, struct err *e)
{
	int64_t until = clock_mono_ms() + BUSY_MS;
	int rc;

	while ((rc = db_run(db, "COMMIT", DB_NO_ARGS, NULL, e)) == E_BUSY &&
	       clock_mono_ms() < until)
		if (wait_ms(1, NULL, NULL) < 0)
			break;
	return rc;
}

/* Only the holder of the daemon lock moves the log into the database; readers that keep
 * it from finishing make it try again a little later, not at every commit. */
static void checkpoint_some(struct store *s)
{
	int log_n = 0, done_n = 0;

	if (s->wal_pages < CHECKPOINT_PAGES)
		s->checkpoint_at = CHECKPOINT_PAGES;
	if (s->lock_fd < 0 || s->wal_pages < s->checkpoint_at)
		return;
	int rc = sqlite3_wal_checkpoint_v2(s->writer->h, "main", SQLITE_CHECKPOINT_PASSIVE,
					   &log_n, &done_n);
	if (rc != SQLITE_OK && rc != SQLITE_BUSY)
		(void)!db_error(s->writer, rc, "checkpoint", NULL);
	if (rc != SQLITE_OK || done_n < log_n)
		s->checkpoint_at = s->wal_pages + CHECKPOINT_STEP;
}

int store_commit(struct tx *tx, struct err *e)
{
	struct db *db = tx_db(tx);
	int rc = db->doomed;

	if (rc < 0 || tx->failed) {
		leave(tx);
		return err_set(e, rc < 0 ? rc : E_INVAL,
			       "not committed: an earlier step failed");
	}
	rc = commit(db, e);
	if (rc == OK) {
		atomic_fetch_add(&tx->s->commits, 1);
		atomic_fetch_or(&tx->s->news, tx->news);
		checkpoint_some(tx->s);
	}
	leave(tx);
	return rc;
}

unsigned store_news(struct store *s)
{
	return atomic_exchange(&s->news, 0);
}

int64_t store_commits(const struct store *s)
{
	return atomic_load(&s->commits);
}

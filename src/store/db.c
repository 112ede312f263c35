/*
 * SQLite connections: opening them with the right pragmas, the cache of their statements,
 * and what SQLite's result codes mean to us.  No transaction logic: that is store.c.
 */
#include "store/db.h"

#include "base/date.h"
#include "base/memory.h"
#include "os/wait.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MAX (64 << 20)
#define BUSY_MS 10000
#define RETRY_MS 5
#define STEPS 10000 /* virtual machine steps between two looks at a token */

static bool no_room(sqlite3 *h, int rc)
{
	int errnum = h ? sqlite3_system_errno(h) : 0;

	if (rc == SQLITE_FULL)
		return true;
	if ((rc & 0xff) != SQLITE_IOERR && (rc & 0xff) != SQLITE_CANTOPEN)
		return false;
	return errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
}

static bool lost_sync(int rc)
{
	return rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC;
}

static int code_of(sqlite3 *h, int rc)
{
	if (lost_sync(rc))
		return E_IO;
	if (no_room(h, rc))
		return E_FULL;
	switch (rc & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return E_CORRUPT;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL: /* a race for the log that SQLite gave up on */
		return E_BUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return E_DENIED;
	case SQLITE_CONSTRAINT:
		return E_INVAL;
	case SQLITE_TOOBIG:
		return E_LIMIT;
	case SQLITE_INTERRUPT:
		return E_CANCELED;
	default:
		return E_IO;
	}
}

int db_error(struct db *db, int rc, const char *what, struct err *e)
{
	int code = code_of(db->h, rc);

	/* As with the arenas, no memory is the end; MISUSE is a mistake of ours. */
	if ((rc & 0xff) == SQLITE_NOMEM)
		memory_out("the database");
	assert((rc & 0xff) != SQLITE_MISUSE);
	if ((code == E_CORRUPT || lost_sync(rc)) && db->latch) {
		int none = OK;
		(void)atomic_compare_exchange_strong(db->latch, &none, code);
	}
	/* BUSY says that nothing happened: it may be tried again. */
	if (code != E_BUSY && !db->doomed && db->h && !sqlite3_db_readonly(db->h, NULL))
		db->doomed = code;
	const char *why = db->h ? sqlite3_errmsg(db->h) : sqlite3_errstr(rc);
	if (code == E_FULL)
		why = "no room on the disk";
	return err_set(e, code, "%s: %s", what, why);
}

static int stepped(void *token)
{
	return cancel_check(token, NULL) < 0;
}

void db_heed(struct db *db, const struct cancel *c)
{
	sqlite3_progress_handler(db->h, c ? STEPS : 0, c ? stepped : NULL, (void *)c);
}

int db_script(struct db *db, const char *sql, struct err *e)
{
	int rc = sqlite3_exec(db->h, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? OK : db_error(db, rc, "database", e);
}

/* A reader's first read of a transaction cannot have its snapshot yet. */
static int wait_for_writer(void *arg, int times)
{
	(void)arg;
	return times < BUSY_MS / RETRY_MS && wait_ms(RETRY_MS, NULL, NULL) == OK;
}

/* Nothing here may read the file: it may be no database.  Who writes waits in baton.c. */
static int configure(struct db *db, bool writable, struct err *e)
{
	(void)sqlite3_extended_result_codes(db->h, 1);
	(void)sqlite3_busy_handler(db->h, writable ? NULL : wait_for_writer, NULL);
	(void)sqlite3_db_config(db->h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* The triggers of memory write to FTS5 tables, which older SQLites take for unsafe there. */
	(void)sqlite3_db_config(db->h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, writable, NULL);
	(void)sqlite3_db_config(db->h, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	/* Who may checkpoint is decided in store.c, not by who happens to close last. */
	(void)sqlite3_db_config(db->h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	(void)sqlite3_wal_autocheckpoint(db->h, 0);
	(void)sqlite3_limit(db->h, SQLITE_LIMIT_LENGTH, ROW_MAX);
	int rc = db_script(db, "PRAGMA recursive_triggers = ON; PRAGMA temp_store = MEMORY", e);
	db->doomed = OK;
	return rc;
}

static void *sqlite_take(int n)
{
	return memory_take((size_t)n);
}

static void *sqlite_retake(void *p, int n)
{
	return memory_retake(p, (size_t)n);
}

static int sqlite_size(void *p)
{
	return p ? (int)malloc_usable_size(p) : 0;
}

static int sqlite_round(int n)
{
	return (n + 7) & ~7;
}

static int sqlite_begin(void *arg)
{
	(void)arg;
	return SQLITE_OK;
}

static void sqlite_end(void *arg)
{
	(void)arg;
}

/* Memory that ends the program when there is none: SQLite would here and there go on without,
 * and tell of a NULL where there is a text.  No statistics of it: keeping them is a lock that
 * all connections take at every allocation. */
static void global_start(void)
{
	static const struct sqlite3_mem_methods memory = {
		.xMalloc = sqlite_take,
		.xFree = memory_give,
		.xRealloc = sqlite_retake,
		.xSize = sqlite_size,
		.xRoundup = sqlite_round,
		.xInit = sqlite_begin,
		.xShutdown = sqlite_end,
	};

	(void)sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int db_open(struct db **out, const char *path, bool writable, _Atomic int *latch, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct arena a = { 0 };
	SCOPED(db_drop) struct db *db = NEW(&a, struct db);
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;

	(void)pthread_once(&once, global_start);
	db->arena = a;
	db->latch = latch;
	flags |= writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
	int rc = sqlite3_open_v2(path, &db->h, flags, NULL);
	if (rc != SQLITE_OK)
		return db_error(db, rc, path, e);
	rc = configure(db, writable, e);
	if (rc < 0)
		return err_wrap(e, rc, "%s", path);
	*out = db;
	db = NULL;
	return OK;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < COUNT(db->cache); i++)
		(void)sqlite3_finalize(db->cache[i].st);
	int rc = sqlite3_close(db->h);
	assert(rc == SQLITE_OK);
	(void)rc;
	struct arena a = db->arena;
	arena_free(&a);
}

void db_drop(struct db **db)
{
	db_close(*db);
	*db = NULL;
}

static int prepared(sqlite3_stmt **out, struct db *db, const char *sql, struct err *e)
{
	uintptr_t key = (uintptr_t)sql;
	size_t i = (size_t)(key ^ key >> 9) & (DB_STATEMENTS - 1);

	for (size_t tries = 0; db->cache[i].sql && db->cache[i].sql != sql; tries++) {
		assert(tries < DB_STATEMENTS - 1);
		i = (i + 1) & (DB_STATEMENTS - 1);
	}
	struct db_statement *s = &db->cache[i];
	if (!s->sql) {
		int rc = sqlite3_prepare_v3(db->h, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->st,
					    NULL);
		if (rc != SQLITE_OK)
			return db_error(db, rc, "prepare", e);
		s->sql = sql;
	}
	assert(!sqlite3_stmt_busy(s->st));
	*out = s->st;
	return OK;
}

static int bind(sqlite3_stmt *st, int i, const struct db_arg *arg)
{
	switch (arg->kind) {
	case DB_I64:
		return sqlite3_bind_int64(st, i, arg->i);
	case DB_TEXT:
		return sqlite3_bind_text64(st, i, arg->s.p ? arg->s.p : "", arg->s.n,
					   SQLITE_STATIC, SQLITE_UTF8);
	case DB_NULL:
		break;
	}
	return sqlite3_bind_null(st, i);
}

int db_query(struct rows *r, struct db *db, const char *sql, const struct db_arg *args,
	     size_t n, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int rc;

	if (db->doomed)
		return err_set(e, db->doomed, "the transaction has failed already");
	rc = prepared(&st, db, sql, e);
	if (rc < 0)
		return rc;
	assert((size_t)sqlite3_bind_parameter_count(st) == n);
	*r = (struct rows){ .db = db, .st = st };
	for (size_t i = 0; i < n; i++) {
		rc = bind(st, (int)i + 1, &args[i]);
		if (rc != SQLITE_OK) {
			rows_end(r);
			return db_error(db, rc, "bind", e);
		}
	}
	return OK;
}

int rows_next(struct rows *r, struct err *e)
{
	int rc = sqlite3_step(r->st);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE) {
		int code = db_error(r->db, rc, "database", e);
		rows_end(r);
		return code;
	}
	rows_end(r);
	return 0;
}

void rows_end(struct rows *r)
{
	if (!r->st)
		return;
	(void)sqlite3_reset(r->st);
	(void)sqlite3_clear_bindings(r->st);
	r->st = NULL;
}

int64_t rows_i64(const struct rows *r, int col)
{
	return sqlite3_column_int64(r->st, col);
}

int64_t rows_at_ms(const struct rows *r, int col)
{
	int64_t at_ms = rows_i64(r, col);

	return at_ms < 0 || at_ms >= DATE_END_MS ? 0 : at_ms;
}

int64_t rows_amount(const struct rows *r, int col)
{
	int64_t n = rows_i64(r, col);

	return n < 0 ? 0 : n > ROWS_MOST ? ROWS_MOST : n;
}

bool rows_null(const struct rows *r, int col)
{
	return sqlite3_column_type(r->st, col) == SQLITE_NULL;
}

str rows_peek(const struct rows *r, int col)
{
	const char *p = (const char *)sqlite3_column_text(r->st, col);

	return (str){ p ? p : "", (size_t)sqlite3_column_bytes(r->st, col) };
}

str rows_text(const struct rows *r, int col, struct arena *a)
{
	return arena_dup(a, rows_peek(r, col));
}

void rows_id(const struct rows *r, int col, char out[ID_LEN + 1])
{
	(void)snprintf(out, ID_LEN + 1, "%.*s", STRF(rows_peek(r, col)));
}

int db_run(struct db *db, const char *sql, const struct db_arg *args, size_t n,
	   int64_t *changes, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, sql, args, n, e);

	if (rc < 0)
		return rc;
	while ((rc = rows_next(&r, e)) > 0)
		continue;
	if (rc == OK && changes)
		*changes = sqlite3_changes64(db->h);
	return rc;
}

int db_number(struct db *db, const char *sql, const struct db_arg *args, size_t n, int64_t *out,
	      struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, sql, args, n, e);

	if (rc < 0)
		return rc;
	rc = rows_next(&r, e);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, E_NOENT, "no such row");
	*out = rows_i64(&r, 0);
	return OK;
}

/*
 * store/db: SQLite connections and their statements.  Internal to store/: the one header of
 * the folder that shows SQL types.
 *
 * A statement is named by the address of its text, which must be a literal: it is prepared
 * once per connection and kept.
 *
 * Threads  a connection is used by one thread at a time.
 * Errors   E_FULL, E_CORRUPT, E_BUSY, E_DENIED, E_IO, E_LIMIT; E_INVAL for a broken
 *          constraint.  A failure on a connection inside a transaction dooms it: .doomed
 *          keeps the first code, and every later call returns it.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include "base/arena.h"
#include "base/err.h"
#include "os/clock.h"

#include <sqlite3.h>
#include <stdatomic.h>

struct cancel;

#define DB_STATEMENTS 256 /* a power of two, more than the literals there are */

struct db_statement {
	const char *sql;
	sqlite3_stmt *st;
};

struct db {
	struct arena arena; /* holds this */
	sqlite3 *h;
	_Atomic int *latch; /* of the store: the code after which nothing works any more */
	int doomed; /* 0, or the code that ended the transaction */
	struct db_statement cache[DB_STATEMENTS];
	struct db *next; /* in the pool of readers */
	int64_t idle_since_ms; /* there */
	unsigned uses; /* since the last look at those that are idle */
};

/* Pages that a connection keeps for itself; the system keeps those of the file anyway.  (Setting
 * it reads the schema, so it has to be known that this is a database.) */
#define DB_CACHE "PRAGMA cache_size = -512"
/* Every commit empties the caches of readers: theirs is for one look. */
#define DB_CACHE_READER "PRAGMA cache_size = -128"

/* Open an existing file and set what every connection needs.  *out is untouched on error.  For
 * reading path may be a file: URI. */
int db_open(struct db **out, const char *path, bool writable, _Atomic int *latch,
	    struct err *e) MUSTUSE;
void db_close(struct db *db);
void db_drop(struct db **db); /* for SCOPED */

/* The code for a failed call, with a sentence that begins with what; latches E_CORRUPT and
 * a failed fsync. */
int db_error(struct db *db, int rc, const char *what, struct err *e) MUSTUSE;

/* Arguments of a statement, in order. */
enum db_arg_kind { DB_I64, DB_TEXT, DB_NULL };
struct db_arg {
	enum db_arg_kind kind;
	int64_t i;
	str s;
};

static inline struct db_arg db_i64(int64_t i)
{
	return (struct db_arg){ .kind = DB_I64, .i = i };
}

static inline struct db_arg db_text(str s)
{
	return (struct db_arg){ .kind = DB_TEXT, .s = s };
}

/* NULL when cond is false. */
static inline struct db_arg db_when(bool cond, struct db_arg arg)
{
	return cond ? arg : (struct db_arg){ .kind = DB_NULL };
}

#define DB_ARGS(...)                                                                           \
	(const struct db_arg[]){ __VA_ARGS__ }, COUNT(((const struct db_arg[]){ __VA_ARGS__ }))
#define DB_NO_ARGS NULL, 0

/* The rows of a running query.  The arguments must live until the end of it. */
struct rows {
	struct db *db;
	sqlite3_stmt *st;
};

int db_query(struct rows *r, struct db *db, const char *sql, const struct db_arg *args,
	     size_t n, struct err *e) MUSTUSE;
int rows_next(struct rows *r, struct err *e) MUSTUSE; /* 1 a row, 0 no more, or a code */
void rows_end(struct rows *r); /* for SCOPED */
int64_t rows_i64(const struct rows *r, int col); /* NULL is 0 */

/* For looking back at rows that somebody else's program may have written.  A time in the years
 * 1970 to 9999, else 0: not known; and an amount (tokens, ms, how many) from 0 to ROWS_MOST, so
 * that millions of them can be added. */
#define ROWS_MOST INT64_C(1000000000000)
int64_t rows_at_ms(const struct rows *r, int col);
int64_t rows_amount(const struct rows *r, int col);
bool rows_null(const struct rows *r, int col);
str rows_text(const struct rows *r, int col, struct arena *a); /* a copy; NULL is "" */
str rows_peek(const struct rows *r, int col); /* borrowed until the next row */
void rows_id(const struct rows *r, int col, char out[ID_LEN + 1]); /* NULL is "" */

/* Run to the end.  *changes (NULL: not asked) is how many rows it changed. */
int db_run(struct db *db, const char *sql, const struct db_arg *args, size_t n,
	   int64_t *changes, struct err *e) MUSTUSE;

/* The one number a statement gives; E_NOENT when it gives no row. */
int db_number(struct db *db, const char *sql, const struct db_arg *args, size_t n, int64_t *out,
	      struct err *e) MUSTUSE;

/* From now on a statement that takes long ends when c says so; NULL: none does any more. */
void db_heed(struct db *db, const struct cancel *c);

/* Statements that are not worth keeping: DDL, pragmas. */
int db_script(struct db *db, const char *sql, struct err *e) MUSTUSE;

#endif

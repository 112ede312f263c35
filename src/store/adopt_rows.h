/*
 * store/adopt_rows: what the files of adoption need of each other.  Internal to store/.
 */
#ifndef STORE_ADOPT_ROWS_H
#define STORE_ADOPT_ROWS_H

#include "base/buf.h"
#include "store/adopt.h"
#include "store/rows.h"

struct json;

/* One adoption: from a foreign connection into one with our schema, inside its transaction. */
struct adopt {
	struct db *from, *to;
	struct adopt_report *report;
	struct arena *a; /* of the report and of what lives as long */
	const struct cancel *c;
	int64_t now_ms;
};

/* --- adopt_read.c: foreign rows, each cell looked at ------------------------------------- */

enum foreign_kind {
	FOREIGN_TEXT, /* text, whole numbers too */
	FOREIGN_MAYBE_TEXT, /* or NULL, which is "" */
	FOREIGN_INT,
	FOREIGN_MAYBE_INT, /* or NULL: .null */
	FOREIGN_REAL,
	FOREIGN_TIME, /* an RFC 3339 text: .i in milliseconds */
	FOREIGN_MAYBE_TIME, /* or NULL or "": .null */
	FOREIGN_MS, /* a whole number of milliseconds that is a time */
	FOREIGN_MAYBE_MS,
};

/* absent: the literal that stands for a column an earlier schema does not have; NULL: it has to
 * be there.  max: bytes of a text. */
struct foreign_col {
	const char *name;
	enum foreign_kind kind;
	const char *absent;
	size_t max;
};

/* The first column names a row in notes. */
struct foreign_table {
	const char *name; /* of the table */
	const char *noun; /* of a row, in notes */
	enum adopt_what what;
	const struct foreign_col *cols;
	size_t cols_n;
};

#define FOREIGN_COLS_MAX 18

struct foreign_cell {
	str s;
	int64_t i;
	double d;
	bool null;
};

struct foreign_query {
	const struct foreign_table *t;
	const char *sql; /* NULL: there is no such table */
};

struct foreign_rows {
	struct adopt *ad;
	const struct foreign_table *t;
	struct rows r;
	struct foreign_cell v[FOREIGN_COLS_MAX];
};

/* All columns of the table, and what follows them in the statement. */
int foreign_prepare(struct foreign_query *q, struct adopt *ad, const struct foreign_table *t,
		    const char *tail, struct err *e) MUSTUSE;
int foreign_open(struct foreign_rows *f, struct adopt *ad, const struct foreign_query *q,
		 const struct db_arg *args, size_t n, struct err *e) MUSTUSE;

/* The next row that is sound: 1, or 0 no more, or a code.  The others are noted.  Cells are in a. */
int foreign_next(struct foreign_rows *f, struct arena *a, struct err *e) MUSTUSE;
void foreign_end(struct foreign_rows *f); /* for SCOPED */

/* Each sound row of a query in turn, until one fails; its cells are in an arena of its own. */
typedef int foreign_take(struct foreign_rows *f, void *to, struct arena *a, struct err *e);
int foreign_each(struct adopt *ad, const struct foreign_query *q, const struct db_arg *args,
		 size_t n, foreign_take *take, void *to, struct err *e) MUSTUSE;

/* The same of a whole table; one that is not there has no rows. */
int foreign_table_each(struct adopt *ad, const struct foreign_table *t, const char *tail,
		       foreign_take *take, void *to, struct err *e) MUSTUSE;

/* This row is skipped, for this reason. */
void foreign_skip(struct foreign_rows *f, const char *fmt, ...) PRINTF(2, 3);

/* A note that belongs to no single row; it counts as skipped n times. */
void adopt_note(struct adopt *ad, enum adopt_what what, int64_t n, const char *fmt, ...)
	PRINTF(4, 5);

/* As many messages as the statement counts (?1: of which sessions) are there already; and all of
 * them are as many as it counts: what is left is of no session that was taken. */
int adopt_known(struct adopt *ad, const char *count, str which, struct err *e) MUSTUSE;
int adopt_lost(struct adopt *ad, const char *count, struct err *e) MUSTUSE;

/* Is there a table (no view) with these columns, names parted by blanks? */
int foreign_has(bool *out, struct db *db, const char *table, const char *cols,
		struct err *e) MUSTUSE;

/* --- adopt_jobs.c ------------------------------------------------------------------------- */

/* ai-gantry's schedules and watches. */
int adopt_jobs(struct adopt *ad, struct err *e) MUSTUSE;

/* --- adopt_gantry.c, adopt_mtclaw.c ------------------------------------------------------- */

/* *schema is "" when the database is not of that program. */
int adopt_gantry_schema(str *schema, struct db *db, struct err *e) MUSTUSE;
int adopt_gantry(struct adopt *ad, struct err *e) MUSTUSE;

/* Where a session of ai-gantry is with us. */
void adopt_place(struct arena *a, str session_id, str *channel, str *address);

int adopt_mtclaw_schema(str *schema, struct db *db, struct err *e) MUSTUSE;
int adopt_mtclaw(struct adopt *ad, struct err *e) MUSTUSE;

#endif

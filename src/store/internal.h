/*
 * store/internal: the store as its own files see it.  No other folder includes this.
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include "os/clock.h"
#include "store/baton.h"
#include "store/db.h"
#include "store/store.h"

struct readers;

struct store {
	struct arena arena; /* paths, baton, pool; what open() made */
	enum store_mode mode;
	const char *read_path; /* for connections that read: path, or for STORE_STILL a URI */
	const char *path, *lock_path, *owners_dir, *owner_path, *blobs_dir;
	char owner[ID_LEN + 1];
	int owner_fd, lock_fd; /* -1 not held */
	_Atomic int latch;
	_Atomic int64_t commits;
	_Atomic unsigned news;
	struct baton *baton; /* guards the four below */
	struct db *writer;
	int wal_pages; /* after the last commit */
	int checkpoint_at; /* pages */
	struct readers *readers;
	const struct str_list *_Atomic secrets; /* hidden in audit rows; NULL none */
	bool foreign; /* what is there is not ours */
	const struct adopt_report *adopted; /* what opening took over, NULL nothing */
};

static inline bool store_reads(const struct store *s)
{
	return s->mode == STORE_READ || s->mode == STORE_STILL;
}

/* --- open.c: everything before the first transaction ---------------------------------- */

/* Open the writer, identify, migrate.  E_BUSY after 10 s of others' locks. */
int open_writer(struct store *s, const struct cancel *c, struct err *e) MUSTUSE;

/* Open and identify for reading only. */
int open_reader(struct store *s, struct err *e) MUSTUSE;

/* Every migration that is newer than the database, in the open transaction. */
int open_migrate(struct db *db, struct err *e) MUSTUSE;

/* --- adopt.c ------------------------------------------------------------------------------ */

/* Take over what another program left at the path.  E_INVAL: it is of none we know. */
int adopt_in_place(struct store *s, const struct cancel *c, struct err *e) MUSTUSE;

/* Why a database that is not ours is left alone. */
int adopt_refuse(struct db *db, struct err *e) MUSTUSE;

/* --- backup.c ----------------------------------------------------------------------------- */

/* A whole copy of the database of this connection at part, for nobody else to read; to be given
 * its name with file_settle(). */
int backup_part(struct db *db, const char *part, const struct cancel *c, struct err *e) MUSTUSE;

/* --- owner.c: who is alive -------------------------------------------------------------- */

int owner_take(struct store *s, struct err *e) MUSTUSE;
void owner_leave(struct store *s);
bool owner_alive(const struct store *s, str owner);
void owner_sweep(const struct store *s); /* remove the files of the dead */

/* --- readers.c: read-only connections ---------------------------------------------------- */

int readers_new(struct readers **out, struct arena *a, struct err *e) MUSTUSE;
void readers_free(struct readers *r);
void readers_put(struct readers *r, struct db *db);

/* A consistent view of what was the last commit when the first read was made:
 *	SCOPED(reader_end) struct reader r = { 0 };
 *	if ((rc = reader_begin(&r, s, e)) < 0) return rc; */
struct reader {
	struct store *s;
	struct db *db;
};
int reader_begin(struct reader *r, struct store *s, struct err *e) MUSTUSE;
void reader_end(struct reader *r);

/* The same, and its connection is closed: what it read was much. */
void reader_drop(struct reader *r);

/* The first row of a query in a view of its own: 1, 0 there is none, or a code.
 *	SCOPED(glance_end) struct glance l = { 0 };
 *	int rc = glance(&l, s, "SELECT ...", DB_ARGS(...), e); */
struct glance {
	struct reader reader;
	struct rows r;
};
int glance(struct glance *l, struct store *s, const char *sql, const struct db_arg *args,
	   size_t n, struct err *e) MUSTUSE;
void glance_end(struct glance *l);

/* db_number() in a view of its own. */
int glance_number(struct store *s, const char *sql, const struct db_arg *args, size_t n,
		  int64_t *out, struct err *e) MUSTUSE;

/* --- store.c ------------------------------------------------------------------------------- */

/* As store_begin(), for reading alone, so that no other process is waited for; store_rollback()
 * ends it.  It is for what a start looks at: the first read of any connection reads the whole
 * schema, and the writer's has done so. */
int tx_look(struct tx *tx, struct store *s, const struct cancel *c, struct err *e) MUSTUSE;

/* The connection of an open transaction. */
struct db *tx_db(struct tx *tx);

/* Refuse: the code and the sentence, and the transaction is doomed. */
int tx_refuse(struct tx *tx, struct err *e, int code, const char *fmt, ...) PRINTF(4, 5);

#endif

/*
 * The pool of read-only connections.  A reader sees one snapshot from begin to end and never
 * waits for the writer, but where the file system has no WAL: there a commit keeps readers
 * out for the moment of its fsync.
 */
#include "store/rows.h"

#include "os/clock.h"
#include "os/wait.h"

#include <pthread.h>

#define IDLE_MAX 8
#define OUT_MAX 3
#define SOON_MS 5 /* for the only connection to come back, or one of a few */
#define BACK_MS 30 /* the same when there are enough */
#define BACK_TRIES 3 /* a clock that jumps ends one of them only */
#define USES_MIN 30 /* of a connection between two looks: worth keeping */

struct readers {
	pthread_mutex_t lock; /* guards what follows */
	struct db *idle;
	int idle_n, out_n, waiting_n;
	struct bell back; /* one came back, and somebody waits for it */
};

int readers_new(struct readers **out, struct arena *a, struct err *e)
{
	struct readers *r = NEW(a, struct readers);
	int rc = bell_init(&r->back, e);

	if (rc < 0)
		return rc;
	(void)pthread_mutex_init(&r->lock, NULL);
	*out = r;
	return OK;
}

static struct db *pop(struct readers *r)
{
	struct db *db = r->idle;

	if (db) {
		r->idle = db->next;
		r->idle_n--;
		db->uses++;
	}
	return db;
}

/* How long to wait for one to come back before another is opened; 0 not (any more).  A new one
 * reads the whole schema, which takes longer than most of what it is opened for, and keeps it,
 * and pages, in memory; and SQLite keeps descriptors of as many as there ever were.  So even a
 * second one is for those who found twice that there is need, and more than a few are opened
 * only beside some that are read for long. */
static int64_t patience(const struct readers *r, int waits, int in_vain)
{
	if (r->out_n >= OUT_MAX)
		return in_vain < BACK_TRIES ? BACK_MS : 0;
	return r->out_n > 0 && waits == 0 ? SOON_MS : 0;
}

/* An idle one; NULL: a new one is to be opened. */
static struct db *take(struct readers *r)
{
	int64_t ms;
	struct db *db;

	(void)pthread_mutex_lock(&r->lock);
	for (int n = 0, in_vain = 0; !(db = pop(r)) && (ms = patience(r, n, in_vain)) > 0;
	     n++) {
		r->waiting_n++;
		(void)pthread_mutex_unlock(&r->lock);
		int64_t until = clock_mono_ms() + ms;
		in_vain += wait_fd(r->back.fd, POLLIN, until, NULL, NULL) != OK;
		bell_hear(&r->back);
		(void)pthread_mutex_lock(&r->lock);
		r->waiting_n--;
	}
	r->out_n++;
	/* Two may have come back with one ring. */
	if (r->idle && r->waiting_n)
		bell_ring(&r->back);
	(void)pthread_mutex_unlock(&r->lock);
	return db;
}

void readers_put(struct readers *r, struct db *db)
{
	(void)pthread_mutex_lock(&r->lock);
	if (r->idle_n < IDLE_MAX) {
		db->idle_since_ms = clock_mono_ms();
		db->next = r->idle;
		r->idle = db;
		r->idle_n++;
		db = NULL;
	}
	(void)pthread_mutex_unlock(&r->lock);
	db_close(db);
}

void store_tidy_readers(struct store *s, int64_t idle_ms)
{
	int64_t old_ms = clock_mono_ms() - idle_ms;
	struct readers *r = s->readers;
	struct db **tail = &r->idle, *db, *next;

	(void)pthread_mutex_lock(&r->lock);
	/* The longest idle ones stand at the end. */
	for (; *tail && (*tail)->idle_since_ms > old_ms; tail = &(*tail)->next)
		continue;
	db = *tail;
	*tail = NULL;
	/* Of the others the last one is taken first: what stands behind it and was seldom needed
	 * was needed because some threads woke in the same instant, which they will again. */
	for (tail = r->idle ? &r->idle->next : &r->idle; (next = *tail);) {
		if (next->uses >= USES_MIN) {
			next->uses = 0;
			tail = &next->next;
			continue;
		}
		*tail = next->next;
		next->next = db;
		db = next;
	}
	for (const struct db *i = db; i; i = i->next)
		r->idle_n--;
	(void)pthread_mutex_unlock(&r->lock);
	for (; db; db = next) {
		next = db->next;
		db_close(db);
	}
}

void readers_free(struct readers *r)
{
	struct db *db;

	if (!r)
		return;
	while ((db = pop(r)))
		db_close(db);
	bell_done(&r->back);
	(void)pthread_mutex_destroy(&r->lock);
}

/* What was taken came back, db, or could not be had, NULL. */
static void give(struct readers *r, struct db *db)
{
	if (db)
		readers_put(r, db);
	(void)pthread_mutex_lock(&r->lock);
	r->out_n--;
	if (r->waiting_n)
		bell_ring(&r->back);
	(void)pthread_mutex_unlock(&r->lock);
}

static int open_one(struct db **db, struct store *s, struct err *e)
{
	int rc = db_open(db, s->read_path, false, &s->latch, e);

	if (rc < 0)
		return rc;
	rc = db_script(*db, DB_CACHE_READER, e);
	if (rc < 0)
		db_drop(db);
	return rc;
}

/* BEGIN alone takes no snapshot: the first read does. */
int reader_begin(struct reader *r, struct store *s, struct err *e)
{
	int rc = store_failed(s, e);

	if (rc < 0)
		return rc;
	struct db *db = take(s->readers);
	if (!db && (rc = open_one(&db, s, e)) < 0) {
		give(s->readers, NULL);
		return rc;
	}
	if ((rc = db_run(db, "BEGIN", DB_NO_ARGS, NULL, e)) < 0) {
		db_close(db);
		give(s->readers, NULL);
		return rc;
	}
	r->s = s;
	r->db = db;
	return OK;
}

void reader_end(struct reader *r)
{
	if (!r->db)
		return;
	(void)!db_run(r->db, "COMMIT", DB_NO_ARGS, NULL, NULL);
	give(r->s->readers, r->db);
	r->db = NULL;
}

void reader_drop(struct reader *r)
{
	if (!r->db)
		return;
	(void)!db_run(r->db, "COMMIT", DB_NO_ARGS, NULL, NULL);
	db_drop(&r->db);
	give(r->s->readers, NULL);
}

int glance(struct glance *l, struct store *s, const char *sql, const struct db_arg *args,
	   size_t n, struct err *e)
{
	int rc = reader_begin(&l->reader, s, e);

	if (rc == OK)
		rc = db_query(&l->r, l->reader.db, sql, args, n, e);
	return rc == OK ? rows_next(&l->r, e) : rc;
}

void glance_end(struct glance *l)
{
	rows_end(&l->r);
	reader_end(&l->reader);
}

int glance_number(struct store *s, const char *sql, const struct db_arg *args, size_t n,
		  int64_t *out, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : db_number(r.db, sql, args, n, out, e);
}

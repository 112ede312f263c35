/*
 * The pool of read-only connections.  A reader sees one snapshot from begin to end and never
 * waits for the writer, but where the file system has no WAL: there a commit keeps readers
 * out for the moment of its fsync.
 */
#include "store/internal.h"

#include <pthread.h>

#define IDLE_MAX 8

struct readers {
	pthread_mutex_t lock; /* guards idle, idle_n */
	struct db *idle;
	int idle_n;
};

struct readers *readers_new(struct arena *a)
{
	struct readers *r = NEW(a, struct readers);

	(void)pthread_mutex_init(&r->lock, NULL);
	return r;
}

static struct db *pop(struct readers *r)
{
	struct db *db;

	(void)pthread_mutex_lock(&r->lock);
	db = r->idle;
	if (db) {
		r->idle = db->next;
		r->idle_n--;
	}
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

	while ((db = pop(r)))
		db_close(db);
	(void)pthread_mutex_destroy(&r->lock);
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
	struct db *db = pop(s->readers);
	if (!db && (rc = open_one(&db, s, e)) < 0)
		return rc;
	if ((rc = db_run(db, "BEGIN", DB_NO_ARGS, NULL, e)) < 0) {
		db_close(db);
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
	readers_put(r->s->readers, r->db);
	r->db = NULL;
}

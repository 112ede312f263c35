/*
 * Keeping the two indexes true.  Triggers do it for memory_fts whoever writes; the second
 * index is made here from what they note.  A foreign shell can still leave memory_fts behind
 * (REPLACE runs no delete trigger there), so it is held against the rows and made anew.
 */
#include "store/memory_rows.h"

#include "os/log.h"
#include "text/terms.h"

#define BATCH 500 /* rows a transaction */
#define KEPT_S (30 * 86400) /* how long what expired is kept */

struct pending {
	int64_t id;
	str text;
};

static int read_pending(struct tx *tx, struct arena *a, struct pending **out, size_t *n,
			struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT p.id, coalesce(m.subject, '') || ' ' || "
			  "coalesce(m.content, '') FROM memory_pending p "
			  "LEFT JOIN memory m ON m.id = p.id ORDER BY p.id LIMIT ?1",
			  DB_ARGS(db_i64(BATCH)), e);

	*out = NULL;
	*n = 0;
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] = (struct pending){ rows_i64(&r, 0), rows_text(&r, 1, a) };
		rc = OK;
	}
	return rc;
}

int memory_index(struct tx *tx, int64_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	struct pending *list;
	size_t used;
	int rc = read_pending(tx, &a, &list, &used, e);

	for (size_t i = 0; rc == OK && i < used; i++) {
		str grams = terms_index(&a, list[i].text);
		rc = db_run(db, "DELETE FROM memory_grams WHERE rowid = ?1",
			    DB_ARGS(db_i64(list[i].id)), NULL, e);
		if (rc == OK && grams.n)
			rc = db_run(db,
				    "INSERT INTO memory_grams (rowid, grams) VALUES (?1, ?2)",
				    DB_ARGS(db_i64(list[i].id), db_text(grams)), NULL, e);
		if (rc == OK)
			rc = db_run(db, "DELETE FROM memory_pending WHERE id = ?1",
				    DB_ARGS(db_i64(list[i].id)), NULL, e);
	}
	if (rc == OK && n)
		*n = (int64_t)used;
	return rc;
}

/* Batches, so that nobody waits long for the writer. */
static int index_all(struct store *s, const struct cancel *c, int64_t *total, struct err *e)
{
	for (int64_t n = BATCH; n == BATCH;) {
		SCOPED(store_rollback) struct tx tx = { 0 };
		int rc = store_begin(&tx, s, c, e);

		if (rc == OK)
			rc = memory_index(&tx, &n, e);
		if (rc == OK)
			rc = store_commit(&tx, e);
		if (rc < 0)
			return rc;
		*total += n;
	}
	return OK;
}

/* Does the index fit the rows?  SQLite says "corrupt" of the index alone: no damage of the
 * file, so nothing is latched. */
static int fits(struct db *db, bool *stale, struct err *e)
{
	int rc = sqlite3_exec(db->h,
			      "INSERT INTO memory_fts (memory_fts, rank) "
			      "VALUES ('integrity-check', 1)",
			      NULL, NULL, NULL);

	*stale = (rc & 0xff) == SQLITE_CORRUPT;
	return rc == SQLITE_OK || *stale ? OK : db_error(db, rc, "memory_fts", e);
}

static int mend_words(struct store *s, const struct cancel *c, bool *stale, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, s, c, e);

	if (rc == OK)
		rc = fits(tx_db(&tx), stale, e);
	if (rc < 0 || !*stale)
		return rc;
	rc = db_run(tx_db(&tx), "INSERT INTO memory_fts (memory_fts) VALUES ('rebuild')",
		    DB_NO_ARGS, NULL, e);
	/* A replaced row is in the second index as it was. */
	if (rc == OK)
		rc = db_run(tx_db(&tx), "DELETE FROM memory_grams", DB_NO_ARGS, NULL, e);
	if (rc == OK)
		rc = db_run(tx_db(&tx),
			    "INSERT OR IGNORE INTO memory_pending SELECT id FROM memory",
			    DB_NO_ARGS, NULL, e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

#define OLD "FROM memory WHERE unixepoch(expires_at) < ?1"

static int purge_some(struct store *s, int64_t before_s, const struct cancel *c, int64_t *n,
		      struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, s, c, e);

	if (rc == OK)
		rc = store_memory_settle(&tx, e);
	if (rc == OK)
		rc = db_run(tx_db(&tx),
			    "DELETE FROM memory WHERE id IN (SELECT id " OLD " LIMIT ?2)",
			    DB_ARGS(db_i64(before_s), db_i64(BATCH)), n, e);
	/* It faded, and nobody wanted it forgotten. */
	if (rc == OK)
		rc = db_run(tx_db(&tx), "DELETE FROM memory_tombstones WHERE scrubbed = 0",
			    DB_NO_ARGS, NULL, e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

int store_memory_purge(struct store *s, const struct cancel *c, int64_t *purged, struct err *e)
{
	int64_t before_s = memory_now_s() - KEPT_S, n = 0;
	/* A reader looks, so that the writer is taken only for work. */
	int rc = store_memory_settle_now(s, c, e);

	if (rc == OK)
		rc = glance_number(s, "SELECT EXISTS (SELECT 1 " OLD ")",
				   DB_ARGS(db_i64(before_s)), &n, e);
	*purged = 0;
	for (n = n ? BATCH : 0; rc == OK && n == BATCH;) {
		rc = purge_some(s, before_s, c, &n, e);
		*purged += rc == OK ? n : 0;
	}
	if (*purged)
		log_info("memory.purged", "rows=%lld", (long long)*purged);
	return rc;
}

int store_memory_check(struct store *s, const struct cancel *c, struct memory_health *out,
		       struct err *e)
{
	struct memory_health h = { 0 };
	int rc = mend_words(s, c, &h.stale, e);

	if (rc == OK)
		rc = store_memory_purge(s, c, &h.purged, e);
	if (rc == OK)
		rc = index_all(s, c, &h.unindexed, e);
	if (rc == OK)
		rc = glance_number(s, "SELECT count(*) FROM memory", DB_NO_ARGS, &h.rows, e);
	if (rc == OK)
		rc = glance_number(s,
				   "SELECT count(*) FROM memory WHERE superseded_by IS NULL "
				   "AND coalesce(unixepoch(expires_at), ?1 + 1) > ?1",
				   DB_ARGS(db_i64(memory_now_s())), &h.active, e);
	if (rc < 0)
		return rc;
	if (h.stale)
		log_warn("memory.rebuilt", "rows=%lld", (long long)h.rows);
	*out = h;
	return OK;
}

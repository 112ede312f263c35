/*
 * Rows of the inbox whose file is still to be fetched.  They stand in their place from the
 * start, so that nothing overtakes them, and are complete when the file is there or is known not
 * to come.  A file that is fetched for nothing, because the process died before the row said so,
 * is fetched again.
 */
#include "store/rows.h"

int store_fetch_next(struct store *s, str channel, int64_t rest, int64_t of, struct arena *a,
		     struct inbox_fetch *out, struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s,
			"SELECT id, fetch FROM inbox INDEXED BY inbox_fetch "
			"WHERE state = 'ready' AND fetch <> '' AND channel = ?1 "
			"AND id % ?2 = ?3 ORDER BY id LIMIT 1",
			DB_ARGS(db_text(channel), db_i64(of), db_i64(rest)), e);

	if (rc > 0) {
		*out = (struct inbox_fetch){ rows_i64(&l.r, 0), rows_text(&l.r, 1, a) };
		return OK;
	}
	return rc < 0 ? rc : err_set(e, E_NOENT, "nothing to fetch");
}

struct fetched {
	str session_id, album;
};

static int take(struct db *db, int64_t id, str text, struct arena *a, struct fetched *out,
		struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db,
			  "UPDATE inbox SET text = ?2, fetch = '', ready_at_ms = 0 "
			  "WHERE id = ?1 AND state = 'ready' AND fetch <> '' "
			  "RETURNING session_id, album",
			  DB_ARGS(db_i64(id), db_text(text)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = (struct fetched){ rows_text(&r, 0, a), rows_text(&r, 1, a) };
		rc = OK;
	}
	if (rc == OK && !out->session_id.n)
		return err_set(e, E_NOENT, "the message was dropped");
	return rc;
}

int store_fetch_end(struct tx *tx, int64_t id, str text, const struct attachment *file,
		    struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	struct fetched row = { 0 };
	int64_t last = 0;
	int rc = take(db, id, text, &a, &row, e);

	if (rc == OK && file)
		rc = inbox_add_file(db, id, file, e);
	if (rc < 0 || !row.album.n)
		return rc;
	rc = db_number(db,
		       "SELECT max(created_at_ms) FROM inbox WHERE session_id = ?1 "
		       "AND state = 'ready' AND album = ?2",
		       DB_ARGS(db_text(row.session_id), db_text(row.album)), &last, e);
	return rc < 0 ? rc
		      : inbox_album_wait(db, row.session_id, row.album, last + STORE_ALBUM_MS,
					 e);
}

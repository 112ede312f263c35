/*
 * The rows of work that is no turn.  What is over is deleted: its effect is in other tables.
 */
#include "store/rows.h"
#include "store/system.h"

#define RETRY_MS 30000
#define RETRY_MOST_MS 3600000

int store_system_add(struct tx *tx, const struct system_new *row, struct err *e)
{
	int64_t now = clock_now_ms();
	int64_t at = row->ready_at_ms > 0 ? row->ready_at_ms : now;

	tx->news |= STORE_NEWS_SYSTEM;
	return db_run(tx_db(tx),
		      "INSERT INTO system_rows (what, key, text, ready_at_ms, created_at_ms) "
		      "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (what, key) DO UPDATE SET "
		      "again = again OR owner <> '', text = excluded.text, "
		      "ready_at_ms = CASE WHEN owner <> '' AND again = 0 "
		      "THEN excluded.ready_at_ms WHEN owner <> '' OR attempts = 0 "
		      "THEN min(ready_at_ms, excluded.ready_at_ms) ELSE ready_at_ms END",
		      DB_ARGS(db_text(row->what), db_text(row->key), db_text(row->text),
			      db_i64(at), db_i64(now)),
		      NULL, e);
}

int store_system_claim(struct tx *tx, str not_what, struct arena *a, struct system_row *out,
		       struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	bool found = false;
	int rc = db_query(
		&r, tx_db(tx),
		"UPDATE system_rows SET owner = ?1, attempts = attempts + 1, again = 0 "
		"WHERE id = (SELECT id FROM system_rows WHERE owner = '' "
		"AND ready_at_ms <= ?2 AND what <> ?3 ORDER BY ready_at_ms, id LIMIT 1) "
		"RETURNING id, what, key, text, attempts, created_at_ms",
		DB_ARGS(db_text(store_owner(tx->s)), db_i64(clock_now_ms()), db_text(not_what)),
		e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = (struct system_row){
			.id = rows_i64(&r, 0),
			.what = rows_text(&r, 1, a),
			.key = rows_text(&r, 2, a),
			.text = rows_text(&r, 3, a),
			.attempts = (int)rows_i64(&r, 4),
			.created_at_ms = rows_i64(&r, 5),
		};
		found = true;
		rc = OK;
	}
	return rc < 0 || found ? rc : err_set(e, E_NOENT, "nothing to do");
}

int store_system_ready(struct store *s, str not_what, bool *ready, struct err *e)
{
	int64_t n = 0;
	int rc = glance_number(s,
			       "SELECT EXISTS (SELECT 1 FROM system_rows WHERE owner = '' "
			       "AND ready_at_ms <= ?1 AND what <> ?2)",
			       DB_ARGS(db_i64(clock_now_ms()), db_text(not_what)), &n, e);

	if (rc == OK)
		*ready = n != 0;
	return rc;
}

static int ours(struct tx *tx, int64_t changed, int rc, struct err *e)
{
	if (rc < 0 || changed > 0)
		return rc;
	return tx_refuse(tx, e, E_CANCELED, "the row is not ours any more");
}

int store_system_done(struct tx *tx, int64_t id, struct err *e)
{
	struct db *db = tx_db(tx);
	struct db_arg owner = db_text(store_owner(tx->s));
	int64_t changed = 0;
	int rc =
		db_run(db,
		       "UPDATE system_rows SET owner = '', attempts = 0, again = 0, error = '' "
		       "WHERE id = ?1 AND owner = ?2 AND again = 1",
		       DB_ARGS(db_i64(id), owner), &changed, e);

	if (rc == OK && changed == 0)
		rc = db_run(db, "DELETE FROM system_rows WHERE id = ?1 AND owner = ?2",
			    DB_ARGS(db_i64(id), owner), &changed, e);
	return ours(tx, changed, rc, e);
}

int store_system_retry(struct tx *tx, int64_t id, str error, struct err *e)
{
	int64_t changed = 0;
	int rc =
		db_run(tx_db(tx),
		       "UPDATE system_rows SET owner = '', again = 0, error = ?3, "
		       "ready_at_ms = ?4 + min(?5 << min(max(attempts - 1, 0), 10), ?6) "
		       "WHERE id = ?1 AND owner = ?2",
		       DB_ARGS(db_i64(id), db_text(store_owner(tx->s)), db_text(error),
			       db_i64(clock_now_ms()), db_i64(RETRY_MS), db_i64(RETRY_MOST_MS)),
		       &changed, e);

	return ours(tx, changed, rc, e);
}

int store_system_put_off(struct tx *tx, int64_t id, int64_t at_ms, struct err *e)
{
	int64_t changed = 0;
	int rc = db_run(tx_db(tx),
			"UPDATE system_rows SET owner = '', attempts = max(attempts - 1, 0), "
			"ready_at_ms = max(ready_at_ms, ?3) WHERE id = ?1 AND owner = ?2",
			DB_ARGS(db_i64(id), db_text(store_owner(tx->s)), db_i64(at_ms)),
			&changed, e);

	return ours(tx, changed, rc, e);
}

int store_system_release(struct tx *tx, int64_t id, struct err *e)
{
	return store_system_put_off(tx, id, 0, e);
}

int store_system_next_at(struct store *s, int64_t *at_ms, struct err *e)
{
	return glance_number(s,
			     "SELECT coalesce((SELECT ready_at_ms FROM system_rows "
			     "WHERE owner = '' ORDER BY ready_at_ms, id LIMIT 1), 0)",
			     DB_NO_ARGS, at_ms, e);
}

/* A row whose work killed the process again and again waits longer each time. */
int system_recover(struct tx *tx, str owner, struct err *e)
{
	int64_t n = 0;
	int rc = db_run(
		tx_db(tx),
		"UPDATE system_rows SET owner = '', error = 'interrupted', ready_at_ms = "
		"iif(attempts < 3, ready_at_ms, ?2 + min(?3 << min(attempts - 3, 10), ?4)) "
		"WHERE owner = ?1",
		DB_ARGS(db_text(owner), db_i64(clock_now_ms()), db_i64(RETRY_MS),
			db_i64(RETRY_MOST_MS)),
		&n, e);

	if (n > 0)
		tx->news |= STORE_NEWS_SYSTEM;
	return rc;
}

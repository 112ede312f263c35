/*
 * Watches.  A message about new items and the memory of having seen them are one commit, and the
 * message's lines are kept until it was answered, so that nothing that was new is forgotten.
 */
#include "store/watch.h"

#include "store/rows.h"
#include "store/system.h"

#define COLUMNS                                                                                \
	"w.id, w.channel, w.address, w.sender, w.tool, w.args, w.label, w.interval_ms, "       \
	"w.enabled, w.seeded, w.seen, w.pending, w.last_error, "                               \
	"CASE WHEN i.id IS NULL THEN 0 WHEN i.state IN ('ready', 'claimed') THEN 1 "           \
	"WHEN t.state IN ('failed', 'given_up', 'interrupted') THEN 2 ELSE 0 END"
#define TABLES                                                                                 \
	" FROM watches w LEFT JOIN inbox i ON i.id = w.inbox_id "                              \
	"LEFT JOIN turns t ON t.id = i.turn_id "

static void read_watch(void *one, const struct rows *r, struct arena *a)
{
	*(struct watch *)one = (struct watch){
		.id = rows_i64(r, 0),
		.channel = rows_text(r, 1, a),
		.address = rows_text(r, 2, a),
		.sender = rows_text(r, 3, a),
		.tool = rows_text(r, 4, a),
		.args = rows_text(r, 5, a),
		.label = rows_text(r, 6, a),
		.interval_ms = rows_i64(r, 7),
		.enabled = rows_i64(r, 8) != 0,
		.seeded = rows_i64(r, 9) != 0,
		.seen = rows_text(r, 10, a),
		.pending = rows_text(r, 11, a),
		.last_error = rows_text(r, 12, a),
		.wake = (enum watch_wake)rows_i64(r, 13),
	};
}

static int read_watches(struct store *s, const char *sql, const struct db_arg *args,
			size_t args_n, struct arena *a, struct watch **out, size_t *n,
			struct err *e)
{
	const struct list_of q = { sizeof **out, read_watch, sql, args, args_n };

	return list_read(s, &q, a, out, n, e);
}

int store_watch_add(struct tx *tx, const struct watch *w, int64_t max, int64_t *id,
		    struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	int64_t n = 0;
	int rc = db_number(db, "SELECT count(*) FROM watches WHERE enabled = 1", DB_NO_ARGS, &n,
			   e);

	if (rc < 0)
		return rc;
	if (n >= max)
		return err_set(e, E_LIMIT, "%lld watches are on already, and no more may be",
			       (long long)n);
	rc = db_run(db,
		    "INSERT INTO watches (channel, address, sender, tool, args, label, "
		    "interval_ms, created_at_ms, updated_at_ms) "
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
		    DB_ARGS(db_text(w->channel), db_text(w->address), db_text(w->sender),
			    db_text(w->tool), db_text(w->args), db_text(w->label),
			    db_i64(w->interval_ms), db_i64(clock_now_ms())),
		    NULL, e);
	if (rc < 0)
		return rc;
	*id = sqlite3_last_insert_rowid(db->h);
	const struct system_new row = { .what = S(WATCH_WHAT),
					.key = arena_fmt(&a, "%lld", (long long)*id) };
	return store_system_add(tx, &row, e);
}

int store_watch_list(struct store *s, str channel, str address, struct arena *a,
		     struct watch **out, size_t *n, struct err *e)
{
	return read_watches(s,
			    "SELECT " COLUMNS TABLES "WHERE w.channel = ?1 AND w.address = ?2 "
			    "AND w.enabled = 1 ORDER BY w.id DESC",
			    DB_ARGS(db_text(channel), db_text(address)), a, out, n, e);
}

int store_watch_get(struct store *s, int64_t id, struct arena *a, struct watch *out,
		    struct err *e)
{
	struct watch *list;
	size_t n;
	int rc = read_watches(s, "SELECT " COLUMNS TABLES "WHERE w.id = ?1",
			      DB_ARGS(db_i64(id)), a, &list, &n, e);

	if (rc == OK && n == 0)
		return err_set(e, E_NOENT, "no such watch");
	if (rc == OK)
		*out = list[0];
	return rc;
}

/* alike: of another table, and the text of a statement is a literal */
int store_watch_cancel(struct tx *tx, int64_t id, str channel, str address, struct err *e)
{
	int64_t n = 0;
	int rc = db_run(
		tx_db(tx),
		"UPDATE watches SET enabled = 0, seen = '', pending = '', updated_at_ms = ?4 "
		"WHERE id = ?1 "
		"AND enabled = 1 AND channel = ?2 AND address = ?3",
		DB_ARGS(db_i64(id), db_text(channel), db_text(address), db_i64(clock_now_ms())),
		&n, e);

	return rc == OK && n == 0 ? err_set(e, E_NOENT, "no watch %lld is on", (long long)id)
				  : rc;
}

int store_watch_sweep(struct tx *tx, int64_t before_ms, struct err *e)
{
	return db_run(tx_db(tx), "DELETE FROM watches WHERE enabled = 0 AND updated_at_ms < ?1",
		      DB_ARGS(db_i64(before_ms)), NULL, e);
}

int store_watch_looked(struct tx *tx, const struct watch *w, const struct watch_look *look,
		       bool *kept, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t n = 0, inbox = 0;
	int rc = db_run(db,
			"UPDATE watches SET seen = ?3, seeded = seeded OR ?4, last_error = ?5, "
			"pending = ?6, updated_at_ms = ?7 WHERE id = ?1 AND enabled = 1 "
			"AND seen = ?2",
			DB_ARGS(db_i64(w->id), db_text(w->seen), db_text(look->seen),
				db_i64(look->error.n == 0), db_text(look->error),
				db_text(look->pending), db_i64(clock_now_ms())),
			&n, e);

	*kept = n > 0;
	if (rc < 0 || n == 0 || look->text.n == 0)
		return rc;
	const struct inbox_new row = { .channel = w->channel,
				       .address = w->address,
				       .kind = S("watch"),
				       .sender = w->sender,
				       .text = look->text,
				       .meta = look->meta };
	rc = store_inbox_add(tx, &row, &inbox, e);
	return rc < 0 ? rc
		      : db_run(db, "UPDATE watches SET inbox_id = ?2 WHERE id = ?1",
			       DB_ARGS(db_i64(w->id), db_i64(inbox)), NULL, e);
}

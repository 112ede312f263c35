/*
 * The sessions table.  next_seq, messages_n and the token sums are kept by the steps of
 * turns (message.c, model_call.c); here is what names, lists and removes a session.
 */
#include "store/rows.h"

#define COLUMNS                                                                                \
	"id, channel, address, title, model, summary, epoch, history_from_seq, "               \
	"prompt_tokens, "                                                                      \
	"completion_tokens, messages_n, created_at_ms, updated_at_ms, folded_seq"

static void read_session(struct session *out, const struct rows *r, struct arena *a)
{
	*out = (struct session){
		.id = rows_text(r, 0, a),
		.channel = rows_text(r, 1, a),
		.address = rows_text(r, 2, a),
		.title = rows_text(r, 3, a),
		.model = rows_text(r, 4, a),
		.summary = rows_text(r, 5, a),
		.epoch = rows_i64(r, 6),
		.history_from_seq = rows_i64(r, 7),
		.prompt_tokens = rows_i64(r, 8),
		.completion_tokens = rows_i64(r, 9),
		.messages_n = rows_i64(r, 10),
		.created_at_ms = rows_i64(r, 11),
		.updated_at_ms = rows_i64(r, 12),
		.folded_seq = rows_i64(r, 13),
	};
}

static int one(struct db *db, const char *sql, const struct db_arg *args, size_t n,
	       struct arena *a, struct session *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, sql, args, n, e);

	if (rc == OK)
		rc = rows_next(&r, e);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, E_NOENT, "no such session");
	read_session(out, &r, a);
	return OK;
}

static const char by_id[] = "SELECT " COLUMNS " FROM sessions WHERE id = ?1";
static const char by_address[] =
	"SELECT " COLUMNS " FROM sessions WHERE channel = ?1 AND address = ?2";

int session_load(struct db *db, str id, struct arena *a, struct session *out, struct err *e)
{
	return one(db, by_id, DB_ARGS(db_text(id)), a, out, e);
}

int session_load_at(struct db *db, str channel, str address, struct arena *a,
		    struct session *out, struct err *e)
{
	return one(db, by_address, DB_ARGS(db_text(channel), db_text(address)), a, out, e);
}

int store_session_ensure(struct tx *tx, str channel, str address, struct arena *a,
			 struct session *out, struct err *e)
{
	struct db *db = tx_db(tx);
	char id[ID_LEN + 1];
	int rc = session_load_at(db, channel, address, a, out, e);

	if (rc != E_NOENT)
		return rc;
	id_new(id);
	int64_t now = clock_now_ms();
	rc = db_run(
		db,
		"INSERT INTO sessions (id, channel, address, created_at_ms, updated_at_ms) "
		"VALUES (?1, ?2, ?3, ?4, ?4)",
		DB_ARGS(db_text(str_of(id)), db_text(channel), db_text(address), db_i64(now)),
		NULL, e);
	return rc < 0 ? rc : session_load(db, str_of(id), a, out, e);
}

int store_session_get(struct store *s, str id, struct arena *a, struct session *out,
		      struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : session_load(r.db, id, a, out, e);
}

int store_session_find(struct store *s, str channel, str address, struct arena *a,
		       struct session *out, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : session_load_at(r.db, channel, address, a, out, e);
}

int store_session_list(struct store *s, int64_t limit, struct arena *a, struct session **out,
		       size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	struct session *list = NULL;
	size_t used = 0;
	int rc = reader_begin(&reader, s, e);

	if (rc < 0)
		return rc;
	rc = db_query(&r, reader.db,
		      "SELECT " COLUMNS
		      " FROM sessions ORDER BY updated_at_ms DESC, id DESC LIMIT ?1",
		      DB_ARGS(db_i64(limit > 0 ? limit : -1)), e);
	if (rc < 0)
		return rc;
	while ((rc = rows_next(&r, e)) > 0) {
		list = LIST_ROOM(a, list, used);
		read_session(&list[used++], &r, a);
	}
	if (rc < 0)
		return rc;
	*out = list;
	*n = used;
	return OK;
}

int store_session_remove(struct tx *tx, str id, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t n;
	int rc = db_number(db, "SELECT count(*) FROM sessions WHERE id = ?1",
			   DB_ARGS(db_text(id)), &n, e);

	if (rc == OK && n == 0)
		return err_set(e, E_NOENT, "no such session");
	if (rc == OK)
		rc = db_number(db,
			       "SELECT count(*) FROM turns WHERE session_id = ?1 "
			       "AND state IN ('ready', 'running', 'parked')",
			       DB_ARGS(db_text(id)), &n, e);
	if (rc < 0)
		return rc;
	if (n > 0)
		return tx_refuse(tx, e, E_BUSY, "a turn of this session is not finished");
	return db_run(db, "DELETE FROM sessions WHERE id = ?1", DB_ARGS(db_text(id)), NULL, e);
}

int store_session_cut(struct tx *tx, str id, int64_t from_seq, struct err *e)
{
	int64_t changed = 0;
	int rc = db_run(tx_db(tx),
			"UPDATE sessions SET history_from_seq = max(history_from_seq, ?2), "
			"updated_at_ms = ?3 "
			"WHERE id = ?1",
			DB_ARGS(db_text(id), db_i64(from_seq), db_i64(clock_now_ms())),
			&changed, e);

	if (rc == OK && changed == 0)
		return err_set(e, E_NOENT, "no such session");
	return rc;
}

int store_session_fold(struct tx *tx, const struct session *read, str summary, int64_t to_seq,
		       struct err *e)
{
	int64_t changed = 0;
	int rc = db_run(tx_db(tx),
			"UPDATE sessions SET summary = ?4, folded_seq = ?5, "
			"history_from_seq = max(history_from_seq, ?5) "
			"WHERE id = ?1 AND epoch = ?2 AND summary = ?3 AND folded_seq = ?6",
			DB_ARGS(db_text(read->id), db_i64(read->epoch), db_text(read->summary),
				db_text(summary), db_i64(to_seq), db_i64(read->folded_seq)),
			&changed, e);

	if (rc < 0 || changed > 0)
		return rc;
	return tx_refuse(tx, e, E_CANCELED, "the conversation changed meanwhile");
}

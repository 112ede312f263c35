/*
 * Model calls: what a request held that is not derivable from the rows of its turn.  The
 * system message and the tools array hardly change, so each text is stored once; the hash
 * only finds candidates, the text itself is compared.
 */
#include "store/rows.h"

#include "config/price.h"

static int part_of(struct tx *tx, str content, int64_t *id, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t hash = (int64_t)str_hash(STR_HASH, content);
	int rc = db_number(db, "SELECT id FROM request_parts WHERE hash = ?1 AND content = ?2",
			   DB_ARGS(db_i64(hash), db_text(content)), id, e);

	if (rc != E_NOENT)
		return rc;
	rc = db_run(db,
		    "INSERT INTO request_parts (hash, content, created_at_ms) "
		    "VALUES (?1, ?2, ?3)",
		    DB_ARGS(db_i64(hash), db_text(content), db_i64(clock_now_ms())), NULL, e);
	*id = sqlite3_last_insert_rowid(db->h);
	return rc;
}

static struct db_arg known(int64_t n)
{
	return db_when(n >= 0, db_i64(n));
}

static int insert(struct tx *tx, str turn_id, const struct model_row *row, int64_t system,
		  int64_t tools, struct err *e)
{
	return db_run(
		tx_db(tx),
		"INSERT INTO model_calls (turn_id, round, attempt, issuer, params, "
		"system_part, "
		"tools_part, finish, error, prompt_tokens, completion_tokens, cached_tokens, "
		"first_token_ms, total_ms, started_at_ms, est_tokens, request, written_tokens) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
		"?16, ?17, ?18)",
		DB_ARGS(db_text(turn_id), db_i64(row->round), db_i64(row->attempt),
			db_text(row->issuer), db_text(row->params), db_i64(system),
			db_i64(tools), db_text(row->finish), db_text(row->error),
			known(row->prompt_tokens), known(row->completion_tokens),
			known(row->cached_tokens), db_i64(row->first_token_ms),
			db_i64(row->total_ms), db_i64(row->started_at_ms),
			db_when(row->est_tokens > 0, db_i64(row->est_tokens)),
			db_text(row->request),
			db_when(row->written_tokens > 0, db_i64(row->written_tokens))),
		NULL, e);
}

/* The session's sums, and the name of its model. */
static int count_tokens(struct tx *tx, str turn_id, const struct model_row *row, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE sessions SET prompt_tokens = prompt_tokens + max(?2, 0), "
		      "completion_tokens = completion_tokens + max(?3, 0), model = ?4 "
		      "WHERE id = (SELECT session_id FROM turns WHERE id = ?1)",
		      DB_ARGS(db_text(turn_id), db_i64(row->prompt_tokens),
			      db_i64(row->completion_tokens),
			      db_text(price_model(row->issuer))),
		      NULL, e);
}

int store_model_call(struct tx *tx, str turn_id, const struct model_row *row, struct err *e)
{
	int64_t system, tools;
	int rc = part_of(tx, row->system, &system, e);

	if (rc == OK)
		rc = part_of(tx, row->tools, &tools, e);
	if (rc == OK)
		rc = insert(tx, turn_id, row, system, tools, e);
	if (rc == OK)
		rc = count_tokens(tx, turn_id, row, e);
	if (rc == OK)
		rc = usage_model_call(tx, row, e);
	return rc == OK ? store_spend_settle(tx, &row->spend, e) : rc;
}

int store_model_requests(struct store *s, str turn_id, struct arena *a, struct model_row **out,
			 size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	struct model_row *list = NULL;
	size_t used = 0;
	int rc = reader_begin(&reader, s, e);

	if (rc == OK)
		rc = db_query(&r, reader.db,
			      "SELECT c.round, c.attempt, c.issuer, c.params, s.content, "
			      "t.content, c.request, c.finish, c.error, c.started_at_ms "
			      "FROM model_calls c "
			      "JOIN request_parts s ON s.id = c.system_part "
			      "JOIN request_parts t ON t.id = c.tools_part "
			      "WHERE c.turn_id = ?1 ORDER BY c.id",
			      DB_ARGS(db_text(turn_id)), e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		list = LIST_ROOM(a, list, used);
		list[used++] = (struct model_row){
			.round = rows_i64(&r, 0),
			.attempt = rows_i64(&r, 1),
			.issuer = rows_text(&r, 2, a),
			.params = rows_text(&r, 3, a),
			.system = rows_text(&r, 4, a),
			.tools = rows_text(&r, 5, a),
			.request = rows_text(&r, 6, a),
			.finish = rows_text(&r, 7, a),
			.error = rows_text(&r, 8, a),
			.started_at_ms = rows_i64(&r, 9),
		};
		rc = OK;
	}
	if (rc < 0)
		return rc;
	*out = list;
	*n = used;
	return OK;
}

int store_turn_ids(struct store *s, struct arena *a, str **out, size_t *n, struct err *e)
{
	return list_texts(s, "SELECT id FROM turns ORDER BY rowid", DB_NO_ARGS, a, out, n, e);
}

int store_turn_last(struct store *s, str session_id, struct arena *a, struct turn_cost *out,
		    struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s,
			"SELECT t.id, t.finished_at_ms IS NULL, "
			"coalesce(c.prompt_tokens, -1), coalesce(c.completion_tokens, -1), "
			"coalesce(c.cached_tokens, -1) FROM turns t "
			"LEFT JOIN model_calls c ON c.turn_id = t.id AND c.error = '' "
			"WHERE t.rowid = (SELECT max(rowid) FROM turns "
			"WHERE session_id = ?1) ORDER BY c.round DESC, c.attempt DESC LIMIT 1",
			DB_ARGS(db_text(session_id)), e);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, E_NOENT, "no turn yet");
	*out = (struct turn_cost){
		.turn_id = rows_text(&l.r, 0, a),
		.open = rows_i64(&l.r, 1) != 0,
		.prompt_tokens = rows_i64(&l.r, 2),
		.completion_tokens = rows_i64(&l.r, 3),
		.cached_tokens = rows_i64(&l.r, 4),
	};
	return OK;
}

int store_tokens_permille(struct store *s, str issuer, int64_t *permille, struct err *e)
{
	return glance_number(s,
			     "SELECT max(500, min(4000, coalesce(sum(prompt_tokens) * "
			     "1000 / "
			     "sum(est_tokens), 1000))) FROM model_calls "
			     "WHERE id > (SELECT max(id) FROM model_calls) - 64 "
			     "AND issuer = ?1 AND prompt_tokens > 0 AND est_tokens > 0",
			     DB_ARGS(db_text(issuer)), permille, e);
}

/*
 * Reading one turn back: its own row, the requests to the model, the tool calls, the questions
 * and what was delivered.  Nothing is judged or put in order here.
 */
#include "store/trace.h"

#include "store/rows.h"

static int find(struct db *db, str turn, struct arena *a, struct turn_found *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	struct turn_found found = { 0 };
	size_t n = 0;
	int rc = db_query(&r, db,
			  "SELECT id, session_id, state FROM turns "
			  "WHERE id >= ?1 AND id < ?1 || 'g' LIMIT 2",
			  DB_ARGS(db_text(turn)), e);

	for (; rc == OK && (rc = rows_next(&r, e)) > 0; n++, rc = OK)
		found = (struct turn_found){ rows_text(&r, 0, a), rows_text(&r, 1, a),
					     rows_text(&r, 2, a) };
	if (rc < 0)
		return rc;
	if (n == 0)
		return err_set(e, E_NOENT, "there is no turn %.*s", STRF(turn));
	if (n > 1)
		return err_set(e, E_INVAL, "several turns begin with %.*s; give more of the id",
			       STRF(turn));
	*out = found;
	return OK;
}

int store_turn_find(struct store *s, str turn, struct arena *a, struct turn_found *out,
		    struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : find(r.db, turn, a, out, e);
}

static int read_turn(struct trace *t, struct db *db, struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, db,
		"SELECT t.session_id, s.channel, s.address, t.state, t.error, t.fence, "
		"t.cancel_requested, t.started_at_ms, t.updated_at_ms, t.finished_at_ms, "
		"(SELECT kind FROM inbox WHERE turn_id = t.id ORDER BY id LIMIT 1), "
		"(SELECT count(*) FROM inbox WHERE turn_id = t.id), "
		"(SELECT min(created_at_ms) FROM inbox WHERE turn_id = t.id) "
		"FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.id = ?1",
		DB_ARGS(db_text(t->id)), e);

	if (rc == OK)
		rc = rows_next(&r, e);
	if (rc <= 0)
		return rc < 0 ? rc : err_set(e, E_NOENT, "the turn is gone");
	t->session_id = rows_text(&r, 0, a);
	t->channel = rows_text(&r, 1, a);
	t->address = rows_text(&r, 2, a);
	t->state = rows_text(&r, 3, a);
	t->error = rows_text(&r, 4, a);
	t->claims = rows_i64(&r, 5);
	t->cancel_requested = rows_i64(&r, 6) != 0;
	t->started_at_ms = rows_at_ms(&r, 7);
	t->updated_at_ms = rows_at_ms(&r, 8);
	t->finished_at_ms = rows_at_ms(&r, 9);
	if (!t->started_at_ms) /* not a time, and all else is told from it */
		t->started_at_ms = t->updated_at_ms;
	t->kind = rows_text(&r, 10, a);
	t->rows_n = rows_i64(&r, 11);
	t->arrived_at_ms = rows_at_ms(&r, 12);
	return OK;
}

static int64_t or_unknown(const struct rows *r, int col)
{
	return rows_null(r, col) ? -1 : rows_amount(r, col);
}

static void read_model(struct trace *t, const struct rows *r, struct arena *a)
{
	t->models = LIST_ROOM(a, t->models, t->models_n);
	t->models[t->models_n++] = (struct trace_model){
		.round = rows_i64(r, 0),
		.attempt = rows_i64(r, 1),
		.issuer = rows_text(r, 2, a),
		.finish = rows_text(r, 3, a),
		.error = rows_text(r, 4, a),
		.est_tokens = rows_amount(r, 5),
		.prompt_tokens = or_unknown(r, 6),
		.completion_tokens = or_unknown(r, 7),
		.cached_tokens = or_unknown(r, 8),
		.first_token_ms = rows_amount(r, 9),
		.total_ms = rows_amount(r, 10),
		.started_at_ms = rows_at_ms(r, 11),
		.answer_bytes = rows_amount(r, 12),
		.written_tokens = or_unknown(r, 13),
	};
}

/* alike: the columns of another statement, into what is shown to people */
static void read_call(struct trace *t, const struct rows *r, struct arena *a)
{
	t->calls = LIST_ROOM(a, t->calls, t->calls_n);
	t->calls[t->calls_n++] = (struct trace_call){
		.id = rows_text(r, 0, a),
		.round = rows_i64(r, 1),
		.index = rows_i64(r, 2),
		.tool = rows_text(r, 3, a),
		.args = rows_text(r, 4, a),
		.state = rows_text(r, 5, a),
		.decision = rows_text(r, 6, a),
		.rule = rows_text(r, 7, a),
		.decider = rows_text(r, 8, a),
		.requester = rows_text(r, 9, a),
		.truncated = rows_i64(r, 10) != 0,
		.has_exit = !rows_null(r, 11),
		.exit_code = rows_i64(r, 11),
		.duration_ms = or_unknown(r, 12),
		.created_at_ms = rows_at_ms(r, 13),
		.started_at_ms = rows_at_ms(r, 14),
		.finished_at_ms = rows_at_ms(r, 15),
	};
}

static void read_ask(struct trace *t, const struct rows *r, struct arena *a)
{
	t->asks = LIST_ROOM(a, t->asks, t->asks_n);
	t->asks[t->asks_n++] = (struct trace_ask){
		.tool = rows_text(r, 0, a),
		.call_id = rows_text(r, 1, a),
		.state = rows_text(r, 2, a),
		.reason = rows_text(r, 3, a),
		.decided_by = rows_text(r, 4, a),
		.created_at_ms = rows_at_ms(r, 5),
		.decided_at_ms = rows_at_ms(r, 6),
	};
}

static void read_out(struct trace *t, const struct rows *r, struct arena *a)
{
	t->outs = LIST_ROOM(a, t->outs, t->outs_n);
	t->outs[t->outs_n++] = (struct trace_out){
		.id = rows_i64(r, 0),
		.channel = rows_text(r, 1, a),
		.address = rows_text(r, 2, a),
		.kind = rows_text(r, 3, a),
		.state = rows_text(r, 4, a),
		.created_at_ms = rows_at_ms(r, 5),
		.finished_at_ms = rows_at_ms(r, 6),
		.pieces = rows_amount(r, 7),
		.sent = rows_amount(r, 8),
		.unknown = rows_amount(r, 9),
		.dead = rows_amount(r, 10),
		.attempts = rows_amount(r, 11),
		.error = rows_text(r, 12, a),
	};
}

/* Each list by its query, which takes the turn and one row more than there may be. */
#define MODELS                                                                                 \
	"SELECT c.round, c.attempt, c.issuer, c.finish, c.error, c.est_tokens, "               \
	"c.prompt_tokens, c.completion_tokens, c.cached_tokens, c.first_token_ms, "            \
	"c.total_ms, c.started_at_ms, coalesce((SELECT length(CAST(m.wire AS BLOB)) "          \
	"FROM turn_messages m WHERE m.turn_id = c.turn_id AND m.round = c.round "              \
	"AND m.idx = 0 AND m.role = 'assistant'), 0), c.written_tokens FROM model_calls c "    \
	"WHERE c.turn_id = ?1 ORDER BY c.started_at_ms, c.id LIMIT ?2"
#define CALLS                                                                                  \
	"SELECT id, round, idx, iif(name = '', requested, name), args, state, decision, "      \
	"rule, decider, requester, truncated, exit_code, duration_ms, created_at_ms, "         \
	"started_at_ms, finished_at_ms FROM tool_calls WHERE turn_id = ?1 "                    \
	"OR (turn_id = '' AND provider_id = ?1) "                                              \
	"ORDER BY round, idx LIMIT ?2"
#define ASKS                                                                                   \
	"SELECT tool, call_id, state, reason, decided_by, created_at_ms, decided_at_ms "       \
	"FROM approvals WHERE turn_id = ?1 UNION ALL SELECT server, call_id, state, "          \
	"'asked by the server', decided_by, created_at_ms, decided_at_ms FROM questions "      \
	"WHERE turn_id = ?1 AND params <> '' ORDER BY created_at_ms LIMIT ?2"
#define OUTS                                                                                   \
	"SELECT o.id, o.channel, o.address, o.kind, o.state, o.created_at_ms, "                \
	"o.finished_at_ms, count(p.id), sum(p.state = 'sent'), sum(p.state = 'unknown'), "     \
	"sum(p.state = 'dead'), sum(p.attempts), "                                             \
	"max(iif(p.state IN ('unknown', 'dead'), p.error, '')) "                               \
	"FROM outbox o LEFT JOIN pieces p ON p.outbox_id = o.id "                              \
	"WHERE o.session_id = (SELECT session_id FROM turns WHERE id = ?1) "                   \
	"AND o.turn_id = ?1 GROUP BY o.id ORDER BY o.id LIMIT ?2"

/* The rows of a kind, each added to its list. */
static int read_all(struct trace *t, struct db *db, const char *sql,
		    void (*add)(struct trace *t, const struct rows *r, struct arena *a),
		    struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	size_t n = 0;
	int rc = db_query(&r, db, sql, DB_ARGS(db_text(t->id), db_i64(TRACE_ROWS_MAX + 1)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		rc = OK;
		if (n++ == TRACE_ROWS_MAX) {
			t->cut = true;
			break;
		}
		add(t, &r, a);
	}
	return rc;
}

int store_trace(struct store *s, str turn, struct arena *a, struct trace *out, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	struct turn_found found;
	struct trace t = { 0 };
	int rc;

	if ((rc = reader_begin(&r, s, e)) < 0 || (rc = find(r.db, turn, a, &found, e)) < 0)
		return rc;
	t.id = found.id;
	if ((rc = read_turn(&t, r.db, a, e)) < 0 ||
	    (rc = read_all(&t, r.db, MODELS, read_model, a, e)) < 0 ||
	    (rc = read_all(&t, r.db, CALLS, read_call, a, e)) < 0 ||
	    (rc = read_all(&t, r.db, ASKS, read_ask, a, e)) < 0 ||
	    (rc = read_all(&t, r.db, OUTS, read_out, a, e)) < 0)
		return rc;
	*out = t;
	return OK;
}

int store_trace_last(struct store *s, str session_id, struct arena *a, str *turn, struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = reader_begin(&reader, s, e);

	/* Rows are numbered as turns are claimed. */
	if (rc == OK && session_id.n)
		rc = db_query(&r, reader.db,
			      "SELECT id FROM turns WHERE rowid = (SELECT max(rowid) "
			      "FROM turns WHERE session_id = ?1)",
			      DB_ARGS(db_text(session_id)), e);
	else if (rc == OK)
		rc = db_query(&r, reader.db, "SELECT id FROM turns ORDER BY rowid DESC LIMIT 1",
			      DB_NO_ARGS, e);
	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*turn = rows_text(&r, 0, a);
		return OK;
	}
	return rc < 0 ? rc : err_set(e, E_NOENT, "there is no turn yet");
}

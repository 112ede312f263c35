/*
 * Reading messages back: a turn in progress, the history that enters prompts, a session for
 * people.  History walks an index of the turns that enter prompts, newest first, and stops
 * at the limit: a long past costs nothing.
 */
#include "store/rows.h"

#define COLUMNS                                                                                \
	"m.seq, m.round, m.idx, m.turn_id, m.role, m.wire, m.content, m.context, m.issuer, "   \
	"m.tool_name, m.collapsed, m.created_at_ms"

struct list {
	struct message *v;
	size_t n;
};

static int read_messages(struct list *l, struct rows *r, struct arena *a, struct err *e)
{
	int rc;

	while ((rc = rows_next(r, e)) > 0) {
		l->v = LIST_ROOM(a, l->v, l->n);
		l->v[l->n++] = (struct message){
			.seq = rows_i64(r, 0),
			.round = rows_i64(r, 1),
			.index = rows_i64(r, 2),
			.turn_id = rows_text(r, 3, a),
			.role = rows_text(r, 4, a),
			.wire = rows_text(r, 5, a),
			.text = rows_text(r, 6, a),
			.context = rows_text(r, 7, a),
			.issuer = rows_text(r, 8, a),
			.tool_name = rows_text(r, 9, a),
			.collapsed = rows_i64(r, 10) != 0,
			.created_at_ms = rows_i64(r, 11),
		};
	}
	return rc;
}

static int turn_messages(struct list *l, struct db *db, str turn_id, struct arena *a,
			 struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db,
			  "SELECT " COLUMNS " FROM turn_messages m WHERE m.turn_id = ?1 "
			  "AND m.note = 0 ORDER BY m.round, m.idx",
			  DB_ARGS(db_text(turn_id)), e);

	return rc < 0 ? rc : read_messages(l, &r, a, e);
}

static void read_call(struct call *out, const struct rows *r, struct arena *a)
{
	*out = (struct call){
		.round = rows_i64(r, 1),
		.index = rows_i64(r, 2),
		.provider_id = rows_text(r, 3, a),
		.requested = rows_text(r, 4, a),
		.name = rows_text(r, 5, a),
		.args = rows_text(r, 6, a),
		.safe = rows_i64(r, 7) != 0,
		.state = call_state_of(rows_peek(r, 8)),
		.decision = rows_text(r, 9, a),
		.rule = rows_text(r, 10, a),
		.decider = rows_text(r, 11, a),
		.requester = rows_text(r, 12, a),
		.truncated = rows_i64(r, 13) != 0,
		.has_exit = !rows_null(r, 14),
		.exit_code = rows_i64(r, 14),
		.duration_ms = rows_i64(r, 15),
		.pid = rows_i64(r, 16),
		.start_time = rows_i64(r, 17),
		.result = rows_text(r, 18, a),
		.result_wire = rows_text(r, 19, a),
	};
	out->interrupted = out->state == CALL_PLANNED && !rows_null(r, 20);
	rows_id(r, 0, out->id);
}

static int turn_calls(struct call **out, size_t *n, struct db *db, str turn_id, struct arena *a,
		      struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, db,
		"SELECT c.id, c.round, c.idx, c.provider_id, c.requested, c.name, c.args, "
		"c.safe, c.state, c.decision, c.rule, c.decider, c.requester, c.truncated, "
		"c.exit_code, c.duration_ms, c.pid, c.start_time, m.content, m.wire, "
		"c.started_at_ms FROM tool_calls c LEFT JOIN turn_messages m "
		"ON m.turn_id = c.turn_id AND m.round = c.round AND m.idx = c.idx "
		"WHERE c.turn_id = ?1 ORDER BY c.round, c.idx",
		DB_ARGS(db_text(turn_id)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		read_call(&(*out)[(*n)++], &r, a);
		rc = OK;
	}
	return rc;
}

int store_turn_load(struct store *s, str turn_id, struct arena *a, struct message **msgs,
		    size_t *msgs_n, struct call **calls, size_t *calls_n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	struct list l = { 0 };
	struct call *list = NULL;
	size_t list_n = 0;
	int rc = reader_begin(&r, s, e);

	if (rc == OK)
		rc = turn_messages(&l, r.db, turn_id, a, e);
	if (rc == OK)
		rc = turn_calls(&list, &list_n, r.db, turn_id, a, e);
	if (rc < 0)
		return rc;
	*msgs = l.v;
	*msgs_n = l.n;
	*calls = list;
	*calls_n = list_n;
	return OK;
}

/* The first message of the oldest turn that fits: the newest turn always does. */
static int oldest(int64_t *first_seq, struct db *db, const struct session *session, int64_t max,
		  bool asked, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int64_t total = 0;
	int rc = db_query(&r, db,
			  "SELECT first_seq, prompt_n FROM turns "
			  "WHERE session_id = ?1 AND epoch = ?2 AND first_seq >= ?3 "
			  "AND history <> 'none' AND (?4 = 0 OR NOT EXISTS (SELECT 1 "
			  "FROM inbox i WHERE i.turn_id = turns.id "
			  "AND i.kind IN ('cron', 'watch'))) ORDER BY first_seq DESC",
			  DB_ARGS(db_text(session->id), db_i64(session->epoch),
				  db_i64(session->history_from_seq), db_i64(asked)),
			  e);

	*first_seq = INT64_MAX;
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		total += rows_i64(&r, 1);
		if (*first_seq < INT64_MAX && total > max)
			return OK;
		*first_seq = rows_i64(&r, 0);
		rc = OK;
	}
	return rc;
}

/* Whole turns, and of those that are shortened the user's words and the note.  The order is
 * that of the two indexes: nothing is sorted. */
static int past_messages(struct list *l, struct db *db, const struct session *session,
			 int64_t first_seq, int64_t end_seq, bool asked, struct arena *a,
			 struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, db,
		"SELECT " COLUMNS " FROM turns t CROSS JOIN turn_messages m "
		"ON m.turn_id = t.id WHERE t.session_id = ?1 AND t.epoch = ?2 "
		"AND t.first_seq >= ?3 AND t.first_seq < ?4 AND t.history <> 'none' "
		"AND iif(t.history = 'note', m.note = 1 OR m.role = 'user', m.note = 0) "
		"AND (?5 = 0 OR NOT EXISTS (SELECT 1 FROM inbox i WHERE i.turn_id = t.id "
		"AND i.kind IN ('cron', 'watch'))) "
		"ORDER BY t.first_seq, t.rowid, m.round, m.idx",
		DB_ARGS(db_text(session->id), db_i64(session->epoch), db_i64(first_seq),
			db_i64(end_seq), db_i64(asked)),
		e);

	return rc < 0 ? rc : read_messages(l, &r, a, e);
}

static int history(struct store *s, const struct session *session, int64_t max, bool asked,
		   struct arena *a, struct message **out, size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int64_t first_seq;
	struct list l = { 0 };
	int rc = reader_begin(&r, s, e);

	if (rc == OK)
		rc = oldest(&first_seq, r.db, session, max, asked, e);
	if (rc == OK)
		rc = past_messages(&l, r.db, session, first_seq, INT64_MAX, asked, a, e);
	if (rc < 0)
		return rc;
	*out = l.v;
	*n = l.n;
	return OK;
}

int store_history(struct store *s, const struct session *session, int64_t max, struct arena *a,
		  struct message **out, size_t *n, struct err *e)
{
	return history(s, session, max, false, a, out, n, e);
}

int store_history_asked(struct store *s, const struct session *session, int64_t max,
			struct arena *a, struct message **out, size_t *n, struct err *e)
{
	return history(s, session, max, true, a, out, n, e);
}

/* Where the turns end that begin in [from, *end) and hold at most max messages. */
static int part_end(struct db *db, const struct session *session, int64_t from, int64_t max,
		    int64_t *end, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int64_t total = 0;
	int rc = db_query(&r, db,
			  "SELECT first_seq, prompt_n FROM turns "
			  "WHERE session_id = ?1 AND epoch = ?2 AND first_seq >= ?3 "
			  "AND first_seq < ?4 AND history <> 'none' ORDER BY first_seq",
			  DB_ARGS(db_text(session->id), db_i64(session->epoch), db_i64(from),
				  db_i64(*end)),
			  e);

	for (int turns = 0; rc == OK && (rc = rows_next(&r, e)) > 0; turns++) {
		total += rows_i64(&r, 1);
		if (turns && total > max) {
			*end = rows_i64(&r, 0);
			return OK;
		}
		rc = OK;
	}
	return rc;
}

int store_history_part(struct store *s, const struct session *session,
		       struct history_part *part, struct arena *a, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	struct list l = { 0 };
	int64_t end = part->to;
	int rc = reader_begin(&r, s, e);

	if (rc == OK)
		rc = part_end(r.db, session, part->from, part->max, &end, e);
	if (rc == OK)
		rc = past_messages(&l, r.db, session, part->from, end, false, a, e);
	if (rc < 0)
		return rc;
	part->rows = l.v;
	part->n = l.n;
	part->next = end;
	return OK;
}

int store_messages(struct store *s, str session_id, int64_t after_seq, int64_t limit,
		   struct arena *a, struct message **out, size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	struct list l = { 0 };
	int rc = reader_begin(&reader, s, e);

	if (rc == OK)
		rc = db_query(&r, reader.db,
			      "SELECT " COLUMNS " FROM turn_messages m "
			      "WHERE m.session_id = ?1 AND m.seq > ?2 ORDER BY m.seq LIMIT ?3",
			      DB_ARGS(db_text(session_id), db_i64(after_seq),
				      db_i64(limit > 0 ? limit : -1)),
			      e);
	if (rc == OK)
		rc = read_messages(&l, &r, a, e);
	if (rc < 0)
		return rc;
	*out = l.v;
	*n = l.n;
	return OK;
}

int store_collapse(struct tx *tx, str session_id, int64_t from, int64_t upto, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE turn_messages SET collapsed = 1 WHERE session_id = ?1 "
		      "AND seq BETWEEN ?2 AND ?3 AND role <> 'assistant' AND collapsed = 0",
		      DB_ARGS(db_text(session_id), db_i64(from), db_i64(upto)), NULL, e);
}

int store_collapse_old(struct tx *tx, str session_id, int64_t from, int64_t keep, struct err *e)
{
	int64_t upto = 0;
	int rc = db_number(
		tx_db(tx),
		"SELECT seq FROM turn_messages WHERE session_id = ?1 AND seq >= ?2 "
		"AND role = 'tool' AND role <> 'assistant' AND collapsed = 0 "
		"AND seq < coalesce((SELECT first_seq FROM turns WHERE session_id = ?1 "
		"AND state IN ('ready', 'running', 'parked') AND first_seq > 0), 1 << 62) "
		"ORDER BY seq DESC LIMIT 1 OFFSET ?3",
		DB_ARGS(db_text(session_id), db_i64(from), db_i64(keep)), &upto, e);

	if (rc == E_NOENT)
		return OK;
	return rc < 0 ? rc : store_collapse(tx, session_id, from, upto, e);
}

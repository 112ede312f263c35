/*
 * Questions of tool servers.  Whoever moves one on has read it in the same transaction, so double
 * presses, late replies and crashes between them end in one of two states.
 */
#include "store/asked.h"

#define COLUMNS                                                                                \
	"q.id, q.session_id, q.turn_id, q.call_id, q.channel, q.address, q.requester, "        \
	"q.server, q.round, q.idx, q.key, q.params, q.request_state, q.field, q.tries, "       \
	"q.picks, q.answers, q.result, q.state, q.message_id, q.posts, q.decided_by, "         \
	"q.created_at_ms, q.expires_at_ms"

/* Its turn still wants to know. */
#define LIVE                                                                                   \
	"EXISTS (SELECT 1 FROM turns t JOIN sessions s ON s.id = t.session_id "                \
	"WHERE t.id = q.turn_id AND t.state IN ('ready', 'running', 'parked') "                \
	"AND t.cancel_requested = 0 AND t.epoch = s.epoch)"

static const struct asked questions = ASKED("questions", "question_id");

static const char *const state_names[] = {
	[QUESTION_PENDING] = "pending",   [QUESTION_ANSWERED] = "answered",
	[QUESTION_DECLINED] = "declined", [QUESTION_CANCELLED] = "cancelled",
	[QUESTION_EXPIRED] = "expired",   [QUESTION_VOID] = "void",
};

static enum question_state state_of(str name)
{
	size_t i = 0;

	while (i < COUNT(state_names) - 1 && !str_eq(name, str_of(state_names[i])))
		i++;
	return (enum question_state)i;
}

static void read_row(void *one, const struct rows *r, struct arena *a)
{
	struct question *out = one;
	*out = (struct question){
		.id = rows_text(r, 0, a),
		.session_id = rows_text(r, 1, a),
		.turn_id = rows_text(r, 2, a),
		.call_id = rows_text(r, 3, a),
		.channel = rows_text(r, 4, a),
		.address = rows_text(r, 5, a),
		.requester = rows_text(r, 6, a),
		.server = rows_text(r, 7, a),
		.round = rows_i64(r, 8),
		.index = rows_i64(r, 9),
		.key = rows_text(r, 10, a),
		.params = rows_text(r, 11, a),
		.request_state = rows_text(r, 12, a),
		.field = rows_i64(r, 13),
		.tries = rows_i64(r, 14),
		.picks = rows_text(r, 15, a),
		.answers = rows_text(r, 16, a),
		.result = rows_text(r, 17, a),
		.state = state_of(rows_peek(r, 18)),
		.message_id = rows_text(r, 19, a),
		.posts = rows_i64(r, 20),
		.decided_by = rows_text(r, 21, a),
		.created_at_ms = rows_i64(r, 22),
		.expires_at_ms = rows_i64(r, 23),
	};
}

/* Those that match, in a. */
/* alike: of another table, as other structs */
static int list(struct question **out, size_t *n, struct db *db, const char *sql,
		const struct db_arg *args, size_t args_n, struct arena *a, struct err *e)
{
	const struct list_of q = { sizeof **out, read_row, sql, args, args_n };
	void *v;
	int rc = list_in(db, &q, a, &v, n, e);

	if (rc == OK)
		*out = v;
	return rc;
}

static int one(struct question *out, struct db *db, const char *sql, const struct db_arg *args,
	       size_t args_n, struct arena *a, struct err *e)
{
	struct question *v;
	size_t n;
	int rc = list(&v, &n, db, sql, args, args_n, a, e);

	if (rc == OK && n == 0)
		return err_set(e, E_NOENT, "no such question");
	if (rc == OK)
		*out = v[0];
	return rc;
}

/* The outbox row that asks its field. */
static int post(struct tx *tx, const struct question *q, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct outbox_new row = {
		.session_id = q->session_id,
		.turn_id = q->turn_id,
		.channel = q->channel,
		.address = q->address,
		.kind = S("approval"),
		.text = arena_fmt(&a, "%lld", (long long)q->field),
		.question_id = q->id,
	};
	int64_t id;

	return store_outbox_add(tx, &row, &id, e);
}

static int insert(struct tx *tx, const struct question *q, struct err *e)
{
	bool pending = q->state == QUESTION_PENDING;
	int rc = db_run(
		tx_db(tx),
		"INSERT INTO questions (id, session_id, turn_id, call_id, channel, address, "
		"requester, server, round, idx, key, params, request_state, result, state, "
		"poster, created_at_ms, expires_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
		"?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
		DB_ARGS(db_text(q->id), db_text(q->session_id), db_text(q->turn_id),
			db_text(q->call_id), db_text(q->channel), db_text(q->address),
			db_text(q->requester), db_text(q->server), db_i64(q->round),
			db_i64(q->index), db_text(q->key), db_text(q->params),
			db_text(q->request_state), db_text(q->result),
			db_text(str_of(state_names[q->state])), db_text(store_owner(tx->s)),
			db_i64(q->created_at_ms), db_i64(q->expires_at_ms)),
		NULL, e);

	return rc < 0 || !pending ? rc : post(tx, q, e);
}

static int check_count(struct tx *tx, str turn_id, str call_id, size_t more, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT count(*) FROM questions WHERE turn_id = ?1 "
			   "AND call_id = ?2 AND params <> ''",
			   DB_ARGS(db_text(turn_id), db_text(call_id)), &n, e);

	if (rc == OK && n + (int64_t)more > QUESTIONS_OF_CALL)
		return tx_refuse(tx, e, E_LIMIT, "it asked more than %d times in one call",
				 QUESTIONS_OF_CALL);
	return rc;
}

int store_question_add(struct tx *tx, const struct question *in, char id[ID_LONG_LEN + 1],
		       struct err *e)
{
	struct question q = *in;
	struct turn_row t;
	int rc = turn_row_live(&t, tx, in->turn_id, e);

	if (rc < 0 || (rc = check_count(tx, in->turn_id, in->call_id, 1, e)) < 0)
		return rc;
	tx->news |= STORE_NEWS_CLOCK;
	id_long(id);
	q.id = str_of(id);
	q.state = QUESTION_PENDING;
	return insert(tx, &q, e);
}

int store_question_round(struct tx *tx, const struct question *v, size_t n, struct err *e)
{
	struct turn_row t;
	int64_t changed = 0;
	int rc = turn_row_live(&t, tx, v[0].turn_id, e);

	if (rc < 0 || (rc = check_count(tx, v[0].turn_id, v[0].call_id, n, e)) < 0)
		return rc;
	tx->news |= STORE_NEWS_CLOCK;
	/* started_at_ms stays: it says that it ran before. */
	rc = db_run(tx_db(tx),
		    "UPDATE tool_calls SET state = 'planned', boot_id = '', pid = 0, "
		    "start_time = 0 WHERE id = ?1 AND turn_id = ?2 AND state = 'running'",
		    DB_ARGS(db_text(v[0].call_id), db_text(v[0].turn_id)), &changed, e);
	if (rc == OK && !changed)
		return tx_refuse(tx, e, E_CANCELED, "the call is over");
	if (rc == OK)
		rc = questions_forget(tx, v[0].turn_id, v[0].call_id, e);
	for (size_t i = 0; i < n && rc == OK; i++) {
		char id[ID_LONG_LEN + 1];
		struct question q = v[i];
		id_long(id);
		q.id = str_of(id);
		q.state = q.result.n ? QUESTION_ANSWERED : QUESTION_PENDING;
		rc = insert(tx, &q, e);
	}
	return rc == OK ? turn_progressed(tx, v[0].turn_id, e) : rc;
}

int store_question_get(struct store *s, str id, struct arena *a, struct question *out,
		       struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc
		      : one(out, r.db, "SELECT " COLUMNS " FROM questions q WHERE q.id = ?1",
			    DB_ARGS(db_text(id)), a, e);
}

int store_question_state(struct store *s, str id, enum question_state *state, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	SCOPED(rows_end) struct rows rows = { 0 };
	int rc = reader_begin(&r, s, e);

	if (rc == OK)
		rc = db_query(&rows, r.db, "SELECT state FROM questions WHERE id = ?1",
			      DB_ARGS(db_text(id)), e);
	if (rc == OK && (rc = rows_next(&rows, e)) == 0)
		return err_set(e, E_NOENT, "no such question");
	if (rc < 0)
		return rc;
	*state = state_of(rows_peek(&rows, 0));
	return OK;
}

int store_question_of_call(struct store *s, str turn_id, str call_id, struct arena *a,
			   struct question **out, size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc
		      : list(out, n, r.db,
			     "SELECT " COLUMNS " FROM questions q WHERE q.turn_id = ?1 "
			     "AND q.call_id = ?2 AND q.round > 0 AND q.round = (SELECT "
			     "max(round) FROM questions WHERE turn_id = ?1 AND call_id = ?2) "
			     "ORDER BY q.idx",
			     DB_ARGS(db_text(turn_id), db_text(call_id)), a, e);
}

int store_question_find(struct tx *tx, str id, struct arena *a, struct question *out,
			struct err *e)
{
	return one(out, tx_db(tx),
		   "SELECT " COLUMNS " FROM questions q WHERE q.id = ?1 "
		   "AND q.state = 'pending' AND q.expires_at_ms > ?2 AND " LIVE,
		   DB_ARGS(db_text(id), db_i64(clock_now_ms())), a, e);
}

int store_question_asking(struct tx *tx, const struct question_find *by, struct arena *a,
			  struct question **out, size_t *n, struct err *e)
{
	return list(out, n, tx_db(tx),
		    "SELECT " COLUMNS " FROM questions q WHERE q.channel = ?1 "
		    "AND q.address = ?2 AND q.state = 'pending' AND q.requester = ?3 "
		    "AND (?4 = '' OR q.message_id = ?4) AND q.expires_at_ms > ?5 AND " LIVE
		    " ORDER BY q.created_at_ms, q.idx, q.id",
		    DB_ARGS(db_text(by->channel), db_text(by->address), db_text(by->requester),
			    db_text(by->message), db_i64(clock_now_ms())),
		    a, e);
}

/* A parked turn goes on once a whole round of a call is answered. */
static int ready_turn(struct tx *tx, const struct question *q, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE turns SET state = 'ready', updated_at_ms = ?3 WHERE id = ?1 "
		      "AND state = 'parked' AND NOT EXISTS (SELECT 1 FROM questions "
		      "WHERE turn_id = ?1 AND call_id = ?2 AND state = 'pending')",
		      DB_ARGS(db_text(q->turn_id), db_text(q->call_id), db_i64(clock_now_ms())),
		      NULL, e);
}

int store_question_step(struct tx *tx, const struct question *q, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t was = 0;
	bool over = q->state != QUESTION_PENDING;
	int rc =
		db_number(db, "SELECT field FROM questions WHERE id = ?1 AND state = 'pending'",
			  DB_ARGS(db_text(q->id)), &was, e);

	if (rc == OK)
		rc = db_run(db,
			    "UPDATE questions SET state = ?2, message_id = iif(field = ?3, "
			    "message_id, ''), field = ?3, tries = ?4, picks = ?5, "
			    "answers = ?6, result = ?7, decided_by = ?8, decided_at_ms = ?9 "
			    "WHERE id = ?1",
			    DB_ARGS(db_text(q->id), db_text(str_of(state_names[q->state])),
				    db_i64(q->field), db_i64(q->tries), db_text(q->picks),
				    db_text(q->answers), db_text(q->result),
				    db_text(q->decided_by),
				    db_when(over, db_i64(clock_now_ms()))),
			    NULL, e);
	if (rc < 0)
		return rc;
	if (over)
		return ready_turn(tx, q, e);
	return was != q->field ? post(tx, q, e) : OK;
}

int store_question_end(struct tx *tx, str id, enum question_state state, struct err *e)
{
	struct db_arg args[] = { db_text(id), db_text(str_of(state_names[state])),
				 db_i64(clock_now_ms()) };
	int rc = db_run(tx_db(tx),
			"UPDATE questions SET state = ?2, decided_at_ms = ?3 WHERE id = ?1 "
			"AND state = 'pending'",
			args, 3, NULL, e);

	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "UPDATE outbox SET state = 'dropped', finished_at_ms = ?3 "
			       "WHERE state IN ('raw', 'ready') AND state = 'raw' "
			       "AND sender = '' AND question_id = ?1 AND ?2 <> ''",
			       args, 3, NULL, e);
}

int store_question_expire(struct tx *tx, int64_t now_ms, int64_t *n, struct err *e)
{
	return asked_expire(tx, &questions, now_ms, n, e);
}

int store_question_posted(struct tx *tx, str id, int64_t outbox_id, int64_t now_ms, bool *over,
			  struct err *e)
{
	return asked_posted(tx, &questions, id, outbox_id, now_ms, over, e);
}

int store_question_unseen(struct tx *tx, str id, int64_t now_ms, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE questions SET expires_at_ms = ?2 WHERE id = ?1 "
		      "AND state = 'pending'",
		      DB_ARGS(db_text(id), db_i64(now_ms)), NULL, e);
}

/* alike: of another table, and the text of a statement is a literal */
int store_question_repost(struct tx *tx, str channel, int64_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct question *v;
	size_t v_n;
	int rc = list(&v, &v_n, tx_db(tx),
		      "SELECT " COLUMNS " FROM questions q WHERE q.state = 'pending' "
		      "AND q.channel = ?1 AND q.poster <> ?2 ORDER BY q.created_at_ms, q.id",
		      DB_ARGS(db_text(channel), db_text(store_owner(tx->s))), &a, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == OK && i < v_n; i++) {
		bool again;

		rc = asked_again(tx, &questions, channel, v[i].id, &again, e);
		if (rc == OK && again)
			rc = post(tx, &v[i], e);
	}
	*n = (int64_t)v_n;
	return rc;
}

int store_question_message(struct tx *tx, str id, int64_t field, str message_id, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE questions SET message_id = ?3 WHERE id = ?1 AND field = ?2",
		      DB_ARGS(db_text(id), db_i64(field), db_text(message_id)), NULL, e);
}

/* alike: but for what is asked for */
int store_question_shown(struct store *s, str channel, int64_t since_ms, struct arena *a,
			 struct question **out, size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc
		      : list(out, n, r.db,
			     "SELECT " COLUMNS " FROM questions q WHERE q.channel = ?1 "
			     "AND q.message_id <> '' AND (q.state = 'pending' OR (q.state = "
			     "'void' AND q.created_at_ms > ?2)) ORDER BY q.created_at_ms, q.id",
			     DB_ARGS(db_text(channel), db_i64(since_ms)), a, e);
}

int store_question_list(struct store *s, str channel, struct arena *a, struct question **out,
			size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc
		      : list(out, n, r.db,
			     "SELECT " COLUMNS " FROM questions q WHERE q.state = 'pending' "
			     "AND (q.channel = ?1 OR ?1 = '') ORDER BY q.created_at_ms, q.id",
			     DB_ARGS(db_text(channel)), a, e);
}

int questions_forget(struct tx *tx, str turn_id, str call_id, struct err *e)
{
	return db_run(
		tx_db(tx),
		"UPDATE questions SET request_state = '', key = '' "
		"WHERE turn_id = ?1 AND call_id = ?2 AND (key <> '' OR request_state <> '')",
		DB_ARGS(db_text(turn_id), db_text(call_id)), NULL, e);
}

/* alike: of another table, and the text of a statement is a literal */
int questions_close(struct tx *tx, str turn_id, struct err *e)
{
	struct db_arg args[] = { db_text(turn_id), db_i64(clock_now_ms()) };
	int64_t closed = 0;
	int rc = db_run(tx_db(tx),
			"UPDATE questions SET state = 'cancelled', decided_at_ms = ?2 "
			"WHERE turn_id = ?1 AND state = 'pending'",
			args, 2, &closed, e);

	if (rc == OK && closed > 0)
		rc = db_run(tx_db(tx),
			    "UPDATE outbox SET state = 'dropped', finished_at_ms = ?2 "
			    "WHERE state IN ('raw', 'ready') AND state = 'raw' AND sender = '' "
			    "AND turn_id = ?1 AND question_id <> ''",
			    args, 2, NULL, e);
	return rc;
}

int questions_void(struct tx *tx, str turn_id, str call_id, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE questions SET state = 'void', decided_at_ms = ?3 "
		      "WHERE turn_id = ?1 AND call_id = ?2 AND state = 'pending'",
		      DB_ARGS(db_text(turn_id), db_text(call_id), db_i64(clock_now_ms())), NULL,
		      e);
}

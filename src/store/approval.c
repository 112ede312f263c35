/*
 * Questions to people.  A decision, its use and the turn's parking are compare-and-set each,
 * so that double taps, late presses and crashes between them end in one of two states.
 */
#include "store/asked.h"

#include <string.h>

#define COLUMNS                                                                                \
	"id, session_id, turn_id, call_id, channel, address, tool, command, hash, reason, "    \
	"state, message_id, posts, decided_by, created_at_ms, expires_at_ms"

static const struct asked approvals = ASKED("approvals", "approval_id");

static const char *const state_names[] = {
	[APPROVAL_PENDING] = "pending", [APPROVAL_APPROVED] = "approved",
	[APPROVAL_DENIED] = "denied",   [APPROVAL_EXPIRED] = "expired",
	[APPROVAL_USED] = "used",
};

static void read_row(void *one, const struct rows *r, struct arena *a)
{
	struct approval *out = one;
	str state = rows_peek(r, 10);
	size_t i = 0;

	while (i < COUNT(state_names) - 1 && !str_eq(state, str_of(state_names[i])))
		i++;
	*out = (struct approval){
		.id = rows_text(r, 0, a),
		.session_id = rows_text(r, 1, a),
		.turn_id = rows_text(r, 2, a),
		.call_id = rows_text(r, 3, a),
		.channel = rows_text(r, 4, a),
		.address = rows_text(r, 5, a),
		.tool = rows_text(r, 6, a),
		.command = rows_text(r, 7, a),
		.hash = rows_text(r, 8, a),
		.reason = rows_text(r, 9, a),
		.state = (enum approval_state)i,
		.message_id = rows_text(r, 11, a),
		.posts = rows_i64(r, 12),
		.decided_by = rows_text(r, 13, a),
		.created_at_ms = rows_i64(r, 14),
		.expires_at_ms = rows_i64(r, 15),
	};
}

static int one(struct approval *out, struct db *db, const char *sql, const struct db_arg *args,
	       size_t n, struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, sql, args, n, e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		read_row(out, &r, a);
		return OK;
	}
	return rc < 0 ? rc : err_set(e, E_NOENT, "no such question");
}

static int get(struct approval *out, struct db *db, str id, struct arena *a, struct err *e)
{
	return one(out, db, "SELECT " COLUMNS " FROM approvals WHERE id = ?1",
		   DB_ARGS(db_text(id)), a, e);
}

/* The outbox row that posts it. */
static int post(struct tx *tx, const struct approval *p, struct err *e)
{
	const struct outbox_new row = {
		.session_id = p->session_id,
		.turn_id = p->turn_id,
		.channel = p->channel,
		.address = p->address,
		.kind = S("approval"),
		.text = p->id,
		.approval_id = p->id,
	};
	int64_t id;

	return store_outbox_add(tx, &row, &id, e);
}

int store_approval_add(struct tx *tx, const struct approval *in, char *id, struct err *e)
{
	struct approval p = *in;
	struct turn_row t;
	int rc = turn_row_live(&t, tx, in->turn_id, e);

	if (rc < 0)
		return rc;
	tx->news |= STORE_NEWS_CLOCK;
	id_long(id);
	p.id = str_of(id);
	rc = db_run(
		tx_db(tx),
		"INSERT INTO approvals (id, session_id, turn_id, call_id, channel, address, "
		"tool, command, hash, reason, state, poster, created_at_ms, expires_at_ms) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'pending', ?11, ?12, ?13)",
		DB_ARGS(db_text(p.id), db_text(p.session_id), db_text(p.turn_id),
			db_text(p.call_id), db_text(p.channel), db_text(p.address),
			db_text(p.tool), db_text(p.command), db_text(p.hash), db_text(p.reason),
			db_text(store_owner(tx->s)), db_i64(p.created_at_ms),
			db_i64(p.expires_at_ms)),
		NULL, e);
	return rc < 0 ? rc : post(tx, &p, e);
}

int store_approval_get(struct store *s, str id, struct arena *a, struct approval *out,
		       struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : get(out, r.db, id, a, e);
}

int store_approval_of_call(struct store *s, str turn_id, str call_id, struct arena *a,
			   struct approval *out, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc
		      : one(out, r.db,
			    "SELECT " COLUMNS " FROM approvals WHERE turn_id = ?1 "
			    "AND call_id = ?2 ORDER BY created_at_ms DESC, rowid DESC LIMIT 1",
			    DB_ARGS(db_text(turn_id), db_text(call_id)), a, e);
}

static int ready_turn(struct tx *tx, str turn_id, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE turns SET state = 'ready', updated_at_ms = ?2 WHERE id = ?1 "
		      "AND state = 'parked'",
		      DB_ARGS(db_text(turn_id), db_i64(clock_now_ms())), NULL, e);
}

/* In place of one for the same call of the tool as it was. */
static int add_grant(struct tx *tx, const struct approval *p,
		     const struct approval_press *press, struct err *e)
{
	int rc = db_run(tx_db(tx),
			"DELETE FROM approval_grants WHERE tool = ?1 AND hash <> ?2 AND "
			"substr(hash, 1, 64) = substr(?2, 1, 64)",
			DB_ARGS(db_text(p->tool), db_text(p->hash)), NULL, e);

	if (rc < 0)
		return rc;
	return db_run(tx_db(tx),
		      "INSERT INTO approval_grants (tool, hash, command, granted_by, "
		      "created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
		      DB_ARGS(db_text(p->tool), db_text(p->hash), db_text(p->command),
			      db_text(press->by), db_i64(press->at_ms)),
		      NULL, e);
}

/* Pending, in time, and its turn still wants to know. */
static int decide(struct tx *tx, const struct approval_press *press, int64_t *changed,
		  struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE approvals SET state = ?2, decided_by = ?3, decided_at_ms = ?4 "
		      "WHERE id = ?1 AND state = 'pending' AND expires_at_ms > ?4 AND EXISTS "
		      "(SELECT 1 FROM turns t JOIN sessions s ON s.id = t.session_id "
		      "WHERE t.id = approvals.turn_id AND t.state IN ('ready', 'running', "
		      "'parked') AND t.cancel_requested = 0 AND t.epoch = s.epoch)",
		      DB_ARGS(db_text(press->id),
			      db_text(press->yes ? S("approved") : S("denied")),
			      db_text(press->by), db_i64(press->at_ms)),
		      changed, e);
}

int store_approval_decide(struct tx *tx, const struct approval_press *press, struct arena *a,
			  struct approval *out, enum approval_end *end, struct err *e)
{
	int64_t changed = 0;
	int rc = decide(tx, press, &changed, e);

	if (rc == OK)
		rc = get(out, tx_db(tx), press->id, a, e);
	if (rc == E_NOENT) {
		*end = APPROVAL_END_UNKNOWN;
		return OK;
	}
	if (rc < 0)
		return rc;
	if (!changed) {
		bool late = out->state == APPROVAL_PENDING || out->state == APPROVAL_EXPIRED;
		*end = late ? APPROVAL_END_EXPIRED : APPROVAL_END_ALREADY;
		return OK;
	}
	*end = APPROVAL_END_DECIDED;
	if (press->yes && press->always)
		rc = add_grant(tx, out, press, e);
	return rc < 0 ? rc : ready_turn(tx, out->turn_id, e);
}

int store_approval_use(struct tx *tx, str id, str hash, int64_t now_ms, const struct call *call,
		       struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct approval p;
	int64_t changed = 0;
	int rc = get(&p, tx_db(tx), id, &a, e);

	if (rc == OK && !str_eq(p.call_id, str_of(call->id)))
		return err_set(e, E_NOENT, "the answer was for another call");
	if (rc == OK)
		rc = db_run(tx_db(tx),
			    "UPDATE approvals SET state = 'used' WHERE id = ?1 "
			    "AND state = 'approved' AND hash = ?2 AND expires_at_ms > ?3",
			    DB_ARGS(db_text(id), db_text(hash), db_i64(now_ms)), &changed, e);
	if (rc < 0)
		return rc;
	if (!changed)
		return err_set(e, E_NOENT, "the answer does not hold any more");
	return store_call_start(tx, p.turn_id, call, e);
}

int store_turn_park(struct tx *tx, str turn_id, bool *parked, struct err *e)
{
	struct turn_row t;
	int64_t changed = 0;
	int rc = turn_row_live(&t, tx, turn_id, e);

	tx->news |= STORE_NEWS_CLOCK;
	if (rc == OK)
		/* Whatever was decided meanwhile is worked off first. */
		rc = db_run(tx_db(tx),
			    "UPDATE turns SET state = 'parked', owner = '', "
			    "attempts = max(attempts - 1, 0), updated_at_ms = ?2 WHERE id = ?1 "
			    "AND (EXISTS (SELECT 1 FROM approvals WHERE turn_id = ?1 "
			    "AND state = 'pending') OR EXISTS (SELECT 1 FROM questions "
			    "WHERE turn_id = ?1 AND state = 'pending')) "
			    "AND NOT EXISTS (SELECT 1 FROM approvals p "
			    "JOIN tool_calls c ON c.id = p.call_id AND c.state = 'planned' "
			    "WHERE p.turn_id = ?1 AND p.state <> 'pending' AND NOT EXISTS "
			    "(SELECT 1 FROM approvals n WHERE n.turn_id = ?1 "
			    "AND n.call_id = p.call_id AND n.state = 'pending') "
			    "AND NOT EXISTS (SELECT 1 FROM questions q WHERE q.turn_id = ?1 "
			    "AND q.call_id = p.call_id)) AND NOT EXISTS (SELECT 1 "
			    "FROM questions p JOIN tool_calls c ON c.id = p.call_id "
			    "AND c.state = 'planned' WHERE p.turn_id = ?1 AND NOT EXISTS "
			    "(SELECT 1 FROM questions n WHERE n.turn_id = ?1 "
			    "AND n.call_id = p.call_id AND n.state = 'pending'))",
			    DB_ARGS(db_text(turn_id), db_i64(clock_now_ms())), &changed, e);
	*parked = changed > 0;
	return rc;
}

int store_approval_expire(struct tx *tx, int64_t now_ms, int64_t *n, struct err *e)
{
	return asked_expire(tx, &approvals, now_ms, n, e);
}

int store_approval_posted(struct tx *tx, str id, int64_t outbox_id, int64_t now_ms, bool *over,
			  struct err *e)
{
	return asked_posted(tx, &approvals, id, outbox_id, now_ms, over, e);
}

/* Those that match, in a. */
static int list(struct approval **out, size_t *n, struct db *db, const char *sql,
		const struct db_arg *args, size_t args_n, struct arena *a, struct err *e)
{
	const struct list_of q = { sizeof **out, read_row, sql, args, args_n };
	void *v;
	int rc = list_in(db, &q, a, &v, n, e);

	if (rc == OK)
		*out = v;
	return rc;
}

int store_approval_repost(struct tx *tx, str channel, int64_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct approval *v = NULL;
	size_t v_n = 0;
	int rc = list(&v, &v_n, tx_db(tx),
		      "SELECT " COLUMNS " FROM approvals WHERE state = 'pending' "
		      "AND channel = ?1 AND poster <> ?2 ORDER BY created_at_ms, id",
		      DB_ARGS(db_text(channel), db_text(store_owner(tx->s))), &a, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == OK && i < v_n; i++) {
		bool again;

		rc = asked_again(tx, &approvals, channel, v[i].id, &again, e);
		if (rc == OK && again)
			rc = post(tx, &v[i], e);
	}
	*n = (int64_t)v_n;
	return rc;
}

int store_approval_message(struct tx *tx, str id, str message_id, struct err *e)
{
	return db_run(tx_db(tx), "UPDATE approvals SET message_id = ?2 WHERE id = ?1",
		      DB_ARGS(db_text(id), db_text(message_id)), NULL, e);
}

int store_approval_list(struct store *s, str channel, struct arena *a, struct approval **out,
			size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc
		      : list(out, n, r.db,
			     "SELECT " COLUMNS " FROM approvals WHERE state = 'pending' "
			     "AND (channel = ?1 OR ?1 = '') ORDER BY created_at_ms, id",
			     DB_ARGS(db_text(channel)), a, e);
}

int approvals_close(struct tx *tx, str turn_id, struct err *e)
{
	struct db_arg args[] = { db_text(turn_id), db_i64(clock_now_ms()) };
	int64_t closed = 0;
	int rc = db_run(tx_db(tx),
			"UPDATE approvals SET state = 'expired', decided_at_ms = ?2 "
			"WHERE turn_id = ?1 AND state IN ('pending', 'approved')",
			args, 2, &closed, e);

	/* What was not posted yet need not be asked any more. */
	if (rc == OK && closed > 0)
		rc = db_run(tx_db(tx),
			    "UPDATE outbox SET state = 'dropped', finished_at_ms = ?2 "
			    "WHERE state IN ('raw', 'ready') AND state = 'raw' AND sender = '' "
			    "AND turn_id = ?1 AND approval_id <> ''",
			    args, 2, NULL, e);
	return rc;
}

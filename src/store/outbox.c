/*
 * The outbox: rows and their pieces.  A row in delivery names its sender (the owner of the
 * process); it is let go with its last piece, when a piece is put off, or by release.  A wait
 * that the other side asked for holds for the whole address.
 */
#include "store/rows.h"

#define RESENT_MAX 5 /* crashes in the middle of one piece */
#define COLUMNS                                                                                \
	"o.id, o.session_id, o.turn_id, o.channel, o.address, o.kind, o.text, o.reply_to, "    \
	"o.state = 'raw', o.created_at_ms, o.live_id, o.approval_id, o.question_id"

#define STOPPED "(stopped)"
#define NO_ANSWER "(no answer)"

/* The answer of a turn that was shown while it was made: its row is there.  *id stays 0 when
 * nothing was reserved. */
static int take_reserved(struct tx *tx, const struct outbox_new *row, int64_t *id,
			 struct err *e)
{
	int rc = db_number(tx_db(tx),
			   "UPDATE outbox SET state = 'raw', text = ?2, "
			   "reply_to = iif(address = ?6, ?3, ''), "
			   "owner = ?4, created_at_ms = ?5 WHERE turn_id = ?1 "
			   "AND state = 'reserved' RETURNING id",
			   DB_ARGS(db_text(row->turn_id), db_text(row->text),
				   db_text(row->reply_to), db_text(row->owner),
				   db_i64(clock_now_ms()), db_text(row->address)),
			   id, e);

	return rc == E_NOENT ? OK : rc;
}

int store_outbox_add(struct tx *tx, const struct outbox_new *row, int64_t *id, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t reserved = 0;
	int rc = OK;

	if (row->turn_id.n && str_eq(row->kind, S("reply")))
		rc = take_reserved(tx, row, &reserved, e);
	if (rc < 0 || reserved) {
		*id = reserved;
		return rc;
	}
	rc = db_run(db,
		    "INSERT INTO outbox (session_id, turn_id, channel, address, kind, "
		    "text, reply_to, owner, approval_id, created_at_ms, question_id) "
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
		    DB_ARGS(db_when(row->session_id.n, db_text(row->session_id)),
			    db_text(row->turn_id), db_text(row->channel), db_text(row->address),
			    db_text(row->kind), db_text(row->text), db_text(row->reply_to),
			    db_text(row->owner), db_text(row->approval_id),
			    db_i64(clock_now_ms()), db_text(row->question_id)),
		    NULL, e);
	if (rc == OK)
		*id = sqlite3_last_insert_rowid(db->h);
	return rc;
}

/* The turn ended while its first live message was under way: an answer that nobody has begun
 * to send can still take that message over. */
static int adopt_live(struct db *db, str turn_id, str address, str remote_id, struct err *e)
{
	int64_t changed = 0;
	int rc = db_run(db,
			"UPDATE outbox SET live_id = ?2 WHERE turn_id = ?1 AND kind = 'reply' "
			"AND state IN ('raw', 'ready') AND state = 'raw' AND sender = '' "
			"AND live_id = '' AND address = ?3",
			DB_ARGS(db_text(turn_id), db_text(remote_id), db_text(address)),
			&changed, e);

	if (rc == OK && changed == 0)
		return err_set(e, E_NOENT, "the turn is over");
	return rc;
}

int store_outbox_reserve(struct tx *tx, str channel, str address, str turn_id, str session_id,
			 str remote_id, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t open = 0, changed = 0;

	if (!turn_id.n || !remote_id.n)
		return tx_refuse(tx, e, E_INVAL, "no turn or no message to reserve for");
	int rc = db_number(db,
			   "SELECT count(*) FROM turns WHERE id = ?1 "
			   "AND state IN ('ready', 'running', 'parked')",
			   DB_ARGS(db_text(turn_id)), &open, e);
	if (rc < 0)
		return rc;
	if (!open)
		return adopt_live(db, turn_id, address, remote_id, e);
	rc = db_run(db,
		    "INSERT INTO outbox (session_id, turn_id, channel, address, kind, text, "
		    "live_id, state, created_at_ms) VALUES (?1, ?2, ?3, ?4, 'reply', '', ?5, "
		    "'reserved', ?6) ON CONFLICT (turn_id) WHERE state = 'reserved' "
		    "DO UPDATE SET live_id = excluded.live_id "
		    "WHERE outbox.address = excluded.address",
		    DB_ARGS(db_when(session_id.n, db_text(session_id)), db_text(turn_id),
			    db_text(channel), db_text(address), db_text(remote_id),
			    db_i64(clock_now_ms())),
		    &changed, e);
	if (rc == OK && changed == 0)
		return err_set(e, E_NOENT, "the chat has moved");
	return rc;
}

int store_outbox_reserved(struct store *s, str turn_id, struct arena *a, str *remote_id,
			  struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s,
			"SELECT live_id FROM outbox WHERE turn_id = ?1 "
			"AND state = 'reserved'",
			DB_ARGS(db_text(turn_id)), e);

	if (rc > 0) {
		*remote_id = rows_text(&l.r, 0, a);
		return OK;
	}
	return rc < 0 ? rc : err_set(e, E_NOENT, "nothing is reserved");
}

int store_outbox_waits(struct store *s, str channel, str address, bool *waits, struct err *e)
{
	int64_t n = 0;
	int rc = glance_number(s,
			       "SELECT EXISTS (SELECT 1 FROM outbox WHERE kind = 'reply' "
			       "AND state IN ('raw', 'ready') AND channel = ?1 "
			       "AND address = ?2)",
			       DB_ARGS(db_text(channel), db_text(address)), &n, e);

	*waits = rc == OK && n > 0;
	return rc;
}

int outbox_close_reserved(struct tx *tx, str turn_id, bool done, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE outbox SET state = 'raw', text = ?2, created_at_ms = ?3 "
		      "WHERE turn_id = ?1 AND state = 'reserved'",
		      DB_ARGS(db_text(turn_id), db_text(done ? S(NO_ANSWER) : S(STOPPED)),
			      db_i64(clock_now_ms())),
		      NULL, e);
}

static void read_row(struct outbox_row *out, const struct rows *r, struct arena *a)
{
	*out = (struct outbox_row){
		.id = rows_i64(r, 0),
		.session_id = rows_text(r, 1, a),
		.turn_id = rows_text(r, 2, a),
		.channel = rows_text(r, 3, a),
		.address = rows_text(r, 4, a),
		.kind = rows_text(r, 5, a),
		.text = rows_text(r, 6, a),
		.reply_to = rows_text(r, 7, a),
		.raw = rows_i64(r, 8) != 0,
		.created_at_ms = rows_i64(r, 9),
		.live_id = rows_text(r, 10, a),
		.approval_id = rows_text(r, 11, a),
		.question_id = rows_text(r, 12, a),
	};
}

/* A reply waits for the older replies of its address, whatever holds them up. */
static int find_next(struct tx *tx, str channel, str only, struct arena *a,
		     struct outbox_row *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, tx_db(tx),
		"SELECT " COLUMNS " FROM outbox o WHERE o.channel = ?1 AND o.owner = ?2 "
		"AND o.state IN ('raw', 'ready') AND o.sender = '' "
		"AND NOT EXISTS (SELECT 1 FROM outbox_waits w WHERE w.channel = o.channel "
		"AND w.address IN (o.address, '') AND w.not_before_at_ms > ?3) "
		"AND (o.kind <> 'reply' OR NOT EXISTS (SELECT 1 FROM outbox p "
		"WHERE p.channel = o.channel AND p.address = o.address AND p.kind = 'reply' "
		"AND p.state IN ('raw', 'ready') AND p.owner = o.owner AND p.id < o.id)) "
		"ORDER BY o.id LIMIT 1",
		DB_ARGS(db_text(channel), db_text(only), db_i64(clock_now_ms())), e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		read_row(out, &r, a);
		return OK;
	}
	return rc < 0 ? rc : err_set(e, E_NOENT, "nothing to send");
}

/* When the first wait of an address with something to send is over, or that of all; 0: none
 * waits. */
static int next_wake(struct tx *tx, str channel, str only, int64_t *at_ms, struct err *e)
{
	return db_number(tx_db(tx),
			 "SELECT coalesce(min(w.not_before_at_ms), 0) FROM outbox_waits w "
			 "WHERE w.channel = ?1 AND w.not_before_at_ms > ?3 AND EXISTS "
			 "(SELECT 1 FROM outbox o WHERE o.channel = ?1 AND o.owner = ?2 "
			 "AND w.address IN (o.address, '') AND o.state IN ('raw', 'ready') "
			 "AND o.sender = '')",
			 DB_ARGS(db_text(channel), db_text(only), db_i64(clock_now_ms())),
			 at_ms, e);
}

static int others_wait(struct tx *tx, str channel, str only, bool *more, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT EXISTS (SELECT 1 FROM outbox WHERE channel = ?1 "
			   "AND owner = ?2 AND state IN ('raw', 'ready') AND sender = '')",
			   DB_ARGS(db_text(channel), db_text(only)), &n, e);

	*more = n != 0;
	return rc;
}

int store_outbox_next(struct tx *tx, str channel, str only, struct arena *a,
		      struct outbox_row *out, int64_t *wake_at_ms, struct err *e)
{
	int64_t wake = 0;
	int rc = find_next(tx, channel, only, a, out, e);

	if (rc == E_NOENT) {
		rc = next_wake(tx, channel, only, &wake, e);
		*wake_at_ms = wake;
		return rc < 0 ? rc : err_set(e, E_NOENT, "nothing to send");
	}
	if (rc == OK)
		rc = db_run(tx_db(tx), "UPDATE outbox SET sender = ?2 WHERE id = ?1",
			    DB_ARGS(db_i64(out->id), db_text(store_owner(tx->s))), NULL, e);
	return rc < 0 ? rc : others_wait(tx, channel, only, &out->more, e);
}

/* A row that this process delivers. */
static int check_ours(struct tx *tx, int64_t id, const char *state, struct err *e)
{
	int64_t n;
	int rc = db_number(
		tx_db(tx),
		"SELECT count(*) FROM outbox WHERE id = ?1 AND sender = ?2 "
		"AND state = ?3",
		DB_ARGS(db_i64(id), db_text(store_owner(tx->s)), db_text(str_of(state))), &n,
		e);

	if (rc == OK && n == 0)
		return tx_refuse(tx, e, E_INVAL, "outbox row %lld is not %s and ours",
				 (long long)id, state);
	return rc;
}

/* When no piece is left to send, the row is over: dead when one was refused. */
static int close_if_over(struct tx *tx, int64_t id, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE outbox SET sender = '', finished_at_ms = ?2, state = iif(EXISTS "
		      "(SELECT 1 FROM pieces WHERE outbox_id = ?1 AND state = 'dead'), 'dead', "
		      "'done') WHERE id = ?1 AND state = 'ready' AND NOT EXISTS (SELECT 1 "
		      "FROM pieces WHERE outbox_id = ?1 AND state IN ('ready', 'sending'))",
		      DB_ARGS(db_i64(id), db_i64(clock_now_ms())), NULL, e);
}

int store_outbox_split(struct tx *tx, int64_t outbox_id, const struct piece_new *pieces,
		       size_t n, struct err *e)
{
	struct db *db = tx_db(tx);
	int rc = check_ours(tx, outbox_id, "raw", e);

	if (rc == OK)
		rc = db_run(db, "UPDATE outbox SET state = 'ready' WHERE id = ?1",
			    DB_ARGS(db_i64(outbox_id)), NULL, e);
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = db_run(db,
			    "INSERT INTO pieces (outbox_id, idx, method, body, plain, "
			    "remote_id, updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
			    DB_ARGS(db_i64(outbox_id), db_i64((int64_t)i + 1),
				    db_text(pieces[i].method), db_text(pieces[i].body),
				    db_text(pieces[i].plain), db_text(pieces[i].remote_id),
				    db_i64(clock_now_ms())),
			    NULL, e);
	return rc == OK ? close_if_over(tx, outbox_id, e) : rc;
}

int store_piece_begin(struct tx *tx, int64_t outbox_id, struct arena *a, struct piece *out,
		      struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int64_t left;
	int rc = db_number(tx_db(tx),
			   "SELECT count(*) FROM pieces WHERE outbox_id = ?1 "
			   "AND state IN ('ready', 'sending')",
			   DB_ARGS(db_i64(outbox_id)), &left, e);

	/* A raw row has no pieces either; that is not the end of it. */
	if (rc == OK && left == 0)
		rc = db_number(tx_db(tx), "SELECT state = 'raw' FROM outbox WHERE id = ?1",
			       DB_ARGS(db_i64(outbox_id)), &left, e);
	if (rc == OK && left == 0)
		return err_set(e, E_NOENT, "no piece is left");
	if (rc == OK)
		rc = check_ours(tx, outbox_id, "ready", e);
	if (rc == OK)
		rc = db_query(&r, tx_db(tx),
			      "UPDATE pieces SET state = 'sending', attempts = attempts + 1, "
			      "updated_at_ms = ?2 WHERE state = 'ready' AND id = "
			      "(SELECT id FROM pieces WHERE outbox_id = ?1 "
			      "AND state IN ('ready', 'sending') ORDER BY idx LIMIT 1) "
			      "RETURNING id, outbox_id, idx, method, body, plain, attempts, "
			      "remote_id",
			      DB_ARGS(db_i64(outbox_id), db_i64(clock_now_ms())), e);
	if (rc == OK)
		rc = rows_next(&r, e);
	if (rc == 0)
		return tx_refuse(tx, e, E_INVAL, "a piece of row %lld is being sent",
				 (long long)outbox_id);
	if (rc < 0)
		return rc;
	*out = (struct piece){
		.id = rows_i64(&r, 0),
		.outbox_id = rows_i64(&r, 1),
		.order = rows_i64(&r, 2),
		.method = rows_text(&r, 3, a),
		.body = rows_text(&r, 4, a),
		.plain = rows_text(&r, 5, a),
		.attempts = (int)rows_i64(&r, 6),
		.remote_id = rows_text(&r, 7, a),
	};
	return OK;
}

/* Put off: the whole address waits, and the row is free for whoever comes then. */
static int put_off(struct tx *tx, int64_t outbox_id, int64_t not_before_at_ms, struct err *e)
{
	int rc = db_run(tx_db(tx),
			"INSERT INTO outbox_waits (channel, address, not_before_at_ms) "
			"SELECT channel, address, ?2 FROM outbox WHERE id = ?1 "
			"ON CONFLICT (channel, address) DO UPDATE SET "
			"not_before_at_ms = excluded.not_before_at_ms",
			DB_ARGS(db_i64(outbox_id), db_i64(not_before_at_ms)), NULL, e);

	if (rc == OK)
		rc = db_run(tx_db(tx), "UPDATE outbox SET sender = '' WHERE id = ?1",
			    DB_ARGS(db_i64(outbox_id)), NULL, e);
	return rc;
}

int store_piece_end(struct tx *tx, int64_t piece_id, enum piece_end end, str remote_id,
		    str error, int64_t not_before_at_ms, struct err *e)
{
	static const char *const states[] = {
		[PIECE_SENT] = "sent", [PIECE_RETRY] = "ready", [PIECE_UNKNOWN] = "unknown",
		[PIECE_DEAD] = "dead", [PIECE_FAULT] = "fault",
	};
	int64_t row;
	/* A piece that goes again gives the number of its row, the others the negative one. */
	int rc = db_number(tx_db(tx),
			   "UPDATE pieces SET error = ?4, updated_at_ms = ?5, "
			   "state = iif(?2 <> 'fault', ?2, iif(faults = 0, 'ready', 'dead')), "
			   "faults = faults + (?2 = 'fault'), "
			   "remote_id = iif(?3 = '', remote_id, ?3) "
			   "WHERE id = ?1 AND state = 'sending' "
			   "RETURNING iif(state = 'ready', outbox_id, -outbox_id)",
			   DB_ARGS(db_i64(piece_id), db_text(str_of(states[end])),
				   db_text(remote_id), db_text(error), db_i64(clock_now_ms())),
			   &row, e);

	if (rc == E_NOENT)
		return tx_refuse(tx, e, E_INVAL, "piece %lld is not being sent",
				 (long long)piece_id);
	if (rc < 0)
		return rc;
	return row > 0 ? put_off(tx, row, not_before_at_ms, e) : close_if_over(tx, -row, e);
}

int store_outbox_hold(struct tx *tx, str channel, str address, int64_t not_before_at_ms,
		      struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO outbox_waits (channel, address, not_before_at_ms) "
		      "VALUES (?1, ?2, ?3) ON CONFLICT (channel, address) DO UPDATE SET "
		      "not_before_at_ms = excluded.not_before_at_ms",
		      DB_ARGS(db_text(channel), db_text(address), db_i64(not_before_at_ms)),
		      NULL, e);
}

int store_outbox_held(struct tx *tx, int64_t outbox_id, bool *held, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT count(*) FROM outbox WHERE id = ?1 AND sender = ?2",
			   DB_ARGS(db_i64(outbox_id), db_text(store_owner(tx->s))), &n, e);

	*held = n > 0;
	return rc;
}

/* Unknown parts of answers at an address; "" all of the channel. */
#define UNKNOWN_AT                                                                             \
	"state = 'unknown' AND EXISTS (SELECT 1 FROM outbox o WHERE o.id = outbox_id "         \
	"AND o.channel = ?1 AND (o.address = ?2 OR ?2 = '') AND o.kind = 'reply' "             \
	"AND o.owner = '')"

int store_outbox_tell(struct tx *tx, str channel, str address, bool *missing, struct err *e)
{
	int64_t n = 0;
	int rc = db_run(tx_db(tx), "UPDATE pieces SET told = 1 WHERE told = 0 AND " UNKNOWN_AT,
			DB_ARGS(db_text(channel), db_text(address)), &n, e);

	*missing = n > 0;
	return rc;
}

int store_outbox_partial(struct tx *tx, int64_t outbox_id, bool *partial, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(
		tx_db(tx),
		"SELECT EXISTS (SELECT 1 FROM outbox WHERE id = ?1 AND state = 'dead' "
		"AND kind = 'reply') AND EXISTS (SELECT 1 FROM pieces "
		"WHERE outbox_id = ?1 AND state IN ('sent', 'unknown'))",
		DB_ARGS(db_i64(outbox_id)), &n, e);

	*partial = n > 0;
	return rc;
}

int store_outbox_resend(struct tx *tx, str channel, str address, int64_t *n, struct err *e)
{
	struct db *db = tx_db(tx);
	struct db_arg args[] = { db_text(channel), db_text(address), db_i64(clock_now_ms()) };
	int rc = db_run(db,
			"UPDATE outbox SET state = 'ready', finished_at_ms = NULL "
			"WHERE state IN ('done', 'dead') AND id IN (SELECT outbox_id "
			"FROM pieces WHERE " UNKNOWN_AT ")",
			args, 2, NULL, e);

	if (rc == OK)
		rc = db_run(db,
			    "UPDATE pieces SET state = 'ready', told = 0, faults = 0, "
			    "updated_at_ms = ?3 WHERE " UNKNOWN_AT,
			    args, 3, n, e);
	return rc;
}

int store_outbox_waiting(struct store *s, str channel, struct arena *a,
			 struct outbox_wait **out, size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	int64_t now = clock_now_ms();
	int rc = reader_begin(&reader, s, e);

	*out = NULL;
	*n = 0;
	if (rc == OK)
		rc = db_query(&r, reader.db,
			      "SELECT address, not_before_at_ms - ?2 FROM outbox_waits "
			      "WHERE channel = ?1 AND address <> '' AND not_before_at_ms > ?2",
			      DB_ARGS(db_text(channel), db_i64(now)), e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] = (struct outbox_wait){ .address = rows_text(&r, 0, a),
						       .left_ms = rows_i64(&r, 1) };
		rc = OK;
	}
	return rc;
}

int store_outbox_pending(struct store *s, str only, int64_t *n, struct err *e)
{
	return glance_number(s,
			     "SELECT count(*) FROM outbox WHERE owner = ?1 "
			     "AND state IN ('raw', 'ready')",
			     DB_ARGS(db_text(only)), n, e);
}

/* A piece may have arrived before the crash; it is sent again, once a crash.  One that was cut off
 * as often as RESENT_MAX may be what brings us down: the user is told of it instead. */
int outbox_recover(struct tx *tx, str owner, struct err *e)
{
	struct db *db = tx_db(tx);
	struct db_arg args[] = { db_text(owner), db_i64(clock_now_ms()), db_i64(RESENT_MAX) };
	int rc = db_run(db,
			"UPDATE pieces SET state = iif(resent >= ?3, 'unknown', 'ready'), "
			"resent = resent + 1, updated_at_ms = ?2 WHERE state = 'sending' "
			"AND outbox_id IN (SELECT id FROM outbox WHERE sender = ?1)",
			args, 3, NULL, e);

	if (rc == OK)
		rc = db_run(db,
			    "UPDATE outbox SET finished_at_ms = ?2, state = iif(EXISTS (SELECT "
			    "1 FROM pieces WHERE outbox_id = outbox.id AND state = 'dead'), "
			    "'dead', 'done') WHERE sender = ?1 AND state = 'ready' "
			    "AND NOT EXISTS (SELECT 1 FROM pieces WHERE outbox_id = outbox.id "
			    "AND state IN ('ready', 'sending'))",
			    args, 2, NULL, e);
	if (rc == OK)
		rc = db_run(db, "UPDATE outbox SET sender = '' WHERE sender = ?1", args, 1,
			    NULL, e);
	/* What a dead command would have printed has no reader any more. */
	return rc < 0 ? rc
		      : db_run(db,
			       "UPDATE outbox SET state = 'dropped', finished_at_ms = ?2 "
			       "WHERE owner = ?1 AND owner <> '' "
			       "AND state IN ('raw', 'ready')",
			       args, 2, NULL, e);
}

/*
 * Turns: who may run one (claim, release), and how it ends.  The steps between are in
 * message.c and call.c, what a crash leaves behind is recover.c.
 */
#include "store/rows.h"

#include <string.h>

static const char *const end_names[] = {
	[TURN_DONE] = "done",
	[TURN_CANCELED] = "canceled",
	[TURN_FAILED] = "failed",
	[TURN_GIVEN_UP] = "given_up",
	[TURN_INTERRUPTED] = "interrupted",
};

static const char *const history_names[] = {
	[HISTORY_FULL] = "full",
	[HISTORY_NOTE] = "note",
	[HISTORY_NONE] = "none",
};

/* A turn that was given back or recovered goes before new work: *id becomes its id. */
static int claim_ready(struct tx *tx, str only, struct arena *a, str *id, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, tx_db(tx),
		"UPDATE turns SET state = 'running', owner = ?2, attempts = attempts + 1, "
		"fence = fence + 1, updated_at_ms = ?3 WHERE id = (SELECT id FROM turns "
		"WHERE state = 'ready' AND only_owner = ?1 ORDER BY started_at_ms, id LIMIT 1) "
		"RETURNING id",
		DB_ARGS(db_text(only), db_text(store_owner(tx->s)), db_i64(clock_now_ms())), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*id = rows_text(&r, 0, a);
		rc = OK;
	}
	return rc;
}

struct found {
	int64_t row;
	str session_id, album;
};

/* The oldest row whose session is free.  An album that may still grow holds up what came
 * after it. */
static int find_row(struct tx *tx, str only, struct arena *a, struct found *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc =
		db_query(&r, tx_db(tx),
			 "SELECT i.id, i.session_id, i.album FROM inbox i "
			 "WHERE i.state = 'ready' AND i.owner = ?1 AND i.ready_at_ms <= ?2 "
			 "AND NOT EXISTS (SELECT 1 FROM turns t "
			 "WHERE t.session_id = i.session_id "
			 "AND t.state IN ('ready', 'running', 'parked')) "
			 "AND NOT EXISTS (SELECT 1 FROM inbox o INDEXED BY inbox_waiting "
			 "WHERE o.state = 'ready' AND o.ready_at_ms > 0 AND o.ready_at_ms > ?2 "
			 "AND o.session_id = i.session_id AND o.id < i.id) "
			 "ORDER BY i.id LIMIT 1",
			 DB_ARGS(db_text(only), db_i64(clock_now_ms())), e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		out->row = rows_i64(&r, 0);
		out->session_id = rows_text(&r, 1, a);
		out->album = rows_text(&r, 2, a);
		return OK;
	}
	return rc < 0 ? rc : err_set(e, E_NOENT, "nothing to do");
}

/* The row, or all parts of its album; and the burst of waiting rows may be over. */
static int claim_rows(struct tx *tx, const struct found *f, str turn_id, struct err *e)
{
	int rc = db_run(tx_db(tx),
			"UPDATE inbox SET state = 'claimed', turn_id = ?2 WHERE id = ?1",
			DB_ARGS(db_i64(f->row), db_text(turn_id)), NULL, e);

	if (rc == OK && f->album.n)
		rc = db_run(
			tx_db(tx),
			"UPDATE inbox SET state = 'claimed', turn_id = ?3 "
			"WHERE session_id = ?1 AND state = 'ready' AND album = ?2",
			DB_ARGS(db_text(f->session_id), db_text(f->album), db_text(turn_id)),
			NULL, e);
	if (rc == OK)
		rc = db_run(tx_db(tx),
			    "UPDATE sessions SET busy_told = 0 WHERE id = ?1 AND busy_told = 1 "
			    "AND NOT EXISTS (SELECT 1 FROM inbox WHERE session_id = ?1 "
			    "AND state = 'ready')",
			    DB_ARGS(db_text(f->session_id)), NULL, e);
	return rc;
}

static int claim_new(struct tx *tx, str only, struct arena *a, str *id, struct err *e)
{
	char fresh[ID_LEN + 1];
	struct found f = { 0 };
	int rc = find_row(tx, only, a, &f, e);

	if (rc < 0)
		return rc;
	id_new(fresh);
	rc = db_run(tx_db(tx),
		    "INSERT INTO turns (id, session_id, state, epoch, only_owner, owner, "
		    "started_at_ms, updated_at_ms) SELECT ?1, id, 'running', epoch, ?3, ?4, "
		    "?5, ?5 FROM sessions WHERE id = ?2",
		    DB_ARGS(db_text(str_of(fresh)), db_text(f.session_id), db_text(only),
			    db_text(store_owner(tx->s)), db_i64(clock_now_ms())),
		    NULL, e);
	if (rc == OK)
		rc = claim_rows(tx, &f, str_of(fresh), e);
	*id = arena_dup(a, str_of(fresh));
	return rc;
}

static int load_rows(struct turn *out, struct tx *tx, struct arena *a, struct err *e)
{
	struct inbox_row *list;
	int rc = inbox_of_turn(tx, out->id, false, a, &list, &out->rows_n, e);

	out->rows = list;
	if (rc < 0 || out->rows_n == 0)
		return rc;
	out->kind = list[0].kind;
	out->sender = list[0].sender;
	out->channel = list[0].channel;
	out->address = list[0].address;
	out->reply_to = list[0].reply_to;
	return OK;
}

static int load_turn(struct turn *out, struct tx *tx, struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT session_id, epoch, attempts, first_seq <> 0, started_at_ms, "
			  "only_owner, no_images "
			  "FROM turns WHERE id = ?1",
			  DB_ARGS(db_text(out->id)), e);

	if (rc == OK)
		rc = rows_next(&r, e);
	if (rc <= 0)
		return rc < 0 ? rc : err_set(e, E_NOENT, "no such turn");
	out->epoch = rows_i64(&r, 1);
	out->attempts = (int)rows_i64(&r, 2);
	out->resumed = rows_i64(&r, 3) != 0;
	out->started_at_ms = rows_i64(&r, 4);
	out->owner = rows_text(&r, 5, a);
	out->no_images = rows_i64(&r, 6) != 0;
	rc = session_load(tx_db(tx), rows_text(&r, 0, a), a, &out->session, e);
	return rc < 0 ? rc : load_rows(out, tx, a, e);
}

/* Besides what was just claimed: is there something for another worker, now or at a time that it
 * then finds (store_inbox_next_at)? */
static int look_for_more(struct tx *tx, str only, struct arena *a, bool *more, struct err *e)
{
	struct found next;
	int64_t later = 0;
	int rc = find_row(tx, only, a, &next, e);

	*more = rc == OK;
	if (rc != E_NOENT)
		return rc;
	rc = db_number(tx_db(tx),
		       "SELECT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_waiting "
		       "WHERE state = 'ready' AND ready_at_ms > 0 AND ready_at_ms > ?1 "
		       "AND ready_at_ms < ?2)",
		       DB_ARGS(db_i64(clock_now_ms()), db_i64(INBOX_FETCHING)), &later, e);
	*more = later != 0;
	return rc;
}

int store_turn_claim(struct tx *tx, str only, struct arena *a, struct turn *out, struct err *e)
{
	struct turn t = { .more = true };
	int rc = claim_ready(tx, only, a, &t.id, e);
	bool fresh = rc == OK && !t.id.n;

	if (fresh)
		rc = claim_new(tx, only, a, &t.id, e);
	if (rc == OK)
		rc = load_turn(&t, tx, a, e);
	if (rc == OK && fresh)
		rc = look_for_more(tx, only, a, &t.more, e);
	if (rc == OK)
		*out = t;
	return rc;
}

static int count_open_calls(struct tx *tx, str turn_id, int64_t *n, struct err *e)
{
	return db_number(tx_db(tx),
			 "SELECT count(*) FROM tool_calls WHERE turn_id = ?1 "
			 "AND state IN ('planned', 'running')",
			 DB_ARGS(db_text(turn_id)), n, e);
}

/* One more assistant message at the end: the answer, or the note that stands for a turn. */
static int add_last(struct tx *tx, str turn_id, const struct turn_row *t, struct message_new *m,
		    struct err *e)
{
	int rc = seq_take(tx, t, 1, &m->seq, e);

	m->role = "assistant";
	return rc < 0 ? rc : message_insert(tx, turn_id, t, m, e);
}

static int add_note(struct tx *tx, str turn_id, const struct turn_row *t, str note,
		    struct err *e)
{
	struct message_new m = { .wire = note, .note = true };
	int rc = db_number(tx_db(tx),
			   "SELECT coalesce(max(round), 0) + 1 FROM turn_messages "
			   "WHERE turn_id = ?1",
			   DB_ARGS(db_text(turn_id)), &m.round, e);

	return rc < 0 ? rc : add_last(tx, turn_id, t, &m, e);
}

static int close_row(struct tx *tx, str turn_id, const struct turn_finish *f, struct err *e)
{
	/* prompt_n: how many messages the turn gives to later prompts. */
	return db_run(tx_db(tx),
		      "UPDATE turns SET state = ?2, history = ?3, error = ?4, owner = '', "
		      "updated_at_ms = ?5, finished_at_ms = ?5, prompt_n = (SELECT count(*) "
		      "FROM turn_messages WHERE turn_id = ?1 AND CASE ?3 WHEN 'full' THEN "
		      "note = 0 WHEN 'note' THEN note = 1 OR role = 'user' ELSE 0 END) "
		      "WHERE id = ?1",
		      DB_ARGS(db_text(turn_id), db_text(str_of(end_names[f->end])),
			      db_text(str_of(history_names[f->history])), db_text(f->error),
			      db_i64(clock_now_ms())),
		      NULL, e);
}

int turn_close(struct tx *tx, str turn_id, const struct turn_row *t,
	       const struct turn_finish *f, struct err *e)
{
	struct message_new final = { .round = f->round,
				     .wire = f->final_wire,
				     .text = f->final_text,
				     .issuer = f->issuer };
	int rc = calls_close(tx, turn_id, t, e);

	if (rc == OK && f->final_wire.n)
		rc = add_last(tx, turn_id, t, &final, e);
	if (rc == OK && f->history == HISTORY_NOTE)
		rc = add_note(tx, turn_id, t, f->note, e);
	if (rc == OK)
		rc = close_row(tx, turn_id, f, e);
	if (rc == OK)
		rc = outbox_close_reserved(tx, turn_id, f->end == TURN_DONE, e);
	if (rc == OK)
		rc = approvals_close(tx, turn_id, e);
	if (rc == OK)
		rc = questions_close(tx, turn_id, e);
	if (rc == OK)
		rc = db_run(tx_db(tx),
			    "UPDATE inbox SET state = 'done' WHERE turn_id = ?1 "
			    "AND state = 'claimed'",
			    DB_ARGS(db_text(turn_id)), NULL, e);
	return rc == OK ? usage_count(tx, USAGE_TURN, e) : rc;
}

int store_turn_finish(struct tx *tx, const struct turn *t, const struct turn_finish *f,
		      struct err *e)
{
	struct turn_row row;
	int64_t open = 0;
	int rc = turn_row(&row, tx, t->id, e);

	if (rc == OK && (f->end == TURN_DONE ? !row.live : !row.ours))
		return tx_refuse(tx, e, E_CANCELED, "the turn was canceled");
	if (rc == OK && f->end == TURN_DONE)
		rc = count_open_calls(tx, t->id, &open, e);
	if (rc < 0)
		return rc;
	if (open > 0)
		return tx_refuse(tx, e, E_INVAL, "%lld calls have no result", (long long)open);
	if (f->history == HISTORY_NOTE && !f->note.n)
		return tx_refuse(tx, e, E_INVAL, "the note is missing");
	return turn_close(tx, t->id, &row, f, e);
}

static int release(struct tx *tx, str turn_id, struct err *e)
{
	struct turn_row row;
	int rc = turn_row(&row, tx, turn_id, e);

	if (rc == OK && !row.ours)
		return tx_refuse(tx, e, E_CANCELED, "the turn is not ours to give back");
	if (rc == OK)
		rc = calls_interrupted(tx, turn_id, &row, e);
	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "UPDATE turns SET state = 'ready', owner = '', "
			       "attempts = max(attempts - 1, 0), updated_at_ms = ?2 "
			       "WHERE id = ?1",
			       DB_ARGS(db_text(turn_id), db_i64(clock_now_ms())), NULL, e);
}

int store_turn_release(struct store *s, str turn_id, const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, s, c, e)) < 0 || (rc = release(&tx, turn_id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

int store_turn_state(struct store *s, str turn_id, struct arena *a, str *state, str *error,
		     struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s, "SELECT state, error FROM turns WHERE id = ?1",
			DB_ARGS(db_text(turn_id)), e);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, E_NOENT, "no turn %.*s", STRF(turn_id));
	*state = rows_text(&l.r, 0, a);
	*error = rows_text(&l.r, 1, a);
	return OK;
}

int store_turn_canceled(struct store *s, str turn_id, bool *canceled, struct err *e)
{
	int64_t live = 0;
	int rc = glance_number(s,
			       "SELECT t.state = 'running' AND NOT t.cancel_requested "
			       "AND t.epoch = s.epoch FROM turns t "
			       "JOIN sessions s ON s.id = t.session_id WHERE t.id = ?1",
			       DB_ARGS(db_text(turn_id)), &live, e);

	if (rc < 0 && rc != E_NOENT)
		return rc;
	*canceled = !live;
	return OK;
}

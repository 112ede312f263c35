/*
 * Messages as they are journaled: the user message of step (a) and the assistant message
 * with its calls of step (b).  Reading them back is history.c, calls are call.c.
 */
#include "store/rows.h"

#include "base/utf.h"

#define TITLE_MAX 80

int turn_row(struct turn_row *out, struct tx *tx, str turn_id, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT t.session_id, t.state, t.owner, "
			  "t.cancel_requested OR t.epoch <> s.epoch, t.epoch "
			  "FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.id = ?1",
			  DB_ARGS(db_text(turn_id)), e);

	if (rc < 0)
		return rc;
	*out = (struct turn_row){ 0 };
	rc = rows_next(&r, e);
	if (rc <= 0)
		return rc;
	rows_id(&r, 0, out->session_id);
	out->ours = str_eq(rows_peek(&r, 1), S("running")) &&
		    str_eq(rows_peek(&r, 2), store_owner(tx->s));
	out->live = out->ours && !rows_i64(&r, 3);
	out->epoch = rows_i64(&r, 4);
	return OK;
}

int turn_row_live(struct turn_row *out, struct tx *tx, str turn_id, struct err *e)
{
	int rc = turn_row(out, tx, turn_id, e);

	if (rc < 0 || out->live)
		return rc;
	return tx_refuse(tx, e, E_CANCELED, "the turn was canceled");
}

int seq_take(struct tx *tx, const struct turn_row *t, int64_t n, int64_t *first, struct err *e)
{
	int64_t next = 0;
	int rc = db_number(tx_db(tx),
			   "UPDATE sessions SET next_seq = next_seq + ?2, updated_at_ms = ?3, "
			   "messages_n = messages_n + iif(epoch = ?4, ?2, 0) WHERE id = ?1 "
			   "RETURNING next_seq",
			   DB_ARGS(db_text(str_of(t->session_id)), db_i64(n),
				   db_i64(clock_now_ms()), db_i64(t->epoch)),
			   &next, e);

	*first = next - n;
	return rc;
}

int message_insert(struct tx *tx, str turn_id, const struct turn_row *t,
		   const struct message_new *m, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO turn_messages (session_id, turn_id, seq, round, idx, role, "
		      "wire, content, context, issuer, tool_name, note, created_at_ms) "
		      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
		      DB_ARGS(db_text(str_of(t->session_id)), db_text(turn_id), db_i64(m->seq),
			      db_i64(m->round), db_i64(m->index), db_text(str_of(m->role)),
			      db_text(m->wire), db_text(m->text), db_text(m->context),
			      db_text(m->issuer), db_text(m->tool_name), db_i64(m->note),
			      db_i64(clock_now_ms())),
		      NULL, e);
}

int turn_progressed(struct tx *tx, str turn_id, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE turns SET attempts = 0, updated_at_ms = ?2 WHERE id = ?1",
		      DB_ARGS(db_text(turn_id), db_i64(clock_now_ms())), NULL, e);
}

/* The first words of a conversation are its title. */
static int set_title(struct tx *tx, const struct turn_row *t, str text, struct err *e)
{
	str rest = str_trim(text);
	str title = utf_head(str_trim(str_cut(&rest, '\n')), TITLE_MAX);

	return db_run(tx_db(tx), "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title = ''",
		      DB_ARGS(db_text(str_of(t->session_id)), db_text(title)), NULL, e);
}

/* The rows of the turn that are in no message yet are in this one. */
static int take_rows(struct tx *tx, str turn_id, int64_t seq, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE inbox SET message_seq = ?2 WHERE turn_id = ?1 "
		      "AND message_seq = 0",
		      DB_ARGS(db_text(turn_id), db_i64(seq)), NULL, e);
}

/* Behind the last message of the turn. */
static int place_after(struct tx *tx, str turn_id, struct message_new *m, struct err *e)
{
	int rc = db_number(tx_db(tx),
			   "SELECT coalesce(max(round), 0) FROM turn_messages "
			   "WHERE turn_id = ?1",
			   DB_ARGS(db_text(turn_id)), &m->round, e);

	if (rc == OK)
		rc = db_number(tx_db(tx),
			       "SELECT coalesce(max(idx) + 1, 0) FROM turn_messages "
			       "WHERE turn_id = ?1 AND round = ?2",
			       DB_ARGS(db_text(turn_id), db_i64(m->round)), &m->index, e);
	return rc;
}

int store_message_user(struct tx *tx, str turn_id, str wire, str text, str context,
		       struct err *e)
{
	struct message_new m = {
		.role = "user", .wire = wire, .text = text, .context = context
	};
	struct turn_row t;
	int rc = turn_row_live(&t, tx, turn_id, e);

	if (rc == OK)
		rc = place_after(tx, turn_id, &m, e);
	if (rc == OK)
		rc = seq_take(tx, &t, 1, &m.seq, e);
	if (rc == OK)
		rc = message_insert(tx, turn_id, &t, &m, e);
	if (rc == OK)
		rc = set_title(tx, &t, text, e);
	if (rc == OK)
		rc = db_run(tx_db(tx),
			    "UPDATE turns SET first_seq = ?2 WHERE id = ?1 AND first_seq = 0",
			    DB_ARGS(db_text(turn_id), db_i64(m.seq)), NULL, e);
	return rc < 0 ? rc : take_rows(tx, turn_id, m.seq, e);
}

int store_message_fill(struct tx *tx, str turn_id, int64_t seq, str wire, str text,
		       struct err *e)
{
	struct turn_row t;
	int rc = turn_row_live(&t, tx, turn_id, e);

	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "UPDATE turn_messages SET wire = ?3, content = ?4 "
			       "WHERE turn_id = ?1 AND seq = ?2 AND role = 'user'",
			       DB_ARGS(db_text(turn_id), db_i64(seq), db_text(wire),
				       db_text(text)),
			       NULL, e);
}

int store_turn_step(struct tx *tx, str turn_id, const struct turn_step *step, struct err *e)
{
	struct message_new m = { .round = step->round,
				 .role = "assistant",
				 .wire = step->wire,
				 .text = step->text,
				 .issuer = step->issuer };
	const struct call *calls = step->calls;
	size_t n = step->calls_n;
	struct turn_row t;
	int rc = turn_row_live(&t, tx, turn_id, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (calls[i].round != step->round || calls[i].index != (int64_t)i + 1)
			return tx_refuse(tx, e, E_INVAL, "call %zu is out of order", i + 1);
	rc = seq_take(tx, &t, 1 + (int64_t)n, &m.seq, e);
	if (rc == OK)
		rc = message_insert(tx, turn_id, &t, &m, e);
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = call_insert(tx, turn_id, &t, m.seq + calls[i].index, &calls[i], e);
	return rc == OK ? turn_progressed(tx, turn_id, e) : rc;
}

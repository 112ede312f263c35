/*
 * The inbox with its files, the events seen, the cursors, and the control words, which act
 * in the transaction that records them.
 */
#include "store/rows.h"
#include "store/system.h"

#define BUSY_NOTICE                                                                            \
	"Still working on what came before; your messages wait their turn. /stop ends it and " \
	"drops them."

/* *seen: the event is known; else it is now. */
static int see_event(struct db *db, str channel, str event, bool *seen, struct err *e)
{
	int64_t inserted = 1;
	int rc = OK;

	if (event.n)
		rc = db_run(db,
			    "INSERT INTO inbox_events (channel, event, seen_at_ms) "
			    "VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
			    DB_ARGS(db_text(channel), db_text(event), db_i64(clock_now_ms())),
			    &inserted, e);
	*seen = inserted == 0;
	return rc;
}

int inbox_add_file(struct db *db, int64_t id, const struct attachment *file, struct err *e)
{
	return db_run(db,
		      "INSERT INTO attachments (inbox_id, kind, file, mime, bytes, "
		      "created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
		      DB_ARGS(db_i64(id), db_text(file->kind), db_text(file->file),
			      db_text(file->mime), db_i64(file->bytes), db_i64(clock_now_ms())),
		      NULL, e);
}

static int add_files(struct db *db, int64_t id, const struct inbox_new *row, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < row->files_n; i++)
		rc = inbox_add_file(db, id, &row->files[i], e);
	return rc;
}

static int files_of(struct tx *tx, struct inbox_row *row, struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	struct attachment *list = NULL;
	int rc = db_query(&r, tx_db(tx),
			  "SELECT kind, file, mime, bytes FROM attachments WHERE inbox_id = ?1 "
			  "ORDER BY id",
			  DB_ARGS(db_i64(row->id)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		list = LIST_ROOM(a, list, row->files_n);
		list[row->files_n++] = (struct attachment){
			.kind = rows_text(&r, 0, a),
			.file = rows_text(&r, 1, a),
			.mime = rows_text(&r, 2, a),
			.bytes = rows_i64(&r, 3),
		};
		rc = OK;
	}
	row->files = list;
	return rc;
}

int inbox_of_turn(struct tx *tx, str turn_id, bool fresh, struct arena *a,
		  struct inbox_row **out, size_t *n, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT id, channel, address, kind, sender, text, meta, reply_to, "
			  "created_at_ms FROM inbox WHERE turn_id = ?1 "
			  "AND (message_seq = 0 OR NOT ?2) ORDER BY id",
			  DB_ARGS(db_text(turn_id), db_i64(fresh)), e);

	*out = NULL;
	*n = 0;
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] = (struct inbox_row){
			.id = rows_i64(&r, 0),
			.channel = rows_text(&r, 1, a),
			.address = rows_text(&r, 2, a),
			.kind = rows_text(&r, 3, a),
			.sender = rows_text(&r, 4, a),
			.text = rows_text(&r, 5, a),
			.meta = rows_text(&r, 6, a),
			.reply_to = rows_text(&r, 7, a),
			.created_at_ms = rows_i64(&r, 8),
		};
		rc = OK;
	}
	for (size_t i = 0; rc == OK && i < *n; i++)
		rc = files_of(tx, &(*out)[i], a, e);
	return rc;
}

int inbox_album_wait(struct db *db, str session_id, str album, int64_t at_ms, struct err *e)
{
	return db_run(db,
		      "UPDATE inbox SET ready_at_ms = iif(EXISTS (SELECT 1 FROM inbox p "
		      "WHERE p.session_id = ?1 AND p.state = 'ready' AND p.album = ?2 "
		      "AND p.fetch <> ''), ?4, ?3) "
		      "WHERE session_id = ?1 AND state = 'ready' AND album = ?2",
		      DB_ARGS(db_text(session_id), db_text(album), db_i64(at_ms),
			      db_i64(INBOX_FETCHING)),
		      NULL, e);
}

/* More rows wait than people expect: said once, until none waits any more. */
static int tell_busy(struct tx *tx, str session_id, const struct inbox_new *row, struct err *e)
{
	const struct outbox_new notice = { .session_id = session_id,
					   .channel = row->channel,
					   .address = row->address,
					   .kind = S("notice"),
					   .text = S(BUSY_NOTICE) };
	int64_t told = 0, id;
	int rc = db_run(tx_db(tx),
			"UPDATE sessions SET busy_told = 1 WHERE id = ?1 AND busy_told = 0 "
			"AND (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE session_id = ?1 "
			"AND state = 'ready' LIMIT ?2 + 1)) > ?2",
			DB_ARGS(db_text(session_id), db_i64(row->waiting_max)), &told, e);

	return rc < 0 || told == 0 ? rc : store_outbox_add(tx, &notice, &id, e);
}

int store_inbox_seen(struct tx *tx, str channel, str event, bool *seen, struct err *e)
{
	return see_event(tx_db(tx), channel, event, seen, e);
}

int store_inbox_add(struct tx *tx, const struct inbox_new *row, int64_t *id, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	struct session session;
	bool seen;
	int rc = see_event(db, row->channel, row->dedupe, &seen, e);

	if (rc == OK && seen) {
		*id = 0;
		return OK;
	}
	if (rc == OK)
		rc = row->session_channel.n
			     ? store_session_ensure(tx, row->session_channel,
						    row->session_address, &a, &session, e)
			     : store_session_ensure(tx, row->channel, row->address, &a,
						    &session, e);
	if (rc < 0)
		return rc;
	int64_t now = clock_now_ms();
	rc = db_run(db,
		    "INSERT INTO inbox (session_id, channel, address, kind, owner, sender, "
		    "text, meta, reply_to, created_at_ms, album, fetch, ready_at_ms) "
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
		    DB_ARGS(db_text(session.id), db_text(row->channel), db_text(row->address),
			    db_text(row->kind), db_text(row->owner), db_text(row->sender),
			    db_text(row->text), db_text(row->meta), db_text(row->reply_to),
			    db_i64(now), db_text(row->album), db_text(row->fetch),
			    db_i64(row->fetch.n ? INBOX_FETCHING : 0)),
		    NULL, e);
	if (rc < 0)
		return rc;
	*id = sqlite3_last_insert_rowid(db->h);
	if (row->album.n)
		rc = inbox_album_wait(db, session.id, row->album, now + STORE_ALBUM_MS, e);
	if (rc == OK)
		rc = add_files(db, *id, row, e);
	if (rc == OK && row->waiting_max > 0)
		rc = tell_busy(tx, session.id, row, e);
	return rc;
}

int store_inbox_waits(struct store *s, int64_t id, bool *waits, struct err *e)
{
	int64_t n = 0;
	int rc =
		glance_number(s, "SELECT count(*) FROM inbox WHERE id = ?1 AND state = 'ready'",
			      DB_ARGS(db_i64(id)), &n, e);

	if (rc == OK)
		*waits = n > 0;
	return rc;
}

int store_inbox_ready(struct store *s, str session_id, int64_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	if (rc < 0)
		return rc;
	if (!session_id.n)
		/* Left to itself the planner walks every row there ever was. */
		return db_number(r.db,
				 "SELECT count(*) FROM inbox INDEXED BY inbox_ready "
				 "WHERE state = 'ready'",
				 DB_NO_ARGS, n, e);
	return db_number(r.db,
			 "SELECT count(*) FROM inbox WHERE session_id = ?1 AND state = 'ready'",
			 DB_ARGS(db_text(session_id)), n, e);
}

int store_inbox_next_at(struct store *s, int64_t since_ms, int64_t *at_ms, struct err *e)
{
	return glance_number(s,
			     "SELECT coalesce(min(ready_at_ms), 0) FROM inbox "
			     "INDEXED BY inbox_waiting WHERE state = 'ready' "
			     "AND ready_at_ms > 0 AND ready_at_ms > ?1 "
			     "AND ready_at_ms < ?2",
			     DB_ARGS(db_i64(since_ms), db_i64(INBOX_FETCHING)), at_ms, e);
}

int store_inbox_open(struct store *s, int64_t *n, struct err *e)
{
	return glance_number(s,
			     "SELECT (SELECT count(*) FROM inbox WHERE state = 'ready' "
			     "AND owner = '') + (SELECT count(*) FROM turns "
			     "WHERE state = 'ready' AND only_owner = '') + "
			     "(SELECT count(*) FROM turns WHERE state = 'running' "
			     "AND only_owner = '')",
			     DB_NO_ARGS, n, e);
}

int store_cursor_set(struct tx *tx, str key, int64_t value, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO cursors (key, value, updated_at_ms) VALUES (?1, ?2, ?3) "
		      "ON CONFLICT (key) DO UPDATE SET value = excluded.value, "
		      "updated_at_ms = excluded.updated_at_ms",
		      DB_ARGS(db_text(key), db_i64(value), db_i64(clock_now_ms())), NULL, e);
}

int store_cursor_get(struct store *s, str key, int64_t *value, struct err *e)
{
	int rc = glance_number(s, "SELECT value FROM cursors WHERE key = ?1",
			       DB_ARGS(db_text(key)), value, e);

	if (rc == E_NOENT) {
		*value = 0;
		return OK;
	}
	return rc;
}

/* A turn that waits for an approval would never look at its token: it is made ready, and
 * its next worker ends it. */
static int cancel_turn(struct db *db, str session_id, struct arena *a, str *turn_id,
		       struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db,
			  "UPDATE turns SET cancel_requested = 1, updated_at_ms = ?2, "
			  "state = iif(state = 'parked', 'ready', state) WHERE session_id = ?1 "
			  "AND state IN ('ready', 'running', 'parked') RETURNING id",
			  DB_ARGS(db_text(session_id), db_i64(clock_now_ms())), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*turn_id = rows_text(&r, 0, a);
		rc = OK;
	}
	return rc;
}

static int new_epoch(struct db *db, str session_id, struct err *e)
{
	return db_run(db,
		      "UPDATE sessions SET epoch = epoch + 1, summary = '', messages_n = 0, "
		      "history_from_seq = 0, folded_seq = 0, updated_at_ms = ?2 WHERE id = ?1",
		      DB_ARGS(db_text(session_id), db_i64(clock_now_ms())), NULL, e);
}

int store_control(struct tx *tx, enum control what, str channel, str address, str dedupe,
		  struct arena *a, struct control_effect *out, struct err *e)
{
	struct db *db = tx_db(tx);
	struct control_effect effect = { .turn_id = S("") };
	struct session session;
	int rc = see_event(db, channel, dedupe, &effect.seen, e);

	if (rc == OK && !effect.seen)
		rc = session_load_at(db, channel, address, a, &session, e);
	if (rc == E_NOENT || (rc == OK && effect.seen)) {
		*out = effect;
		return OK;
	}
	if (rc == OK)
		rc = cancel_turn(db, session.id, a, &effect.turn_id, e);
	if (rc == OK && effect.turn_id.n)
		rc = approvals_close(tx, effect.turn_id, e);
	if (rc == OK && effect.turn_id.n)
		rc = questions_close(tx, effect.turn_id, e);
	if (rc == OK)
		rc = db_run(db,
			    "UPDATE inbox SET state = 'dropped' WHERE session_id = ?1 "
			    "AND state = 'ready'",
			    DB_ARGS(db_text(session.id)), &effect.dropped, e);
	if (rc == OK && what == CONTROL_NEW)
		rc = new_epoch(db, session.id, e);
	if (rc == OK && what == CONTROL_NEW)
		rc = store_system_add(tx, &(struct system_new){ .what = S(SYSTEM_RENEW) }, e);
	if (rc == OK)
		*out = effect;
	return rc;
}

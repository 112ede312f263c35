/*
 * The queues as people see them, and the two things they may do with a row.  Each is one
 * transaction that looks at the row as it is then, so that it is safe beside a daemon: what a
 * worker or deliverer holds is left alone.
 */
#include "store/queue.h"

#include "store/rows.h"

#define KEPT_MS (7LL * 24 * 3600 * 1000)
#define TEXT_MAX "400" /* characters of a row that are read */

/* ?1 the row or 0, ?2 how many, ?3 since when failures count, ?4 INBOX_FETCHING. */
#define INBOX                                                                                  \
	"SELECT i.id, i.session_id, coalesce(i.turn_id, ''), i.channel, i.address, i.kind, "   \
	"CASE WHEN i.state = 'ready' THEN iif(i.ready_at_ms = ?4, 'fetching', 'waiting') "     \
	"WHEN i.state = 'claimed' THEN iif(t.state = 'parked', 'parked', 'running') "          \
	"ELSE 'failed' END, substr(i.text, 1, " TEXT_MAX "), coalesce(t.error, ''), "          \
	"0, 0, 0, 0, i.created_at_ms, 0 FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id "   \
	"WHERE (?1 = 0 OR i.id = ?1) AND (i.state IN ('ready', 'claimed') OR (i.state = "      \
	"'done' AND i.created_at_ms >= ?3 AND t.state IN ('failed', 'given_up') "              \
	"AND NOT EXISTS (SELECT 1 FROM inbox_events v WHERE v.channel = i.channel "            \
	"AND v.event = 'queue:' || i.id))) ORDER BY i.id LIMIT ?2"

/* ?1 the row or 0, ?2 how many, ?3 now. */
#define OUTBOX                                                                                 \
	"SELECT o.id, coalesce(o.session_id, ''), o.turn_id, o.channel, o.address, o.kind, "   \
	"CASE WHEN o.state IN ('raw', 'ready') THEN iif(o.sender = '', 'waiting', "            \
	"'sending') WHEN o.state = 'dead' THEN 'dead' ELSE 'unknown' END, "                    \
	"substr(o.text, 1, " TEXT_MAX "), coalesce((SELECT error FROM pieces WHERE "           \
	"outbox_id = o.id AND error <> '' AND state <> 'sent' ORDER BY idx DESC LIMIT 1), "    \
	"''), (SELECT count(*) FROM pieces WHERE outbox_id = o.id), "                          \
	"(SELECT count(*) FROM pieces WHERE outbox_id = o.id AND state = 'sent'), "            \
	"(SELECT count(*) FROM pieces WHERE outbox_id = o.id AND state = 'unknown'), "         \
	"(SELECT count(*) FROM pieces WHERE outbox_id = o.id AND state = 'dead'), "            \
	"o.created_at_ms, iif(o.state IN ('raw', 'ready'), coalesce((SELECT "                  \
	"max(not_before_at_ms) FROM outbox_waits w WHERE w.channel = o.channel AND "           \
	"w.address IN (o.address, '') AND w.not_before_at_ms > ?3), 0), 0) "                   \
	"FROM outbox o WHERE (?1 = 0 OR o.id = ?1) AND (o.state IN ('raw', 'ready', "          \
	"'dead') OR (o.state = 'done' AND o.id IN (SELECT outbox_id FROM pieces WHERE "        \
	"state = 'unknown'))) ORDER BY o.id LIMIT ?2"

static void read_row(struct queue_row *q, bool out, const struct rows *r, struct arena *a)
{
	*q = (struct queue_row){
		.out = out,
		.id = rows_i64(r, 0),
		.session_id = rows_text(r, 1, a),
		.turn_id = rows_text(r, 2, a),
		.channel = rows_text(r, 3, a),
		.address = rows_text(r, 4, a),
		.kind = rows_text(r, 5, a),
		.state = rows_text(r, 6, a),
		.text = rows_text(r, 7, a),
		.error = rows_text(r, 8, a),
		.pieces = rows_i64(r, 9),
		.sent = rows_i64(r, 10),
		.unknown = rows_i64(r, 11),
		.dead = rows_i64(r, 12),
		.created_at_ms = rows_i64(r, 13),
		.wait_until_at_ms = rows_i64(r, 14),
	};
}

static int query(struct rows *r, struct db *db, bool out, int64_t id, int64_t limit,
		 struct err *e)
{
	int64_t now = clock_now_ms();

	return out ? db_query(r, db, OUTBOX, DB_ARGS(db_i64(id), db_i64(limit), db_i64(now)), e)
		   : db_query(r, db, INBOX,
			      DB_ARGS(db_i64(id), db_i64(limit), db_i64(now - KEPT_MS),
				      db_i64(INBOX_FETCHING)),
			      e);
}

static int list(struct db *db, bool out, size_t limit, struct arena *a, struct queue_row **v,
		size_t *n, bool *more, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	size_t got = 0;
	int rc = query(&r, db, out, 0, (int64_t)limit + 1, e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		rc = OK;
		if (got++ == limit) {
			*more = true;
			break;
		}
		*v = LIST_ROOM(a, *v, *n);
		read_row(&(*v)[(*n)++], out, &r, a);
	}
	return rc;
}

int store_queue_list(struct store *s, size_t limit, struct arena *a, struct queue_row **out,
		     size_t *n, bool *more, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	*out = NULL;
	*n = 0;
	*more = false;
	if (rc == OK)
		rc = list(r.db, false, limit, a, out, n, more, e);
	return rc < 0 ? rc : list(r.db, true, limit, a, out, n, more, e);
}

static int get(struct db *db, bool out, int64_t id, struct arena *a, struct queue_row *row,
	       struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = query(&r, db, out, id, 1, e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		read_row(row, out, &r, a);
		return OK;
	}
	return rc < 0 ? rc
		      : err_set(e, E_NOENT, "%c%lld is not in the queue", out ? 'o' : 'i',
				(long long)id);
}

/* --- inbox ---------------------------------------------------------------------------- */

/* It is off the list, whatever becomes of the database meanwhile: at most once. */
static int settle(struct tx *tx, const struct queue_row *q, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO inbox_events (channel, event, seen_at_ms) VALUES (?1, "
		      "'queue:' || ?2, ?3) ON CONFLICT DO NOTHING",
		      DB_ARGS(db_text(q->channel), db_i64(q->id), db_i64(clock_now_ms())), NULL,
		      e);
}

static int add_again(struct tx *tx, int64_t id, struct arena *a, int64_t *made, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	struct inbox_new row = { .kind = S("message") };
	int rc =
		db_query(&r, tx_db(tx),
			 "SELECT i.channel, i.address, s.channel, s.address, i.sender, i.text, "
			 "i.meta, i.reply_to FROM inbox i JOIN sessions s "
			 "ON s.id = i.session_id WHERE i.id = ?1",
			 DB_ARGS(db_i64(id)), e);

	if (rc == OK)
		rc = rows_next(&r, e);
	if (rc <= 0)
		return rc < 0 ? rc : err_set(e, E_NOENT, "the message is gone");
	row.channel = rows_text(&r, 0, a);
	row.address = rows_text(&r, 1, a);
	row.session_channel = rows_text(&r, 2, a);
	row.session_address = rows_text(&r, 3, a);
	row.sender = rows_text(&r, 4, a);
	row.text = rows_text(&r, 5, a);
	row.meta = rows_text(&r, 6, a);
	row.reply_to = rows_text(&r, 7, a);
	rows_end(&r);
	return store_inbox_add(tx, &row, made, e);
}

static int retry_in(struct tx *tx, const struct queue_row *q, struct arena *a, int64_t *made,
		    struct err *e)
{
	int64_t files = 0;
	int rc = db_number(tx_db(tx), "SELECT count(*) FROM attachments WHERE inbox_id = ?1",
			   DB_ARGS(db_i64(q->id)), &files, e);

	if (rc < 0)
		return rc;
	if (!str_eq(q->state, S("failed")))
		return err_set(e, E_BUSY, "i%lld is not over: it is %.*s", (long long)q->id,
			       STRF(q->state));
	if (str_eq(q->kind, S("cron")))
		return err_set(e, E_DENIED,
			       "i%lld was of a schedule; use gantry cron run to run it again",
			       (long long)q->id);
	if (!str_eq(q->kind, S("message")))
		return err_set(e, E_DENIED,
			       "i%lld is of kind %.*s, and only messages can be repeated",
			       (long long)q->id, STRF(q->kind));
	if (files)
		return err_set(e, E_DENIED,
			       "i%lld came with a file that is no longer kept; send it again",
			       (long long)q->id);
	rc = add_again(tx, q->id, a, made, e);
	return rc < 0 ? rc : settle(tx, q, e);
}

static int drop_in(struct tx *tx, const struct queue_row *q, struct err *e)
{
	if (str_eq(q->state, S("failed")))
		return settle(tx, q, e);
	if (!str_eq(q->state, S("waiting")) && !str_eq(q->state, S("fetching")))
		return err_set(e, E_BUSY, "i%lld is %.*s; /stop in its chat ends it",
			       (long long)q->id, STRF(q->state));
	return db_run(tx_db(tx),
		      "UPDATE inbox SET state = 'dropped' WHERE id = ?1 AND state = 'ready'",
		      DB_ARGS(db_i64(q->id)), NULL, e);
}

/* --- outbox ----------------------------------------------------------------------------- */

/* A question that nobody waits for any more, or what a command that is over would have printed. */
static int check_wanted(struct tx *tx, const struct queue_row *q, struct err *e)
{
	int64_t stale = 0, owned = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT kind = 'approval' AND NOT EXISTS (SELECT 1 FROM approvals p "
			   "WHERE p.id = outbox.approval_id AND p.state = 'pending') "
			   "AND NOT EXISTS (SELECT 1 FROM questions p "
			   "WHERE p.id = outbox.question_id AND p.state = 'pending') "
			   "FROM outbox WHERE id = ?1",
			   DB_ARGS(db_i64(q->id)), &stale, e);

	if (rc == OK)
		rc = db_number(tx_db(tx), "SELECT channel = 'cli' FROM outbox WHERE id = ?1",
			       DB_ARGS(db_i64(q->id)), &owned, e);
	if (rc == OK && stale)
		return err_set(e, E_DENIED, "o%lld asks what needs no answer any more",
			       (long long)q->id);
	if (rc == OK && owned)
		return err_set(e, E_DENIED, "o%lld was for a command that is over",
			       (long long)q->id);
	return rc;
}

/* The row is as it was after its pieces were made; any daemon of the channel takes it. */
static int retry_out(struct tx *tx, const struct queue_row *q, int64_t *n, struct err *e)
{
	struct db *db = tx_db(tx);
	struct db_arg args[] = { db_i64(q->id), db_i64(clock_now_ms()) };
	int rc;

	if (str_eq(q->state, S("waiting")) || str_eq(q->state, S("sending")))
		return err_set(e, E_BUSY, "o%lld is still to be sent", (long long)q->id);
	if ((rc = check_wanted(tx, q, e)) < 0)
		return rc;
	rc = db_run(db,
		    "UPDATE pieces SET state = 'ready', told = 0, faults = 0, "
		    "updated_at_ms = ?2 WHERE outbox_id = ?1 AND state IN ('unknown', 'dead')",
		    args, 2, n, e);
	return rc < 0 ? rc
		      : db_run(db,
			       "UPDATE outbox SET state = 'ready', finished_at_ms = NULL, "
			       "owner = '', sender = '' WHERE id = ?1 "
			       "AND state IN ('done', 'dead')",
			       args, 1, NULL, e);
}

static int drop_out(struct tx *tx, const struct queue_row *q, struct err *e)
{
	struct db *db = tx_db(tx);
	struct db_arg args[] = { db_i64(q->id), db_i64(clock_now_ms()) };
	int rc;

	if (str_eq(q->state, S("sending")))
		return err_set(e, E_BUSY, "o%lld is being sent right now", (long long)q->id);
	rc = db_run(db,
		    "UPDATE pieces SET state = 'dead', updated_at_ms = ?2 "
		    "WHERE outbox_id = ?1 AND state = 'unknown'",
		    args, 2, NULL, e);
	return rc < 0 ? rc
		      : db_run(db,
			       "UPDATE outbox SET state = 'dropped', finished_at_ms = ?2 "
			       "WHERE id = ?1 AND sender = ''",
			       args, 2, NULL, e);
}

int store_queue_retry(struct tx *tx, bool out, int64_t id, struct arena *a, int64_t *made,
		      int64_t *n, struct err *e)
{
	struct queue_row q;
	int rc = get(tx_db(tx), out, id, a, &q, e);

	*made = 0;
	*n = 0;
	if (rc < 0)
		return rc;
	return out ? retry_out(tx, &q, n, e) : retry_in(tx, &q, a, made, e);
}

int store_queue_drop(struct tx *tx, bool out, int64_t id, struct arena *a,
		     struct queue_row *row, struct err *e)
{
	int rc = get(tx_db(tx), out, id, a, row, e);

	if (rc < 0)
		return rc;
	return out ? drop_out(tx, row, e) : drop_in(tx, row, e);
}

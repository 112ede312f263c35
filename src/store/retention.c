/*
 * What is too old to keep.  A reader asks whether there is anything, so that the writer is
 * taken only for work; each batch is a transaction of its own, and short.
 */
#include "store/rows.h"

#define DAY_MS (24LL * 3600 * 1000)
#define BATCH 200

/* ?1 the oldest time that stays, ?2 the most rows of one batch. */
#define UNFINISHED "('ready', 'running', 'parked')"
#define OLD_CALLS                                                                              \
	"SELECT id FROM tool_calls WHERE created_at_ms < ?1 AND turn_id NOT IN "               \
	"(SELECT id FROM turns WHERE state IN " UNFINISHED ") AND NOT (turn_id = '' AND "      \
	"state = 'running') ORDER BY created_at_ms LIMIT ?2"
#define OLD_APPROVALS                                                                          \
	"SELECT id FROM approvals WHERE created_at_ms < ?1 AND state NOT IN "                  \
	"('pending', 'approved') LIMIT ?2"
#define OLD_TURNS                                                                              \
	"SELECT id FROM turns WHERE finished_at_ms < ?1 AND state NOT IN " UNFINISHED          \
	" ORDER BY finished_at_ms, id LIMIT ?2"
#define OLD_OUTBOX                                                                             \
	"SELECT id FROM outbox WHERE finished_at_ms < ?1 AND state IN "                        \
	"('done', 'dead', 'dropped') LIMIT ?2"

/* A kind of row: is there an old one; what goes before them, they themselves, what goes after
 * them (?1 and ?2 count in none of the last). */
struct kind {
	const char *any, *before, *remove, *after;
};

static const struct kind calls = {
	.any = "SELECT EXISTS (" OLD_CALLS ")",
	.remove = "DELETE FROM tool_calls WHERE id IN (" OLD_CALLS ")",
};

static const struct kind approvals = {
	.any = "SELECT EXISTS (" OLD_APPROVALS ")",
	.remove = "DELETE FROM approvals WHERE id IN (" OLD_APPROVALS ")",
};

/* Messages, model calls and inbox rows go with their turn. */
static const struct kind turns = {
	.any = "SELECT EXISTS (" OLD_TURNS ")",
	.before = "UPDATE sessions SET messages_n = max(0, messages_n - (SELECT count(*) "
		  "FROM turn_messages m JOIN turns t ON t.id = m.turn_id "
		  "WHERE t.session_id = sessions.id AND t.epoch = sessions.epoch "
		  "AND t.id IN (" OLD_TURNS "))) "
		  "WHERE id IN (SELECT session_id FROM turns WHERE id IN (" OLD_TURNS "))",
	.remove = "DELETE FROM turns WHERE id IN (" OLD_TURNS ")",
	.after = "DELETE FROM request_parts WHERE NOT EXISTS (SELECT 1 FROM model_calls "
		 "WHERE system_part = request_parts.id) AND NOT EXISTS (SELECT 1 "
		 "FROM model_calls WHERE tools_part = request_parts.id)",
};

static const struct kind outbox = {
	.any = "SELECT EXISTS (" OLD_OUTBOX ")",
	.remove = "DELETE FROM outbox WHERE id IN (" OLD_OUTBOX ")",
};

static int any(struct store *s, const struct kind *k, int64_t before_ms, int64_t *n,
	       struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc
		      : db_number(r.db, k->any, DB_ARGS(db_i64(before_ms), db_i64(1)), n, e);
}

static int batch(struct store *s, const struct kind *k, int64_t before_ms,
		 const struct cancel *c, int64_t *n, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, s, c, e);

	if (rc == OK && k->before)
		rc = db_run(tx_db(&tx), k->before, DB_ARGS(db_i64(before_ms), db_i64(BATCH)),
			    NULL, e);
	if (rc == OK)
		rc = db_run(tx_db(&tx), k->remove, DB_ARGS(db_i64(before_ms), db_i64(BATCH)), n,
			    e);
	if (rc == OK && k->after)
		rc = db_run(tx_db(&tx), k->after, DB_NO_ARGS, NULL, e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

static int retain(struct store *s, const struct kind *k, int64_t days, const struct cancel *c,
		  struct err *e)
{
	int64_t before_ms = clock_now_ms() - days * DAY_MS, n = 0;
	int rc = days > 0 ? any(s, k, before_ms, &n, e) : OK;

	while (rc == OK && n > 0) {
		rc = batch(s, k, before_ms, c, &n, e);
		if (n < BATCH)
			break;
	}
	return rc;
}

int store_retain(struct store *s, int64_t audit_days, int64_t messages_days,
		 const struct cancel *c, struct err *e)
{
	int rc;

	if ((rc = retain(s, &calls, audit_days, c, e)) < 0 ||
	    (rc = retain(s, &approvals, audit_days, c, e)) < 0 ||
	    (rc = retain(s, &turns, messages_days, c, e)) < 0)
		return rc;
	return retain(s, &outbox, messages_days, c, e);
}

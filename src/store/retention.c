/*
 * What is too old to keep.  A reader asks whether there is anything, so that the writer is
 * taken only for work; each batch is a transaction of its own, and short.
 */
#include "store/rows.h"

#define DAY_MS (24LL * 3600 * 1000)
#define BATCH 200
#define ROUNDS 20 /* batches of a kind in one go: the clock has other things to look at */

/* ?1 the oldest time that stays, ?2 the most rows of one batch. */
#define UNFINISHED "('ready', 'running', 'parked')"
/* A turn that goes on finds its conversation as it was. */
#define IDLE(session)                                                                          \
	session " NOT IN (SELECT session_id FROM turns WHERE state IN " UNFINISHED ")"
#define OLD_CALLS                                                                              \
	"SELECT id FROM tool_calls WHERE created_at_ms < ?1 AND turn_id NOT IN "               \
	"(SELECT id FROM turns WHERE state IN " UNFINISHED ") AND NOT (turn_id = '' AND "      \
	"state = 'running') ORDER BY created_at_ms LIMIT ?2"
#define OLD_APPROVALS                                                                          \
	"SELECT id FROM approvals WHERE created_at_ms < ?1 AND state NOT IN "                  \
	"('pending', 'approved') LIMIT ?2"
#define OLD_QUESTIONS                                                                          \
	"SELECT id FROM questions WHERE created_at_ms < ?1 AND state <> 'pending' AND "        \
	"turn_id NOT IN (SELECT id FROM turns WHERE state IN " UNFINISHED ") LIMIT ?2"
#define OLD_TURNS                                                                              \
	"SELECT id FROM turns WHERE finished_at_ms < ?1 AND state NOT IN " UNFINISHED          \
	" AND " IDLE("session_id") " ORDER BY finished_at_ms, id LIMIT ?2"
/* Of conversations that /new has ended. */
#define ENDED_TURNS                                                                            \
	"SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id "                     \
	"WHERE t.finished_at_ms < ?1 AND t.epoch < s.epoch AND t.state NOT IN " UNFINISHED     \
	" AND " IDLE("t.session_id") " ORDER BY t.finished_at_ms, t.id LIMIT ?2"
#define OLD_FILES                                                                              \
	"SELECT f.id FROM attachments f JOIN inbox i ON i.id = f.inbox_id "                    \
	"WHERE f.created_at_ms < ?1 AND i.state IN ('done', 'dropped') AND NOT EXISTS "        \
	"(SELECT 1 FROM turns t WHERE t.id = i.turn_id AND t.state IN " UNFINISHED             \
	") LIMIT ?2"
#define OLD_USAGE "SELECT minute_at_ms FROM usage WHERE minute_at_ms < ?1 LIMIT ?2"
#define OLD_OWN "SELECT minute_at_ms FROM usage_own WHERE minute_at_ms < ?1 LIMIT ?2"
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

static const struct kind questions = {
	.any = "SELECT EXISTS (" OLD_QUESTIONS ")",
	.remove = "DELETE FROM questions WHERE id IN (" OLD_QUESTIONS ")",
};

/* Messages, model calls and inbox rows go with their turn, and what only those used. */
#define TURNS(old)                                                                             \
	{                                                                                      \
		.any = "SELECT EXISTS (" old ")",                                              \
		.before = "UPDATE sessions SET messages_n = max(0, messages_n - (SELECT "      \
			  "count(*) FROM turn_messages m JOIN turns t ON t.id = m.turn_id "    \
			  "WHERE t.session_id = sessions.id AND t.epoch = sessions.epoch "     \
			  "AND t.id IN (" old "))) "                                           \
			  "WHERE id IN (SELECT session_id FROM turns WHERE id IN (" old "))",  \
		.remove = "DELETE FROM turns WHERE id IN (" old ")",                           \
		.after = "DELETE FROM request_parts WHERE NOT EXISTS (SELECT 1 FROM "          \
			 "model_calls WHERE system_part = request_parts.id) AND NOT EXISTS "   \
			 "(SELECT 1 FROM model_calls WHERE tools_part = request_parts.id)",    \
	}

static const struct kind turns = TURNS(OLD_TURNS);
static const struct kind ended = TURNS(ENDED_TURNS);

/* A file goes when no row names it any more: store_blobs_sweep(). */
static const struct kind files = {
	.any = "SELECT EXISTS (" OLD_FILES ")",
	.remove = "DELETE FROM attachments WHERE id IN (" OLD_FILES ")",
};

static const struct kind usage = {
	.any = "SELECT EXISTS (" OLD_USAGE ")",
	.remove = "DELETE FROM usage WHERE minute_at_ms IN (" OLD_USAGE ")",
};

/* Of the same days as the totals. */
static const struct kind usage_own = {
	.any = "SELECT EXISTS (" OLD_OWN ")",
	.remove = "DELETE FROM usage_own WHERE minute_at_ms IN (" OLD_OWN ")",
};

static const struct kind outbox = {
	.any = "SELECT EXISTS (" OLD_OUTBOX ")",
	.remove = "DELETE FROM outbox WHERE id IN (" OLD_OUTBOX ")",
};

static int any(struct store *s, const struct kind *k, int64_t before_ms, int64_t *n,
	       struct err *e)
{
	return glance_number(s, k->any, DB_ARGS(db_i64(before_ms), db_i64(1)), n, e);
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

static int retain(struct store *s, const struct kind *k, int64_t days, bool *more,
		  const struct cancel *c, struct err *e)
{
	int64_t before_ms = clock_now_ms() - days * DAY_MS, n = 0;
	int rc = days > 0 ? any(s, k, before_ms, &n, e) : OK;

	if (rc < 0 || n == 0)
		return rc;
	n = BATCH;
	for (int i = 0; rc == OK && i < ROUNDS && n == BATCH; i++)
		rc = batch(s, k, before_ms, c, &n, e);
	*more = *more || n == BATCH;
	return rc;
}

int store_retain(struct store *s, const struct store_cfg *keep, bool *more,
		 const struct cancel *c, struct err *e)
{
	const struct {
		const struct kind *kind;
		int64_t days;
	} kinds[] = {
		{ &calls, keep->audit_days },
		{ &approvals, keep->audit_days },
		{ &questions, keep->audit_days },
		{ &turns, keep->messages_days },
		{ &ended, keep->ended_days },
		{ &outbox, keep->outbox_days ? keep->outbox_days : keep->messages_days },
		{ &files, keep->files_days },
		{ &usage, keep->usage_days },
		{ &usage_own, keep->usage_days },
	};
	int rc = OK;

	*more = false;
	for (size_t i = 0; rc == OK && i < COUNT(kinds); i++)
		rc = retain(s, kinds[i].kind, kinds[i].days, more, c, e);
	return rc;
}

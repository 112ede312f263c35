/*
 * Sums by scope, and holds beside them.  A hold is one row with its scopes as a list, since
 * there are as many as requests under way.  Sums stop at SUM_MOST, so that no addition
 * overflows.
 */
#include "store/spend.h"

#include "store/rows.h"

#define SUM_MOST "4000000000000000000"
#define KEEP_MS (INT64_C(62) * 24 * 3600000)
#define LIST_MAX 512
#define HAS_SCOPE "instr(' ' || scopes || ' ', ' ' || ?1 || ' ') > 0"

static int read_spent(struct db *db, str scope, struct spent *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, db,
		"SELECT coalesce(sum(tokens), 0), coalesce(sum(nano), 0), "
		"coalesce(sum(est_tokens), 0), coalesce(sum(est_nano), 0), "
		"coalesce((SELECT sum(tokens) FROM spend_holds WHERE " HAS_SCOPE "), 0), "
		"coalesce((SELECT sum(nano) FROM spend_holds WHERE " HAS_SCOPE "), 0) "
		"FROM spent WHERE scope = ?1",
		DB_ARGS(db_text(scope)), e);

	if (rc < 0 || (rc = rows_next(&r, e)) < 0)
		return rc;
	*out = (struct spent){
		.held = { rows_i64(&r, 4), rows_i64(&r, 5) },
		.estimated = { rows_i64(&r, 2), rows_i64(&r, 3) },
	};
	out->sum = (struct spend_amount){ rows_i64(&r, 0) + out->held.tokens,
					  rows_i64(&r, 1) + out->held.nano };
	return OK;
}

int store_spent(struct store *s, str scope, struct spent *out, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : read_spent(r.db, scope, out, e);
}

int store_spent_in(struct tx *tx, str scope, struct spent *out, struct err *e)
{
	return read_spent(tx_db(tx), scope, out, e);
}

static int64_t within(int64_t n)
{
	return n < 0 ? 0 : n > SPEND_MOST ? SPEND_MOST : n;
}

int store_spend_hold(struct tx *tx, const str *scopes, size_t n,
		     const struct spend_amount *amount, int64_t *id, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, LIST_MAX);
	struct db *db = tx_db(tx);
	int rc;

	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s%.*s", i ? " " : "", STRF(scopes[i]));
	rc = db_run(db,
		    "INSERT INTO spend_holds (owner, scopes, tokens, nano, created_at_ms) "
		    "VALUES (?1, ?2, ?3, ?4, ?5)",
		    DB_ARGS(db_text(store_owner(tx->s)), db_text(buf_str(&b)),
			    db_i64(within(amount->tokens)), db_i64(within(amount->nano)),
			    db_i64(clock_now_ms())),
		    NULL, e);
	if (rc == OK)
		*id = sqlite3_last_insert_rowid(db->h);
	return rc;
}

static int add(struct db *db, str scope, const struct spend_settle *how, struct err *e)
{
	int64_t tokens = within(how->amount.tokens), nano = within(how->amount.nano);

	return db_run(
		db,
		"INSERT INTO spent (scope, tokens, nano, est_tokens, est_nano, updated_at_ms) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (scope) DO UPDATE SET "
		"tokens = min(tokens + excluded.tokens, " SUM_MOST "), "
		"nano = min(nano + excluded.nano, " SUM_MOST "), "
		"est_tokens = min(est_tokens + excluded.est_tokens, " SUM_MOST "), "
		"est_nano = min(est_nano + excluded.est_nano, " SUM_MOST "), "
		"updated_at_ms = max(updated_at_ms, excluded.updated_at_ms)",
		DB_ARGS(db_text(scope), db_i64(tokens), db_i64(nano),
			db_i64(how->estimated ? tokens : 0), db_i64(how->estimated ? nano : 0),
			db_i64(clock_now_ms())),
		NULL, e);
}

static int scopes_of(struct db *db, int64_t id, struct arena *a, str *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, "SELECT scopes FROM spend_holds WHERE id = ?1",
			  DB_ARGS(db_i64(id)), e);

	if (rc < 0 || (rc = rows_next(&r, e)) <= 0)
		return rc;
	*out = rows_text(&r, 0, a);
	return OK;
}

int store_spend_settle(struct tx *tx, const struct spend_settle *how, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	str rest = { 0 };
	int rc = how->id ? scopes_of(db, how->id, &a, &rest, e) : OK;

	if (rc < 0 || rest.n == 0)
		return rc;
	rc = db_run(db, "DELETE FROM spend_holds WHERE id = ?1", DB_ARGS(db_i64(how->id)), NULL,
		    e);
	while (rc == OK && rest.n)
		rc = add(db, str_cut(&rest, ' '), how, e);
	return rc < 0 ? rc
		      : db_run(db, "DELETE FROM spent WHERE updated_at_ms < ?1",
			       DB_ARGS(db_i64(clock_now_ms() - KEEP_MS)), NULL, e);
}

/* One of a dead owner's; false: there is none. */
static int held_by(struct db *db, str owner, struct spend_settle *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db,
			  "SELECT id, tokens, nano FROM spend_holds WHERE owner = ?1 LIMIT 1",
			  DB_ARGS(db_text(owner)), e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0)
		*out = (struct spend_settle){
			.id = rows_i64(&r, 0),
			.amount = { rows_i64(&r, 1), rows_i64(&r, 2) },
			.estimated = true,
		};
	return rc;
}

int spend_recover(struct tx *tx, str owner, struct err *e)
{
	struct spend_settle how;
	int rc;

	while ((rc = held_by(tx_db(tx), owner, &how, e)) > 0)
		if ((rc = store_spend_settle(tx, &how, e)) < 0)
			return rc;
	return rc;
}

int store_turn_job(struct store *s, str turn_id, int64_t *job_id, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	*job_id = 0;
	if (rc == OK)
		rc = db_number(r.db,
			       "SELECT j.job_id FROM inbox i JOIN job_runs j "
			       "ON j.inbox_id = i.id AND j.state = 'started' "
			       "WHERE i.turn_id = ?1 AND i.kind = 'cron' LIMIT 1",
			       DB_ARGS(db_text(turn_id)), job_id, e);
	return rc == E_NOENT ? OK : rc;
}

int store_job_skipped(struct tx *tx, str turn_id, str reason, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE job_runs SET state = 'skipped', reason = ?2, turn_id = ?1, "
		      "finished_at_ms = ?3 WHERE state = 'started' "
		      "AND inbox_id IN (SELECT id FROM inbox WHERE turn_id = ?1)",
		      DB_ARGS(db_text(turn_id), db_text(reason), db_i64(clock_now_ms())), NULL,
		      e);
}

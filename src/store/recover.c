/*
 * What a crash leaves behind, and how it is taken up again.  A dead owner's lock is free for
 * good (owners are never reused), so whether it is dead is asked outside of transactions;
 * one transaction per owner then hands its turns and deliveries on.
 */
#include "store/rows.h"

#include "os/file.h"

#define WEEK_MS (7LL * 24 * 3600 * 1000)
#define PRUNE_BATCH 500

struct names {
	str *v;
	size_t n;
};

/* The owners that rows name and that are dead. */
static int dead_owners(struct names *out, struct tx *tx, struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT owner FROM turns WHERE state = 'running' "
			  "UNION SELECT only_owner FROM turns WHERE only_owner <> '' "
			  "AND state IN ('ready', 'running', 'parked') "
			  "UNION SELECT owner FROM inbox WHERE state = 'ready' "
			  "AND owner <> '' "
			  "UNION SELECT owner FROM outbox WHERE state IN ('raw', 'ready') "
			  "AND owner <> '' "
			  "UNION SELECT owner FROM tool_calls WHERE turn_id = '' "
			  "AND state = 'running' "
			  "UNION SELECT sender FROM outbox WHERE sender <> '' "
			  "UNION SELECT owner FROM system_rows WHERE owner <> '' "
			  "UNION SELECT owner FROM spend_holds",
			  DB_NO_ARGS, e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		str owner = rows_peek(&r, 0);
		rc = OK;
		if (owner_alive(tx->s, owner))
			continue;
		out->v = LIST_ROOM(a, out->v, out->n);
		out->v[out->n++] = arena_dup(a, owner);
	}
	return rc;
}

static int list_ids(struct names *out, struct tx *tx, const char *sql, str owner,
		    struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx), sql, DB_ARGS(db_text(owner)), e);

	*out = (struct names){ 0 };
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		out->v = LIST_ROOM(a, out->v, out->n);
		out->v[out->n++] = rows_text(&r, 0, a);
		rc = OK;
	}
	return rc;
}

/* Turns of daemon work: a worker takes them up where their rows end. */
static int resume_turns(struct tx *tx, str owner, struct arena *a, int64_t *n, struct err *e)
{
	struct names turns;
	int rc = list_ids(&turns, tx,
			  "SELECT id FROM turns WHERE state = 'running' AND owner = ?1 "
			  "AND only_owner = ''",
			  owner, a, e);

	for (size_t i = 0; rc == OK && i < turns.n; i++) {
		struct turn_row row;
		rc = turn_row(&row, tx, turns.v[i], e);
		if (rc == OK)
			rc = calls_interrupted(tx, turns.v[i], &row, e);
		if (rc == OK)
			rc = db_run(tx_db(tx),
				    "UPDATE turns SET state = 'ready', owner = '', "
				    "updated_at_ms = ?2 WHERE id = ?1",
				    DB_ARGS(db_text(turns.v[i]), db_i64(clock_now_ms())), NULL,
				    e);
	}
	*n += (int64_t)turns.n;
	return rc;
}

/* Nobody else runs what a command asked for: its turn ends. */
static int interrupt_turns(struct tx *tx, str owner, struct arena *a, int64_t *n, struct err *e)
{
	struct names turns;
	int rc = list_ids(&turns, tx,
			  "SELECT id FROM turns WHERE only_owner = ?1 "
			  "AND state IN ('ready', 'running', 'parked')",
			  owner, a, e);

	for (size_t i = 0; rc == OK && i < turns.n; i++) {
		struct turn_finish f = { .end = TURN_INTERRUPTED,
					 .error = S("its command ended") };
		struct turn_row row;
		rc = turn_row(&row, tx, turns.v[i], e);
		if (rc == OK)
			rc = store_turn_note(tx, turns.v[i],
					     "The program ended before this was answered", a,
					     &f.note, e);
		if (rc == OK)
			rc = calls_close(tx, turns.v[i], &row, e);
		f.history = f.note.n ? HISTORY_NOTE : HISTORY_NONE;
		if (rc == OK)
			rc = turn_close(tx, turns.v[i], &row, &f, e);
	}
	*n += (int64_t)turns.n;
	return rc;
}

static int drop_owned(struct tx *tx, str owner, struct err *e)
{
	struct db *db = tx_db(tx);
	int rc = db_run(db,
			"UPDATE inbox SET state = 'dropped' WHERE state = 'ready' "
			"AND owner = ?1",
			DB_ARGS(db_text(owner)), NULL, e);

	if (rc == OK)
		rc = outbox_recover(tx, owner, e);
	return rc;
}

static int recover_owner(struct store *s, str owner, const struct cancel *c, int64_t *n,
			 struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t turns = 0;
	int rc = store_begin(&tx, s, c, e);

	if (rc == OK)
		rc = resume_turns(&tx, owner, &a, &turns, e);
	if (rc == OK)
		rc = interrupt_turns(&tx, owner, &a, &turns, e);
	if (rc == OK)
		rc = calls_abandoned(&tx, owner, e);
	if (rc == OK)
		rc = drop_owned(&tx, owner, e);
	if (rc == OK)
		rc = system_recover(&tx, owner, e);
	if (rc == OK)
		rc = spend_recover(&tx, owner, e);
	if (rc == OK)
		rc = store_commit(&tx, e);
	if (rc == OK)
		*n += turns;
	return rc;
}

static int prune_batch(struct store *s, const struct cancel *c, int64_t *pruned, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, s, c, e);

	if (rc == OK)
		rc = db_run(tx_db(&tx),
			    "DELETE FROM inbox_events WHERE (channel, event) IN "
			    "(SELECT channel, event FROM inbox_events WHERE seen_at_ms < ?1 "
			    "ORDER BY seen_at_ms LIMIT ?2)",
			    DB_ARGS(db_i64(clock_now_ms() - WEEK_MS), db_i64(PRUNE_BATCH)),
			    pruned, e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

static int prune(struct store *s, const struct cancel *c, struct err *e)
{
	int64_t n = PRUNE_BATCH;
	int rc = OK;

	while (rc == OK && n == PRUNE_BATCH)
		rc = prune_batch(s, c, &n, e);
	return rc;
}

/* Whose work is to be handed on, and are there old events? */
static int look(struct names *dead, bool *old, struct store *s, struct arena *a,
		const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t n = 0;
	int rc = tx_look(&tx, s, c, e);

	if (rc == OK)
		rc = dead_owners(dead, &tx, a, e);
	if (rc == OK)
		rc = db_number(
			tx_db(&tx),
			"SELECT EXISTS (SELECT 1 FROM inbox_events WHERE seen_at_ms < ?1)",
			DB_ARGS(db_i64(clock_now_ms() - WEEK_MS)), &n, e);
	*old = n > 0;
	return rc;
}

int store_recover(struct store *s, const struct cancel *c, int64_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(fd_drop) int borrowed = -1;
	struct names dead = { 0 };
	int64_t turns = 0;
	bool old = false;
	int rc = OK;

	if (store_reads(s))
		return err_set(e, E_DENIED, "%s: opened for reading only", s->path);
	if (s->mode == STORE_CLI && (rc = lock_borrow(&borrowed, s->lock_path, e)) < 0)
		return rc;
	rc = look(&dead, &old, s, &a, c, e);
	for (size_t i = 0; rc == OK && i < dead.n; i++)
		rc = recover_owner(s, dead.v[i], c, &turns, e);
	if (rc == OK && old)
		rc = prune(s, c, e);
	if (rc < 0)
		return rc;
	/* Not before: the files are what tells the dead from the living. */
	owner_sweep(s);
	*n = turns;
	return OK;
}

int store_stale_children(struct store *s, struct arena *a, struct stale_child **out, size_t *n,
			 struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	struct stale_child *list = NULL;
	size_t used = 0;
	int rc = tx_look(&tx, s, NULL, e);

	if (rc == OK)
		rc = db_query(&r, tx_db(&tx),
			      "SELECT t.owner, c.boot_id, c.pid, c.start_time FROM turns t "
			      "JOIN tool_calls c ON c.turn_id = t.id AND c.state = 'running' "
			      "WHERE t.state = 'running' AND c.pid <> 0",
			      DB_NO_ARGS, e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		rc = OK;
		if (owner_alive(s, rows_peek(&r, 0)))
			continue;
		list = LIST_ROOM(a, list, used);
		list[used++] = (struct stale_child){ rows_text(&r, 1, a), rows_i64(&r, 2),
						     rows_i64(&r, 3) };
	}
	if (rc < 0)
		return rc;
	*out = list;
	*n = used;
	return OK;
}

/*
 * Follow-ups that join the turn that is running, instead of waiting for its end.
 */
#include "store/rows.h"

static int take(struct tx *tx, str turn_id, const struct turn_row *t, int64_t *n, struct err *e)
{
	/* Up to the first row that is not complete: what came after it waits with it.  (The plus
	 * keeps the planner off the index of all ready rows.) */
	return db_run(tx_db(tx),
		      "UPDATE inbox SET state = 'claimed', turn_id = ?2 WHERE session_id = ?1 "
		      "AND state = 'ready' AND +owner = '' AND kind = 'message' "
		      "AND id < coalesce((SELECT min(o.id) FROM inbox o "
		      "WHERE o.session_id = ?1 AND o.state = 'ready' AND (o.ready_at_ms > ?3 "
		      "OR o.owner <> '' OR o.kind <> 'message')), 9223372036854775807)",
		      DB_ARGS(db_text(str_of(t->session_id)), db_text(turn_id),
			      db_i64(clock_now_ms())),
		      n, e);
}

int store_turn_join(struct tx *tx, str turn_id, struct arena *a, struct inbox_row **rows,
		    size_t *n, struct err *e)
{
	struct turn_row t;
	int64_t taken = 0;
	int rc = turn_row_live(&t, tx, turn_id, e);

	*rows = NULL;
	*n = 0;
	if (rc == OK)
		rc = take(tx, turn_id, &t, &taken, e);
	if (rc == OK && taken > 0)
		rc = db_run(tx_db(tx),
			    "UPDATE sessions SET busy_told = 0 WHERE id = ?1 AND busy_told = 1 "
			    "AND NOT EXISTS (SELECT 1 FROM inbox WHERE session_id = ?1 "
			    "AND state = 'ready')",
			    DB_ARGS(db_text(str_of(t.session_id))), NULL, e);
	return rc < 0 || taken == 0 ? rc : inbox_of_turn(tx, turn_id, true, a, rows, n, e);
}

int store_inbox_joinable(struct store *s, str session_id, int64_t *n, struct err *e)
{
	return glance_number(s,
			     "SELECT count(*) FROM inbox WHERE session_id = ?1 "
			     "AND state = 'ready' AND id < coalesce((SELECT min(o.id) "
			     "FROM inbox o WHERE o.session_id = ?1 AND o.state = 'ready' "
			     "AND (o.ready_at_ms > ?2 OR o.owner <> '' "
			     "OR o.kind <> 'message')), 9223372036854775807)",
			     DB_ARGS(db_text(session_id), db_i64(clock_now_ms())), n, e);
}

int store_turn_joinable(struct store *s, struct arena *a, str **ids, size_t *n, struct err *e)
{
	return list_texts(s,
			  "SELECT t.id FROM turns t WHERE t.state = 'running' "
			  "AND t.owner = ?1 AND EXISTS (SELECT 1 FROM inbox i "
			  "WHERE i.session_id = t.session_id AND i.state = 'ready' "
			  "AND i.owner = '' AND i.kind = 'message' AND i.ready_at_ms <= ?2) "
			  "AND NOT EXISTS (SELECT 1 FROM inbox c WHERE c.turn_id = t.id "
			  "AND c.kind IN ('cron', 'watch'))",
			  DB_ARGS(db_text(store_owner(s)), db_i64(clock_now_ms())), a, ids, n,
			  e);
}

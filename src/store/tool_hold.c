/*
 * Holds of tools.  One that is over is not seen, and goes with the next one that is made.
 */
#include "store/rows.h"
#include "store/tool_hold.h"

#define HOUR_MS 3600000LL

static const int64_t idle_ms[] = {
	[TOOL_HOLD_BRIEF] = 6 * HOUR_MS, [TOOL_HOLD_SHORT] = 27 * HOUR_MS
};

int store_tool_holds(struct store *s, str session_id, struct arena *a, str **out, size_t *n,
		     struct err *e)
{
	return list_texts(s,
			  "SELECT prefix FROM tool_holds WHERE session_id = ?1 "
			  "AND used_at_ms + idle_ms > ?2 ORDER BY prefix",
			  DB_ARGS(db_text(session_id), db_i64(clock_now_ms())), a, out, n, e);
}

int store_tool_hold(struct tx *tx, str session_id, str prefix, enum tool_hold hold,
		    struct err *e)
{
	struct db_arg now = db_i64(clock_now_ms());
	int rc = db_run(tx_db(tx), "DELETE FROM tool_holds WHERE used_at_ms + idle_ms <= ?1",
			DB_ARGS(now), NULL, e);

	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "INSERT INTO tool_holds (session_id, prefix, idle_ms, "
			       "used_at_ms) "
			       "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (session_id, prefix) DO "
			       "UPDATE "
			       "SET idle_ms = excluded.idle_ms, used_at_ms = "
			       "excluded.used_at_ms",
			       DB_ARGS(db_text(session_id), db_text(prefix),
				       db_i64(idle_ms[hold]), now),
			       NULL, e);
}

int store_tool_release(struct tx *tx, str session_id, str prefix, struct err *e)
{
	return db_run(tx_db(tx), "DELETE FROM tool_holds WHERE session_id = ?1 AND prefix = ?2",
		      DB_ARGS(db_text(session_id), db_text(prefix)), NULL, e);
}

int store_tool_used(struct tx *tx, str session_id, str prefix, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE tool_holds SET used_at_ms = ?3 WHERE session_id = ?1 "
		      "AND prefix = ?2",
		      DB_ARGS(db_text(session_id), db_text(prefix), db_i64(clock_now_ms())),
		      NULL, e);
}

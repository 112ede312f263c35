/*
 * An address that became another one.  The conversation goes with it where the new address
 * has none yet; what waits goes in any case, so that nothing is sent where nobody is.
 */
#include "store/rows.h"

struct moved {
	str id, from, to;
};

static int list_sessions(struct moved **out, size_t *n, struct tx *tx, str channel, str from,
			 str to, struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT id, address, ?3 || substr(address, length(?2) + 1) "
			  "FROM sessions WHERE channel = ?1 AND (address = ?2 "
			  "OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
			  DB_ARGS(db_text(channel), db_text(from), db_text(to)), e);

	*out = NULL;
	*n = 0;
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] = (struct moved){ rows_text(&r, 0, a), rows_text(&r, 1, a),
						 rows_text(&r, 2, a) };
		rc = OK;
	}
	return rc;
}

/* The new address is in use: without a turn so far, what waits there joins the old session,
 * else what waits in the old one goes there. */
static int join(struct tx *tx, const struct moved *m, str there, bool *empty, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t turns = 0;
	int rc = db_number(db, "SELECT count(*) FROM turns WHERE session_id = ?1",
			   DB_ARGS(db_text(there)), &turns, e);
	str from = turns ? m->id : there, to = turns ? there : m->id;

	*empty = turns == 0;
	if (rc == OK)
		rc = db_run(db,
			    "UPDATE inbox SET session_id = ?2 WHERE session_id = ?1 "
			    "AND state = 'ready'",
			    DB_ARGS(db_text(from), db_text(to)), NULL, e);
	if (rc == OK)
		rc = db_run(db,
			    "UPDATE outbox SET session_id = ?2 WHERE session_id = ?1 "
			    "AND state IN ('reserved', 'raw', 'ready')",
			    DB_ARGS(db_text(from), db_text(to)), NULL, e);
	if (rc == OK && *empty)
		rc = db_run(db, "DELETE FROM sessions WHERE id = ?1", DB_ARGS(db_text(there)),
			    NULL, e);
	return rc;
}

static int move_session(struct tx *tx, str channel, const struct moved *m, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	struct session there;
	bool rename = true;
	int rc = session_load_at(db, channel, m->to, &a, &there, e);

	if (rc == OK)
		rc = join(tx, m, there.id, &rename, e);
	else if (rc == E_NOENT)
		rc = OK;
	if (rc == OK && rename)
		rc = db_run(db, "UPDATE sessions SET address = ?2 WHERE id = ?1",
			    DB_ARGS(db_text(m->id), db_text(m->to)), NULL, e);
	return rc;
}

/* What waits at the address, whoever's it is.  The numbers of its messages say nothing there. */
static int move_waiting(struct tx *tx, str channel, str from, str to, struct err *e)
{
	static const char *const sql[] = {
		"UPDATE pieces SET method = 'send', remote_id = '' WHERE method = 'edit' "
		"AND state IN ('ready', 'sending', 'unknown') AND outbox_id IN (SELECT id "
		"FROM outbox WHERE channel = ?1 AND (address = ?2 "
		"OR substr(address, 1, length(?2) + 1) = ?2 || ':') AND ?3 <> '')",
		"UPDATE inbox SET reply_to = '', "
		"address = ?3 || substr(address, length(?2) + 1) "
		"WHERE channel = ?1 AND state IN ('ready', 'claimed') AND (address = ?2 "
		"OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
		"UPDATE outbox SET reply_to = '', live_id = '', "
		"address = ?3 || substr(address, length(?2) + 1) "
		"WHERE channel = ?1 AND (state IN ('reserved', 'raw', 'ready') OR EXISTS "
		"(SELECT 1 FROM pieces WHERE outbox_id = outbox.id AND state = 'unknown')) "
		"AND (address = ?2 OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
		"UPDATE approvals SET message_id = '', "
		"address = ?3 || substr(address, length(?2) + 1) "
		"WHERE channel = ?1 AND state IN ('pending', 'approved') AND (address = ?2 "
		"OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
		"UPDATE questions SET message_id = '', "
		"address = ?3 || substr(address, length(?2) + 1) "
		"WHERE channel = ?1 AND state = 'pending' AND (address = ?2 "
		"OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
		"UPDATE jobs SET address = ?3 || substr(address, length(?2) + 1) "
		"WHERE channel = ?1 AND (address = ?2 "
		"OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
		"UPDATE watches SET address = ?3 || substr(address, length(?2) + 1) "
		"WHERE channel = ?1 AND (address = ?2 "
		"OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
		/* Of two for the same resource one is enough. */
		"UPDATE OR REPLACE resource_watches SET "
		"address = ?3 || substr(address, length(?2) + 1) "
		"WHERE channel = ?1 AND (address = ?2 "
		"OR substr(address, 1, length(?2) + 1) = ?2 || ':')",
		"UPDATE jobs SET to_address = ?3 || substr(to_address, length(?2) + 1) "
		"WHERE to_channel = ?1 AND (to_address = ?2 "
		"OR substr(to_address, 1, length(?2) + 1) = ?2 || ':')",
	};
	int rc = OK;

	for (size_t i = 0; rc == OK && i < COUNT(sql); i++)
		rc = db_run(tx_db(tx), sql[i],
			    DB_ARGS(db_text(channel), db_text(from), db_text(to)), NULL, e);
	return rc;
}

int store_address_move(struct tx *tx, str channel, str from, str to, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct moved *v;
	size_t n;

	if (!from.n || !to.n || str_eq(from, to))
		return tx_refuse(tx, e, E_INVAL, "no move from \"%.*s\" to \"%.*s\"",
				 STRF(from), STRF(to));
	int rc = list_sessions(&v, &n, tx, channel, from, to, &a, e);
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = move_session(tx, channel, &v[i], e);
	if (rc == OK)
		rc = move_waiting(tx, channel, from, to, e);
	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "INSERT INTO address_moves (channel, old, new, moved_at_ms) "
			       "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (channel, old) DO UPDATE "
			       "SET "
			       "new = excluded.new, moved_at_ms = excluded.moved_at_ms",
			       DB_ARGS(db_text(channel), db_text(from), db_text(to),
				       db_i64(clock_now_ms())),
			       NULL, e);
}

int store_address_origin(struct store *s, str channel, str address, struct arena *a,
			 str *origin, struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s,
			"SELECT old FROM address_moves WHERE channel = ?1 AND new = ?2 "
			"ORDER BY moved_at_ms DESC LIMIT 1",
			DB_ARGS(db_text(channel), db_text(address)), e);

	if (rc > 0) {
		*origin = rows_text(&l.r, 0, a);
		return OK;
	}
	return rc < 0 ? rc : err_set(e, E_NOENT, "no address became this one");
}

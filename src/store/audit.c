/*
 * Reading the audit, and the grants: what was answered with "always".
 */
#include "store/audit.h"

#include "store/rows.h"

#define AUDIT                                                                                  \
	"SELECT id, session_id, turn_id, iif(name = '', requested, name), args, state, "       \
	"decision, rule, decider, requester, truncated, exit_code, duration_ms, "              \
	"created_at_ms FROM tool_calls ORDER BY created_at_ms DESC, id DESC LIMIT ?1"

int store_audit_list(struct store *s, int64_t limit, struct arena *a, struct audit_row **out,
		     size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = reader_begin(&reader, s, e);

	*out = NULL;
	*n = 0;
	if (rc == OK)
		rc = db_query(&r, reader.db, AUDIT, DB_ARGS(db_i64(limit ? limit : -1)), e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] = (struct audit_row){
			.id = rows_text(&r, 0, a),
			.session_id = rows_text(&r, 1, a),
			.turn_id = rows_text(&r, 2, a),
			.tool = rows_text(&r, 3, a),
			.args = rows_text(&r, 4, a),
			.state = rows_text(&r, 5, a),
			.decision = rows_text(&r, 6, a),
			.rule = rows_text(&r, 7, a),
			.decider = rows_text(&r, 8, a),
			.requester = rows_text(&r, 9, a),
			.truncated = rows_i64(&r, 10) != 0,
			.has_exit = !rows_null(&r, 11),
			.exit_code = rows_i64(&r, 11),
			.has_duration = !rows_null(&r, 12),
			.duration_ms = rows_i64(&r, 12),
			.created_at_ms = rows_i64(&r, 13),
		};
		rc = OK;
	}
	return rc;
}

int store_grant_list(struct store *s, struct arena *a, struct grant **out, size_t *n,
		     struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = reader_begin(&reader, s, e);

	*out = NULL;
	*n = 0;
	if (rc == OK)
		rc = db_query(&r, reader.db,
			      "SELECT tool, hash, command, granted_by, created_at_ms FROM "
			      "approval_grants ORDER BY created_at_ms DESC, hash",
			      DB_NO_ARGS, e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] = (struct grant){
			.tool = rows_text(&r, 0, a),
			.hash = rows_text(&r, 1, a),
			.command = rows_text(&r, 2, a),
			.by = rows_text(&r, 3, a),
			.created_at_ms = rows_i64(&r, 4),
		};
		rc = OK;
	}
	return rc;
}

int store_grant_find(struct store *s, str tool, str hash, int64_t since_ms,
		     enum grant_found *found, struct err *e)
{
	int64_t n = 0;
	int rc = glance_number(s,
			       "SELECT coalesce(max(1 + (hash = ?2)), 0) FROM approval_grants "
			       "WHERE tool = ?1 AND substr(hash, 1, 64) = substr(?2, 1, 64) "
			       "AND created_at_ms >= ?3",
			       DB_ARGS(db_text(tool), db_text(hash), db_i64(since_ms)), &n, e);

	*found = rc < 0 || n == 0 ? GRANT_NONE : n == 1 ? GRANT_CHANGED : GRANT_YES;
	return rc;
}

int store_grant_remove(struct tx *tx, str hash, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT count(*) FROM approval_grants WHERE substr(hash, 1, "
			   "length(?1)) = ?1",
			   DB_ARGS(db_text(hash)), &n, e);

	if (rc == OK && (n == 0 || hash.n == 0))
		return err_set(e, E_NOENT, "nothing that was allowed for good has this id");
	if (rc == OK && n > 1)
		return err_set(e, E_INVAL, "%lld have ids that begin so; give more of it",
			       (long long)n);
	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "DELETE FROM approval_grants WHERE substr(hash, 1, length(?1)) "
			       "= ?1",
			       DB_ARGS(db_text(hash)), NULL, e);
}

/*
 * One look at heartbeats, running turns and the newest request to the model.
 */
#include "store/health.h"

#include "store/rows.h"

#include <sys/stat.h>

static int read_beats(struct db *db, struct arena *a, struct store_health *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	struct heartbeat *v = NULL;
	size_t n = 0;
	int rc = db_query(&r, db,
			  "SELECT part, beat_at_ms, trouble FROM heartbeats ORDER BY part",
			  DB_NO_ARGS, e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		v = LIST_ROOM(a, v, n);
		v[n++] = (struct heartbeat){ rows_text(&r, 0, a), rows_i64(&r, 1),
					     rows_text(&r, 2, a) };
		rc = OK;
	}
	out->beats = v;
	out->n = n;
	return rc;
}

static int read_model(struct db *db, struct arena *a, struct store_health *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db,
			  "SELECT error, issuer FROM model_calls WHERE error <> 'canceled' "
			  "ORDER BY id DESC LIMIT 1",
			  DB_NO_ARGS, e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		out->model_error = rows_text(&r, 0, a);
		out->model_issuer = rows_text(&r, 1, a);
		rc = OK;
	}
	return rc;
}

/* The lock's file is written by the daemon that takes it, and by nobody else: commands borrow it
 * and leave it as it is, so that while one does a dead daemon is not taken for a new one. */
static int64_t daemon_since(const struct store *s)
{
	struct stat st;

	return stat(s->lock_path, &st) == 0
		       ? st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000
		       : 0;
}

int store_health_get(struct store *s, struct arena *a, struct store_health *out, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	struct store_health h = { .since_ms = daemon_since(s),
				  .model_error = S(""),
				  .model_issuer = S("") };
	int rc = reader_begin(&r, s, e);

	if (rc == OK)
		rc = read_beats(r.db, a, &h, e);
	if (rc == OK)
		rc = read_model(r.db, a, &h, e);
	if (rc == OK)
		rc = db_number(r.db,
			       "SELECT coalesce(min(updated_at_ms), 0) FROM turns "
			       "WHERE state = 'running' AND only_owner = ''",
			       DB_NO_ARGS, &h.turn_step_at_ms, e);
	if (rc == OK)
		*out = h;
	return rc;
}

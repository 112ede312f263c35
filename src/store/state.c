/*
 * Small facts: heartbeats, usage, quirks, tool lists.  Usage is summed by the minute, so
 * that totals do not read every call there was.
 */
#include "store/rows.h"

#define MINUTE_MS 60000

int store_heartbeat(struct tx *tx, str part, str version, struct err *e)
{
	return store_heartbeat_at(tx, part, version, clock_now_ms(), e);
}

int store_heartbeat_at(struct tx *tx, str part, str version, int64_t at_ms, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO heartbeats (part, beat_at_ms, version) VALUES (?1, ?2, ?3) "
		      "ON CONFLICT (part) DO UPDATE SET beat_at_ms = excluded.beat_at_ms, "
		      "version = excluded.version, trouble = ''",
		      DB_ARGS(db_text(part), db_i64(at_ms), db_text(version)), NULL, e);
}

int store_heartbeat_known(struct tx *tx, str part, bool *known, struct err *e)
{
	int64_t n;
	int rc = db_number(tx_db(tx), "SELECT count(*) FROM heartbeats WHERE part = ?1",
			   DB_ARGS(db_text(part)), &n, e);

	if (rc == OK)
		*known = n > 0;
	return rc;
}

int store_heartbeat_get(struct store *s, str part, int64_t *at_ms, struct err *e)
{
	return glance_number(s, "SELECT beat_at_ms FROM heartbeats WHERE part = ?1",
			     DB_ARGS(db_text(part)), at_ms, e);
}

int store_trouble(struct tx *tx, str part, str why, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO heartbeats (part, beat_at_ms, trouble) VALUES (?1, 0, ?2) "
		      "ON CONFLICT (part) DO UPDATE SET trouble = excluded.trouble",
		      DB_ARGS(db_text(part), db_text(why)), NULL, e);
}

static int64_t this_minute(void)
{
	int64_t now = clock_now_ms();

	return now - now % MINUTE_MS;
}

int usage_count(struct tx *tx, enum usage_kind what, struct err *e)
{
	return db_run(
		tx_db(tx),
		"INSERT INTO usage (minute_at_ms, turns, tool_calls) VALUES (?1, ?2, ?3) "
		"ON CONFLICT (minute_at_ms) DO UPDATE SET turns = turns + excluded.turns, "
		"tool_calls = tool_calls + excluded.tool_calls",
		DB_ARGS(db_i64(this_minute()), db_i64(what == USAGE_TURN),
			db_i64(what == USAGE_TOOL_CALL)),
		NULL, e);
}

int usage_model_call(struct tx *tx, const struct model_row *row, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO usage (minute_at_ms, model_calls, prompt_tokens, "
		      "completion_tokens, "
		      "cached_tokens) VALUES (?1, 1, max(?2, 0), max(?3, 0), max(?4, 0)) "
		      "ON CONFLICT (minute_at_ms) DO UPDATE SET model_calls = model_calls + 1, "
		      "prompt_tokens = prompt_tokens + excluded.prompt_tokens, "
		      "completion_tokens = completion_tokens + excluded.completion_tokens, "
		      "cached_tokens = cached_tokens + excluded.cached_tokens",
		      DB_ARGS(db_i64(this_minute()), db_i64(row->prompt_tokens),
			      db_i64(row->completion_tokens), db_i64(row->cached_tokens)),
		      NULL, e);
}

int store_usage(struct store *s, int64_t since_ms, struct usage *out, struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s,
			"SELECT sum(turns), sum(model_calls), sum(prompt_tokens), "
			"sum(completion_tokens), sum(cached_tokens), sum(tool_calls) "
			"FROM usage WHERE minute_at_ms > ?1 - 60000",
			DB_ARGS(db_i64(since_ms)), e);

	if (rc < 0)
		return rc;
	*out = (struct usage){
		.turns = rows_i64(&l.r, 0),
		.model_calls = rows_i64(&l.r, 1),
		.prompt_tokens = rows_i64(&l.r, 2),
		.completion_tokens = rows_i64(&l.r, 3),
		.cached_tokens = rows_i64(&l.r, 4),
		.tool_calls = rows_i64(&l.r, 5),
	};
	return OK;
}

/* By model, beside the totals. */
static int add_own(struct tx *tx, const struct usage_own *u, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO usage_own (minute_at_ms, issuer, requests, estimated, "
		      "prompt_tokens, completion_tokens, cached_tokens, written_tokens) VALUES "
		      "(?1, ?2, 1, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (minute_at_ms, issuer) DO "
		      "UPDATE SET requests = requests + 1, "
		      "estimated = estimated + excluded.estimated, "
		      "prompt_tokens = prompt_tokens + excluded.prompt_tokens, "
		      "completion_tokens = completion_tokens + excluded.completion_tokens, "
		      "cached_tokens = cached_tokens + excluded.cached_tokens, "
		      "written_tokens = written_tokens + excluded.written_tokens",
		      DB_ARGS(db_i64(this_minute()), db_text(u->issuer), db_i64(u->estimated),
			      db_i64(u->prompt_tokens), db_i64(u->completion_tokens),
			      db_i64(u->cached_tokens), db_i64(u->written_tokens)),
		      NULL, e);
}

int store_usage_own(struct tx *tx, const struct usage_own *u, struct err *e)
{
	const struct model_row totals = { .prompt_tokens = u->prompt_tokens,
					  .completion_tokens = u->completion_tokens,
					  .cached_tokens = u->cached_tokens };
	int rc = usage_model_call(tx, &totals, e);

	if (rc == OK)
		rc = add_own(tx, u, e);
	if (rc < 0 || !u->session_id.n)
		return rc;
	return db_run(tx_db(tx),
		      "UPDATE sessions SET prompt_tokens = prompt_tokens + ?2, "
		      "completion_tokens = completion_tokens + ?3 WHERE id = ?1",
		      DB_ARGS(db_text(u->session_id), db_i64(u->prompt_tokens),
			      db_i64(u->completion_tokens)),
		      NULL, e);
}

int store_quirks_set(struct tx *tx, str issuer, uint32_t flags, int64_t window, struct err *e)
{
	return db_run(
		tx_db(tx),
		"INSERT INTO quirks (issuer, flags, window, updated_at_ms) "
		"VALUES (?1, ?2, ?3, ?4) ON CONFLICT (issuer) DO UPDATE SET "
		"flags = excluded.flags, window = excluded.window, "
		"updated_at_ms = excluded.updated_at_ms",
		DB_ARGS(db_text(issuer), db_i64(flags), db_i64(window), db_i64(clock_now_ms())),
		NULL, e);
}

int store_quirks_get(struct store *s, str issuer, uint32_t *flags, int64_t *window,
		     struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s, "SELECT flags, window FROM quirks WHERE issuer = ?1",
			DB_ARGS(db_text(issuer)), e);

	if (rc < 0)
		return rc;
	*flags = rc > 0 ? (uint32_t)rows_i64(&l.r, 0) : 0;
	*window = rc > 0 ? rows_i64(&l.r, 1) : 0;
	return OK;
}

int store_tools_set(struct tx *tx, str server, str json, struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO tool_lists (server, tools, updated_at_ms) "
		      "VALUES (?1, ?2, ?3) ON CONFLICT (server) DO UPDATE SET "
		      "tools = excluded.tools, updated_at_ms = excluded.updated_at_ms",
		      DB_ARGS(db_text(server), db_text(json), db_i64(clock_now_ms())), NULL, e);
}

int store_tools_get(struct store *s, str server, struct arena *a, str *json, struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s, "SELECT tools FROM tool_lists WHERE server = ?1",
			DB_ARGS(db_text(server)), e);

	if (rc < 0)
		return rc;
	*json = rc > 0 ? rows_text(&l.r, 0, a) : S("");
	return OK;
}

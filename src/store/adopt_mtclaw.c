/*
 * What MTClaw keeps: sessions and messages, approvals, exec_audit and cron_runs.  Its sessions are
 * ours but for their address, its schedules stand in the configuration: of them there are runs.
 */
#include "store/adopt_past.h"

#include "base/map.h"
#include "text/json.h"

#include <string.h>

#define TEXT_MAX (4 << 20)
#define SCHEMA_MAX 2 /* the newest there is */

int adopt_mtclaw_schema(str *schema, struct db *db, struct err *e)
{
	bool sessions = false, messages = false, ledger = false;
	int64_t version = 0;
	int rc = foreign_has(&sessions, db, "sessions",
			     "id channel chat_id thread_id created_at updated_at", e);

	*schema = S("");
	if (rc == OK)
		rc = foreign_has(&messages, db, "messages",
				 "session_id seq role content tool_calls tool_call_id", e);
	if (rc < 0 || !sessions || !messages)
		return rc;
	rc = foreign_has(&ledger, db, "schema_migrations", "version name applied_at", e);
	if (rc == OK)
		rc = db_number(db, "PRAGMA user_version", DB_NO_ARGS, &version, e);
	if (rc == OK && ledger) {
		int64_t newest = 0;
		rc = db_number(db, "SELECT coalesce(max(version), 0) FROM schema_migrations",
			       DB_NO_ARGS, &newest, e);
		version = newest > version ? newest : version;
	}
	if (rc < 0)
		return rc;
	if (version > SCHEMA_MAX)
		return err_set(
			e, E_INVAL,
			"made by a newer MTClaw (schema %lld, up to %d is known here); it "
			"is left alone",
			(long long)version, SCHEMA_MAX);
	*schema = version > 1 ? S("2") : ledger ? S("1") : S("1, without a ledger");
	return OK;
}

/* Which of our sessions one of theirs is. */
struct sessions {
	struct map map;
	struct arena *a;
	struct foreign_query messages; /* of one of them */
};

struct now {
	char id[ID_LEN + 1];
};

static str session_now(const struct sessions *s, str id)
{
	const struct now *now = map_get(&s->map, id);

	return now ? str_of(now->id) : S("");
}

static void remember(struct sessions *s, str id, const struct past *p)
{
	struct now *now = NEW(s->a, struct now);

	memcpy(now->id, p->id, sizeof now->id);
	(void)map_set(&s->map, s->a, arena_dup(s->a, id), now);
}

/* --- conversations --------------------------------------------------------------------------- */

enum {
	S_ID,
	S_CHANNEL,
	S_CHAT,
	S_THREAD,
	S_TITLE,
	S_MODEL,
	S_SUMMARY,
	S_IN,
	S_OUT,
	S_MADE,
	S_CHANGED
};
static const struct foreign_col session_cols[] = {
	{ "id", FOREIGN_TEXT, NULL, 100 },
	{ "channel", FOREIGN_TEXT, NULL, 100 },
	{ "chat_id", FOREIGN_TEXT, NULL, 300 },
	{ "thread_id", FOREIGN_MAYBE_TEXT, NULL, 100 },
	{ "title", FOREIGN_MAYBE_TEXT, "''", 1000 },
	{ "model", FOREIGN_MAYBE_TEXT, "''", 300 },
	{ "summary", FOREIGN_MAYBE_TEXT, "''", 65536 },
	{ "prompt_tokens", FOREIGN_INT, "0", 0 },
	{ "completion_tokens", FOREIGN_INT, "0", 0 },
	{ "created_at", FOREIGN_MS, NULL, 0 },
	{ "updated_at", FOREIGN_MS, NULL, 0 },
};
static const struct foreign_table session_table = {
	"sessions", "session", ADOPT_SESSIONS, session_cols, COUNT(session_cols),
};
enum { X_SEQ, X_ROLE, X_CONTENT, X_CALLS, X_CALL_ID, X_TOOL, X_AT };
static const struct foreign_col message_cols[] = {
	{ "seq", FOREIGN_INT, NULL, 0 },
	{ "role", FOREIGN_TEXT, NULL, 100 },
	{ "content", FOREIGN_MAYBE_TEXT, NULL, TEXT_MAX },
	{ "tool_calls", FOREIGN_MAYBE_TEXT, NULL, TEXT_MAX },
	{ "tool_call_id", FOREIGN_MAYBE_TEXT, NULL, 1000 },
	{ "tool_name", FOREIGN_MAYBE_TEXT, "''", 300 },
	{ "created_at", FOREIGN_MS, NULL, 0 },
};
static const struct foreign_table message_table = {
	"messages", "message", ADOPT_MESSAGES, message_cols, COUNT(message_cols),
};

/* One message; calls that cannot be read make no message of it. */
static int take_message(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	struct past *p = to;
	struct json *calls = NULL;
	str text = str_trim(f->v[X_CALLS].s);
	struct past_message m = {
		.role = f->v[X_ROLE].s,
		.text = f->v[X_CONTENT].s,
		.call_id = f->v[X_CALL_ID].s,
		.tool_name = f->v[X_TOOL].s,
		.kind = str_eq(p->channel, S("cron")) ? "cron" : "",
		.at_ms = f->v[X_AT].i,
	};

	if (text.n && (json_read(&calls, a, text, NULL) < 0 ||
		       (!json_is(calls, JSON_ARRAY) && !json_is(calls, JSON_NULL)))) {
		foreign_skip(f, "tool_calls is no JSON list");
		return OK;
	}
	m.calls = json_is(calls, JSON_ARRAY) && calls->n ? calls : NULL;
	return past_add(p, &m, f, e);
}

static int take_session(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	struct sessions *map = to;
	const struct foreign_cell *v = f->v;
	bool thread = v[S_THREAD].s.n && !str_eq(v[S_THREAD].s, S("0")), known;
	struct past p = { 0 };
	const struct session s = {
		.id = v[S_ID].s,
		.channel = v[S_CHANNEL].s,
		.address = thread ? arena_fmt(a, "%.*s:%.*s", STRF(v[S_CHAT].s),
					      STRF(v[S_THREAD].s))
				  : v[S_CHAT].s,
		.title = v[S_TITLE].s,
		.model = v[S_MODEL].s,
		.summary = v[S_SUMMARY].s,
		.prompt_tokens = v[S_IN].i,
		.completion_tokens = v[S_OUT].i,
		.created_at_ms = v[S_MADE].i,
		.updated_at_ms = v[S_CHANGED].i,
	};

	if (!s.channel.n || !s.address.n) {
		foreign_skip(f, "it has no %s", s.channel.n ? "chat_id" : "channel");
		return OK;
	}
	int rc = past_begin(&p, f->ad, &s, &known, e);
	if (rc == OK && known)
		rc = adopt_known(f->ad, "SELECT count(*) FROM messages WHERE session_id = ?1",
				 s.id, e);
	else if (rc == OK && (rc = foreign_each(f->ad, &map->messages, DB_ARGS(db_text(s.id)),
						take_message, &p, e)) == OK)
		rc = past_end(&p, e);
	if (rc == OK)
		remember(map, s.id, &p);
	return rc;
}

static int copy_sessions(struct adopt *ad, struct sessions *map, struct err *e)
{
	int rc = foreign_prepare(&map->messages, ad, &message_table,
				 "WHERE session_id = ?1 ORDER BY seq, rowid", e);

	if (rc == OK)
		rc = foreign_table_each(ad, &session_table, "ORDER BY updated_at DESC, rowid",
					take_session, map, e);
	return rc < 0 ? rc : adopt_lost(ad, "SELECT count(*) FROM messages", e);
}

/* --- questions ------------------------------------------------------------------------------- */

enum {
	Q_ID,
	Q_SESSION,
	Q_CHANNEL,
	Q_CHAT,
	Q_TOOL,
	Q_COMMAND,
	Q_REASON,
	Q_STATE,
	Q_MESSAGE,
	Q_MADE,
	Q_ENDS,
	Q_AT,
	Q_BY
};
static const struct foreign_col approval_cols[] = {
	{ "id", FOREIGN_TEXT, NULL, 100 },
	{ "session_id", FOREIGN_TEXT, NULL, 100 },
	{ "channel", FOREIGN_TEXT, NULL, 100 },
	{ "chat_id", FOREIGN_TEXT, NULL, 300 },
	{ "tool", FOREIGN_TEXT, NULL, 300 },
	{ "command", FOREIGN_TEXT, NULL, 1 << 20 },
	{ "reason", FOREIGN_MAYBE_TEXT, "''", 65536 },
	{ "state", FOREIGN_TEXT, NULL, 40 },
	{ "message_id", FOREIGN_MAYBE_TEXT, "''", 100 },
	{ "created_at", FOREIGN_MS, NULL, 0 },
	{ "expires_at", FOREIGN_MS, NULL, 0 },
	{ "decided_at", FOREIGN_MAYBE_MS, "NULL", 0 },
	{ "decided_by", FOREIGN_MAYBE_TEXT, "''", 300 },
};
static const struct foreign_table approval_table = {
	"approvals", "question", ADOPT_APPROVALS, approval_cols, COUNT(approval_cols),
};

/* What nobody waits for any more is over; a yes was for a start that is long past. */
static str question_state(str theirs)
{
	if (str_eq(theirs, S("approved")))
		return S("used");
	return str_eq(theirs, S("denied")) ? S("denied") : S("expired");
}

static int take_question(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	const struct foreign_cell *v = f->v;
	str session = session_now(to, v[Q_SESSION].s);
	int64_t changed = 0;

	(void)a;
	if (!session.n) {
		foreign_skip(f, "it is of no session");
		return OK;
	}
	int rc = db_run(f->ad->to,
			"INSERT OR IGNORE INTO approvals (id, session_id, turn_id, call_id, "
			"channel, address, tool, command, hash, reason, state, message_id, "
			"created_at_ms, expires_at_ms, decided_at_ms, decided_by) VALUES (?1, "
			"?2, '', '', ?3, ?4, ?5, ?6, '', ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
			DB_ARGS(db_text(v[Q_ID].s), db_text(session), db_text(v[Q_CHANNEL].s),
				db_text(v[Q_CHAT].s), db_text(v[Q_TOOL].s),
				db_text(v[Q_COMMAND].s), db_text(v[Q_REASON].s),
				db_text(question_state(v[Q_STATE].s)), db_text(v[Q_MESSAGE].s),
				db_i64(v[Q_MADE].i), db_i64(v[Q_ENDS].i),
				db_when(!v[Q_AT].null, db_i64(v[Q_AT].i)), db_text(v[Q_BY].s)),
			&changed, e);
	f->ad->report->n[ADOPT_APPROVALS].taken += changed;
	f->ad->report->n[ADOPT_APPROVALS].known += !changed;
	return rc;
}

/* --- audit ----------------------------------------------------------------------------------- */

enum { A_ID, A_SESSION, A_COMMAND, A_CWD, A_DECISION, A_RULE, A_EXIT, A_TIME, A_CUT, A_AT };
static const struct foreign_col audit_cols[] = {
	{ "id", FOREIGN_INT, NULL, 0 },
	{ "session_id", FOREIGN_MAYBE_TEXT, "''", 100 },
	{ "command", FOREIGN_TEXT, NULL, 1 << 20 },
	{ "cwd", FOREIGN_MAYBE_TEXT, "''", 4096 },
	{ "decision", FOREIGN_TEXT, NULL, 100 },
	{ "rule", FOREIGN_MAYBE_TEXT, "''", 4096 },
	{ "exit_code", FOREIGN_MAYBE_INT, "NULL", 0 },
	{ "duration_ms", FOREIGN_MAYBE_INT, "NULL", 0 },
	{ "truncated", FOREIGN_INT, "0", 0 },
	{ "created_at", FOREIGN_MS, NULL, 0 },
};
static const struct foreign_table audit_table = {
	"exec_audit", "audit row", ADOPT_AUDIT, audit_cols, COUNT(audit_cols),
};

static const struct {
	const char *decision, *decider;
	bool denied;
} deciders[] = {
	{ "denied_rule", "policy", true },      { "allowed_rule", "policy", false },
	{ "refused_too_long", "policy", true }, { "auto_allowed", "classifier", false },
	{ "approved", "user", false },          { "denied_user", "user", true },
	{ "expired", "timeout", true },
};

/* The same for the same row whenever it is read, so that it is there once. */
static str audit_id(struct arena *a, const struct foreign_cell *v)
{
	uint64_t hash = str_hash(STR_HASH, v[A_COMMAND].s);

	hash = str_hash(hash,
			arena_fmt(a, "%lld %.*s", (long long)v[A_ID].i, STRF(v[A_SESSION].s)));
	return arena_fmt(a, "%011llx%010llx", (unsigned long long)v[A_AT].i,
			 (unsigned long long)(hash & 0xffffffffff));
}

static int take_audit(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	const struct foreign_cell *v = f->v;
	struct buf args = buf_in(a, 8u << 20);
	str session = session_now(to, v[A_SESSION].s);
	const char *decider = "unknown", *state = v[A_EXIT].i ? "failed" : "done";
	int64_t changed = 0;

	for (size_t i = 0; i < COUNT(deciders); i++)
		if (str_eq(v[A_DECISION].s, str_of(deciders[i].decision))) {
			decider = deciders[i].decider;
			state = deciders[i].denied ? "denied" : state;
		}
	buf_addc(&args, '{');
	buf_json_member(&args, "command", v[A_COMMAND].s);
	if (v[A_CWD].s.n)
		buf_json_member(&args, "cwd", v[A_CWD].s);
	buf_addc(&args, '}');
	int rc = db_run(
		f->ad->to,
		"INSERT OR IGNORE INTO tool_calls (id, session_id, turn_id, round, idx, seq, "
		"provider_id, requested, name, args, safe, state, decision, rule, decider, "
		"truncated, exit_code, duration_ms, created_at_ms, finished_at_ms) VALUES (?1, "
		"?2, '', 0, (SELECT coalesce(max(idx), 0) + 1 FROM tool_calls WHERE turn_id = "
		"'' "
		"AND round = 0), 0, '', 'exec', 'exec', ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
		"?11, ?11)",
		DB_ARGS(db_text(audit_id(a, v)), db_text(session.n ? session : v[A_SESSION].s),
			db_text(buf_str(&args)), db_text(str_of(state)),
			db_text(v[A_DECISION].s), db_text(v[A_RULE].s),
			db_text(str_of(decider)), db_i64(v[A_CUT].i != 0),
			db_when(!v[A_EXIT].null, db_i64(v[A_EXIT].i)),
			db_when(!v[A_TIME].null, db_i64(v[A_TIME].i)), db_i64(v[A_AT].i)),
		&changed, e);
	f->ad->report->n[ADOPT_AUDIT].taken += changed;
	f->ad->report->n[ADOPT_AUDIT].known += !changed;
	return rc;
}

/* --- runs ------------------------------------------------------------------------------------ */

enum { R_ID, R_JOB, R_SESSION, R_STATUS, R_ERROR, R_BEGAN, R_ENDED };
static const struct foreign_col run_cols[] = {
	{ "id", FOREIGN_INT, NULL, 0 },
	{ "job_name", FOREIGN_TEXT, NULL, 300 },
	{ "session_id", FOREIGN_MAYBE_TEXT, "''", 100 },
	{ "status", FOREIGN_TEXT, NULL, 40 },
	{ "error", FOREIGN_MAYBE_TEXT, "''", 65536 },
	{ "started_at", FOREIGN_MS, NULL, 0 },
	{ "finished_at", FOREIGN_MAYBE_MS, "NULL", 0 },
};
static const struct foreign_table run_table = {
	"cron_runs", "run", ADOPT_RUNS, run_cols, COUNT(run_cols),
};

/* The job these are runs of: switched off, until the configuration names it. */
static int job_named(struct adopt *ad, str name, struct arena *a, int64_t *id, struct err *e)
{
	static const char find[] = "SELECT id FROM jobs WHERE source = 'config' AND name = ?1";
	int rc = db_number(ad->to, find, DB_ARGS(db_text(name)), id, e);

	if (rc != E_NOENT)
		return rc;
	rc = db_run(ad->to,
		    "INSERT INTO jobs (source, name, channel, address, sender, prompt, kind, "
		    "expr, zone, enabled, created_at_ms, updated_at_ms) VALUES ('config', ?1, "
		    "'cron', ?2, 'cron', '', 'cron', '0 0 1 1 *', 'UTC', 0, ?3, ?3)",
		    DB_ARGS(db_text(name), db_text(arena_fmt(a, "job:%.*s", STRF(name))),
			    db_i64(ad->now_ms)),
		    NULL, e);
	ad->report->n[ADOPT_JOBS].taken += rc == OK;
	*id = sqlite3_last_insert_rowid(ad->to->h);
	return rc;
}

static int take_run(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	static const char *const states[] = { "ok", "error", "skipped", "interrupted",
					      "started" };
	const struct foreign_cell *v = f->v;
	str state = v[R_STATUS].s, session = session_now(to, v[R_SESSION].s);
	int64_t job = 0, there = 0;
	size_t i = 0;

	while (i < COUNT(states) && !str_eq(state, str_of(states[i])))
		i++;
	if (i == COUNT(states) || !v[R_JOB].s.n) {
		foreign_skip(f, "its %s",
			     v[R_JOB].s.n ? "status is not known here" : "job has no name");
		return OK;
	}
	if (str_eq(state, S("started")))
		state = S("interrupted");
	int rc = job_named(f->ad, v[R_JOB].s, a, &job, e);
	if (rc == OK)
		rc = db_number(
			f->ad->to,
			"SELECT count(*) FROM job_runs WHERE job_id = ?1 AND "
			"scheduled_at_ms = ?2 AND attempt = 0 AND (state <> 'skipped') = "
			"(?3 <> 'skipped')",
			DB_ARGS(db_i64(job), db_i64(v[R_BEGAN].i), db_text(state)), &there, e);
	f->ad->report->n[ADOPT_RUNS].known += there > 0;
	if (rc < 0 || there)
		return rc;
	f->ad->report->n[ADOPT_RUNS].taken++;
	return db_run(f->ad->to,
		      "INSERT INTO job_runs (job_id, scheduled_at_ms, last_at_ms, state, "
		      "reason, error, session_id, settled, started_at_ms, finished_at_ms) "
		      "VALUES (?1, ?2, ?2, ?3, iif(?3 = 'skipped', 'overlap', ''), ?4, ?5, 1, "
		      "?2, ?6)",
		      DB_ARGS(db_i64(job), db_i64(v[R_BEGAN].i), db_text(state),
			      db_text(v[R_ERROR].s), db_text(session),
			      db_i64(v[R_ENDED].null ? v[R_BEGAN].i : v[R_ENDED].i)),
		      NULL, e);
}

int adopt_mtclaw(struct adopt *ad, struct err *e)
{
	struct sessions map = { .a = ad->a };
	int rc = copy_sessions(ad, &map, e);

	if (rc == OK)
		rc = foreign_table_each(ad, &approval_table, "ORDER BY rowid", take_question,
					&map, e);
	if (rc == OK)
		rc = foreign_table_each(ad, &audit_table, "ORDER BY rowid", take_audit, &map,
					e);
	return rc < 0 ? rc
		      : foreign_table_each(ad, &run_table, "ORDER BY rowid", take_run, &map, e);
}

/*
 * The schedules of ai-gantry (cron_job) and, of its later versions, the watches.
 */
#include "store/adopt_rows.h"

#include "base/date.h"
#include "sched/when.h"
#include "store/watch.h"
#include "text/json.h"

#include <string.h>

#define SEEN_MAX 200

/* Of a schedule or watch: the chat its answers go to. */
static void target_of(struct arena *a, str session_id, str chat, int64_t thread, str *channel,
		      str *address)
{
	adopt_place(a, session_id, channel, address);
	if (chat.n && !str_eq(*channel, S("stdio")))
		*address = thread > 0 ? arena_fmt(a, "%.*s:%lld", STRF(chat), (long long)thread)
				      : chat;
}

/* --- schedules ------------------------------------------------------------------------------- */

enum {
	J_ID,
	J_PROMPT,
	J_KIND,
	J_EXPR,
	J_ZONE,
	J_NEXT,
	J_SESSION,
	J_USER,
	J_CHAT,
	J_THREAD,
	J_ON,
	J_MADE,
	J_RAN,
	J_ERROR
};
static const struct foreign_col job_cols[] = {
	{ "id", FOREIGN_INT, NULL, 0 },
	{ "prompt", FOREIGN_TEXT, NULL, 65536 },
	{ "kind", FOREIGN_TEXT, NULL, 40 },
	{ "expr", FOREIGN_TEXT, NULL, 200 },
	{ "timezone", FOREIGN_TEXT, "'UTC'", 100 },
	{ "next_run_at", FOREIGN_TIME, NULL, 64 },
	{ "session_id", FOREIGN_TEXT, NULL, 300 },
	{ "user_id", FOREIGN_TEXT, "''", 100 },
	{ "chat_id", FOREIGN_TEXT, "''", 100 },
	{ "thread_id", FOREIGN_INT, "0", 0 },
	{ "enabled", FOREIGN_INT, "1", 0 },
	{ "created_at", FOREIGN_TIME, NULL, 64 },
	{ "last_run_at", FOREIGN_MAYBE_TIME, "NULL", 64 },
	{ "last_error", FOREIGN_MAYBE_TEXT, "''", 4096 },
};
static const struct foreign_table job_table = {
	"cron_job", "schedule", ADOPT_JOBS, job_cols, COUNT(job_cols),
};

/* As we keep it; "" when it cannot be read. */
static str job_expr(struct arena *a, const struct foreign_cell *v)
{
	struct sched s;
	int64_t ms;
	str expr = str_trim(v[J_EXPR].s);

	if (str_eq(v[J_KIND].s, S("once")))
		expr = date_rfc3339(a, v[J_NEXT].i);
	else if (str_eq(v[J_KIND].s, S("every")) && when_duration(expr, &ms))
		expr = when_duration_text(a, ms);
	return sched_load(&s, a, v[J_KIND].s, expr, NULL) == OK ? expr : S("");
}

static int put_job(struct adopt *ad, const struct foreign_cell *v, str expr, struct arena *a,
		   struct err *e)
{
	str channel, address;
	int64_t there = 0, n = 0;

	target_of(a, v[J_SESSION].s, v[J_CHAT].s, v[J_THREAD].i, &channel, &address);
	int rc = db_number(ad->to,
			   "SELECT count(*) FROM jobs WHERE source = 'chat' AND channel = ?1 "
			   "AND address = ?2 AND prompt = ?3 AND kind = ?4 AND expr = ?5 AND "
			   "created_at_ms = ?6",
			   DB_ARGS(db_text(channel), db_text(address), db_text(v[J_PROMPT].s),
				   db_text(v[J_KIND].s), db_text(expr), db_i64(v[J_MADE].i)),
			   &there, e);
	if (rc == OK)
		rc = db_number(ad->to, "SELECT count(*) FROM jobs WHERE id = ?1",
			       DB_ARGS(db_i64(v[J_ID].i)), &n, e);
	if (rc < 0)
		return rc;
	if (there) {
		ad->report->n[ADOPT_JOBS].known++;
		return OK;
	}
	ad->report->n[ADOPT_JOBS].taken++;
	int64_t next = v[J_ON].i ? v[J_NEXT].i : 0;
	return db_run(ad->to,
		      "INSERT INTO jobs (id, source, channel, address, sender, prompt, kind, "
		      "expr, zone, enabled, first_at_ms, next_at_ms, last_error, "
		      "created_at_ms, updated_at_ms) VALUES (?1, 'chat', ?2, ?3, ?4, ?5, ?6, "
		      "?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
		      DB_ARGS(db_when(n == 0 && v[J_ID].i > 0, db_i64(v[J_ID].i)),
			      db_text(channel), db_text(address), db_text(v[J_USER].s),
			      db_text(v[J_PROMPT].s), db_text(v[J_KIND].s), db_text(expr),
			      db_text(v[J_ZONE].s), db_i64(v[J_ON].i != 0),
			      db_i64(v[J_RAN].null ? next : 0), db_i64(next),
			      db_text(v[J_ERROR].s), db_i64(v[J_MADE].i), db_i64(ad->now_ms)),
		      NULL, e);
}

static int take_job(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	str expr = job_expr(a, f->v);

	(void)to;
	if (expr.n && str_trim(f->v[J_PROMPT].s).n)
		return put_job(f->ad, f->v, expr, a, e);
	if (expr.n)
		foreign_skip(f, "it has no prompt");
	else
		foreign_skip(f, "\"%.*s %.*s\" is no schedule here", STRF(f->v[J_KIND].s),
			     STRF(f->v[J_EXPR].s));
	return OK;
}

/* --- watches --------------------------------------------------------------------------------- */

enum {
	W_ID,
	W_TOOL,
	W_ARGS,
	W_LABEL,
	W_EVERY,
	W_SESSION,
	W_USER,
	W_CHAT,
	W_THREAD,
	W_SEEN,
	W_ON,
	W_MADE
};
static const struct foreign_col watch_cols[] = {
	{ "id", FOREIGN_INT, NULL, 0 },
	{ "tool", FOREIGN_TEXT, NULL, 200 },
	{ "args", FOREIGN_TEXT, "'{}'", 65536 },
	{ "label", FOREIGN_TEXT, "''", 1000 },
	{ "interval_seconds", FOREIGN_INT, NULL, 0 },
	{ "session_id", FOREIGN_TEXT, NULL, 300 },
	{ "user_id", FOREIGN_TEXT, "''", 100 },
	{ "chat_id", FOREIGN_TEXT, "''", 100 },
	{ "thread_id", FOREIGN_INT, "0", 0 },
	{ "seen_ids", FOREIGN_TEXT, "'[]'", 1 << 20 },
	{ "enabled", FOREIGN_INT, "1", 0 },
	{ "created_at", FOREIGN_TIME, NULL, 64 },
};
static const struct foreign_table watch_table = {
	"watch", "watch", ADOPT_WATCHES, watch_cols, COUNT(watch_cols),
};

static str seen_lines(struct arena *a, const struct json *list)
{
	struct buf b = buf_in(a, 1 << 20);
	size_t n = 0;

	for (const struct json *i = list->child; i && n < SEEN_MAX; i = i->next, n++)
		if (json_is(i, JSON_STRING) && i->s.n && !memchr(i->s.p, '\n', i->s.n)) {
			buf_add(&b, i->s);
			buf_addc(&b, '\n');
		}
	return buf_str(&b);
}

static int put_watch(struct adopt *ad, const struct foreign_cell *v, str seen, struct arena *a,
		     struct err *e)
{
	str channel, address;
	int64_t there = 0, day_s = 86400;
	int64_t every = v[W_EVERY].i < 60          ? 60
			: v[W_EVERY].i > 7 * day_s ? 7 * day_s
						   : v[W_EVERY].i;

	target_of(a, v[W_SESSION].s, v[W_CHAT].s, v[W_THREAD].i, &channel, &address);
	int rc = db_number(ad->to,
			   "SELECT count(*) FROM watches WHERE channel = ?1 AND address = ?2 "
			   "AND tool = ?3 AND args = ?4 AND created_at_ms = ?5",
			   DB_ARGS(db_text(channel), db_text(address), db_text(v[W_TOOL].s),
				   db_text(v[W_ARGS].s), db_i64(v[W_MADE].i)),
			   &there, e);
	if (rc < 0 || there) {
		ad->report->n[ADOPT_WATCHES].known += rc == OK;
		return rc;
	}
	rc = db_run(ad->to,
		    "INSERT INTO watches (channel, address, sender, tool, args, label, "
		    "interval_ms, enabled, seeded, seen, created_at_ms, updated_at_ms) "
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
		    DB_ARGS(db_text(channel), db_text(address), db_text(v[W_USER].s),
			    db_text(v[W_TOOL].s), db_text(v[W_ARGS].s), db_text(v[W_LABEL].s),
			    db_i64(every * 1000), db_i64(v[W_ON].i != 0), db_i64(seen.n > 0),
			    db_text(seen), db_i64(v[W_MADE].i), db_i64(ad->now_ms)),
		    NULL, e);
	str key = arena_fmt(a, "%lld", (long long)sqlite3_last_insert_rowid(ad->to->h));
	ad->report->n[ADOPT_WATCHES].taken += rc == OK;
	if (rc < 0 || v[W_ON].i == 0)
		return rc;
	return db_run(ad->to,
		      "INSERT INTO system_rows (what, key, ready_at_ms, created_at_ms) "
		      "VALUES (?1, ?2, ?3, ?3)",
		      DB_ARGS(db_text(S(WATCH_WHAT)), db_text(key), db_i64(ad->now_ms)), NULL,
		      e);
}

static int take_watch(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	struct json *seen, *args;

	(void)to;
	if (json_read(&args, a, f->v[W_ARGS].s, NULL) < 0 || !json_is(args, JSON_OBJECT))
		foreign_skip(f, "args is no JSON object");
	else if (json_read(&seen, a, f->v[W_SEEN].s, NULL) < 0 || !json_is(seen, JSON_ARRAY))
		foreign_skip(f, "seen_ids is no JSON list");
	else
		return put_watch(f->ad, f->v, seen_lines(a, seen), a, e);
	return OK;
}

int adopt_jobs(struct adopt *ad, struct err *e)
{
	int rc = foreign_table_each(ad, &job_table, "ORDER BY id", take_job, NULL, e);

	return rc < 0 ? rc
		      : foreign_table_each(ad, &watch_table, "ORDER BY id", take_watch, NULL,
					   e);
}

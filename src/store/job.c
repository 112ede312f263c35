/*
 * Jobs: the table and who may change it.  Their runs are in job_run.c.
 */
#include "base/buf.h"
#include "store/job.h"
#include "store/rows.h"

#define COLUMNS                                                                                \
	"j.id, j.source, j.name, j.channel, j.address, j.sender, j.to_channel, j.to_address, " \
	"j.prompt, j.kind, j.expr, j.zone, j.ephemeral, j.catch_up, j.timeout_ms, j.enabled, " \
	"j.next_at_ms, j.scheduled_at_ms, j.attempt, j.failing, j.last_error, "                \
	"EXISTS (SELECT 1 FROM job_runs r WHERE r.job_id = j.id AND r.state = 'started'), "    \
	"j.first_at_ms"

static void read_job(void *one, const struct rows *r, struct arena *a)
{
	*(struct job *)one = (struct job){
		.id = rows_i64(r, 0),
		.config = str_eq(rows_peek(r, 1), S("config")),
		.name = rows_text(r, 2, a),
		.channel = rows_text(r, 3, a),
		.address = rows_text(r, 4, a),
		.sender = rows_text(r, 5, a),
		.to_channel = rows_text(r, 6, a),
		.to_address = rows_text(r, 7, a),
		.prompt = rows_text(r, 8, a),
		.kind = rows_text(r, 9, a),
		.expr = rows_text(r, 10, a),
		.zone = rows_text(r, 11, a),
		.ephemeral = rows_i64(r, 12) != 0,
		.catch_up = rows_i64(r, 13) != 0,
		.timeout_ms = rows_i64(r, 14),
		.enabled = rows_i64(r, 15) != 0,
		.next_at_ms = rows_i64(r, 16),
		.scheduled_at_ms = rows_i64(r, 17),
		.attempt = (int)rows_i64(r, 18),
		.failing = rows_i64(r, 19) != 0,
		.last_error = rows_text(r, 20, a),
		.running = rows_i64(r, 21) != 0,
		.first_at_ms = rows_i64(r, 22),
	};
}

static int read_jobs(struct store *s, const char *sql, const struct db_arg *args, size_t args_n,
		     struct arena *a, struct job **out, size_t *n, struct err *e)
{
	const struct list_of q = { sizeof **out, read_job, sql, args, args_n };

	return list_read(s, &q, a, out, n, e);
}

static int one_job(struct store *s, const char *sql, const struct db_arg *args, size_t args_n,
		   struct arena *a, struct job *out, struct err *e)
{
	struct job *list;
	size_t n;
	int rc = read_jobs(s, sql, args, args_n, a, &list, &n, e);

	if (rc == OK && n == 0)
		return err_set(e, E_NOENT, "no such job");
	if (rc == OK)
		*out = list[0];
	return rc;
}

static int insert(struct tx *tx, const struct job *j, struct err *e)
{
	tx->news |= STORE_NEWS_CLOCK;
	return db_run(tx_db(tx),
		      "INSERT INTO jobs (source, name, channel, address, sender, to_channel, "
		      "to_address, prompt, kind, expr, zone, ephemeral, catch_up, timeout_ms, "
		      "enabled, "
		      "next_at_ms, created_at_ms, updated_at_ms, first_at_ms) VALUES (?1, ?2, "
		      "?3, ?4, ?5, ?6, ?7, "
		      "?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17, ?18)",
		      DB_ARGS(db_text(j->config ? S("config") : S("chat")), db_text(j->name),
			      db_text(j->channel), db_text(j->address), db_text(j->sender),
			      db_text(j->to_channel), db_text(j->to_address),
			      db_text(j->prompt), db_text(j->kind), db_text(j->expr),
			      db_text(j->zone), db_i64(j->ephemeral), db_i64(j->catch_up),
			      db_i64(j->timeout_ms), db_i64(j->enabled), db_i64(j->next_at_ms),
			      db_i64(clock_now_ms()), db_i64(j->first_at_ms)),
		      NULL, e);
}

int store_job_add(struct tx *tx, const struct job *job, int64_t max, int64_t *id, struct err *e)
{
	struct job fresh = *job;
	int64_t n = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT count(*) FROM jobs WHERE source = 'chat' AND enabled = 1",
			   DB_NO_ARGS, &n, e);

	if (rc < 0)
		return rc;
	if (n >= max)
		return err_set(e, E_LIMIT,
			       "%lld jobs are on already, and no more may be; cancel one",
			       (long long)n);
	fresh.enabled = true;
	fresh.first_at_ms = job->next_at_ms;
	if ((rc = insert(tx, &fresh, e)) == OK)
		*id = sqlite3_last_insert_rowid(tx_db(tx)->h);
	return rc;
}

int store_job_put(struct tx *tx, const struct job *job, struct err *e)
{
	int64_t known = 0;
	int rc = db_run(
		tx_db(tx),
		"UPDATE jobs SET next_at_ms = iif(kind = ?2 AND expr = ?3 AND zone = ?4 "
		"AND enabled = ?5 AND next_at_ms > 0, next_at_ms, ?6), kind = ?2, expr = ?3, "
		"zone = ?4, enabled = ?5, to_channel = ?7, to_address = ?8, prompt = ?9, "
		"ephemeral = ?10, catch_up = ?11, timeout_ms = ?12, updated_at_ms = ?13 "
		"WHERE source = 'config' AND name = ?1",
		DB_ARGS(db_text(job->name), db_text(job->kind), db_text(job->expr),
			db_text(job->zone), db_i64(job->enabled), db_i64(job->next_at_ms),
			db_text(job->to_channel), db_text(job->to_address),
			db_text(job->prompt), db_i64(job->ephemeral), db_i64(job->catch_up),
			db_i64(job->timeout_ms), db_i64(clock_now_ms())),
		&known, e);

	return rc < 0 || known ? rc : insert(tx, job, e);
}

int store_job_keep_only(struct tx *tx, const str *names, size_t n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf list = buf_in(&a, 1u << 20);

	/* A name has no line break: they are one line each in the configuration. */
	buf_add(&list, S("\n"));
	for (size_t i = 0; i < n; i++)
		buf_fmt(&list, "%.*s\n", STRF(names[i]));
	return db_run(tx_db(tx),
		      "UPDATE jobs SET enabled = 0, next_at_ms = 0, updated_at_ms = ?2 "
		      "WHERE source = 'config' AND enabled = 1 "
		      "AND instr(?1, char(10) || name || char(10)) = 0",
		      DB_ARGS(db_text(buf_str(&list)), db_i64(clock_now_ms())), NULL, e);
}

int store_job_get(struct store *s, int64_t id, struct arena *a, struct job *out, struct err *e)
{
	return one_job(s, "SELECT " COLUMNS " FROM jobs j WHERE j.id = ?1", DB_ARGS(db_i64(id)),
		       a, out, e);
}

int store_job_find(struct store *s, str name, struct arena *a, struct job *out, struct err *e)
{
	return one_job(s,
		       "SELECT " COLUMNS " FROM jobs j WHERE j.source = 'config' "
		       "AND j.name = ?1",
		       DB_ARGS(db_text(name)), a, out, e);
}

int store_job_list(struct store *s, str channel, str address, bool all, struct arena *a,
		   struct job **out, size_t *n, struct err *e)
{
	if (channel.n)
		return read_jobs(
			s,
			"SELECT " COLUMNS " FROM jobs j WHERE j.source = 'chat' "
			"AND j.channel = ?1 AND j.address = ?2 AND (j.enabled = 1 OR ?3) "
			"ORDER BY j.id DESC",
			DB_ARGS(db_text(channel), db_text(address), db_i64(all)), a, out, n, e);
	return read_jobs(s,
			 "SELECT " COLUMNS " FROM jobs j WHERE j.enabled = 1 OR ?1 "
			 "ORDER BY j.id DESC",
			 DB_ARGS(db_i64(all)), a, out, n, e);
}

int store_job_cancel(struct tx *tx, int64_t id, str channel, str address, struct err *e)
{
	int64_t n = 0;
	int rc = db_run(
		tx_db(tx),
		"UPDATE jobs SET enabled = 0, next_at_ms = 0, updated_at_ms = ?4 "
		"WHERE id = ?1 AND enabled = 1 AND (?2 = '' OR (source = 'chat' "
		"AND channel = ?2 AND address = ?3))",
		DB_ARGS(db_i64(id), db_text(channel), db_text(address), db_i64(clock_now_ms())),
		&n, e);

	return rc == OK && n == 0 ? err_set(e, E_NOENT, "no job %lld is on", (long long)id)
				  : rc;
}

int store_job_next_at(struct store *s, int64_t after_ms, int64_t *at_ms, struct err *e)
{
	return glance_number(s,
			     "SELECT coalesce(min(next_at_ms), 0) FROM jobs "
			     "INDEXED BY jobs_due WHERE enabled = 1 AND next_at_ms > 0 "
			     "AND next_at_ms > ?1",
			     DB_ARGS(db_i64(after_ms)), at_ms, e);
}

#define DUE                                                                                    \
	"j.enabled = 1 AND j.next_at_ms > 0 AND j.next_at_ms > ?1 AND j.next_at_ms <= ?2 "     \
	"AND instr(?3, char(10) || j.zone || char(10)) = 0 "

int store_job_due(struct store *s, const struct job_due *q, struct arena *a, struct job **out,
		  size_t *n, struct err *e)
{
	static const char all[] =
		"SELECT " COLUMNS " FROM jobs j INDEXED BY jobs_due WHERE " DUE
		"ORDER BY j.catch_up, j.next_at_ms, j.id LIMIT ?4";
	/* Beside min() SQLite takes the other columns of the same row. */
	static const char firsts[] =
		"SELECT " COLUMNS " FROM jobs j WHERE j.id IN (SELECT id FROM (SELECT j.id, "
		"min(j.next_at_ms) FROM jobs j INDEXED BY jobs_due WHERE " DUE
		"GROUP BY j.channel, j.address)) ORDER BY j.next_at_ms, j.id LIMIT ?4";

	return read_jobs(s, q->firsts ? firsts : all,
			 DB_ARGS(db_i64(q->after_ms), db_i64(q->until_ms),
				 db_text(q->not_zones), db_i64((int64_t)q->limit)),
			 a, out, n, e);
}

int store_job_waiting(struct store *s, int64_t most, int64_t *n, struct err *e)
{
	return glance_number(s,
			     "SELECT count(*) FROM (SELECT 1 FROM inbox "
			     "INDEXED BY inbox_ready WHERE state = 'ready' "
			     "AND owner = '' AND kind = 'cron' LIMIT ?1)",
			     DB_ARGS(db_i64(most)), n, e);
}

int store_job_chat_waits(struct store *s, str channel, str address, bool *waits, struct err *e)
{
	int64_t n = 0;
	int rc = glance_number(s,
			       "SELECT EXISTS (SELECT 1 FROM sessions s JOIN inbox i "
			       "ON i.session_id = s.id AND i.state = 'ready' "
			       "AND i.kind = 'cron' WHERE s.channel = ?1 AND s.address = ?2)",
			       DB_ARGS(db_text(channel), db_text(address)), &n, e);

	if (rc == OK)
		*waits = n != 0;
	return rc;
}

int store_job_move(struct tx *tx, const struct job *job, int64_t next_at_ms, struct err *e)
{
	return db_run(tx_db(tx),
		      "UPDATE jobs SET next_at_ms = ?3, updated_at_ms = ?4 WHERE id = ?1 "
		      "AND next_at_ms = ?2 AND enabled = 1",
		      DB_ARGS(db_i64(job->id), db_i64(job->next_at_ms), db_i64(next_at_ms),
			      db_i64(clock_now_ms())),
		      NULL, e);
}

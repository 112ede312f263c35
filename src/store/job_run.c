/*
 * The runs of jobs: how a due job becomes an inbox row, and what follows from its end.  The end
 * itself is written by triggers of the schema, with the turn's.
 */
#include "store/job.h"
#include "store/rows.h"

#define SWEEP_LIMIT 500

static int record(struct tx *tx, const struct job *job, const struct plan_skip *s,
		  struct err *e)
{
	/* Nothing follows from what was skipped, but of a one-shot that came too late. */
	return db_run(tx_db(tx),
		      "INSERT INTO job_runs (job_id, scheduled_at_ms, last_at_ms, n, state, "
		      "reason, settled, started_at_ms, finished_at_ms) "
		      "VALUES (?1, ?2, ?3, ?4, 'skipped', ?5, ?6, ?7, ?7)",
		      DB_ARGS(db_i64(job->id), db_i64(s->from_ms), db_i64(s->to_ms),
			      db_i64(s->n), db_text(str_of(s->reason)),
			      db_i64(!str_eq(job->kind, S("once"))), db_i64(clock_now_ms())),
		      NULL, e);
}

/* The record first: that it is unique is what makes a time run once.  *fresh: it is new. */
static int begin_run(struct tx *tx, const struct job *job, int64_t at_ms, str reason,
		     bool *fresh, struct err *e)
{
	int64_t n = 0;
	int rc = db_run(
		tx_db(tx),
		"INSERT INTO job_runs (job_id, scheduled_at_ms, last_at_ms, attempt, "
		"state, reason, started_at_ms) VALUES (?1, ?2, ?2, ?3, 'started', ?4, ?5) "
		"ON CONFLICT DO NOTHING",
		DB_ARGS(db_i64(job->id), db_i64(at_ms), db_i64(job->attempt), db_text(reason),
			db_i64(clock_now_ms())),
		&n, e);

	*fresh = n > 0;
	return rc;
}

/* A job of the configuration has a session of its own, or one for each run; one of a chat, the
 * chat's. */
static int insert_row(struct tx *tx, const struct job *job, const struct job_fire *fire,
		      struct job_fired *out, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	int64_t run = sqlite3_last_insert_rowid(db->h), inbox = 0;
	str own = job->config ? job->address : arena_fmt(&a, "job:%lld", (long long)job->id);
	bool told = !fire->quiet && (!job->config || job->to_channel.n);
	struct inbox_new row = {
		.session_channel = job->ephemeral ? S("cron") : job->channel,
		.session_address = job->ephemeral ? arena_fmt(&a, "%.*s:run-%lld", STRF(own),
							      (long long)run)
						  : job->address,
		.channel = told ? job->channel : S("cron"),
		.address = told ? job->address : own,
		.kind = S("cron"),
		.owner = fire->owner,
		.sender = job->sender,
		.text = fire->text,
		.meta = fire->meta,
	};

	if (told && job->config) {
		row.channel = job->to_channel;
		row.address = job->to_address;
	}
	int rc = store_inbox_add(tx, &row, &inbox, e);
	if (rc == OK)
		rc = db_run(
			db,
			"UPDATE job_runs SET inbox_id = ?2, session_id = (SELECT session_id "
			"FROM inbox WHERE id = ?2) WHERE id = ?1",
			DB_ARGS(db_i64(run), db_i64(inbox)), NULL, e);
	if (rc == OK)
		*out = (struct job_fired){ run, inbox };
	return rc;
}

static int move_on(struct tx *tx, const struct job *job, const struct plan *plan, bool *ours,
		   struct err *e)
{
	int64_t n = 0;
	int rc =
		db_run(tx_db(tx),
		       "UPDATE jobs SET next_at_ms = ?3, first_at_ms = 0, scheduled_at_ms = 0, "
		       "updated_at_ms = ?4 WHERE id = ?1 AND next_at_ms = ?2 AND enabled = 1",
		       DB_ARGS(db_i64(job->id), db_i64(job->next_at_ms),
			       db_i64(plan->next_at_ms), db_i64(clock_now_ms())),
		       &n, e);

	*ours = n > 0;
	return rc;
}

int store_job_running(struct tx *tx, int64_t id, bool *running, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT EXISTS (SELECT 1 FROM job_runs WHERE job_id = ?1 "
			   "AND state = 'started')",
			   DB_ARGS(db_i64(id)), &n, e);

	*running = n > 0;
	return rc;
}

int store_job_fire(struct tx *tx, const struct job *job, const struct plan *plan,
		   const struct job_fire *fire, struct job_fired *out, struct err *e)
{
	bool ours = true, fresh = false, running = false;
	int rc = fire->by_hand ? store_job_running(tx, job->id, &running, e)
			       : move_on(tx, job, plan, &ours, e);

	*out = (struct job_fired){ 0 };
	ours &= !running;
	if (rc < 0 || !ours)
		return rc;
	for (size_t i = 0; rc == OK && i < plan->skips_n; i++)
		rc = record(tx, job, &plan->skips[i], e);
	if (rc < 0 || plan->run_at_ms == 0)
		return rc;
	int64_t at_ms = job->scheduled_at_ms ? job->scheduled_at_ms : plan->run_at_ms;
	if ((rc = begin_run(tx, job, at_ms, fire->reason, &fresh, e)) < 0 || !fresh)
		return rc;
	return insert_row(tx, job, fire, out, e);
}

static void read_run(void *one, const struct rows *r, struct arena *a)
{
	*(struct job_run *)one = (struct job_run){
		.id = rows_i64(r, 0),
		.job_id = rows_i64(r, 1),
		.scheduled_at_ms = rows_i64(r, 2),
		.last_at_ms = rows_i64(r, 3),
		.n = rows_i64(r, 4),
		.attempt = (int)rows_i64(r, 5),
		.state = rows_text(r, 6, a),
		.reason = rows_text(r, 7, a),
		.error = rows_text(r, 8, a),
		.turn_id = rows_text(r, 9, a),
		.session_id = rows_text(r, 10, a),
		.started_at_ms = rows_i64(r, 11),
		.finished_at_ms = rows_i64(r, 12),
		.inbox_id = rows_i64(r, 13),
	};
}

static int read_runs(struct store *s, const char *sql, const struct db_arg *args, size_t args_n,
		     struct arena *a, struct job_run **out, size_t *n, struct err *e)
{
	const struct list_of q = { sizeof **out, read_run, sql, args, args_n };

	return list_read(s, &q, a, out, n, e);
}

#define COLUMNS                                                                                \
	"id, job_id, scheduled_at_ms, last_at_ms, n, attempt, state, reason, error, turn_id, " \
	"session_id, started_at_ms, finished_at_ms, inbox_id"

int store_job_runs(struct store *s, int64_t job_id, int64_t limit, struct arena *a,
		   struct job_run **out, size_t *n, struct err *e)
{
	int64_t most = limit > 0 ? limit : -1;

	if (job_id)
		return read_runs(s,
				 "SELECT " COLUMNS " FROM job_runs WHERE job_id = ?1 "
				 "ORDER BY id DESC LIMIT ?2",
				 DB_ARGS(db_i64(job_id), db_i64(most)), a, out, n, e);
	return read_runs(s, "SELECT " COLUMNS " FROM job_runs ORDER BY id DESC LIMIT ?1",
			 DB_ARGS(db_i64(most)), a, out, n, e);
}

int store_job_unsettled(struct store *s, size_t limit, struct arena *a, struct job_run **out,
			size_t *n, struct err *e)
{
	return read_runs(s,
			 "SELECT " COLUMNS " FROM job_runs INDEXED BY job_runs_unsettled "
			 "WHERE settled = 0 AND state <> 'started' ORDER BY id LIMIT ?1",
			 DB_ARGS(db_i64((int64_t)limit)), a, out, n, e);
}

static int tell(struct tx *tx, const struct job *job, str text, struct err *e)
{
	struct outbox_new row = {
		.channel = job->config ? job->to_channel : job->channel,
		.address = job->config ? job->to_address : job->address,
		.kind = S("notice"),
		.text = text,
	};
	int64_t id;

	return row.channel.n ? store_outbox_add(tx, &row, &id, e) : OK;
}

int store_job_break(struct tx *tx, const struct job *job, str error, str notice, struct err *e)
{
	const struct plan_skip skip = { job->next_at_ms, job->next_at_ms, 1, "broken" };
	bool ours = false;
	int rc = move_on(tx, job, &(struct plan){ 0 }, &ours, e);

	if (rc < 0 || !ours || (rc = record(tx, job, &skip, e)) < 0 ||
	    (rc = db_run(tx_db(tx),
			 "UPDATE job_runs SET settled = 1, error = ?1 "
			 "WHERE id = last_insert_rowid()",
			 DB_ARGS(db_text(error)), NULL, e)) < 0 ||
	    (rc = db_run(tx_db(tx),
			 "UPDATE jobs SET enabled = 0, failing = 1, last_error = ?2 "
			 "WHERE id = ?1",
			 DB_ARGS(db_i64(job->id), db_text(error)), NULL, e)) < 0)
		return rc;
	return tell(tx, job, notice, e);
}

int store_job_settle(struct tx *tx, const struct job *job, const struct job_run *run,
		     const struct job_settle *how, bool *first, struct err *e)
{
	struct db *db = tx_db(tx);
	int64_t n = 0;
	int rc = db_run(db, "UPDATE job_runs SET settled = 1 WHERE id = ?1 AND settled = 0",
			DB_ARGS(db_i64(run->id)), &n, e);

	*first = n > 0;
	if (rc < 0 || n == 0)
		return rc;
	rc = db_run(db,
		    "UPDATE jobs SET failing = ?2, last_error = ?3, updated_at_ms = ?4 "
		    "WHERE id = ?1",
		    DB_ARGS(db_i64(job->id), db_i64(how->failing), db_text(how->error),
			    db_i64(clock_now_ms())),
		    NULL, e);
	if (rc == OK && how->retry_at_ms)
		rc = db_run(db,
			    "UPDATE jobs SET next_at_ms = ?2, scheduled_at_ms = ?3, "
			    "attempt = attempt + ?4 WHERE id = ?1 AND enabled = 1 "
			    "AND next_at_ms = 0",
			    DB_ARGS(db_i64(job->id), db_i64(how->retry_at_ms),
				    db_i64(run->scheduled_at_ms), db_i64(how->failing)),
			    NULL, e);
	if (rc == OK && how->over)
		rc = db_run(db, "UPDATE jobs SET enabled = 0 WHERE id = ?1 AND next_at_ms = 0",
			    DB_ARGS(db_i64(job->id)), NULL, e);
	return rc == OK && how->notice.n ? tell(tx, job, how->notice, e) : rc;
}

int store_job_sweep(struct tx *tx, int64_t before_ms, struct err *e)
{
	int rc = db_run(tx_db(tx),
			"DELETE FROM job_runs WHERE id IN (SELECT id FROM job_runs "
			"WHERE started_at_ms < ?1 AND state <> 'started' AND settled = 1 "
			"ORDER BY started_at_ms LIMIT ?2)",
			DB_ARGS(db_i64(before_ms), db_i64(SWEEP_LIMIT)), NULL, e);

	if (rc == OK)
		rc = db_run(
			tx_db(tx),
			"DELETE FROM jobs WHERE id IN (SELECT j.id FROM jobs j "
			"WHERE j.source = 'chat' AND j.enabled = 0 AND j.updated_at_ms < ?1 "
			"AND NOT EXISTS (SELECT 1 FROM job_runs r WHERE r.job_id = j.id) "
			"LIMIT ?2)",
			DB_ARGS(db_i64(before_ms), db_i64(SWEEP_LIMIT)), NULL, e);
	if (rc < 0)
		return rc;
	return db_run(tx_db(tx),
		      "DELETE FROM sessions WHERE id IN (SELECT s.id FROM sessions s "
		      "WHERE s.channel = 'cron' AND s.address GLOB 'job:*:run-[0-9]*' "
		      "AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id "
		      "AND t.state IN ('ready', 'running', 'parked')) "
		      "AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.session_id = s.id "
		      "AND i.state IN ('ready', 'claimed')) "
		      "AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.session_id = s.id "
		      "AND o.state IN ('reserved', 'raw', 'ready')) LIMIT ?1)",
		      DB_ARGS(db_i64(SWEEP_LIMIT)), NULL, e);
}

/*
 * The tick.  Due jobs are read, planned (sched/plan) and carried out in one transaction for
 * all of a look, in which each is compared with what was read.
 */
#include "gateway/jobs.h"

#include "base/map.h"
#include "config/zones.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/inbox.h"
#include "store/job.h"
#include "store/watch.h"
#include "tools/job_words.h"

#define DUE_MAX 256
#define LATE_PER_LOOK 5 /* what has waited can wait a little longer: not all at once */
#define LATE_MS 120000
#define SET_BACK_MS 1000
#define ZONES_EVERY_MS (10 * 60000)
#define FIRST_SLACK_MS (12 * 60 * 60000)
#define KEEP_RUNS_MS (INT64_C(90) * 24 * 3600000)

/* --- zones ------------------------------------------------------------------------------ */

/* Each file is read once a look. */
struct zones {
	struct arena *a;
	struct map by_name;
};

static const struct zone *zone_of(struct zones *v, str name)
{
	union {
		const struct zone *in;
		void *out;
	} z;

	if ((z.out = map_get(&v->by_name, name)) == NULL) {
		if (zone_load(&z.in, v->a, name, NULL, NULL) < 0)
			return NULL;
		(void)map_set(&v->by_name, v->a, name, z.out);
	}
	return z.in;
}

static bool schedule_of(struct sched *s, const struct zone **z, struct zones *v,
			const struct job *job)
{
	*z = zone_of(v, job->zone);
	return *z && sched_load(s, v->a, job->kind, job->expr, NULL) == OK;
}

/* --- the configuration's jobs --------------------------------------------------------------- */

static int put_job(struct tx *tx, const struct cron_cfg *cfg, const struct cron_job_cfg *c,
		   const struct zone *z, struct arena *a, struct err *e)
{
	int64_t now = clock_now_ms();
	struct job job = {
		.config = true,
		.name = c->name,
		.channel = S("cron"),
		.address = arena_fmt(a, "job:%.*s", STRF(c->name)),
		.sender = S("cron"),
		.to_channel = c->to_channel,
		.to_address = c->to_address,
		.prompt = c->prompt,
		.kind = S("cron"),
		.expr = c->schedule,
		.zone = cfg->zone,
		.ephemeral = c->ephemeral,
		.catch_up = c->catch_up,
		.timeout_ms = c->timeout_ms,
		.enabled = c->enabled,
	};
	struct sched s;
	int rc = sched_load(&s, a, job.kind, job.expr, e);

	/* A time in the minute that runs now counts: the program was started for it. */
	if (rc == OK && c->enabled)
		rc = sched_next(&s, z, now, now - now % 60000 - 1, &job.next_at_ms, e);
	return rc < 0 ? rc : store_job_put(tx, &job, e);
}

int jobs_sync(struct store *st, const struct cron_cfg *cfg, const struct cancel *c,
	      struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	str *names = NEWN(&a, str, cfg->jobs.n + 1);
	const struct zone *z;
	int rc = zone_load(&z, &a, cfg->zone, NULL, e);

	if (rc < 0 || (rc = store_begin(&tx, st, c, e)) < 0)
		return rc;
	for (size_t i = 0; i < cfg->jobs.n; i++) {
		names[i] = cfg->jobs.v[i].name;
		if ((rc = put_job(&tx, cfg, &cfg->jobs.v[i], z, &a, e)) < 0)
			return rc;
	}
	if ((rc = store_job_keep_only(&tx, names, cfg->jobs.n, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* --- waiting jobs, after the clock or a zone changed -------------------------------------------- */

/* When a job that waits would be due from now on; its own time when that cannot be said. */
static int64_t due_anew(struct zones *v, const struct job *job, int64_t now)
{
	const struct zone *z;
	struct sched s;
	int64_t next = 0, after = now;

	if (!schedule_of(&s, &z, v, job) || s.kind == SCHED_ONCE)
		return job->next_at_ms;
	/* The first time said is the first, also when it comes a little earlier in a zone as it
	 * is now; a day before it there is none. */
	int64_t slack = s.kind == SCHED_EVERY || s.kind == SCHED_CRON ? 1 : FIRST_SLACK_MS;
	if (after < job->first_at_ms - slack)
		after = job->first_at_ms - slack;
	/* An interval keeps its beat. */
	if (s.kind == SCHED_EVERY)
		return job->next_at_ms -
		       (job->next_at_ms - after - 1) / s.every_ms * s.every_ms;
	return sched_next(&s, z, after, after, &next, NULL) < 0 ? job->next_at_ms : next;
}

static int replan(struct engine *g, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct zones v = { .a = &a };
	int64_t now = clock_now_ms();
	struct job *list;
	size_t n;
	int rc;

	if ((rc = store_begin(&tx, g->store, c, e)) < 0 ||
	    (rc = store_job_list(g->store, S(""), S(""), false, &a, &list, &n, e)) < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (list[i].next_at_ms <= now || list[i].attempt)
			continue;
		int64_t next = due_anew(&v, &list[i], now);
		if (next != list[i].next_at_ms &&
		    (rc = store_job_move(&tx, &list[i], next, e)) < 0)
			return rc;
	}
	return store_commit(&tx, e);
}

/* Zone files are remembered by their hash, also over a restart. */
static int zones_changed(struct engine *g, bool *changed, struct arena *a, struct err *e)
{
	struct job *list;
	struct map seen = { 0 };
	size_t n;
	int rc = store_job_list(g->store, S(""), S(""), false, a, &list, &n, e);

	*changed = false;
	for (size_t i = 0; rc == OK && i < n; i++) {
		SCOPED(store_rollback) struct tx tx = { 0 };
		const struct zone *z;
		int64_t version = 0, known = 0;
		str key = arena_fmt(a, "zone:%.*s", STRF(list[i].zone));
		if (map_set(&seen, a, key, list) ||
		    zone_load(&z, a, list[i].zone, &version, NULL) < 0)
			continue;
		rc = store_cursor_get(g->store, key, &known, e);
		if (rc < 0 || version == known)
			continue;
		*changed |= known != 0;
		if ((rc = store_begin(&tx, g->store, &g->root, e)) == OK &&
		    (rc = store_cursor_set(&tx, key, version, e)) == OK)
			rc = store_commit(&tx, e);
	}
	return rc;
}

static int look_at_zones(struct engine *g, struct jobs *j, const struct cancel *c,
			 struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	bool changed;
	int rc = zones_changed(g, &changed, &a, e);

	if (rc == OK && changed) {
		log_info("jobs.zones",
			 "what=\"time zone files changed; jobs were looked at anew\"");
		rc = replan(g, c, e);
	}
	if (rc < 0 || (rc = store_begin(&tx, g->store, c, e)) < 0 ||
	    (rc = store_job_sweep(&tx, clock_now_ms() - KEEP_RUNS_MS, e)) < 0 ||
	    (rc = store_watch_sweep(&tx, clock_now_ms() - KEEP_RUNS_MS, e)) < 0)
		return rc;
	j->zones_at_ms = clock_mono_ms() + ZONES_EVERY_MS;
	return store_commit(&tx, e);
}

/* --- ends ------------------------------------------------------------------------------------------ */

static int settle(struct engine *g, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct zones v = { .a = &a };
	struct job_run *list;
	size_t n;
	bool told = false;
	int rc = store_job_unsettled(g->store, DUE_MAX, &a, &list, &n, e);

	if (rc < 0 || n == 0 || (rc = store_begin(&tx, g->store, c, e)) < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		struct job job;
		struct job_settle how;
		bool first;
		if ((rc = store_job_get(g->store, list[i].job_id, &a, &job, e)) < 0)
			return rc;
		const struct zone *z = zone_of(&v, job.zone);
		job_settle(&how, &job, &list[i], z ? z : &zone_utc, clock_now_ms(), &a);
		if ((rc = store_job_settle(&tx, &job, &list[i], &how, &first, e)) < 0)
			return rc;
		told |= first && how.notice.n;
		log_info("job.done", "job=%lld state=%.*s reason=%.*s retry=%d",
			 (long long)job.id, STRF(list[i].state),
			 STRF(log_q(&a, list[i].reason)), how.retry_at_ms > 0);
	}
	rc = store_commit(&tx, e);
	if (rc == OK && told)
		bell_ring(&g->outbox);
	return rc;
}

/* --- due -------------------------------------------------------------------------------------------- */

static void log_skips(const struct job *job, const struct plan *p)
{
	for (size_t i = 0; i < p->skips_n; i++)
		log_info("job.skipped", "job=%lld reason=%s n=%lld", (long long)job->id,
			 p->skips[i].reason, (long long)p->skips[i].n);
}

struct look {
	struct engine *g;
	const struct jobs *j;
	struct zones zones;
	int64_t now;
	int late; /* late runs begun in this look */
	bool put_off, fired;
	bool zoneless; /* the zone of one could not be read */
};

/* It will never be readable: it is over, and its chat is told. */
static int give_up(struct look *l, struct tx *tx, const struct job *job, const char *why,
		   struct err *e)
{
	struct arena *a = l->zones.a;
	str error = str_of(why);

	log_error("job.broken", "job=%lld err=%.*s hint=\"it is switched off\"",
		  (long long)job->id, STRF(log_q(a, error)));
	return store_job_break(tx, job, error, job_broken(job, error, a), e);
}

/* The jobs of a zone that cannot be read now (its files are being replaced) stay due. */
static void put_off_zone(struct look *l, const struct job *job)
{
	if (!l->zoneless && !l->j->zoneless)
		log_warn("job.zone",
			 "job=%lld zone=%.*s hint=\"it waits until its time zone "
			 "can be read\"",
			 (long long)job->id, STRF(log_q(l->zones.a, job->zone)));
	l->zoneless = l->put_off = true;
}

static int carry_out(struct look *l, struct tx *tx, const struct job *job, struct err *e)
{
	struct arena *a = l->zones.a;
	const struct zone *z;
	struct sched s;
	struct plan plan;
	struct job_fire fire = { 0 };
	struct err why = { 0 };
	bool fired;

	if (sched_load(&s, a, job->kind, job->expr, &why) < 0)
		return give_up(l, tx, job, why.msg, e);
	if ((z = zone_of(&l->zones, job->zone)) == NULL) {
		if (s.kind != SCHED_ONCE && s.kind != SCHED_EVERY) {
			put_off_zone(l, job);
			return OK;
		}
		z = &zone_utc; /* they know none */
	}
	sched_plan(&plan, &(struct plan_in){ .s = &s,
					     .z = z,
					     .due_at_ms = job->next_at_ms,
					     .now_ms = l->now,
					     .up_since_ms = l->j->up_since_ms,
					     .strict = !job->catch_up,
					     .running = job->running });
	/* Those that do not catch up would be too late for it. */
	if (plan.run_at_ms && l->now - plan.run_at_ms > LATE_MS && l->late++ >= LATE_PER_LOOK &&
	    job->catch_up) {
		l->put_off = true;
		return OK;
	}
	if (plan.run_at_ms)
		job_fire(&fire, job, z, plan.run_at_ms, l->now, a);
	int rc = store_job_fire(tx, job, &plan, &fire, &fired, e);
	if (rc < 0)
		return rc;
	l->fired |= fired;
	if (fired)
		log_info("job.started", "job=%lld late_ms=%lld", (long long)job->id,
			 (long long)(l->now - plan.run_at_ms));
	log_skips(job, &plan);
	return OK;
}

/* Those on time first: the late ones, of which few begin in a look, are not in their way. */
static int start_due(struct engine *g, struct jobs *j, int64_t now, bool *put_off,
		     const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct look l = { .g = g, .j = j, .zones = { .a = &a }, .now = now };
	struct job *list[2];
	size_t n[2];
	int rc = store_job_due(g->store, now - LATE_MS, now, DUE_MAX, &a, &list[0], &n[0], e);

	if (rc == OK)
		rc = store_job_due(g->store, 0, now - LATE_MS, DUE_MAX, &a, &list[1], &n[1], e);
	if (rc < 0 || n[0] + n[1] == 0 || (rc = store_begin(&tx, g->store, c, e)) < 0)
		return rc;
	for (size_t k = 0; k < COUNT(list); k++)
		for (size_t i = 0; i < n[k]; i++)
			if ((rc = carry_out(&l, &tx, &list[k][i], e)) < 0)
				return rc;
	rc = store_commit(&tx, e);
	if (rc == OK && l.fired)
		bell_ring(&g->inbox);
	j->zoneless = l.zoneless;
	*put_off = l.put_off && n[0] < DUE_MAX;
	return rc;
}

/* A row that a command put in (gantry cron run) rang no bell here. */
static int ring_for_others(struct engine *g, struct err *e)
{
	int64_t ready = 0;
	int rc = store_inbox_ready(g->store, S(""), &ready, e);

	if (rc == OK && ready)
		bell_ring(&g->inbox);
	return rc;
}

int jobs_tick(struct engine *g, struct jobs *j, const struct cancel *c, int64_t *next_at_ms,
	      struct err *e)
{
	int64_t now = clock_now_ms(), tick = g->cfg->cron.tick_s * 1000, at = 0;
	bool put_off = false;
	int rc = OK;

	if (!j->up_since_ms)
		j->up_since_ms = j->seen_ms = now;
	if (now < j->seen_ms - SET_BACK_MS) {
		log_warn("jobs.clock", "set_back_ms=%lld", (long long)(j->seen_ms - now));
		j->up_since_ms = j->up_since_ms < now ? j->up_since_ms : now;
		if ((rc = replan(g, c, e)) < 0)
			return rc;
	}
	j->seen_ms = now;
	if (clock_mono_ms() >= j->zones_at_ms && (rc = look_at_zones(g, j, c, e)) < 0)
		return rc;
	if ((rc = settle(g, c, e)) < 0 || (rc = start_due(g, j, now, &put_off, c, e)) < 0 ||
	    (rc = ring_for_others(g, e)) < 0 || (rc = store_job_next_at(g->store, &at, e)) < 0)
		return rc;
	*next_at_ms = at == 0 || at > now + tick || put_off ? now + tick : at;
	return OK;
}

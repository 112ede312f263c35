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

#include <string.h>

#define DUE_MAX 256
#define LATE_MS 120000
#define LATE_WAITING 8 /* rows of late jobs that wait for a worker at a time */
#define SET_BACK_MS 1000
#define ZONES_EVERY_MS (10 * 60000)
#define FIRST_SLACK_MS (12 * 60 * 60000)
#define DAY_MS (INT64_C(24) * 3600000)
#define KEEP_WATCHES_MS (90 * DAY_MS)

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

static int job_of(struct job *out, const struct cron_cfg *cfg, const struct cron_job_cfg *c,
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
	if (rc == OK)
		*out = job;
	return rc;
}

int jobs_of_config(const struct cron_cfg *cfg, struct arena *a, struct job **out, size_t *n,
		   struct err *e)
{
	struct job *list = NEWN(a, struct job, cfg->jobs.n + 1);
	const struct zone *z;
	int rc = zone_load(&z, a, cfg->zone, NULL, e);

	for (size_t i = 0; rc == OK && i < cfg->jobs.n; i++)
		rc = job_of(&list[i], cfg, &cfg->jobs.v[i], z, a, e);
	if (rc < 0)
		return rc;
	*out = list;
	*n = cfg->jobs.n;
	return OK;
}

int jobs_sync(struct store *st, const struct cron_cfg *cfg, const struct cancel *c,
	      struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	str *names = NEWN(&a, str, cfg->jobs.n + 1);
	struct job *list;
	size_t n;
	int rc = jobs_of_config(cfg, &a, &list, &n, e);

	if (rc < 0 || (rc = store_begin(&tx, st, c, e)) < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		names[i] = list[i].name;
		if ((rc = store_job_put(&tx, &list[i], e)) < 0)
			return rc;
	}
	if ((rc = store_job_keep_only(&tx, names, n, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* --- waiting jobs, after the clock or a zone changed -------------------------------------------- */

/* The first time that was said, in a zone as it is now: the time of the expression that is nearest
 * to it.  It may be a little earlier, and must not be passed over for it. */
static int first_anew(const struct sched *s, const struct zone *z, int64_t first, int64_t now,
		      int64_t *out)
{
	int64_t at = first - FIRST_SLACK_MS, before = 0;
	int rc;

	at = at < now ? now : at;
	while ((rc = sched_next(s, z, at, at, &at, NULL)) == OK && at < first)
		before = at;
	if (rc == OK)
		*out = before && first - before < at - first ? before : at;
	return rc;
}

/* When a job that waits would be due from now on; its own time when that cannot be said. */
static int64_t due_anew(struct zones *v, const struct job *job, int64_t now)
{
	const struct zone *z;
	struct sched s;
	int64_t next = 0, after = now;

	if (!schedule_of(&s, &z, v, job) || s.kind == SCHED_ONCE)
		return job->next_at_ms;
	/* An interval keeps its beat. */
	if (s.kind == SCHED_EVERY) {
		after = after < job->first_at_ms - 1 ? job->first_at_ms - 1 : after;
		return job->next_at_ms -
		       (job->next_at_ms - after - 1) / s.every_ms * s.every_ms;
	}
	int rc = job->first_at_ms > now ? first_anew(&s, z, job->first_at_ms, now, &next)
					: sched_next(&s, z, after, after, &next, NULL);
	return rc < 0 ? job->next_at_ms : next;
}

/* now: the look's own; a clock read anew could be past a time that nobody has looked at yet. */
static int replan(struct engine *g, int64_t now, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct zones v = { .a = &a };
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

/* 0: none is older. */
static int64_t keep_runs_from(const struct engine *g)
{
	int64_t days = g->cfg->store.runs_days;

	return days ? clock_now_ms() - days * DAY_MS : 0;
}

static int look_at_zones(struct engine *g, struct jobs *j, int64_t now, const struct cancel *c,
			 struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	bool changed;
	int rc = zones_changed(g, &changed, &a, e);

	if (rc == OK && changed) {
		log_info("jobs.zones",
			 "what=\"time zone files changed; jobs were looked at anew\"");
		rc = replan(g, now, c, e);
	}
	if (rc < 0 || (rc = store_begin(&tx, g->store, c, e)) < 0 ||
	    (rc = store_job_sweep(&tx, keep_runs_from(g), e)) < 0 ||
	    (rc = store_watch_sweep(&tx, now - KEEP_WATCHES_MS, e)) < 0)
		return rc;
	j->zones_at_ms = clock_mono_ms() + ZONES_EVERY_MS;
	return store_commit(&tx, e);
}

/* --- ends ------------------------------------------------------------------------------------------ */

/* *all: nothing is left to settle. */
static int settle(struct engine *g, bool *all, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct zones v = { .a = &a };
	struct job_run *list;
	size_t n = 0;
	bool told = false;
	int rc = store_job_unsettled(g->store, DUE_MAX, &a, &list, &n, e);

	*all = n < DUE_MAX;
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
	struct jobs *j;
	struct zones zones;
	struct map chats; /* of late jobs, a bool: has a row of a job waiting */
	int64_t now, waiting; /* rows of jobs that wait, -1: not counted yet */
	size_t carried; /* jobs that were moved on */
	bool put_off, fired, told;
	bool zoneless; /* the zone of one could not be read */
	bool passed_by; /* and one more such zone is left out from now on */
};

/* It will never be readable: it is over, and its chat is told. */
static int give_up(struct look *l, struct tx *tx, const struct job *job, const char *why,
		   struct err *e)
{
	struct arena *a = l->zones.a;
	str error = str_of(why);

	log_error("job.broken", "job=%lld err=%.*s hint=\"it is switched off\"",
		  (long long)job->id, STRF(log_q(a, error)));
	l->told = true;
	return store_job_break(tx, job, error, job_broken(job, error, a), e);
}

/* The jobs of a zone that cannot be read now (its files are being replaced) stay due, and when
 * there are very many of them are not in the way of others. */
static void put_off_zone(struct look *l, const struct job *job)
{
	struct jobs *j = l->j;
	size_t at = strlen(j->passed_by);

	if (!l->zoneless && !j->zoneless)
		log_warn("job.zone",
			 "job=%lld zone=%.*s hint=\"it waits until its time zone "
			 "can be read\"",
			 (long long)job->id, STRF(log_q(l->zones.a, job->zone)));
	l->zoneless = l->put_off = true;
	str line = arena_fmt(l->zones.a, "%s%.*s\n", at ? "" : "\n", STRF(job->zone));
	if (str_has(str_of(j->passed_by), arena_fmt(l->zones.a, "\n%.*s\n", STRF(job->zone))) ||
	    line.n >= sizeof j->passed_by - at)
		return;
	memcpy(j->passed_by + at, line.p, line.n + 1);
	l->passed_by = true;
}

/* May a late run begin?  One row of a chat and few in all wait for a worker at a time: whoever
 * writes in between is not behind all that was missed.  The end of each turn looks again. */
static int may_begin(struct look *l, const struct job *job, bool *may, struct err *e)
{
	struct arena *a = l->zones.a;
	str chat = arena_fmt(a, "%.*s\n%.*s", STRF(job->channel), STRF(job->address));
	bool *waits = map_get(&l->chats, chat);
	int rc = OK;

	if (l->waiting < 0)
		rc = store_job_waiting(l->g->store, LATE_WAITING, &l->waiting, e);
	if (rc == OK && !waits) {
		waits = NEW(a, bool);
		(void)map_set(&l->chats, a, chat, waits);
		rc = store_job_chat_waits(l->g->store, job->channel, job->address, waits, e);
	}
	if (rc < 0)
		return rc;
	*may = l->waiting < LATE_WAITING && !*waits;
	if (*may) {
		l->waiting++;
		*waits = true;
	}
	return OK;
}

static int carry_out(struct look *l, struct tx *tx, const struct job *job, struct err *e)
{
	struct arena *a = l->zones.a;
	const struct zone *z;
	struct sched s;
	struct plan plan;
	struct job_fire fire = { 0 };
	struct err why = { 0 };
	struct job_fired fired;
	bool running;
	int rc;

	if (sched_load(&s, a, job->kind, job->expr, &why) < 0)
		return give_up(l, tx, job, why.msg, e);
	if ((z = zone_of(&l->zones, job->zone)) == NULL) {
		if (s.kind != SCHED_ONCE && s.kind != SCHED_EVERY) {
			put_off_zone(l, job);
			return OK;
		}
		z = &zone_utc; /* they know none */
	}
	/* A person may have run it by hand since it was read. */
	if ((rc = store_job_running(tx, job->id, &running, e)) < 0)
		return rc;
	sched_plan(&plan, &(struct plan_in){ .s = &s,
					     .z = z,
					     .due_at_ms = job->next_at_ms,
					     .now_ms = l->now,
					     .up_since_ms = l->j->up_since_ms,
					     .strict = !job->catch_up,
					     .running = running });
	/* Those that do not catch up would be too late for it. */
	bool may = true;
	if (plan.run_at_ms && l->now - plan.run_at_ms > LATE_MS && job->catch_up &&
	    (rc = may_begin(l, job, &may, e)) < 0)
		return rc;
	if (!may) {
		l->put_off = true;
		return OK;
	}
	l->carried++;
	if (plan.run_at_ms)
		job_fire(&fire, job, z, plan.run_at_ms, l->now, a);
	rc = store_job_fire(tx, job, &plan, &fire, &fired, e);
	if (rc < 0)
		return rc;
	l->fired |= fired.run_id != 0;
	if (fired.run_id)
		log_info("job.started", "job=%lld late_ms=%lld", (long long)job->id,
			 (long long)(l->now - plan.run_at_ms));
	log_skips(job, &plan);
	return OK;
}

/* What a look leaves. */
struct left {
	bool more; /* a further look at once has something to do */
	bool put_off; /* jobs that are due wait for a worker, or for their zone */
};

/* Those on time; then the late ones, which wait the longest first; and where these are very
 * many, the first of each chat, so that none waits for another's. */
enum { ON_TIME, LATE, FIRSTS, LISTS };

static int read_due(const struct look *l, struct job **list, size_t *n, struct err *e)
{
	struct store *st = l->g->store;
	struct arena *a = l->zones.a;
	struct job_due q = { .after_ms = l->now - LATE_MS,
			     .until_ms = l->now,
			     .not_zones = str_of(l->j->passed_by),
			     .limit = DUE_MAX };
	int rc = store_job_due(st, &q, a, &list[ON_TIME], &n[ON_TIME], e);

	q.after_ms = 0;
	q.until_ms = l->now - LATE_MS;
	if (rc == OK)
		rc = store_job_due(st, &q, a, &list[LATE], &n[LATE], e);
	q.firsts = true;
	if (rc == OK && n[LATE] == DUE_MAX)
		rc = store_job_due(st, &q, a, &list[FIRSTS], &n[FIRSTS], e);
	return rc;
}

static int start_due(struct engine *g, struct jobs *j, int64_t now, struct left *left,
		     const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct look l = { .g = g, .j = j, .zones = { .a = &a }, .now = now, .waiting = -1 };
	struct job *list[LISTS];
	size_t n[LISTS] = { 0 };
	int rc = read_due(&l, list, n, e);

	if (rc == OK && n[ON_TIME] + n[LATE] > 0)
		rc = store_begin(&tx, g->store, c, e);
	for (size_t k = 0; rc == OK && k < LISTS; k++)
		for (size_t i = 0; rc == OK && i < n[k]; i++)
			rc = carry_out(&l, &tx, &list[k][i], e);
	if (rc == OK && n[ON_TIME] + n[LATE] > 0)
		rc = store_commit(&tx, e);
	if (rc < 0)
		return rc;
	if (l.fired)
		bell_ring(&g->inbox);
	if (l.told)
		bell_ring(&g->outbox);
	bool full = n[ON_TIME] == DUE_MAX || n[LATE] == DUE_MAX;
	left->more = full && (l.carried > 0 || l.passed_by);
	left->put_off = l.put_off || j->passed_by[0];
	if (!left->more) {
		j->zoneless = l.zoneless || j->passed_by[0];
		j->passed_by[0] = '\0'; /* perhaps they can be read the next time */
	}
	return OK;
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
	struct left left = { 0 };
	bool settled = false;
	int rc = OK;

	if (!j->up_since_ms)
		j->up_since_ms = j->seen_ms = now;
	if (now < j->seen_ms - SET_BACK_MS) {
		log_warn("jobs.clock", "set_back_ms=%lld", (long long)(j->seen_ms - now));
		j->up_since_ms = j->up_since_ms < now ? j->up_since_ms : now;
		if ((rc = replan(g, now, c, e)) < 0)
			return rc;
	}
	j->seen_ms = now;
	if (clock_mono_ms() >= j->zones_at_ms && (rc = look_at_zones(g, j, now, c, e)) < 0)
		return rc;
	if ((rc = settle(g, &settled, c, e)) < 0 ||
	    (rc = start_due(g, j, now, &left, c, e)) < 0 || (rc = ring_for_others(g, e)) < 0 ||
	    (rc = store_job_next_at(g->store, left.put_off ? now : 0, &at, e)) < 0)
		return rc;
	if (left.more || !settled)
		at = now;
	*next_at_ms = at == 0 || at > now + tick ? now + tick : at;
	return OK;
}

/*
 * One system row: claimed, done, and whatever became of it written down.
 */
#include "agent/consolidate.h"
#include "agent/spend.h"
#include "agent/system.h"
#include "gateway/work.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/wait.h"
#include "store/state.h"
#include "store/watch.h"

#define ROOM_LOOK_MS 5000
#define MINUTE_MS 60000
#define CONSOLIDATION "consolidation" /* the heartbeat that says when it was last due */

static int claim(struct engine *g, str not_what, const struct cancel *c, struct arena *a,
		 struct system_row *row, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	bool ready = false;
	int rc = store_system_ready(g->store, not_what, &ready, e);

	if (rc < 0)
		return rc;
	if (!ready)
		return err_set(e, E_NOENT, "nothing to do");
	if ((rc = store_begin(&tx, g->store, c, e)) < 0 ||
	    (rc = store_system_claim(&tx, not_what, a, row, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

enum outcome { OUTCOME_UNKNOWN, OUTCOME_RELEASE, OUTCOME_RETRY, OUTCOME_WAIT };

static int settle_once(struct engine *g, const struct system_row *row, enum outcome how,
		       const char *why, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, g->store, NULL, e);

	if (rc < 0)
		return rc;
	if (how == OUTCOME_UNKNOWN)
		rc = store_system_done(&tx, row->id, e);
	else if (how == OUTCOME_RELEASE)
		rc = store_system_release(&tx, row->id, e);
	else if (how == OUTCOME_WAIT)
		rc = store_system_put_off(&tx, row->id, row->ready_at_ms, e);
	else
		rc = store_system_retry(&tx, row->id, str_of(why), e);
	if (rc < 0)
		return rc == E_CANCELED ? OK : rc; /* it is somebody else's by now */
	return store_commit(&tx, e);
}

/* A row that cannot be put down stays ours, and nobody would do it before we are gone: a full
 * disk is waited out. */
static int settle(struct engine *g, const struct system_row *row, enum outcome how,
		  const char *why, const struct cancel *c, struct err *e)
{
	int rc;

	do
		rc = settle_once(g, row, how, why, e);
	while ((rc == E_FULL || rc == E_BUSY) && wait_ms(ROOM_LOOK_MS, c, NULL) == OK);
	return rc;
}

static int one_row(struct engine *g, str not_what, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct system_row row;
	struct err why = { 0 };
	int rc;

	if ((rc = claim(g, not_what, c, &a, &row, e)) < 0)
		return rc;
	int64_t began = clock_mono_ms();
	rc = agent_system_run(g->agent, &row, c, &why);
	bell_ring(&g->inbox);
	bell_ring(&g->outbox);
	if (rc == OK) {
		log_info("system.done", "what=%.*s key=%.*s ms=%lld", STRF(log_q(&a, row.what)),
			 STRF(log_q(&a, row.key)), (long long)(clock_mono_ms() - began));
		return OK;
	}
	if (cancel_reason(c) != CANCEL_NONE) {
		rc = settle(g, &row, OUTCOME_RELEASE, "", c, e);
		return rc < 0 ? rc : cancel_check(c, e);
	}
	if ((row.ready_at_ms = agent_spend_shut_until(g->agent)) > 0) {
		log_info("system.waits", "what=%.*s key=%.*s until_s=%lld reason=%.*s",
			 STRF(log_q(&a, row.what)), STRF(log_q(&a, row.key)),
			 (long long)(row.ready_at_ms / 1000), STRF(log_q(&a, str_of(why.msg))));
		return settle(g, &row, OUTCOME_WAIT, "", c, e);
	}
	log_warn("system.failed", "what=%.*s key=%.*s attempt=%d err=%.*s",
		 STRF(log_q(&a, row.what)), STRF(log_q(&a, row.key)), row.attempts,
		 STRF(log_q(&a, str_of(why.msg))));
	return settle(g, &row, rc == E_NOENT ? OUTCOME_UNKNOWN : OUTCOME_RETRY, why.msg, c, e);
}

int work_system(struct engine *g, const struct cancel *c, struct err *e)
{
	return one_row(g, S(""), c, e);
}

int work_tidy(struct engine *g, const struct cancel *c, struct err *e)
{
	return one_row(g, S(WATCH_WHAT), c, e);
}

int work_schedule(struct engine *g, const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct memory_cfg *m = &g->cfg->memory;
	int64_t last = 0, now = clock_now_ms(), each = m->consolidate_minutes * MINUTE_MS;

	if (!m->enabled || memory_server(m).n || each <= 0)
		return OK;
	int rc = store_heartbeat_get(g->store, S(CONSOLIDATION), &last, e);
	if (rc < 0 && rc != E_NOENT)
		return rc;
	bool due = rc == OK && now - last >= each;
	if (rc == OK && !due && last <= now) /* else the clock was set back */
		return OK;
	if ((rc = store_begin(&tx, g->store, c, e)) < 0 ||
	    (rc = store_heartbeat(&tx, S(CONSOLIDATION), S(""), e)) < 0 ||
	    (due &&
	     (rc = store_system_add(&tx, &(struct system_new){ .what = S(CONSOLIDATE_WHAT) },
				    e)) < 0) ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	if (due)
		bell_ring(&g->system);
	return OK;
}

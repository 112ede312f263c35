/*
 * One turn: prompt, model, tools, until there is an answer.
 *
 *	load rows -> calls without a result? run them -> else ask the model -> ...
 *
 * Each pass reads the turn's rows again and goes on where they end, so a resumed turn takes
 * the same path as a fresh one.
 */
#include "agent/prompt.h"
#include "agent/recall.h"
#include "agent/run.h"
#include "agent/scheduled.h"
#include "agent/server_prompt.h"

#include "os/clock.h"
#include "os/log.h"
#include "store/memory_forget.h"
#include "store/state.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>

#define ATTEMPTS_MAX 3
#define TURN_MEMORY (64u << 20)

int agent_turn_begin(struct agent *ag, struct tx *tx, const struct turn *t,
		     const struct zone *zone, struct arena *a, struct err *e)
{
	struct mcp_server_status *servers = NULL;
	size_t n = 0;

	if (ag->opt.host)
		mcp_host_status(ag->opt.host, a, &servers, &n);
	str context = prompt_context(a, t->started_at_ms, zone, servers, n);
	str said = run_text_of(a, t->rows, t->rows_n);
	struct recall about;
	int rc = recall_message(ag, tx, t, said, a, &about, e);
	if (rc < 0)
		return rc;
	context = arena_fmt(a, "%.*s%.*s", STRF(context), STRF(about.block));
	rc = store_message_user(tx, t->id, model_user_wire(a, said), said, context, e);
	return rc < 0 ? rc : store_memory_used(tx, t->id, about.ids, about.n, e);
}

/* How long a turn waits for servers in their first handshake.  A person in a chat is not kept
 * waiting by one that stays silent: its known tools are listed anyway, and the next turn sees
 * new ones.  A single prompt has no next turn. */
static int64_t patience(const struct run *r)
{
	const struct mcp_cfg *mcp = &r->snap->cfg->mcp;

	return str_eq(r->t->kind, S("cli")) ? mcp->start_timeout_ms : mcp->turn_wait_ms;
}

/* What the past contributes: memory, summary, history. */
static int load_past(struct run *r, const struct session *s, struct err *e)
{
	struct agent *ag = r->ag;
	const struct limits_cfg *l = &r->snap->cfg->limits;
	struct prompt_system sys = { .persona = r->snap->persona,
				     .remembers = r->snap->cfg->memory.enabled,
				     .summary = s->summary };
	int64_t rev, added;
	int rc;

	if ((rc = store_memory_rev(ag->opt.store, &rev, &added, e)) < 0 ||
	    (rc = recall_snapshot(r, &sys.memory, e)) < 0)
		return rc;
	r->memory_rev = rev - added;
	r->system = prompt_system(r->a, &sys);
	/* Earlier answers of its kind would be imitated; a session that only a job uses is
	 * kept for having them. */
	bool asked = scheduled_turn(r->t) && !str_eq(r->t->session.channel, S("cron"));
	rc = (asked ? store_history_asked
		    : store_history)(ag->opt.store, s, l->history_max_messages + HISTORY_SLACK,
				     r->a, &r->history, &r->history_n, e);
	if (rc == OK)
		prompt_read(r->a, r->history, r->history_n);
	return rc;
}

/* The turn's rows so far. */
static int load(struct run *r, struct arena *ra, struct err *e)
{
	int rc = store_turn_load(r->ag->opt.store, r->t->id, ra, &r->rows, &r->rows_n,
				 &r->calls, &r->calls_n, e);

	if (rc < 0)
		return rc;
	r->round = 0;
	for (size_t i = 0; i < r->rows_n; i++)
		if (r->rows[i].round > r->round)
			r->round = r->rows[i].round;
	for (size_t i = 0; i < r->calls_n; i++)
		r->forgot |= str_eq(r->calls[i].name, S("memory_forget"));
	return OK;
}

/* Something was forgotten, or changed, since: it is not to stand in the next request. */
static int look_again(struct run *r, struct arena *ra, struct err *e)
{
	struct session now;
	int64_t rev, added;
	int rc = store_memory_rev(r->ag->opt.store, &rev, &added, e);

	if (rc < 0 || rev - added == r->memory_rev)
		return rc;
	if ((rc = store_memory_settle_now(r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_session_get(r->ag->opt.store, r->t->session.id, r->a, &now, e)) < 0 ||
	    (rc = load_past(r, &now, e)) < 0)
		return rc;
	return load(r, ra, e); /* its context blocks, too */
}

/* Everything of the turn that does not change while it runs. */
static int prepare(struct run *r, struct err *e)
{
	struct agent *ag = r->ag;
	int rc;

	if (ag->opt.host) {
		int64_t until = clock_mono_ms() + patience(r);
		rc = mcp_host_ready(ag->opt.host, until, r->token, e);
		if (rc < 0 && (rc != E_TIMEOUT || cancel_reason(r->token) != CANCEL_NONE))
			return rc;
	}
	tools_snapshot(ag->opt.tools, r->a, &r->set);
	if ((rc = run_publish(r, e)) < 0)
		return rc;
	/* What somebody deleted by hand left the summary after the claim had read it. */
	struct session now = r->t->session;
	if (now.summary.n && (rc = store_session_get(ag->opt.store, now.id, r->a, &now, e)) < 0)
		return rc;
	if ((rc = recall_from_server(r, e)) < 0 || (rc = load_past(r, &now, e)) < 0)
		return rc;
	r->issuer = model_issuer(ag->opt.model);
	rc = store_quirks_get(ag->opt.store, r->issuer, &r->quirks.flags,
			      &r->quirks.context_window, e);
	if (rc == OK)
		rc = store_tokens_permille(ag->opt.store, r->issuer, &r->tokens_permille, e);
	return rc < 0 ? rc : run_images(r, e);
}

static bool unfinished(const struct run *r)
{
	for (size_t i = 0; i < r->calls_n; i++)
		if (r->calls[i].state == CALL_PLANNED || r->calls[i].state == CALL_RUNNING)
			return true;
	return false;
}

/* In how many rounds was the same call made with the same result?  Twins within one round were
 * asked for before any of their results was known, so they count once. */
static int rounds_with(const struct run *r, const struct call *call)
{
	int64_t last = -1;
	int rounds = 0;

	for (size_t i = 0; i < r->calls_n; i++) {
		const struct call *c = &r->calls[i];
		if (c->round == last || !str_eq(c->requested, call->requested) ||
		    !str_eq(c->args, call->args) || !str_eq(c->result, call->result))
			continue;
		last = c->round;
		rounds++;
	}
	return rounds;
}

/* The third round with the identical call and result, be it one of several of its round. */
static bool looping(const struct run *r)
{
	for (size_t i = r->calls_n; i-- > 0 && r->calls[i].round == r->round;)
		if (rounds_with(r, &r->calls[i]) >= 3)
			return true;
	return false;
}

static enum landing caps(const struct run *r)
{
	const struct limits_cfg *l = &r->snap->cfg->limits;
	int64_t ms = clock_mono_ms() - r->started_ms;

	if (r->round >= l->tool_max_iterations)
		return LAND_ROUNDS;
	if (l->turn_max_calls && (int64_t)r->calls_n >= l->turn_max_calls)
		return LAND_CALLS;
	if (l->turn_max_tokens && r->tokens >= l->turn_max_tokens)
		return LAND_TOKENS;
	if (l->turn_max_ms && ms >= l->turn_max_ms)
		return LAND_TIME;
	if (r->a->used > TURN_MEMORY)
		return LAND_MEMORY;
	return looping(r) ? LAND_LOOP : LAND_NO;
}

/* Too long for the model: OK when something was shortened, so that it is worth asking again. */
static int recover(struct run *r, struct arena *ra, struct model_failure *fail, int refused,
		   struct err *e)
{
	struct err why = { 0 };
	int rc = run_shrink(r, ra, &why);

	if (rc == E_LIMIT)
		return refused; /* with what the model said */
	fail->kind = MODEL_OK;
	if (rc < 0)
		*e = why;
	else
		r->perf.recoveries++;
	return rc;
}

/* One pass: tools that are due, or one request.  fail->kind tells a model's failure. */
static int pass(struct run *r, struct model_failure *fail, struct err *e)
{
	SCOPED(arena_free) struct arena ra = { 0 };
	int rc;

	if ((rc = cancel_check(r->token, e)) < 0 || (rc = load(r, &ra, e)) < 0)
		return rc;
	if (unfinished(r))
		return run_calls(r, &ra, e);
	bool joined, filled;
	if ((rc = run_server_prompt(r, &ra, &filled, e)) < 0 || filled || r->done)
		return rc;
	if ((rc = run_join(r, &joined, e)) < 0 || joined)
		return rc; /* the next pass reads the rows again */
	if ((rc = look_again(r, &ra, e)) < 0)
		return rc;
	if (r->landing == LAND_NO)
		r->landing = caps(r);
	rc = run_ask(r, &ra, fail, e);
	if (rc < 0 && fail->no_images && r->images_n && !r->no_images) {
		*fail = (struct model_failure){ 0 };
		r->perf.recoveries++;
		return run_images_refused(r, e);
	}
	return rc < 0 && fail->kind == MODEL_CONTEXT_LENGTH ? recover(r, &ra, fail, rc, e) : rc;
}

static void log_done(struct run *r)
{
	struct perf *p = &r->perf;

	p->rounds = r->round + (r->done ? 1 : 0);
	p->at_ms = clock_now_ms();
	p->total_ms = clock_mono_ms() - r->started_ms;
	(void)snprintf(p->kind, sizeof p->kind, "%.*s", STRF(r->t->kind));
	agent_perf_add(r->ag, p);
	log_info("turn.done",
		 "session=%.*s kind=%s outcome=%d rounds=%lld tools=%lld batch=%lld "
		 "recoveries=%lld "
		 "model_ms=%lld tool_ms=%lld total_ms=%lld prompt_tokens=%lld "
		 "completion_tokens=%lld "
		 "cached_tokens=%lld cached_share=%lld%%",
		 STRF(r->t->session.id), p->kind, p->outcome, (long long)p->rounds,
		 (long long)p->calls, (long long)p->max_batch, (long long)p->recoveries,
		 (long long)p->model_ms, (long long)p->tool_ms, (long long)p->total_ms,
		 (long long)p->prompt_tokens, (long long)p->completion_tokens,
		 (long long)p->cached_tokens,
		 (long long)(p->prompt_tokens > 0 ? p->cached_tokens * 100 / p->prompt_tokens
						  : 0));
}

/* Close the turn according to how the loop ended. */
static int conclude(struct run *r, int rc, const struct model_failure *fail, struct err *e)
{
	if (rc == OK && r->parked)
		return OK;
	if (rc == OK)
		rc = run_finish_done(r, e);
	if (rc == OK) {
		r->perf.outcome = r->landing ? PERF_LANDING : PERF_OK;
		return OK;
	}
	if (rc == E_LIMIT && r->refusal.n) {
		r->perf.outcome = PERF_LANDING;
		return run_finish_spent(r, e);
	}
	/* Only now: it may have ended meanwhile, and been the reason. */
	enum cancel_reason why = cancel_reason(r->token);
	struct err first = *e;
	if (why == CANCEL_SHUTDOWN)
		return E_CANCELED;
	if (why != CANCEL_NONE || rc == E_CANCELED) {
		r->perf.outcome = PERF_CANCELED;
		return run_finish_canceled(r, why == CANCEL_NONE ? CANCEL_USER : why, e);
	}
	r->perf.outcome = PERF_ERROR;
	/* When it is the database, nothing can be written about it. */
	if (fail->kind == MODEL_OK &&
	    (rc == E_FULL || rc == E_BUSY || store_failed(r->ag->opt.store, NULL) < 0))
		return rc;
	return run_finish_failed(r, fail, &first, e);
}

static int release(const struct run *r, struct err *e)
{
	int rc = store_turn_release(r->ag->opt.store, r->t->id, NULL, e);

	if (rc < 0)
		return rc;
	log_info("turn.released", "session=%.*s", STRF(r->t->session.id));
	return err_set(e, E_CANCELED, "shutting down; the turn goes on after the restart");
}

static int loop(struct run *r, struct model_failure *fail, struct err *e)
{
	int rc = prepare(r, e);

	while (rc == OK && !r->done && !r->parked)
		rc = pass(r, fail, e);
	return rc;
}

int agent_turn_run(struct agent *ag, const struct turn *t, const struct turn_io *io,
		   const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(cancel_done) struct cancel token = { .fd = -1 };
	struct model_failure fail = { 0 };
	struct run r = { .ag = ag, .t = t, .io = io, .a = &a, .token = &token };
	struct err local = { 0 };
	int rc;

	e = e ? e : &local;
	r.snap = agent_snapshot_get(ag);
	r.started_ms = clock_mono_ms();
	/* The soft limit is asked about between rounds; a while later the turn is ended. */
	int64_t max_ms = r.snap->cfg->limits.turn_max_ms, own_ms = scheduled_timeout_ms(t);
	if (own_ms > 0 && (max_ms <= 0 || own_ms < max_ms))
		max_ms = own_ms;
	int64_t more_ms = max_ms / 10 < 60000 ? max_ms / 10 : 60000;
	if (max_ms == own_ms)
		more_ms = 0; /* a job's own limit is a hard one */
	if ((rc = cancel_init(&token, c, max_ms + more_ms, e)) < 0) {
		agent_snapshot_put(ag, r.snap);
		return rc;
	}
	log_turn(t->id.p);
	if (t->attempts > ATTEMPTS_MAX)
		rc = run_finish_given_up(&r, e);
	else
		rc = conclude(&r, loop(&r, &fail, e), &fail, e);
	if (rc == E_CANCELED)
		rc = release(&r, e);
	else if (!r.parked)
		log_done(&r);
	agent_snapshot_put(ag, r.snap);
	log_turn(NULL);
	return rc;
}

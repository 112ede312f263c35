/*
 * The tool calls of a round.  Those that may run do so at once, side by side, each on a
 * thread of its own that journals its own result; those that have to be asked about are
 * asked one after the other meanwhile; where the answers are rows, all are asked, and the turn
 * is parked when nothing else is left to do.  A result is committed as soon as it is there, so a
 * crash between two results loses neither.
 */
#include "agent/asks.h"
#include "agent/progress.h"

#include "base/utf.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/thread.h"
#include "os/wait.h"
#include "text/text.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#define PARALLEL 8
#define NO_MORE_SAFE                                                                           \
	"[interrupted: the program stopped while this tool was running, and it is no longer "  \
	"known as safe to repeat. It may or may not have taken effect; check before "          \
	"repeating it.]"

#define SLOW_MS 8000 /* a call that takes longer is named */

struct slot {
	struct run *r;
	struct call *call;
	const struct tool_spec *spec;
	struct tool_result result;
	bool refused; /* its effect, by the database */
	bool last; /* of its round */
	bool launched;
	struct asks_answers asked; /* it was run before, and came back for input */
	struct progress progress;
	_Atomic bool left; /* now, too: it is planned again */
	struct thread thread;
	const struct bell *done; /* rung at its end */
	_Atomic bool over;
	int rc; /* of the journal, not of the tool */
	struct err err;
};

/* A line for people may quote a server or the model, who may quote a secret. */
static str hide(const struct run *r, struct arena *a, str line)
{
	const struct config *cfg = r->snap->cfg;

	return text_redact(a, text_redact_values(a, line, cfg->secrets, cfg->secrets_n));
}

void run_trace(const struct run *r, const char *fmt, ...)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char line[512];
	va_list ap;

	if (!r->io || !r->io->on_trace)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (n > 0)
		r->io->on_trace(r->io->arg,
				hide(r, &a, utf_head(str_of(line), sizeof line - 1)));
}

static str hide_args(const struct run *r, struct arena *a, str args)
{
	const struct config *cfg = r->snap->cfg;

	return text_redact_args(a, args, cfg->secrets, cfg->secrets_n);
}

str run_result_wire(const struct run *r, struct arena *ra, const struct call *call, bool last)
{
	int64_t max = r->snap->cfg->limits.tool_max_iterations, warn = max * 7 / 10;
	str text = call->result;

	/* On the results of one round only, so that it is told once and stays in place. */
	if (last && call->round == warn && max > warn)
		text = arena_fmt(
			ra,
			"%.*s\n\n[note: %lld of %lld tool rounds are used, %lld remain; "
			"finish in time]",
			STRF(text), (long long)warn, (long long)max, (long long)(max - warn));
	return model_tool_wire(ra, call->provider_id, text);
}

/* What the tool does in our database, in the transaction of its result: not for a turn that
 * was cancelled meanwhile, nor for a call that has its result. */
static int effect(struct slot *s, struct call *end, struct tx *tx, struct arena *a,
		  struct err *e)
{
	bool live;
	int rc = store_call_live(tx, s->r->t->id, str_of(s->call->id), &live, e);

	if (rc < 0)
		return rc;
	if (!live) {
		tools_no_effect(end, "", a);
		return OK;
	}
	rc = tools_effect(s->r->ag->opt.tools, s->spec, end, &s->result, tx, a, e);
	s->refused = rc < 0 && rc != E_FULL && rc != E_BUSY;
	return rc;
}

static int journal_once(struct slot *s, struct arena *keep, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct call end = *s->call;
	int rc;

	/* Not under the turn's token: a result that exists is written even when the turn was
	 * cancelled meanwhile. */
	if ((rc = store_begin(&tx, s->r->ag->opt.store, NULL, e)) < 0 ||
	    (s->result.effect && (rc = effect(s, &end, &tx, &a, e)) < 0))
		return rc;
	end.result_wire = run_result_wire(s->r, &a, &end, s->last);
	if ((rc = store_call_finish(&tx, s->r->t->id, &end, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	s->call->state = end.state;
	s->call->result = s->result.effect ? arena_dup(keep, end.result) : end.result;
	return OK;
}

/* What a tool did is done: its result is not given up while there is hope for room.  An effect
 * that the database refuses is a result too. */
static int journal_result(struct slot *s, struct arena *a, struct err *e)
{
	int rc;

	do {
		rc = journal_once(s, a, e);
		if (s->refused) {
			s->refused = false;
			s->result.effect = NULL;
			tools_no_effect(s->call, arena_dup(a, str_of(e->msg)).p, a);
			rc = journal_once(s, a, e);
		}
	} while (run_await_room(s->r, rc, e));
	return rc;
}

static void trace_end(const struct slot *s)
{
	const struct call *c = s->call;
	long long ms = (long long)c->duration_ms;
	bool full = str_eq(s->r->snap->cfg->agent.tool_trace, S("full"));
	const char *mark = c->state == CALL_DONE ? "✓" : "✗";

	if (str_eq(s->r->snap->cfg->agent.tool_trace, S("off")))
		return;
	if (full)
		run_trace(s->r, "%s %.*s %lld ms, %zu chars", mark, STRF(c->name), ms,
			  utf_count(c->result));
	else
		run_trace(s->r, "%s %.*s", mark, STRF(c->name.n ? c->name : c->requested));
}

static void on_progress(void *arg, str call_id, double done, double total, str message)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct slot *s = arg;

	(void)call_id;
	if (str_eq(s->r->snap->cfg->agent.tool_trace, S("off")))
		return;
	str line = progress_line(&s->progress, s->call->name, done, total, message,
				 clock_mono_ms(), &a);
	if (line.n)
		run_trace(s->r, "%.*s", STRF(line));
}

static int on_question(void *arg, str call_id, const struct mcp_question *q, struct arena *a,
		       struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	return asks_answer(((struct slot *)arg)->r, call_id, q, a, out, c, e);
}

/* Run one admitted call and journal what came of it.  After a shutdown nothing is written:
 * the row stays as it is and recovery decides. */
static void run_slot(struct slot *s)
{
	struct run *r = s->r;
	SCOPED(arena_free) struct arena a = { 0 };
	struct tool_ctx ctx = {
		.turn_id = r->t->id,
		.call_id = str_of(s->call->id),
		.session_id = r->t->session.id,
		.channel = r->t->channel,
		.address = r->t->address,
		.requester = r->t->sender,
		.on_progress = on_progress,
		.on_question = on_question,
		.parks = r->io && r->io->parks,
		.state = s->asked.state,
		.answers = s->asked.answers,
		.arg = s,
	};
	struct err why = { 0 };

	log_turn(r->t->id.p);
	if (str_eq(r->snap->cfg->agent.tool_trace, S("full")))
		run_trace(r, "→ %.*s %.*s", STRF(s->call->name),
			  STRF(text_line(&a, hide_args(r, &a, s->call->args), 120)));
	int rc = tools_run_journaled(r->ag->opt.tools, s->spec, s->call, &ctx, &a, &s->result,
				     r->token, &why);
	if (rc < 0 && cancel_reason(r->token) == CANCEL_SHUTDOWN)
		return;
	if (rc < 0 && rc != E_CANCELED)
		log_warn("tool.failed", "tool=%.*s err=%.*s", STRF(s->call->name),
			 STRF(log_q(&a, str_of(why.msg))));
	if (rc == OK && s->result.asks_n && asks_leave(r, s->call, &s->result, &a)) {
		s->left = true;
		return;
	}
	s->rc = journal_result(s, &a, &s->err);
	log_info("tool.done", "tool=%.*s state=%d ms=%lld chars=%zu", STRF(s->call->name),
		 s->call->state, (long long)s->call->duration_ms, s->call->result.n);
	trace_end(s);
	/* The result lives in this thread's arena; the rows are read again. */
	s->call->result = s->call->result_wire = (str){ 0 };
}

static void *slot_main(void *arg)
{
	struct slot *s = arg;

	run_slot(s);
	atomic_store(&s->over, true);
	bell_ring(s->done);
	return NULL;
}

static bool works(struct slot *s)
{
	return s->launched && !atomic_load(&s->over);
}

/* Until all are over or it takes long; then the user hears what does. */
static void tell_slow(const struct run *r, struct slot *slots, size_t n,
		      const struct bell *done)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t until = clock_mono_ms() + SLOW_MS;
	size_t left = 0;

	do {
		bell_hear(done);
		left = 0;
		for (size_t i = 0; i < n; i++)
			left += works(&slots[i]);
	} while (left && wait_fd(done->fd, POLLIN, until, NULL, NULL) == OK);
	for (size_t i = 0; i < n && left; i++)
		if (works(&slots[i]))
			r->io->on_slow(r->io->arg, arena_fmt(&a, "⏳ running %.*s…",
							     STRF(slots[i].call->name)));
}

static bool open_call(const struct call *c)
{
	return c->state == CALL_PLANNED || c->state == CALL_RUNNING;
}

/* Ask about a planned call; afterwards it is running, or has its refusal journaled, or waits
 * for an answer and is planned still. */
static int ask(struct slot *s, struct arena *ra, struct err *e)
{
	struct run *r = s->r;
	bool there = run_attended(r), parks = there && r->io->parks;
	struct approver *by = there && r->io->approver ? r->io->approver : &approver_deny_all;
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	tools_explain(r->ag->opt.tools, s->spec, s->call, ra);
	rc = run_classify(r, s->call, ra, e);

	if (rc == OK && s->call->state == CALL_PLANNED)
		rc = parks ? run_question(r, s->spec, s->call, ra, e)
			   : tools_ask(r->ag->opt.tools, s->spec, s->call, by, ra, r->token, e);
	else
		parks = false;

	/* Answered in rows: it was started in the same commit. */
	if (rc < 0 || (parks && open_call(s->call)))
		return rc;
	if (s->call->state != CALL_RUNNING)
		return journal_result(s, ra, e);
	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_call_start(&tx, r->t->id, s->call, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* Side by side; one after the other where the system gives no thread. */
static void launch(struct slot *s)
{
	struct err e = { 0 };

	s->launched = true;
	if (thread_start(&s->thread, "tool", slot_main, s, &e) < 0) {
		log_warn("tool.thread", "err=\"%s\" hint=\"it runs by itself\"", e.msg);
		(void)slot_main(s);
	}
}

static const struct tool_spec *spec_of(const struct toolset *set, str name)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->v[i].name, name))
			return &set->v[i];
	return NULL;
}

/* It was approved before, and had come back for input: with the answers it goes on, unless it is
 * forbidden by now. */
static int go_on(struct slot *s, struct arena *ra, struct err *e)
{
	struct run *r = s->r;
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	s->spec = tools_admit(r->ag->opt.tools, &r->set, s->call, ra);
	if (!s->spec)
		return OK;
	s->call->state = CALL_RUNNING;
	s->call->decision = s->call->decider = S("");
	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_call_start(&tx, r->t->id, s->call, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* Tools may be gone, and policy may have changed, since the call was planned. */
static int admit_again(struct slot *s, struct arena *ra, struct err *e)
{
	struct run *r = s->r;

	s->spec = spec_of(&r->set, s->call->name);
	if (s->call->interrupted) {
		int rc = asks_resume(r, s->call, ra, &s->asked, e);
		if (rc < 0 || s->asked.waits)
			return rc;
		if (s->asked.asked)
			return go_on(s, ra, e);
	}
	if (!r->t->resumed)
		return OK;
	enum call_state was = s->call->state;
	s->spec = tools_admit(r->ag->opt.tools, &r->set, s->call, ra);
	if (s->spec && s->call->interrupted && !s->call->safe) {
		/* It was safe to repeat when it was planned, and is no more. */
		s->call->state = CALL_IN_DOUBT;
		s->call->result = S(NO_MORE_SAFE);
		return OK;
	}
	if (s->call->state == CALL_RUNNING && was == CALL_PLANNED) {
		SCOPED(store_rollback) struct tx tx = { 0 };
		int rc;
		if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
		    (rc = store_call_start(&tx, r->t->id, s->call, e)) < 0)
			return rc;
		return store_commit(&tx, e);
	}
	return OK;
}

/* One window of at most PARALLEL calls. */
static int run_window(struct slot *slots, size_t n, const struct bell *done, struct arena *ra,
		      struct err *e)
{
	int rc = OK;

	for (size_t i = 0; i < n && rc == OK; i++) {
		if ((rc = admit_again(&slots[i], ra, e)) < 0)
			break;
		if (slots[i].call->state == CALL_RUNNING)
			launch(&slots[i]);
	}
	for (size_t i = 0; i < n && rc == OK; i++) {
		if (slots[i].launched || slots[i].asked.waits)
			continue;
		if (slots[i].call->state == CALL_PLANNED)
			rc = ask(&slots[i], ra, e);
		else
			rc = journal_result(&slots[i], ra, e);
		if (rc == OK && slots[i].call->state == CALL_RUNNING)
			launch(&slots[i]);
	}
	if (slots->r->io && slots->r->io->on_slow)
		tell_slow(slots->r, slots, n, done);
	for (size_t i = 0; i < n; i++) {
		thread_join(&slots[i].thread);
		slots->r->waits |= slots[i].left || slots[i].asked.waits;
		if (rc == OK && slots[i].rc < 0) {
			rc = slots[i].rc;
			*e = slots[i].err;
		}
	}
	return rc;
}

int run_calls(struct run *r, struct arena *ra, struct err *e)
{
	SCOPED(bell_done) struct bell done = { .fd = -1 };
	struct slot slots[PARALLEL];
	int64_t began = clock_mono_ms();
	int rc = bell_init(&done, e);

	for (size_t i = 0; i < r->calls_n && rc == OK;) {
		size_t n = 0;
		for (; i < r->calls_n && n < PARALLEL; i++) {
			struct call *c = &r->calls[i];
			bool last = i + 1 == r->calls_n || r->calls[i + 1].round != c->round;
			if (open_call(c))
				slots[n++] = (struct slot){
					.r = r, .call = c, .last = last, .done = &done
				};
		}
		if (n == 0)
			break;
		if ((int64_t)n > r->perf.max_batch)
			r->perf.max_batch = (int64_t)n;
		rc = run_window(slots, n, &done, ra, e);
		if (rc == OK)
			rc = cancel_check(r->token, e);
	}
	r->perf.tool_ms += clock_mono_ms() - began;
	return rc == OK && r->waits ? run_park(r, e) : rc;
}

bool run_attended(const struct run *r)
{
	static const char *const alone[] = { "cron", "watch", "system" };

	for (size_t i = 0; i < COUNT(alone); i++)
		if (str_eq(r->t->kind, str_of(alone[i])))
			return false;
	return r->io != NULL;
}

/*
 * Questions that outlive the process: a call that has to be asked about becomes an approval
 * row, posted by the outbox, and the turn is parked until somebody presses a button.  On
 * resume it comes back here and finds the answer.
 */
#include "agent/run.h"

#include "os/clock.h"
#include "os/log.h"
#include "store/approval.h"

#define QUESTION_MAX 65536 /* bytes shown; a channel sends a long one as a file */

static int add_row(struct run *r, const struct approval *p, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	char id[ID_LONG_LEN + 1];
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_approval_add(&tx, p, id, e)) < 0 || (rc = store_commit(&tx, e)) < 0)
		return rc;
	log_info("approval.asked", "id=%s tool=%.*s", id, STRF(p->tool));
	return OK;
}

static int add(struct run *r, const struct approval *p, struct err *e)
{
	int rc;

	do
		rc = add_row(r, p, e);
	while (run_await_room(r, rc, e));
	if (rc < 0)
		return rc;
	r->waits = true;
	if (r->io->on_outbox)
		r->io->on_outbox(r->io->arg);
	return OK;
}

static int post(struct run *r, const struct tool_spec *spec, struct call *call, str hash,
		struct arena *ra, struct err *e)
{
	struct approval_ask ask;
	int64_t now = clock_now_ms();

	if (!tools_question(r->ag->opt.tools, spec, call, QUESTION_MAX, ra, &ask))
		return OK;
	struct approval p = {
		.session_id = r->t->session.id,
		.turn_id = r->t->id,
		.call_id = str_of(call->id),
		.channel = r->t->channel,
		.address = r->t->address,
		.tool = ask.tool,
		.command = ask.display,
		.hash = hash,
		.reason = ask.reason,
		.created_at_ms = now,
		.expires_at_ms = now + ask.timeout_ms,
	};
	return add(r, &p, e);
}

/* A yes: it is used up and the call starts, or it came too late. */
static int use(struct run *r, const struct approval *p, struct call *call, struct arena *ra,
	       struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct call start = *call;
	int rc;

	start.decision = S("approved");
	start.decider = p->decided_by;
	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0)
		return rc;
	rc = store_approval_use(&tx, p->id, p->hash, clock_now_ms(), &start, e);
	if (rc == E_NOENT) {
		tools_refuse(call, true, S("clock"), ra);
		return OK;
	}
	if (rc < 0 || (rc = store_commit(&tx, e)) < 0)
		return rc;
	start.state = CALL_RUNNING;
	start.shown = p->command;
	start.shown_max = QUESTION_MAX;
	*call = start;
	return OK;
}

int run_question(struct run *r, const struct tool_spec *spec, struct call *call,
		 struct arena *ra, struct err *e)
{
	struct approval p;
	str hash = tools_hash(r->ag->opt.tools, spec, call, ra);
	int rc =
		store_approval_of_call(r->ag->opt.store, r->t->id, str_of(call->id), ra, &p, e);

	if (rc < 0 && rc != E_NOENT)
		return rc;
	/* Not asked yet, asked about something else, or used before a crash cut the call off. */
	if (rc == E_NOENT || !str_eq(p.hash, hash) || p.state == APPROVAL_USED)
		return post(r, spec, call, hash, ra, e);
	switch (p.state) {
	case APPROVAL_APPROVED:
		return use(r, &p, call, ra, e);
	case APPROVAL_DENIED:
		tools_refuse(call, false, p.decided_by, ra);
		return OK;
	case APPROVAL_EXPIRED:
		tools_refuse(call, true, S("clock"), ra);
		return OK;
	default:
		r->waits = true;
		return OK;
	}
}

int run_park(struct run *r, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	bool parked = false;
	int rc;

	r->waits = false;
	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_turn_park(&tx, r->t->id, &parked, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	r->parked = parked;
	if (parked)
		log_info("turn.parked", "session=%.*s", STRF(r->t->session.id));
	return OK;
}

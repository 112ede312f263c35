/*
 * Questions of tool servers that are rows, in channels that ask by them.
 *
 * Where the call waits (initialize era) its thread waits for the row to be over.  Where it came
 * back for input (stateless era) the rows and the call, planned again, are one commit; the turn
 * parks, and when all of them are over the call is made again with what was answered.
 */
#include "agent/asks.h"

#include "os/clock.h"
#include "os/log.h"
#include "store/question.h"
#include "text/text.h"

#define LOOK_MS 60000 /* without a ring */
#define LOOK_SOON_MS 500 /* where nobody rings */
#define STATE_MAX (1u << 20)
#define CANCEL_TEXT "{\"action\":\"cancel\"}"

static int row_of(const struct run *r, str call_id, const struct mcp_question *q,
		  struct arena *a, struct question *out, struct err *e)
{
	int64_t now = clock_now_ms();
	str params = S("");
	int rc = q->kind == MCP_ELICIT ? form_keep(q->params, a, &params, e) : OK;

	*out = (struct question){
		.session_id = r->t->session.id,
		.turn_id = r->t->id,
		.call_id = call_id,
		.channel = r->t->channel,
		.address = r->t->address,
		.requester = r->t->sender,
		.server = q->server,
		.key = q->key,
		.params = params,
		.created_at_ms = now,
		.expires_at_ms = now + r->snap->cfg->mcp.question_timeout_ms,
	};
	return rc;
}

static void log_asked(const struct question *q, struct arena *a)
{
	log_info("question.asked", "server=%.*s", STRF(log_q(a, q->server)));
}

static void log_ended(const struct question *q, enum question_state state, struct arena *a)
{
	static const char *const words[] = {
		[QUESTION_PENDING] = "open",      [QUESTION_ANSWERED] = "accepted",
		[QUESTION_DECLINED] = "declined", [QUESTION_CANCELLED] = "cancelled",
		[QUESTION_EXPIRED] = "expired",   [QUESTION_VOID] = "void",
	};

	log_info("question.ended", "server=%.*s end=%s", STRF(log_q(a, q->server)),
		 words[state]);
}

/* --- a call that waits -------------------------------------------------------------------- */

static int add_once(struct run *r, const struct question *q, char id[ID_LONG_LEN + 1],
		    const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, c, e)) < 0 ||
	    (rc = store_question_add(&tx, q, id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* Nobody waits for it any more: no press of it is to count. */
static void end_it(struct run *r, str id, enum question_state state)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct err e = { 0 };

	if (store_begin(&tx, r->ag->opt.store, NULL, &e) < 0 ||
	    store_question_end(&tx, id, state, &e) < 0 || store_commit(&tx, &e) < 0)
		log_warn("question.not_ended", "err=\"%s\"", e.msg);
}

/* Until the row is over, which is read then; E_CANCELED, E_TIMEOUT when c ended first. */
static int wait_over(struct run *r, str id, const struct bell *bell, bool rings,
		     struct arena *a, struct question *q, const struct cancel *c, struct err *e)
{
	for (;;) {
		bell_hear(bell);
		enum question_state state;
		int rc = store_question_state(r->ag->opt.store, id, &state, e);
		if (rc < 0)
			return rc;
		if (state != QUESTION_PENDING)
			return store_question_get(r->ag->opt.store, id, a, q, e);
		int64_t until = clock_mono_ms() + (rings ? LOOK_MS : LOOK_SOON_MS);
		rc = wait_fd(bell->fd, POLLIN, until, c, e);
		if (rc < 0 && (rc != E_TIMEOUT || cancel_check(c, e) < 0))
			return rc;
	}
}

int asks_by_row(struct run *r, str call_id, const struct mcp_question *asked, struct arena *a,
		struct asks_end *end, const struct cancel *c, struct err *e)
{
	SCOPED(bell_done) struct bell bell = { .fd = -1 };
	const struct turn_io *io = r->io;
	struct question q;
	char id[ID_LONG_LEN + 1];
	int rc = row_of(r, call_id, asked, a, &q, e);

	if (rc < 0 || (rc = bell_init(&bell, e)) < 0)
		return rc;
	bool rings = io->on_waiting && io->on_waiting(io->arg, &bell, true);
	do
		rc = add_once(r, &q, id, c, e);
	while (run_await_room(r, rc, e));
	if (rc == OK) {
		log_asked(&q, a);
		if (io->on_outbox)
			io->on_outbox(io->arg);
		rc = wait_over(r, str_of(id), &bell, rings, a, &q, c, e);
		if (rc < 0 && asks_done(asked)) {
			end_it(r, str_of(id), QUESTION_ANSWERED);
			q.state = QUESTION_ANSWERED;
			q.result = S(ASKS_ACCEPT);
			rc = OK;
		} else if (rc < 0) {
			end_it(r, str_of(id), QUESTION_VOID);
		}
	}
	if (rings)
		(void)io->on_waiting(io->arg, &bell, false);
	log_ended(&q, rc < 0 ? QUESTION_VOID : q.state, a);
	if (rc < 0)
		return rc;
	*end = (struct asks_end){ q.result.n ? q.result : S(CANCEL_TEXT), q.state,
				  q.decided_by };
	return OK;
}

/* --- a call that came back for input -------------------------------------------------------- */

static int add_round(struct run *r, const struct question *v, size_t n, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, NULL, e)) < 0 ||
	    (rc = store_question_round(&tx, v, n, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static int check_forms(const struct tool_result *res, struct arena *a, struct err *e)
{
	struct form f;
	int rc = OK;

	for (size_t i = 0; i < res->asks_n && rc == OK; i++)
		if (!res->asks[i].answer.n)
			rc = form_read(&f, res->asks[i].q.params, a, e);
	if (rc == OK && res->state.n > STATE_MAX)
		return err_set(e, E_LIMIT, "its state has more than %u bytes", STATE_MAX);
	return rc;
}

/* The call ends here: what it asked could not be asked. */
static void fail(struct call *call, struct arena *a, const struct err *why, int rc)
{
	call->state = rc == E_CANCELED ? CALL_CANCELED : CALL_FAILED;
	call->result = arena_fmt(a,
				 "error: the tool needs an answer that it cannot have: %s; "
				 "it had no effect as far as one knows",
				 why->msg);
}

bool asks_leave(struct run *r, struct call *call, const struct tool_result *res,
		struct arena *a)
{
	struct question *v = NEWN(a, struct question, res->asks_n), *last;
	size_t last_n = 0;
	struct err e = { 0 };
	int rc = check_forms(res, a, &e);

	if (rc == OK)
		rc = store_question_of_call(r->ag->opt.store, r->t->id, str_of(call->id), a,
					    &last, &last_n, &e);
	for (size_t i = 0; rc == OK && i < res->asks_n; i++) {
		rc = row_of(r, str_of(call->id), &res->asks[i].q, a, &v[i], &e);
		v[i].round = last_n ? last[0].round + 1 : 1;
		v[i].index = (int64_t)i;
		v[i].result = res->asks[i].answer;
		v[i].request_state = i == 0 ? res->state : S("");
	}
	if (rc == OK) {
		do
			rc = add_round(r, v, res->asks_n, &e);
		while (run_await_room(r, rc, &e));
	}
	if (rc < 0) {
		log_warn("question.refused", "server=%.*s err=%.*s",
			 STRF(log_q(a, res->asks[0].q.server)), STRF(log_q(a, str_of(e.msg))));
		fail(call, a, &e, rc);
		return false;
	}
	log_asked(&v[0], a);
	if (r->io->on_outbox)
		r->io->on_outbox(r->io->arg);
	return true;
}

int asks_resume(struct run *r, const struct call *call, struct arena *a,
		struct asks_answers *out, struct err *e)
{
	struct buf b = buf_in(a, 64u << 20);
	struct question *v;
	size_t n;
	int rc = store_question_of_call(r->ag->opt.store, r->t->id, str_of(call->id), a, &v, &n,
					e);

	*out = (struct asks_answers){ .asked = n > 0 };
	if (rc < 0 || n == 0)
		return rc;
	buf_addc(&b, '{');
	for (size_t i = 0; i < n; i++) {
		out->waits |= v[i].state == QUESTION_PENDING;
		buf_add(&b, i ? S(",") : S(""));
		buf_json(&b, v[i].key);
		buf_addc(&b, ':');
		buf_add(&b, v[i].result.n ? v[i].result : S(CANCEL_TEXT));
	}
	buf_addc(&b, '}');
	out->state = v[0].request_state;
	out->answers = buf_str(&b);
	return OK;
}

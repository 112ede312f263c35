/*
 * Sampling: admitted, asked about, held to the budget, asked for, counted, audited.  One request
 * of a server is one request of ours: what the model answers is given to the server, and no tool
 * of ours is ever called for it, so it cannot come to a second one by itself.
 */
#include "agent/sampling.h"

#include "agent/asks.h"
#include "agent/once.h"
#include "agent/sampling_wire.h"
#include "config/price.h"
#include "mcp/rpc.h"
#include "os/clock.h"
#include "os/log.h"
#include "text/text.h"

#define REFUSED (-1) /* as the protocol has it for a no of the person */
#define EXCERPT_MAX 600
#define AUDIT_EXCERPT 200

struct sampling {
	struct run *r;
	const struct mcp_question *q;
	struct mcp_sampling_cfg cfg;
	struct sampling_req s;
	struct call row;
	str call_id;
	struct arena *a;
};

static int refuse(const struct sampling *x, int code, const char *why, struct mcp_answer *out)
{
	/* A flood of them is told of once a call. */
	if (x->q->before <= (size_t)x->cfg.per_call)
		log_warn("sampling.refused", "server=%.*s reason=%.*s",
			 STRF(log_q(x->a, x->q->server)), STRF(log_q(x->a, str_of(why))));
	*out = (struct mcp_answer){ .code = code, .message = arena_dup(x->a, str_of(why)) };
	return OK;
}

/* What people may see of the prompt. */
static str excerpt(const struct sampling *x, size_t max)
{
	const struct config *cfg = x->r->snap->cfg;
	str s = text_redact_values(x->a, x->s.last, cfg->secrets, cfg->secrets_n);

	return text_line(x->a, text_visible(x->a, text_redact(x->a, s), false), max);
}

static str args_of(const struct sampling *x, const struct model_reply *reply)
{
	struct buf b = buf_in(x->a, 16384);

	buf_add(&b, S("{"));
	buf_json_member(&b, "call", x->call_id);
	buf_json_member_i64(&b, "messages", (int64_t)x->s.req.msgs_n);
	buf_json_member_i64(&b, "pictures", (int64_t)x->s.images);
	buf_json_member_i64(&b, "chars", (int64_t)x->s.text.n);
	buf_json_member_i64(&b, "max_tokens", x->s.req.max_tokens);
	if (reply) {
		buf_json_member_i64(&b, "prompt_tokens", reply->usage.prompt);
		buf_json_member_i64(&b, "completion_tokens", reply->usage.completion);
	}
	buf_json_member(&b, "prompt", excerpt(x, AUDIT_EXCERPT));
	buf_add(&b, S("}"));
	return buf_str(&b);
}

/* The audit row, before or after: like that of a call, but of no turn's messages. */
static int record(struct sampling *x, bool ended, struct err *e)
{
	int rc;

	do
		rc = store_call_record(x->r->ag->opt.store, &x->row, ended, NULL, e);
	while (run_await_room(x->r, rc, e));
	return rc;
}

static str question_text(const struct sampling *x)
{
	const struct sampling_req *s = &x->s;

	return arena_fmt(x->a,
			 "It wants the model to answer this for it: %zu message%s, %zu "
			 "picture%s, %zu characters, %zu tools, an answer of at most %lld "
			 "tokens.\n%.*s",
			 s->req.msgs_n, s->req.msgs_n == 1 ? "" : "s", s->images,
			 s->images == 1 ? "" : "s", s->text.n, s->req.tools_n,
			 (long long)s->req.max_tokens, STRF(excerpt(x, EXCERPT_MAX)));
}

/* In a channel whose questions are rows: as a question of a server is asked there. */
static int ask_by_row(struct sampling *x, bool *yes, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(x->a, 16384);
	struct mcp_question q = { .kind = MCP_ELICIT, .server = x->q->server };
	struct asks_end end;
	struct json *v;
	int rc;

	buf_add(&b, S("{\"mode\":\"form\""));
	buf_json_member(&b, "message", question_text(x));
	buf_add(&b, S(",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"allow\":"
		      "{\"type\":\"boolean\",\"title\":\"Let it ask the model\"}},"
		      "\"required\":[\"allow\"]}}"));
	if ((rc = json_read(&v, x->a, buf_str(&b), e)) < 0)
		return rc;
	q.params = v;
	if ((rc = asks_by_row(x->r, x->call_id, &q, x->a, &end, c, e)) < 0)
		return rc;
	x->row.decider = end.by;
	if (end.state == QUESTION_EXPIRED) {
		x->row.decider = S("clock");
		return err_set(e, E_TIMEOUT, "nobody answered in time");
	}
	if (!end.by.n)
		return err_set(e, E_DENIED, "nobody answered");
	*yes = end.state == QUESTION_ANSWERED && json_read(&v, x->a, end.result, NULL) == OK &&
	       json_bool(json_get(v, "content"), "allow", false);
	return OK;
}

static int ask_by_line(struct sampling *x, bool *yes, const struct cancel *c, struct err *e)
{
	struct run *r = x->r;
	struct approver *by = r->io && r->io->approver ? r->io->approver : &approver_deny_all;
	const struct approval_ask ask = {
		.tool = x->row.name,
		.display = question_text(x),
		.reason = S("sampling = \"ask\" in the manifest"),
		.timeout_ms = r->snap->cfg->mcp.question_timeout_ms,
	};
	int rc = by->ask(by, &ask, yes, c, e);

	x->row.decider = str_of(by->decider);
	return rc;
}

/* PLANNED: it becomes RUNNING or DENIED.  Nobody there and no answer in time are a no. */
static int ask(struct sampling *x, const struct cancel *c, struct err *e)
{
	struct err why = { 0 };
	bool yes = false;
	int rc = E_DENIED;

	if (run_attended(x->r))
		rc = x->r->io->parks ? ask_by_row(x, &yes, c, &why)
				     : ask_by_line(x, &yes, c, &why);
	if (rc == E_CANCELED || (rc < 0 && cancel_reason(c) != CANCEL_NONE))
		return err_set(e, rc, "%s", why.msg);
	yes &= rc == OK;
	x->row.state = yes ? CALL_RUNNING : CALL_DENIED;
	x->row.decision = yes               ? S("approved")
			  : rc == OK        ? S("denied")
			  : rc == E_TIMEOUT ? S("expired")
					    : S("unanswered");
	return OK;
}

static int complete(struct sampling *x, struct model_reply *reply, const struct cancel *c,
		    struct err *e)
{
	const struct once q = {
		.tokens = text_tokens(x->s.text),
		.turn_id = x->r->t->id,
		.session_id = x->r->t->session.id,
		.forgets = true,
	};
	int64_t began = clock_mono_ms();
	struct model_failure fail;
	struct err end = { 0 };
	int rc = agent_once_request(x->r->ag, &q, &x->s.req, x->a, reply, &fail, c, e);

	x->row.duration_ms = clock_mono_ms() - began;
	x->row.state = rc == OK                          ? CALL_DONE
		       : cancel_reason(c) != CANCEL_NONE ? CALL_CANCELED
							 : CALL_FAILED;
	x->row.args = args_of(x, rc == OK ? reply : NULL);
	if (record(x, true, &end) < 0)
		log_warn("sampling.audit", "server=%.*s err=%.*s",
			 STRF(log_q(x->a, x->q->server)), STRF(log_q(x->a, str_of(end.msg))));
	return rc;
}

/* Read, admitted, asked about: RUNNING and in the audit, or *out says why not. */
static int begin(struct sampling *x, struct mcp_answer *out, const struct cancel *c,
		 struct err *e)
{
	const struct config *cfg = x->r->snap->cfg;
	int64_t most =
		cfg->model.max_tokens > 0 ? cfg->model.max_tokens : cfg->spending.answer_tokens;
	struct err why = { 0 };
	int rc = sampling_read(&x->s, x->q->params, &x->cfg, most, x->a, &why);

	if (rc < 0)
		return refuse(x, MCP_INVALID_PARAMS, why.msg, out);
	id_new(x->row.id);
	x->row.name = x->row.requested = arena_fmt(x->a, "sampling/%.*s", STRF(x->q->server));
	x->row.provider_id = x->r->t->id;
	x->row.requester = x->r->t->sender;
	x->row.args = args_of(x, NULL);
	tools_admit_sampling(x->r->ag->opt.tools, str_is(x->cfg.policy, "ask"), &x->row, x->a);
	if (x->row.state == CALL_PLANNED && (rc = ask(x, c, e)) < 0)
		return rc;
	if ((rc = record(x, false, e)) < 0)
		return rc;
	if (x->row.state == CALL_DENIED)
		return refuse(x, REFUSED,
			      str_is(x->row.decision, "deny") ? "a rule forbids it"
							      : "the user did not allow it",
			      out);
	return OK;
}

int sampling_answer(struct run *r, str call_id, const struct mcp_question *q, struct arena *a,
		    struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct sampling x = { .r = r, .q = q, .call_id = call_id, .a = a };
	struct model_reply reply = { 0 };
	struct err why = { 0 };
	int rc;

	*out = (struct mcp_answer){ 0 };
	if (!r->ag->opt.model || !r->ag->opt.host)
		return refuse(&x, REFUSED, "there is no model to ask", out);
	rc = mcp_host_sampling(r->ag->opt.host, q, a, &x.cfg, &why);
	if (rc < 0)
		return refuse(&x, REFUSED, why.msg, out);
	if ((rc = begin(&x, out, c, e)) < 0 || out->code)
		return rc;
	rc = complete(&x, &reply, c, &why);
	if (rc < 0 && cancel_reason(c) != CANCEL_NONE)
		return err_set(e, rc, "%s", why.msg);
	if (rc < 0) {
		(void)refuse(&x, MCP_INTERNAL_ERROR, why.msg, out);
		/* How we are doing is no business of the server's. */
		out->message = S("the model could not be asked");
		return OK;
	}
	out->result = sampling_result(&reply, price_model(model_issuer(r->ag->opt.model)),
				      x.cfg.tools && x.s.req.tools_n, a);
	log_info("sampling.done",
		 "server=%.*s ms=%lld prompt_tokens=%lld completion_tokens=%lld",
		 STRF(log_q(a, q->server)), (long long)x.row.duration_ms,
		 (long long)reply.usage.prompt, (long long)reply.usage.completion);
	return OK;
}

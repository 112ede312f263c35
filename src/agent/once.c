/*
 * A question outside of turns.  What it cost is committed before anybody looks at the answer, so
 * that an answer that is thrown away was paid for all the same.
 */
#include "agent/once.h"

#include "agent/internal.h"
#include "agent/spend.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/model_call.h"
#include "store/state.h"
#include "text/text.h"

struct learn {
	struct agent *ag;
	struct model *model;
	str issuer;
	str turn_id, session_id; /* as of struct once */
	int64_t tokens; /* of the request, estimated */
	bool forgets;
	const struct cancel *c;
	struct spend spend;
	struct snapshot *snap; /* whose limits these are */
};

static int on_learn(void *arg, const struct model_quirks *q, struct err *e)
{
	const struct learn *l = arg;
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if (l->forgets)
		return OK;
	if ((rc = store_begin(&tx, l->ag->opt.store, l->c, e)) < 0 ||
	    (rc = store_quirks_set(&tx, l->issuer, q->flags, q->context_window, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static int on_again(void *arg, struct err *e)
{
	struct learn *l = arg;

	return spend_hold(&l->spend, l->spend.prompt, l->c, e);
}

/* It failed, and may have cost something all the same. */
static void settle_failed(struct learn *l, const struct model_failure *fail)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct spend_settle how = spend_end(&l->spend, NULL, fail);
	struct err e = { 0 };

	if (how.id && (store_begin(&tx, l->ag->opt.store, NULL, &e) < 0 ||
		       store_spend_settle(&tx, &how, &e) < 0 || store_commit(&tx, &e) < 0))
		log_warn("spend.unsettled", "err=%s", e.msg); /* it counts as it was held */
}

static int count(const struct learn *l, const struct model_reply *reply, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct model_usage *u = &reply->usage;
	struct usage_own cost = {
		.issuer = l->issuer,
		.session_id = l->session_id,
		.estimated = u->prompt < 0 || u->completion < 0,
		.prompt_tokens = u->prompt >= 0 ? u->prompt : l->tokens,
		.completion_tokens =
			u->completion >= 0 ? u->completion : text_tokens(reply->wire),
		.cached_tokens = u->cached > 0 ? u->cached : 0,
		.written_tokens = u->written > 0 ? u->written : 0,
	};
	struct spend_settle how = spend_end(&l->spend, reply, NULL);
	int rc;

	if ((rc = store_begin(&tx, l->ag->opt.store, NULL, e)) < 0 ||
	    (rc = store_spend_settle(&tx, &how, e)) < 0 ||
	    (rc = store_usage_own(&tx, &cost, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static int hold(struct learn *l, struct arena *a, struct err *e)
{
	struct snapshot *snap = agent_snapshot_get(l->ag);
	int64_t permille = 1000;
	int rc = OK;

	if (spend_limited(snap->cfg))
		rc = store_tokens_permille(l->ag->opt.store, l->issuer, &permille, e);
	if (rc == OK)
		rc = spend_begin(&l->spend, l->ag, snap->cfg, l->issuer, l->turn_id, a, e);
	if (rc == OK)
		rc = spend_hold(&l->spend, l->tokens * permille / 1000, l->c, e);
	l->snap = snap;
	return rc;
}

static int complete(struct learn *l, struct model_req *req, struct arena *a,
		    struct model_reply *reply, struct model_failure *fail, struct err *e)
{
	int rc = store_quirks_get(l->ag->opt.store, l->issuer, &req->quirks.flags,
				  &req->quirks.context_window, e);

	*fail = (struct model_failure){ 0 };
	req->on_learn = on_learn;
	req->on_again = on_again;
	req->arg = l;
	if (rc < 0 || (rc = hold(l, a, e)) < 0)
		return rc;
	if ((rc = model_complete(l->model, req, a, reply, fail, l->c, e)) < 0)
		settle_failed(l, fail);
	else
		rc = count(l, reply, e);
	return rc;
}

int agent_once_request(struct agent *ag, const struct once *q, struct model_req *req,
		       struct arena *a, struct model_reply *reply, struct model_failure *fail,
		       const struct cancel *c, struct err *e)
{
	struct model *model = q->model ? q->model : ag->opt.model;
	struct learn learn = { .ag = ag,
			       .model = model,
			       .issuer = model_issuer(model),
			       .turn_id = q->turn_id,
			       .session_id = q->session_id,
			       .tokens = q->tokens,
			       .forgets = q->forgets,
			       .c = c };
	int rc = complete(&learn, req, a, reply, fail, e);

	if (learn.snap)
		agent_snapshot_put(ag, learn.snap);
	if (rc == E_LIMIT && learn.spend.refusal.n)
		return err_set(e, rc, "%.*s", STRF(learn.spend.refusal));
	return rc;
}

int agent_once(struct agent *ag, const struct once *q, struct arena *a, str *text,
	       struct model_failure *fail, const struct cancel *c, struct err *e)
{
	struct model *model = q->model ? q->model : ag->opt.model;
	struct learn learn = { .ag = ag,
			       .model = model,
			       .issuer = model_issuer(model),
			       .turn_id = q->turn_id,
			       .session_id = q->session_id,
			       .tokens = text_tokens(q->system) + text_tokens(q->user),
			       .c = c };
	struct model_msg msg = { .role = S("user"), .wire = model_user_wire(a, q->user) };
	struct model_req req = {
		.system = q->system,
		.msgs = &msg,
		.msgs_n = 1,
	};
	struct model_reply reply;
	int rc = complete(&learn, &req, a, &reply, fail, e);

	if (rc < 0 && learn.spend.refusal.n && !q->turn_id.n)
		agent_spend_shut(ag, learn.spend.shut_ms);
	if (learn.snap)
		agent_snapshot_put(ag, learn.snap);
	if (rc < 0)
		return rc;
	str said = str_trim(reply.text);
	if (said.n == 0 || reply.finish == MODEL_FILTER)
		return err_set(e, E_PROTO, "the model gave an empty answer");
	if (q->strict && reply.calls_n)
		return err_set(e, E_PROTO, "the model called tools, and was given none");
	if (said.n > q->text_max || reply.finish == MODEL_LENGTH)
		return err_set(e, E_LIMIT, "the model's answer is too long (%zu bytes)",
			       said.n);
	*text = said;
	return OK;
}

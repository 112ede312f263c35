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
	str issuer;
	const struct cancel *c;
	struct spend spend;
	struct snapshot *snap; /* whose limits these are */
};

static int on_learn(void *arg, const struct model_quirks *q, struct err *e)
{
	const struct learn *l = arg;
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

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

static int count(const struct learn *l, const struct once *q, const struct model_reply *reply,
		 struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct model_usage *u = &reply->usage;
	struct usage cost = {
		.model_calls = 1,
		.prompt_tokens = u->prompt >= 0 ? u->prompt
						: text_tokens(q->system) + text_tokens(q->user),
		.completion_tokens =
			u->completion >= 0 ? u->completion : text_tokens(reply->wire),
		.cached_tokens = u->cached > 0 ? u->cached : 0,
	};
	struct spend_settle how = spend_end(&l->spend, reply, NULL);
	int rc;

	if ((rc = store_begin(&tx, l->ag->opt.store, NULL, e)) < 0 ||
	    (rc = store_spend_settle(&tx, &how, e)) < 0 ||
	    (rc = store_usage_add(&tx, q->session_id, &cost, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static int hold(struct learn *l, const struct once *q, struct arena *a, struct err *e)
{
	struct snapshot *snap = agent_snapshot_get(l->ag);
	int64_t permille = 1000, tokens = text_tokens(q->system) + text_tokens(q->user);
	int rc = OK;

	if (spend_limited(snap->cfg))
		rc = store_tokens_permille(l->ag->opt.store, l->issuer, &permille, e);
	if (rc == OK)
		rc = spend_begin(&l->spend, l->ag, snap->cfg, l->issuer, q->turn_id, a, e);
	if (rc == OK)
		rc = spend_hold(&l->spend, tokens * permille / 1000, l->c, e);
	if (rc < 0 && l->spend.refusal.n && !q->turn_id.n)
		agent_spend_shut(l->ag, l->spend.shut_ms);
	l->snap = snap;
	return rc;
}

static int complete(struct learn *l, struct model *model, const struct model_req *req,
		    const struct once *q, struct arena *a, struct model_reply *reply,
		    struct model_failure *fail, struct err *e)
{
	int rc = hold(l, q, a, e);

	if (rc < 0)
		return rc;
	if ((rc = model_complete(model, req, a, reply, fail, l->c, e)) < 0)
		settle_failed(l, fail);
	else
		rc = count(l, q, reply, e);
	return rc;
}

int agent_once(struct agent *ag, const struct once *q, struct arena *a, str *text,
	       struct model_failure *fail, const struct cancel *c, struct err *e)
{
	struct model *model = q->model ? q->model : ag->opt.model;
	struct learn learn = { .ag = ag, .issuer = model_issuer(model), .c = c };
	struct model_msg msg = { .role = S("user"), .wire = model_user_wire(a, q->user) };
	struct model_req req = {
		.system = q->system,
		.msgs = &msg,
		.msgs_n = 1,
		.on_learn = on_learn,
		.on_again = on_again,
		.arg = &learn,
	};
	struct model_reply reply;
	int rc = store_quirks_get(ag->opt.store, learn.issuer, &req.quirks.flags,
				  &req.quirks.context_window, e);

	*fail = (struct model_failure){ 0 };
	if (rc == OK)
		rc = complete(&learn, model, &req, q, a, &reply, fail, e);
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

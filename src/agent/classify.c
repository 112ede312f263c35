/*
 * Mode auto: a command that no rule decides is put to a classifier before a person is asked.
 * One short request, not repeated; when it is late, fails or answers oddly, the person is asked.
 */
#include "agent/once.h"
#include "agent/run.h"

#include "os/log.h"
#include "policy/classify.h"
#include "text/json.h"
#include "text/text.h"

#define LIMIT_MS 10000
#define ANSWER_MAX 4096

static void ask_model(struct run *r, const struct once *q, struct arena *ra,
		      struct classified *out)
{
	const struct policy_cfg *cfg = &r->snap->cfg->policy;
	SCOPED(cancel_done) struct cancel limit = { .fd = -1 };
	struct model_failure fail;
	struct err e = { 0 };
	str text;
	int rc = cancel_init(&limit, r->token, LIMIT_MS, &e);

	if (rc == OK)
		rc = agent_once(r->ag, q, ra, &text, &fail, &limit, &e);
	if (rc == OK) {
		policy_classify_read(out, ra, text, cfg->confirm_on.v, cfg->confirm_on.n);
		return;
	}
	*out = (struct classified){
		.reason = rc == E_TIMEOUT ? S("the classifier did not answer in time")
					  : S("the classifier could not be asked"),
	};
	log_warn("policy.classify", "err=%.*s", STRF(log_q(ra, str_of(e.msg))));
}

int run_classify(struct run *r, struct call *call, struct arena *ra, struct err *e)
{
	const struct config *cfg = r->snap->cfg;
	struct classified answer;
	struct json *args;

	if (!call->classify || call->state != CALL_PLANNED || !r->ag->opt.classifier ||
	    r->t->resumed || json_read(&args, ra, call->args, NULL) < 0)
		return OK;
	str cwd = json_str(args, "cwd").n ? json_str(args, "cwd") : cfg->exec.cwd;
	str shell = cfg->exec.shell.n ? cfg->exec.shell.v[0] : S("bash");
	struct once q = {
		.system = str_of(policy_classify_system),
		.user = policy_classify_question(ra, json_str(args, "command"), cwd, shell),
		.session_id = r->t->session.id,
		.turn_id = r->t->id,
		.text_max = ANSWER_MAX,
		.model = r->ag->opt.classifier,
		.strict = true,
	};
	ask_model(r, &q, ra, &answer);
	int rc = cancel_check(r->token, e);
	if (rc < 0)
		return rc;
	call->reason = answer.reason;
	log_info("policy.classified", "run=%d reason=%.*s", answer.run,
		 STRF(log_q(ra, text_redact(ra, text_line(ra, answer.reason, 200)))));
	if (answer.run) {
		call->state = CALL_RUNNING;
		call->decision = S("auto_allowed");
		call->decider = S("classifier");
	}
	return OK;
}

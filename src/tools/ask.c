/*
 * Asking somebody: what an approver gets to see of a call, and what the answer makes of it.
 */
#include "tools/gate.h"

#include "base/utf.h"
#include "text/text.h"

#define DISPLAY_MAX 3500 /* bytes; more cannot be reviewed on a telephone */

/* Secrets out first: a shape that is made visible may be one no more. */
static str display_of(const struct tools *t, str args, struct arena *a)
{
	str s = text_redact_values(a, args, t->opt.secrets, t->opt.secrets_n);

	return text_visible(a, text_redact(a, s), false);
}

static int deny(struct call *call, const char *decision, str result)
{
	call->state = CALL_DENIED;
	call->decision = str_of(decision);
	call->result = result;
	return OK;
}

int tools_ask(const struct tools *t, const struct tool_spec *spec, struct call *call,
	      struct approver *by, struct arena *a, const struct cancel *c, struct err *e)
{
	struct approval_ask ask = {
		.tool = spec->name,
		.display = display_of(t, call->args, a),
		.reason = arena_fmt(a, "rule \"%.*s\" asks", STRF(call->rule)),
		.timeout_ms = t->opt.policy ? t->opt.policy->approval_timeout_ms : 0,
	};
	struct err why = { 0 };
	bool yes = false;

	if (ask.display.n > DISPLAY_MAX)
		return deny(call, "too long",
			    arena_fmt(a,
				      "error: refused: the arguments have %zu bytes, too long "
				      "to review (at most %d); make it shorter",
				      ask.display.n, DISPLAY_MAX));
	int rc = by->ask(by, &ask, &yes, c, &why);
	int ended = cancel_check(c, e);
	if (rc == E_CANCELED || ((rc == E_TIMEOUT || rc == OK) && ended < 0))
		return ended < 0 ? ended : err_set(e, rc, "%s", why.msg);
	call->decider = str_of(by->decider);
	if (rc == OK && yes) {
		call->state = CALL_RUNNING;
		call->decision = S("approved");
		return OK;
	}
	if (rc == OK)
		return deny(call, "denied",
			    arena_fmt(a,
				      "error: asked, and refused by the user (%s); do not try "
				      "it again without being told to",
				      by->decider));
	if (rc == E_TIMEOUT)
		return deny(call, "expired",
			    arena_fmt(a, "error: asked, and nobody answered within %lld s",
				      (long long)(ask.timeout_ms / 1000)));
	return deny(call, "unanswered", utf_repair(a, arena_fmt(a, "error: %s", why.msg)));
}

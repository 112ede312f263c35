/*
 * Asking somebody: what an approver gets to see of a call, what an answer is bound to, and
 * what it makes of the call.
 */
#include "tools/gate.h"

#include "base/utf.h"
#include "text/json.h"
#include "text/sha256.h"
#include "text/text.h"

#include <stdatomic.h>

#define REASON_MAX 300
#define DISPLAY_MAX 3500 /* bytes; more cannot be reviewed on a telephone */

/* Secrets out first: a shape that is made visible may be one no more. */
static str display_of(const struct tools *t, str args, struct arena *a)
{
	const struct str_list *hidden = atomic_load(&t->secrets);
	str s = text_redact_args(a, args, hidden->v, hidden->n);

	return text_visible(a, s, false);
}

/* A command line is read as one, of a change what changes; the rest as it is called. */
static str asked_for(const struct tool_spec *spec, const struct call *call, size_t max,
		     struct arena *a)
{
	struct json *args;

	if (spec->source->preview && !spec->shell) {
		str shown = spec->source->preview(spec->source, spec, call->args, max, a);
		return shown.n ? shown : call->args;
	}
	if (!spec->shell || json_read(&args, a, call->args, NULL) < 0)
		return call->args;
	str cwd = json_str(args, "cwd"), command = json_str(args, "command");
	if (args->n > 1 + (cwd.n > 0) || !command.n)
		return call->args;
	return cwd.n ? arena_fmt(a, "%.*s\n(in %.*s)", STRF(command), STRF(cwd)) : command;
}

static int deny(struct call *call, const char *decision, str result)
{
	call->state = CALL_DENIED;
	call->decision = str_of(decision);
	call->result = result;
	return OK;
}

/* A classifier is not shown it; and of what was made unreadable it could not judge. */
static bool holds_secret(const struct tools *t, const struct call *call, struct arena *a)
{
	const struct str_list *hidden = atomic_load(&t->secrets);

	return !str_eq(text_redact_args(a, call->args, hidden->v, hidden->n), call->args);
}

void tools_explain(const struct tools *t, const struct tool_spec *spec, struct call *call,
		   struct arena *a)
{
	struct policy_decision d;
	bool changed = false;

	tools_judge(t, spec, call, a, &d);
	call->reason = d.reason;
	if (t->opt.granted && spec->print.n)
		(void)t->opt.granted(t->opt.granted_arg, call->name,
				     tools_hash(t, spec, call, a), &changed);
	if (changed)
		call->reason = arena_fmt(a,
					 "%.*s; it was allowed for good, but its server "
					 "describes the tool in another way since",
					 STRF(call->reason));
	call->classify =
		d.verdict == VERDICT_ASK && d.classify && !changed && !holds_secret(t, call, a);
}

bool tools_question(const struct tools *t, const struct tool_spec *spec, struct call *call,
		    size_t max, struct arena *a, struct approval_ask *ask)
{
	if (!call->reason.n)
		tools_explain(t, spec, call, a);
	*ask = (struct approval_ask){
		.tool = spec->name,
		.display = display_of(t, asked_for(spec, call, max, a), a),
		.reason = text_line(a, display_of(t, call->reason, a), REASON_MAX),
		.timeout_ms = t->opt.policy ? t->opt.policy->approval_timeout_ms : 0,
	};
	if (ask->display.n <= max)
		return true;
	(void)deny(call, "too long",
		   arena_fmt(a,
			     "error: refused: the arguments have %zu bytes, too long to review "
			     "(at most %zu); make it shorter",
			     ask->display.n, max));
	return false;
}

/* The next line of what was shown, where changes come in hunks without the hunk's line numbers:
 * those move when something above is changed, and the places stay what they are. */
static str shown_line(str *text)
{
	str line = str_cut(text, '\n');

	while (str_starts(line, S("@@ ")))
		line = str_cut(text, '\n');
	return line;
}

bool tools_as_shown(const struct tools *t, const struct tool_spec *spec,
		    const struct call *call, struct arena *a)
{
	str was = call->shown, is;

	if (!was.n || !spec->source->preview || spec->shell)
		return true; /* all of it is in the arguments */
	is = display_of(t, asked_for(spec, call, call->shown_max, a), a);
	while (was.n && is.n)
		if (!str_eq(shown_line(&was), shown_line(&is)))
			return false;
	return was.n == is.n;
}

str tools_hash(const struct tools *t, const struct tool_spec *spec, const struct call *call,
	       struct arena *a)
{
	bool there = spec->shell && t->opt.exec && t->opt.exec->cwd.n;
	str parts[] = { call->name, call->args, there ? t->opt.exec->cwd : t->opt.workspace };
	size_t all = 0;

	for (size_t i = 0; i < COUNT(parts); i++)
		all += parts[i].n + 24;
	struct buf b = buf_in(a, all);
	/* With their lengths: no other three texts look like these. */
	for (size_t i = 0; i < COUNT(parts); i++) {
		buf_fmt(&b, "%zu:", parts[i].n);
		buf_add(&b, parts[i]);
	}
	str hash = sha256_hex(a, buf_str(&b));
	return spec->print.n ? arena_fmt(a, "%.*s-%.*s", STRF(hash), STRF(spec->print)) : hash;
}

void tools_refuse(struct call *call, bool expired, str decider, struct arena *a)
{
	call->decider = decider;
	if (expired)
		(void)deny(call, "expired",
			   S("error: asked, and nobody answered in time; do not try it again "
			     "without being told to"));
	else
		(void)deny(call, "denied",
			   arena_fmt(a,
				     "error: asked, and refused by the user (%.*s); do not try "
				     "it again without being told to",
				     STRF(decider)));
}

int tools_ask(const struct tools *t, const struct tool_spec *spec, struct call *call,
	      struct approver *by, struct arena *a, const struct cancel *c, struct err *e)
{
	struct approval_ask ask;
	struct err why = { 0 };
	bool yes = false;

	if (!tools_question(t, spec, call, DISPLAY_MAX, a, &ask))
		return OK;
	int rc = by->ask(by, &ask, &yes, c, &why);
	int ended = cancel_check(c, e);
	if (rc == E_CANCELED || ((rc == E_TIMEOUT || rc == OK) && ended < 0))
		return ended < 0 ? ended : err_set(e, rc, "%s", why.msg);
	call->decider = str_of(by->decider);
	if (rc == OK && yes) {
		call->state = CALL_RUNNING;
		call->decision = S("approved");
		call->shown = ask.display;
		call->shown_max = DISPLAY_MAX;
		return OK;
	}
	if (rc == OK) {
		tools_refuse(call, false, str_of(by->decider), a);
		return OK;
	}
	if (rc == E_TIMEOUT)
		return deny(call, "expired",
			    arena_fmt(a, "error: asked, and nobody answered within %lld s",
				      (long long)(ask.timeout_ms / 1000)));
	return deny(call, "unanswered", utf_repair(a, arena_fmt(a, "error: %s", why.msg)));
}

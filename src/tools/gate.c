/*
 * The gate: the one way to run a tool.  Admit (name, arguments, policy), ask (approval), run
 * (limits).  Whatever a model sends, the outcome is a call row with a text for the model.
 */
#include "tools/gate.h"

#include "base/utf.h"
#include "os/clock.h"
#include "store/store.h"
#include "text/schema.h"
#include "text/text.h"

#include <string.h>

#define CUT_MIN 64 /* what text_cut() needs for its marker */

#define MAYBE "it may or may not have had an effect"
#define NO_EFFECT "it had no effect"

/* Valid, not blank, and within the limit. */
static str presentable(const struct tools *t, const struct tool_spec *spec, str text,
		       struct arena *a, bool *truncated)
{
	int64_t max = t->opt.limits ? t->opt.limits->tool_result_max_chars : 0;

	text = utf_repair(a, text);
	if (str_trim(text).n == 0)
		return S("(no output)");
	if (max <= 0 || (spec && spec->own_cap))
		return text;
	str cut = text_cut(a, text, max < CUT_MIN ? CUT_MIN : (size_t)max);
	*truncated |= cut.n != text.n;
	return cut;
}

/* The call ends here, with a text for the model. */
static const struct tool_spec *close_call(struct call *call, enum call_state state,
					  const char *decision, str result)
{
	call->state = state;
	call->decision = str_of(decision);
	call->result = result;
	return NULL;
}

/* Servers speak one line a message: outside of strings a line break is only white space, and
 * inside of them JSON has none. */
static str one_line(struct arena *a, str args)
{
	str copy = arena_dup(a, args);
	char *p = arena_alloc(a, 1, args.n + 1);

	if (!memchr(args.p, '\n', args.n) && !memchr(args.p, '\r', args.n))
		return copy;
	for (size_t i = 0; i < args.n; i++)
		p[i] = args.p[i] == '\n' || args.p[i] == '\r' ? ' ' : args.p[i];
	return (str){ p, args.n };
}

static int check_args(struct call *call, struct arena *a, struct json **v, struct err *e)
{
	str args = str_trim(utf_repair(a, call->args));

	call->args = S("{}");
	if (args.n == 0 || str_eq(args, S("null")))
		args = call->args;
	int rc = json_read(v, a, args, e);
	if (rc == OK && !json_is(*v, JSON_OBJECT))
		rc = err_set(e, E_INVAL, "they are %s",
			     json_is(*v, JSON_ARRAY) ? "an array" : "a single value");
	if (rc == OK)
		call->args = one_line(a, args);
	return rc;
}

/* A server's own schema decides before anybody is asked and before the server is, whatever form
 * of it the model was shown.  Nulls that only say "not given" are left out.  Our own tools judge
 * their arguments themselves, and are more lenient.  A schema that cannot be read, or would take
 * too long, leaves it to the server. */
static int check_schema(const struct tool_spec *spec, struct call *call, struct arena *a,
			struct json *v, struct err *e)
{
	static const struct schema_opt opt = { .name = "arguments" };
	struct json *schema;
	int rc;

	if (!spec->server.n || json_read(&schema, a, spec->schema, NULL) < 0)
		return OK;
	str args = schema_drop_nulls(schema, call->args, a);
	if (args.n != call->args.n && json_read(&v, a, args, NULL) < 0)
		return OK;
	rc = schema_check_as(&opt, schema, v, e);
	if (rc == E_INVAL)
		return rc;
	call->args = args;
	return OK;
}

static const struct tool_spec *decide(const struct tools *t, const struct tool_spec *spec,
				      struct call *call, struct arena *a)
{
	struct policy_decision d;
	bool changed = false;

	tools_judge(t, spec, call, a, &d);
	call->rule = d.rule;
	if (d.verdict == VERDICT_DENY)
		return close_call(call, CALL_DENIED, "deny",
				  arena_fmt(a,
					    "error: refused permanently by rule \"%.*s\" "
					    "(%.*s); do not try it again",
					    STRF(call->rule), STRF(d.reason)));
	call->state = CALL_RUNNING;
	if (d.verdict == VERDICT_ALLOW) {
		call->decision = S("allow");
	} else if (t->opt.granted && t->opt.granted(t->opt.granted_arg, call->name,
						    tools_hash(t, spec, call, a), &changed)) {
		call->decision = S("granted");
		call->decider = S("grant");
	} else {
		call->decision = S("ask");
		call->state = CALL_PLANNED;
	}
	return spec;
}

const struct tool_spec *tools_admit(const struct tools *t, const struct toolset *set,
				    struct call *call, struct arena *a)
{
	str hint = S("");
	struct err why = { 0 };
	struct json *args;
	const struct tool_spec *spec = toolset_find(set, call->requested, a, &hint);

	call->name = spec ? spec->name : S("");
	call->safe = spec && spec->safe;
	call->rule = S("");
	call->decider = S("policy");
	if (!spec) {
		if (check_args(call, a, &args, &why) < 0)
			call->args = S("{}");
		return close_call(call, CALL_FAILED, "unknown",
				  arena_fmt(a, "error: %.*s", STRF(hint)));
	}
	if (set->off && set->off[spec - set->v])
		return close_call(call, CALL_FAILED, "off",
				  arena_fmt(a,
					    "error: %.*s is switched off; call tools_enable "
					    "with its prefix first, then call it again",
					    STRF(spec->name)));
	if (check_args(call, a, &args, &why) < 0)
		return close_call(call, CALL_FAILED, "invalid",
				  arena_fmt(a,
					    "error: the arguments of %.*s must be one JSON "
					    "object: %s",
					    STRF(spec->name), why.msg));
	if (check_schema(spec, call, a, args, &why) < 0)
		return close_call(call, CALL_FAILED, "invalid",
				  arena_fmt(a,
					    "error: %s; %.*s was not called: correct the "
					    "arguments and call it again",
					    why.msg, STRF(spec->name)));
	return decide(t, spec, call, a);
}

void tools_admit_sampling(const struct tools *t, bool ask, struct call *call, struct arena *a)
{
	const struct tool_spec spec = { .name = call->name };
	struct policy_decision d;

	tools_judge(t, &spec, call, a, &d);
	call->rule = d.rule;
	call->decider = S("policy");
	call->state = CALL_RUNNING;
	call->decision = S("allow");
	if (d.verdict == VERDICT_DENY) {
		call->state = CALL_DENIED;
		call->decision = S("deny");
	} else if (ask || (d.verdict == VERDICT_ASK && d.rule.n)) {
		call->state = CALL_PLANNED;
		call->decision = S("ask");
	}
}

static void take(const struct tools *t, const struct tool_spec *spec, struct call *call,
		 const struct tool_result *r, struct arena *a)
{
	call->has_exit = r->has_exit;
	call->exit_code = r->exit_code;
	call->truncated = r->truncated;
	call->state = r->failed ? CALL_FAILED : CALL_DONE;
	call->result = presentable(t, spec, r->text, a, &call->truncated);
}

int tools_run_journaled(const struct tools *t, const struct tool_spec *spec, struct call *call,
			const struct tool_ctx *ctx, struct arena *a, struct tool_result *r,
			const struct cancel *c, struct err *e)
{
	struct err why = { 0 };
	int64_t started = clock_mono_ms();

	*r = (struct tool_result){ 0 };
	int rc = OK;
	if (tools_as_shown(t, spec, call, a))
		rc = spec->source->call(spec->source, spec, call->args, ctx, a, r, c, &why);
	else
		(void)tool_fail(r, a,
				"not done: it would change other text than was shown for "
				"approval, because the file was changed meanwhile; read it "
				"and try again");
	call->duration_ms = clock_mono_ms() - started;
	if (rc == OK && r->asks_n) {
		call->state = CALL_PLANNED;
		return OK;
	}
	take(t, spec, call, r, a);
	if (rc == OK)
		return OK;
	r->effect = NULL;
	const char *effect = r->not_run || spec->safe ? NO_EFFECT : MAYBE;
	int ended = rc == E_CANCELED || rc == E_TIMEOUT ? cancel_check(c, e) : OK;
	if (ended < 0) {
		call->state = CALL_CANCELED;
		call->result = arena_fmt(a, "error: %s before it was finished; %s",
					 ended == E_TIMEOUT ? "the turn ran out of time"
							    : "interrupted",
					 effect);
		return ended;
	}
	call->state = CALL_FAILED;
	call->result = presentable(t, spec, arena_fmt(a, "error: %s; %s", why.msg, effect), a,
				   &call->truncated);
	return OK;
}

int tools_effect(const struct tools *t, const struct tool_spec *spec, struct call *call,
		 const struct tool_result *r, struct tx *tx, struct arena *a, struct err *e)
{
	struct tool_result out = *r;
	int rc = r->effect(r->effect_arg, tx, &out, e);

	if (rc == OK)
		take(t, spec, call, &out, a);
	return rc;
}

void tools_no_effect(struct call *call, const char *why, struct arena *a)
{
	call->state = *why ? CALL_FAILED : CALL_CANCELED;
	call->result = arena_fmt(a, "error: %s; " NO_EFFECT,
				 *why ? why : "interrupted before it was finished");
}

/* In a transaction of its own. */
static int effect_alone(const struct tools *t, const struct tool_spec *spec, struct call *call,
			const struct tool_result *r, struct arena *a, const struct cancel *c,
			struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct call after = *call;
	int rc;

	if (!t->opt.store)
		return err_set(e, E_INVAL, "there is no database here");
	if ((rc = store_begin(&tx, t->opt.store, c, e)) < 0 ||
	    (rc = tools_effect(t, spec, &after, r, &tx, a, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	*call = after;
	return OK;
}

int tools_run(const struct tools *t, const struct tool_spec *spec, struct call *call,
	      const struct tool_ctx *ctx, struct arena *a, const struct cancel *c,
	      struct err *e)
{
	struct tool_result r;
	struct err why = { 0 };
	int rc = tools_run_journaled(t, spec, call, ctx, a, &r, c, e);

	if (rc < 0 || !r.effect || (rc = effect_alone(t, spec, call, &r, a, c, &why)) == OK)
		return rc;
	rc = cancel_check(c, e);
	tools_no_effect(call, rc < 0 ? "" : why.msg, a);
	return rc;
}

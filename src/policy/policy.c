/*
 * The engine: rules by tool name, and for command lines the order deny, allow, ask.
 */
#include "policy/internal.h"

#include "base/buf.h"
#include "base/path.h"
#include "policy/builtin.h"
#include "text/json.h"

const char *policy_word(enum policy_verdict v)
{
	static const char *const words[] = { "allow", "ask", "deny" };

	return words[v];
}

/* --- opening -------------------------------------------------------------------------- */

static int open_pattern(struct policy *p, struct pattern *out, str text, bool deny,
			const char *what, struct err *e)
{
	struct err why = { 0 };

	out->text = arena_dup(&p->arena, text);
	out->ops = policy_ops(&p->arena, text);
	if (regex_open(&out->re, text, deny, &why) == OK)
		return OK;
	return err_set(e, E_INVAL, "%s: \"%.*s\": %s", what, STRF(text), why.msg);
}

static int open_patterns(struct policy *p, struct pattern **out, const str *v, size_t n,
			 bool deny, struct err *e)
{
	int rc = OK;

	*out = NEWN(&p->arena, struct pattern, n + 1);
	for (size_t i = 0; i < n && rc == OK; i++)
		rc = open_pattern(p, &(*out)[i], v[i], deny, deny ? "deny" : "allow", e);
	return rc;
}

static int open_rules(struct policy *p, const struct policy_opt *opt, struct err *e)
{
	int rc = OK;

	p->rules = NEWN(&p->arena, struct tool_rule, opt->rules_n + 1);
	for (size_t i = 0; i < opt->rules_n && rc == OK; i++) {
		const struct policy_rule *from = &opt->rules[i];
		struct tool_rule *to = &p->rules[i];
		*to = (struct tool_rule){
			.tool = arena_dup(&p->arena, from->tool),
			.verdict = from->verdict,
			.args = NEWN(&p->arena, struct pattern, from->args_n + 1),
			.args_n = from->args_n,
		};
		for (size_t k = 0; k < from->args_n && rc == OK; k++) {
			to->args[k].name = arena_dup(&p->arena, from->args[k].name);
			rc = open_pattern(p, &to->args[k], from->args[k].pattern,
					  from->verdict != VERDICT_ALLOW, "rule", e);
		}
	}
	return rc;
}

int policy_open(struct policy **out, const struct policy_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct policy *p = NEW(&a, struct policy);
	str *roots = NEWN(&a, str, opt->roots_n + 1);
	int rc;

	p->arena = a;
	p->opt = *opt;
	for (size_t i = 0; i < opt->roots_n; i++)
		roots[i] = arena_dup(&p->arena, opt->roots[i]);
	p->opt.roots = roots;
	p->opt.cwd = arena_dup(&p->arena, opt->cwd);
	p->opt.home = arena_dup(&p->arena, opt->home);
	if ((rc = open_rules(p, opt, e)) < 0 ||
	    (rc = open_patterns(p, &p->deny, opt->deny, opt->deny_n, true, e)) < 0 ||
	    (rc = open_patterns(p, &p->allow, opt->allow, opt->allow_n, false, e)) < 0) {
		policy_close(p);
		return rc;
	}
	*out = p;
	return OK;
}

static void close_patterns(struct pattern *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		regex_close(v[i].re);
}

void policy_close(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->opt.rules_n; i++)
		close_patterns(p->rules[i].args, p->rules[i].args_n);
	close_patterns(p->deny, p->opt.deny_n);
	close_patterns(p->allow, p->opt.allow_n);
	/* p lives in its own arena. */
	struct arena a = p->arena;
	arena_free(&a);
}

/* --- tools ---------------------------------------------------------------------------- */

static str argument(const struct json *v, struct arena *a)
{
	struct buf b = buf_in(a, (size_t)64 << 20);

	if (json_is(v, JSON_STRING))
		return v->s;
	json_write(&b, v);
	return buf_str(&b);
}

/* A pattern that works too long matches where that is the stricter answer. */
static bool rule_matches(const struct tool_rule *r, const struct policy_call *call,
			 struct regex_room *room, struct arena *a)
{
	if (!str_glob(r->tool, call->tool))
		return false;
	for (size_t i = 0; i < r->args_n; i++) {
		const struct json *v = json_get(call->args, arena_cstr(a, r->args[i].name));
		if (!v)
			return false;
		enum regex_found f = regex_find(r->args[i].re, room, argument(v, a));
		if (f == REGEX_NO || (f == REGEX_GIVEN_UP && r->verdict == VERDICT_ALLOW))
			return false;
	}
	return true;
}

static void judge_tool(const struct policy *p, const struct policy_call *call,
		       struct regex_room *room, struct arena *a, struct policy_decision *out)
{
	static const char *const says[] = { "allows it", "asks", "denies it" };

	for (size_t i = 0; i < p->opt.rules_n; i++) {
		if (!rule_matches(&p->rules[i], call, room, a))
			continue;
		out->verdict = p->rules[i].verdict;
		out->rule = p->rules[i].tool;
		out->reason =
			arena_fmt(a, "rule \"%.*s\" %s", STRF(out->rule), says[out->verdict]);
		return;
	}
	out->verdict = call->destructive ? p->opt.destructive : VERDICT_ALLOW;
	out->reason = S("no rule speaks of it");
	if (call->destructive && out->verdict != VERDICT_ALLOW)
		out->reason = S("the tool says of itself that it destroys");
}

/* --- command lines -------------------------------------------------------------------- */

static unsigned depth_of(const struct line_cmd *c)
{
	unsigned n = 0;

	for (; c->parent; c = c->parent)
		n++;
	return n;
}

static void make_parts(struct judging *j)
{
	struct policy_part *part = j->parts = NEWN(j->a, struct policy_part, j->line.n + 1);

	for (const struct line_cmd *c = j->line.first; c; c = c->next) {
		part->command = c->n ? c->text : c->raw;
		part->depth = depth_of(c);
		part->verdict = VERDICT_ASK;
		part++->reason = S("no rule allows it");
	}
	j->out->parts = j->parts;
	j->out->parts_n = j->line.n;
}

/* Where the call says that it starts. */
static str start_of(const struct policy *p, const struct policy_call *call, struct arena *a)
{
	str cwd = json_str(call->args, "cwd"), abs;

	if (str_trim(cwd).n == 0)
		return p->opt.cwd;
	return path_absolute(&abs, a, cwd, p->opt.home, p->opt.cwd, NULL) == OK ? abs : S("");
}

static void judge_line(const struct policy *p, const struct policy_call *call, str command,
		       struct regex_room *room, struct arena *a, struct policy_decision *out)
{
	struct judging j = {
		.p = p, .a = a, .cwd = start_of(p, call, a), .room = room, .out = out
	};
	struct policy_decision tool = *out;

	line_read(&j.line, a, command);
	make_parts(&j);
	if (policy_denied(&j)) {
		struct policy_decision denied = *out;
		(void)policy_allowed(&j); /* of the other commands, to be told */
		*out = denied;
		out->verdict = VERDICT_DENY;
		return;
	}
	if (p->opt.foreign)
		line_doubt(&j.line, "the language of the configured shell is not known here");
	bool sure = !j.line.doubt;
	if (sure && policy_allowed(&j)) {
		if (tool.verdict == VERDICT_ALLOW) {
			out->verdict = VERDICT_ALLOW;
			return;
		}
	} else {
		out->rule = S("");
	}
	if (!sure)
		out->reason = str_of(j.line.doubt);
	if (tool.verdict == VERDICT_ASK) {
		out->rule = tool.rule;
		out->reason = tool.reason;
	}
	out->verdict = VERDICT_ASK;
	out->classify = p->opt.classify && sure && tool.verdict == VERDICT_ALLOW;
}

void policy_judge(const struct policy *p, const struct policy_call *call, struct arena *a,
		  struct policy_decision *out)
{
	struct regex_room *room = regex_room_new();

	*out = (struct policy_decision){ 0 };
	judge_tool(p, call, room, a, out);
	str command = call->shell ? str_trim(json_str(call->args, "command")) : S("");
	if (command.n && out->verdict != VERDICT_DENY)
		judge_line(p, call, command, room, a, out);
	regex_room_free(room);
}

/*
 * From the configuration to a policy, and from a call to what the policy says: what the gate
 * and gantry policy share.
 */
#include "tools/gate.h"

#include "text/json.h"

/* Shells whose language the policy reads; none configured: bash. */
static bool foreign_shell(const struct exec_cfg *exec)
{
	static const char *const names[] = { "sh",  "bash", "dash", "ash",
					     "ksh", "mksh", "zsh",  "busybox" };

	if (!exec || exec->shell.n == 0)
		return false;
	str name = exec->shell.v[0], part;
	for (str rest = name; rest.n; name = part)
		part = str_cut(&rest, '/');
	for (size_t i = 0; i < COUNT(names); i++)
		if (str_eq(name, str_of(names[i])))
			return false;
	return true;
}

int tools_policy(struct policy **out, const struct tools_opt *opt, struct err *e)
{
	static const struct policy_cfg none = { .deny_builtin = true };
	const struct policy_cfg *cfg = opt->policy ? opt->policy : &none;
	struct policy_opt p = {
		.rules = cfg->rules,
		.rules_n = cfg->n,
		.deny = cfg->deny.v,
		.deny_n = cfg->deny.n,
		.allow = cfg->allow.v,
		.allow_n = cfg->allow.n,
		.builtin = cfg->deny_builtin,
		.classify = str_eq(cfg->mode, S("auto")),
		.destructive = str_eq(cfg->destructive, S("ask"))    ? VERDICT_ASK
			       : str_eq(cfg->destructive, S("deny")) ? VERDICT_DENY
								     : VERDICT_ALLOW,
		.roots = &opt->workspace,
		.roots_n = opt->workspace.n > 0,
		.cwd = opt->exec && opt->exec->cwd.n ? opt->exec->cwd : opt->workspace,
		.foreign = foreign_shell(opt->exec),
		.home = opt->home,
	};

	if (opt->fs && opt->fs->roots.n) {
		p.roots = opt->fs->roots.v;
		p.roots_n = opt->fs->roots.n;
	}
	return policy_open(out, &p, e);
}

void tools_judge(const struct tools *t, const struct tool_spec *spec, const struct call *call,
		 struct arena *a, struct policy_decision *out)
{
	struct json *args = NULL;

	/* An object, since the gate looked at it before; of another nothing would match. */
	(void)!json_read(&args, a, call->args, NULL);
	const struct policy_call c = {
		.tool = spec->name,
		.args = args,
		.shell = spec->shell,
		.destructive = spec->destructive,
	};
	policy_judge(t->policy, &c, a, out);
}

/*
 * From the manifest's entry to a process: arguments, environment, sandbox.
 */
#include "mcp/child.h"

#include "config/confine.h"
#include "mcp/manifest.h"

const char *mcp_child_cwd(struct arena *a, const char *ours, const struct mcp_server_cfg *cfg)
{
	if (!cfg->cwd.n)
		return ours;
	if (cfg->cwd.p[0] == '/')
		return arena_cstr(a, cfg->cwd);
	return arena_fmt(a, "%s/%.*s", ours, STRF(cfg->cwd)).p;
}

int mcp_child_start(struct proc **out, const struct mcp_link_opt *opt,
		    const struct cancel *stop, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_server_cfg *s = opt->server;
	const char **argv = NEWN(&a, const char *, s->args.n + 2);
	const char *const *env = opt->env;
	const struct sandbox *box = config_sandbox_child(&a, opt->box, &env);
	str missing =
		box && s->box.require ? sandbox_missing(&a, box, sandbox_kernel()) : S("");

	if (missing.n)
		return err_set(e, E_DENIED,
			       "its sandbox is required and this kernel lacks: %.*s",
			       STRF(missing));
	argv[0] = arena_cstr(&a, s->command);
	for (size_t i = 0; i < s->args.n; i++)
		argv[i + 1] = arena_cstr(&a, s->args.v[i]);
	return proc_start(out,
			  &(struct proc_opt){ .argv = argv,
					      .env = env,
					      .cwd = opt->cwd,
					      .in = PROC_PIPE,
					      .out = PROC_PIPE,
					      .err = PROC_PIPE,
					      .box = box },
			  stop, e);
}

/*
 * From the manifest's entry to a process: arguments, environment, sandbox; of the server, and
 * of the command by which a person signs in to it.
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

const char *const *mcp_child_env(struct arena *a, const struct config *config,
				 const struct env *vars, const struct mcp_server_cfg *cfg)
{
	bool inherit = cfg->has_inherit_env ? cfg->inherit_env : config->mcp.inherit_env;

	return config_child_env(a, config, vars, inherit, cfg->env.v, cfg->env.n);
}

const struct sandbox *mcp_child_box(struct arena *a, const struct config *config,
				    const struct env *vars, const struct sandbox_cfg *box,
				    str command)
{
	const struct sandbox_cfg *commands = &config->exec.sandbox;
	struct sandbox_cfg with = *box;

	with.max_procs = commands->max_procs;
	with.max_file_bytes = commands->max_file_bytes;
	with.max_memory_bytes = commands->max_memory_bytes;
	return config_sandbox(a, config, vars, &with,
			      str_starts(command, S("/")) ? command : S(""));
}

/* opt but for its environment and sandbox is ready. */
static int start(struct proc **out, struct proc_opt *opt, const struct sandbox *box,
		 bool require, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str missing;

	opt->box = config_sandbox_child(&a, box, &opt->env);
	missing = opt->box && require ? sandbox_missing(&a, opt->box, sandbox_kernel()) : S("");
	if (missing.n)
		return err_set(e, E_DENIED,
			       "its sandbox is required and this kernel lacks: %.*s",
			       STRF(missing));
	return proc_start(out, opt, c, e);
}

int mcp_child_start(struct proc **out, const struct mcp_link_opt *opt,
		    const struct cancel *stop, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_server_cfg *s = opt->server;
	const char **argv = NEWN(&a, const char *, s->args.n + 2);
	struct proc_opt child = { .argv = argv,
				  .env = opt->env,
				  .cwd = opt->cwd,
				  .in = PROC_PIPE,
				  .out = PROC_PIPE,
				  .err = PROC_PIPE };

	argv[0] = arena_cstr(&a, s->command);
	for (size_t i = 0; i < s->args.n; i++)
		argv[i + 1] = arena_cstr(&a, s->args.v[i]);
	return start(out, &child, opt->box, s->box.require, stop, e);
}

int mcp_child_sign_in(struct proc **out, const struct mcp_child_sign_in *opt, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_server_cfg *s = opt->server;
	str command = s->auth_command.n ? s->auth_command : s->command;
	const char **argv = NEWN(&a, const char *, s->auth_args.n + opt->more_n + 2);
	struct proc_opt child = { .argv = argv,
				  .env = mcp_child_env(&a, opt->config, opt->vars, s),
				  .cwd = mcp_child_cwd(&a, opt->cwd, s),
				  .in = PROC_FD,
				  .out = PROC_FD,
				  .err = PROC_FD,
				  .fds = { 0, 1, 2 } };
	size_t n = 0;

	argv[n++] = arena_cstr(&a, command);
	for (size_t i = 0; i < s->auth_args.n; i++)
		argv[n++] =
			arena_cstr(&a, config_child_expand(&a, child.env, s->auth_args.v[i]));
	for (size_t i = 0; i < opt->more_n; i++)
		argv[n++] = opt->more[i];
	return start(out, &child, mcp_child_box(&a, opt->config, opt->vars, &s->box, command),
		     s->box.require, NULL, e);
}

/*
 * Defaults that depend on where we run or on other options.  Everything else is in the
 * option table.
 */
#include "config/load_internal.h"

#include "os/path.h"
#include "text/json.h"

static str below(struct loader *l, str dir, const char *name)
{
	return dir.n ? arena_fmt(l->a, "%.*s/%s", STRF(dir), name) : S("");
}

static str xdg_data(struct loader *l)
{
	return below(l, config_xdg(l->a, l->env, "XDG_DATA_HOME", ".local/share"), "gantry");
}

static str xdg_config(struct loader *l, const char *name)
{
	return below(l, config_xdg(l->a, l->env, "XDG_CONFIG_HOME", ".config"), name);
}

/* The container's place, or a person's own when there is none and a person sits there. */
static str container_path(struct loader *l, const char *path, const char *own)
{
	str xdg = xdg_config(l, own);

	return l->opt->terminal && xdg.n && !path_exists(path) ? xdg : str_of(path);
}

static str env_data_dir(struct loader *l)
{
	str own = xdg_data(l);

	if (str_trim(env_get(l->env, "GANTRY_STORAGE_DSN")).n ||
	    str_trim(env_get(l->env, "GANTRY_STORAGE_PATH")).n)
		return S(""); /* the directory of that file, then */
	if (dir_writable("/data"))
		return S("/data");
	if (l->opt->terminal && own.n)
		return own;
	problem_add(l->p, NULL, S("DATA_DIR"),
		    "/data is not a writable directory: mount a volume there, or set DATA_DIR");
	return S("");
}

static str dsn(struct loader *l)
{
	if (l->c->store.data_dir.n)
		return below(l, l->c->store.data_dir, "gantry.db");
	if (!l->c->file_mode)
		return S("");
	return l->place.mtclaw ? below(l, l->home, ".mtclaw/mtclaw.db")
			       : below(l, xdg_data(l), "gantry.db");
}

static str workspace(struct loader *l)
{
	if (!l->c->file_mode)
		return below(l, l->c->store.data_dir, "workspace");
	return below(l, l->home, l->place.mtclaw ? "mtclaw-workspace" : "gantry-workspace");
}

/* A list of the one path, quoted so that a comma in it does no harm. */
static str one_path(struct loader *l, str path)
{
	struct buf b = buf_in(l->a, path.n * 6 + 16);

	if (!path.n)
		return S("[]");
	buf_addc(&b, '[');
	buf_json(&b, path);
	buf_addc(&b, ']');
	return buf_str(&b);
}

static bool listed(struct loader *l, str word)
{
	str rest = config_setting(l, "tools.builtin")->text;

	rest = str_sub(rest, 1, rest.n ? rest.n - 1 : 0); /* [fs, web] */
	while (rest.n)
		if (str_eq(str_trim(str_cut(&rest, ',')), word))
			return true;
	return false;
}

static str yes_no(bool is)
{
	return is ? S("true") : S("false");
}

static str tool_enabled(struct loader *l, str word)
{
	return yes_no(l->c->file_mode || listed(l, word));
}

static str telegram_enabled(struct loader *l)
{
	return yes_no(l->c->file_mode || str_eq(l->c->gateway.channel, S("telegram")));
}

static str fs_enabled(struct loader *l)
{
	return tool_enabled(l, S("fs"));
}

static str web_enabled(struct loader *l)
{
	return tool_enabled(l, S("web"));
}

static str exec_enabled(struct loader *l)
{
	return tool_enabled(l, S("exec"));
}

static str memory_enabled(struct loader *l)
{
	return yes_no(!l->c->file_mode || listed(l, S("memory")));
}

static str agent_name(struct loader *l)
{
	return !l->c->file_mode ? S("") : l->place.mtclaw ? S("MTClaw") : S("gantry");
}

static str data_dir(struct loader *l)
{
	return l->c->file_mode ? S("") : env_data_dir(l);
}

static str persona_dir(struct loader *l)
{
	return l->c->file_mode ? S("") : container_path(l, "/persona", "gantry/persona");
}

static str manifest(struct loader *l)
{
	if (l->c->file_mode)
		return below(l, l->base, "mcp.toml");
	return container_path(l, "/etc/gantry/mcp.toml", "gantry/mcp.toml");
}

static str roots(struct loader *l)
{
	return one_path(l, l->c->agent.workspace);
}

static str deny_builtin(struct loader *l)
{
	return yes_no(l->c->policy.deny.n == 0);
}

static str exec_cwd(struct loader *l)
{
	return l->c->agent.workspace;
}

static const struct {
	const char *key;
	str (*derive)(struct loader *l);
} derived[] = {
	{ "storage.data_dir", data_dir },
	{ "storage.dsn", dsn },
	{ "agent.name", agent_name },
	{ "agent.workspace", workspace },
	{ "agent.persona_dir", persona_dir },
	{ "channels.telegram.enabled", telegram_enabled },
	{ "tools.filesystem.enabled", fs_enabled },
	{ "tools.filesystem.roots", roots },
	{ "tools.web_fetch.enabled", web_enabled },
	{ "tools.exec.enabled", exec_enabled },
	{ "tools.exec.cwd", exec_cwd },
	{ "tools.exec.deny_builtin", deny_builtin },
	{ "memory.enabled", memory_enabled },
	{ "mcp.manifest", manifest },
};

str config_default(struct loader *l, const struct option *o)
{
	for (size_t i = 0; i < COUNT(derived); i++)
		if (str_eq(str_of(o->key), str_of(derived[i].key)))
			return derived[i].derive(l);
	return str_of(l->c->file_mode ? o->def_file : o->def_env);
}

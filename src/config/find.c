/*
 * Looking for the configuration file.  Only the existence of files is asked here.
 */
#include "config/find.h"

#include "os/path.h"

str config_xdg(struct arena *a, const struct env *env, const char *name, const char *below_home)
{
	str dir = env_get(env, name), home = env_get(env, "HOME");

	if (str_starts(dir, S("/"))) /* the specification ignores relative ones */
		return dir;
	return str_starts(home, S("/")) ? arena_fmt(a, "%.*s/%s", STRF(home), below_home)
					: S("");
}

static bool in_mtclaw_home(struct arena *a, const struct env *env, str path)
{
	str home = env_get(env, "HOME");

	return home.n && str_starts(path, arena_fmt(a, "%.*s/.mtclaw/", STRF(home)));
}

static bool take_named(struct config_place *out, struct arena *a, const struct env *env,
		       const char *name)
{
	str path = str_trim(env_get(env, name));

	if (!path.n)
		return false;
	*out = (struct config_place){ .path = arena_dup(a, path),
				      .source = arena_fmt(a, "env:%s", name) };
	return true;
}

static bool take_default(struct config_place *out, struct arena *a, str dir, bool or_yml)
{
	str yaml = arena_fmt(a, "%.*s/config.yaml", STRF(dir));
	str yml = arena_fmt(a, "%.*s/config.yml", STRF(dir));
	bool has_yaml, has_yml;

	if (!dir.n)
		return false;
	has_yaml = path_exists(yaml.p);
	has_yml = or_yml && path_exists(yml.p);
	if (!has_yaml && !has_yml)
		return false;
	*out = (struct config_place){ .path = has_yaml ? yaml : yml,
				      .source = S("default"),
				      .both = has_yaml && has_yml };
	return true;
}

void config_find(struct config_place *out, struct arena *a, const char *flag,
		 const struct env *env)
{
	str xdg = config_xdg(a, env, "XDG_CONFIG_HOME", ".config");
	str home = env_get(env, "HOME");

	*out = (struct config_place){ 0 };
	if (flag) {
		out->path = arena_dup(a, str_of(flag));
		out->source = S("flag");
	} else if (!take_named(out, a, env, "GANTRY_CONFIG")) {
		if (take_named(out, a, env, "MTCLAW_CONFIG"))
			out->mtclaw = true;
		else if (!(xdg.n &&
			   take_default(out, a, arena_cat(a, xdg, S("/gantry")), false)) &&
			 home.n)
			(void)take_default(out, a, arena_cat(a, home, S("/.mtclaw")), true);
	}
	out->mtclaw = out->mtclaw || in_mtclaw_home(a, env, out->path);
}

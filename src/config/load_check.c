/*
 * Rules that concern more than one option, once all of them have been read.
 */
#include "config/load_internal.h"

#include <string.h>

#include "config/zones.h"
#include "os/path.h"

static bool is_set(const struct loader *l, const char *key)
{
	return config_setting(l, key)->set;
}

static const struct option *row(const char *key)
{
	return &options[option_find(str_of(key))];
}

/* A secret that is not there: an error, or while only looking at a file a warning.  What is
 * wrong with a file that was named has been said. */
static void missing_secret(struct loader *l, const char *key, const char *hint)
{
	if (config_setting(l, arena_fmt(l->a, "%s_file", key).p)->text.n)
		return;
	str variable = config_setting(l, arena_fmt(l->a, "%s_env", key).p)->text;
	str name = l->c->file_mode ? str_of(key) : variable;
	str why =
		l->c->file_mode
			? arena_fmt(l->a,
				    "the variable %.*s is not set, and %s_file names no file%s",
				    STRF(variable), key, hint)
			: arena_fmt(l->a, "must be set%s", hint);

	if (l->opt->inspect && l->c->file_mode)
		config_warn(l, "%.*s: %.*s", STRF(name), STRF(why));
	else
		problem_add(l->p, NULL, name, "%.*s", STRF(why));
}

static void check_model(struct loader *l)
{
	struct model_cfg *m = &l->c->model;

	m->has_temperature = is_set(l, "agent.temperature");
	if (m->total_ms < m->first_token_ms)
		m->total_ms = m->first_token_ms;
	if (!config_wanted(l, CONFIG_MODEL))
		return;
	if (!m->base_url.n && !is_set(l, "openai.base_url"))
		problem_add(l->p, NULL, config_name(l, row("openai.base_url")), "must be set");
	if (!m->name.n)
		problem_add(l->p, NULL, config_name(l, row("agent.model")), "must be set");
	if (!m->api_key.n && !m->no_key)
		missing_secret(l, "openai.api_key",
			       l->c->file_mode
				       ? "; an endpoint without keys: openai.no_key: true"
				       : " (an endpoint without keys: set LLM_NO_KEY to true)");
}

/* A limit in money of a model without a price would be none. */
static void check_priced(struct loader *l, str model, const char *key)
{
	int64_t nano;

	if (model.n && !price_of(&l->c->models, model, &(struct price_usage){ 0 }, &nano))
		problem_add(l->p, NULL, config_name(l, row(key)),
			    "is a limit in money, and models.prices has no price of %.*s",
			    STRF(model));
}

static void check_spending(struct loader *l)
{
	static const char *const keys[] = { "spending.turn_money", "spending.job_money",
					    "spending.day_money", "spending.month_money" };
	const struct policy_cfg *p = &l->c->policy;

	if (!config_wanted(l, CONFIG_MODEL))
		return;
	for (size_t i = 0; i < COUNT(keys); i++) {
		const struct option *o = row(keys[i]);

		if (*(const int64_t *)((const char *)l->c + o->at) == 0)
			continue;
		check_priced(l, l->c->model.name, keys[i]);
		if (l->c->exec.enabled && str_eq(p->mode, S("auto")))
			check_priced(l, p->auto_model, keys[i]);
	}
}

static void check_telegram(struct loader *l)
{
	struct telegram_cfg *t = &l->c->telegram;

	if (!config_wanted(l, CONFIG_CHANNEL))
		return;
	if (!str_eq(l->c->gateway.channel, S("telegram"))) {
		if (!str_eq(t->error_reporting, S("off")))
			problem_add(l->p, NULL,
				    config_name(l, row("channels.telegram.error_reporting")),
				    "works only on Telegram; the channel is %.*s",
				    STRF(l->c->gateway.channel));
		return;
	}
	if (!t->enabled) {
		if (!l->opt->inspect)
			problem_add(
				l->p, NULL, S("channels.telegram.enabled"),
				"is false, and the channel is telegram: enable it, or choose "
				"gateway.channel: stdio");
		return;
	}
	if (!t->token.n)
		missing_secret(l, "channels.telegram.token", "");
	if (!t->allow_from.n && !config_groups_allow_someone(l))
		problem_add(l->p, NULL, config_name(l, row("channels.telegram.allow_from")),
			    "is empty: the bot would accept no one");
}

/* The file, or the directory it will be created in, must be possible. */
static void check_file(struct loader *l, const char *key, str path)
{
	str name = config_setting(l, key)->from, parent;

	name = str_starts(name, S("env ")) ? str_sub(name, 4, name.n)
					   : config_name(l, row(key));
	if (!path.n)
		return;
	if (path_kind(path.p, NULL) == PATH_DIR) {
		problem_add(l->p, NULL, name, "%s is a directory, not a file", path.p);
		return;
	}
	parent = path_existing(l->a, path_dir(l->a, path));
	if (path_kind(parent.p, NULL) != PATH_DIR)
		problem_add(l->p, NULL, name, "%s is not a directory", parent.p);
}

static void check_storage(struct loader *l)
{
	struct store_cfg *s = &l->c->store;
	const struct config_setting *old = config_setting(l, "storage.path");

	if (!s->data_dir.n && s->dsn.n)
		l->set[option_find(S("storage.data_dir"))].text = s->data_dir =
			path_dir(l->keep, s->dsn);
	if (!config_wanted(l, CONFIG_STORE))
		return;
	if (old->set)
		config_warn(l, "storage.path is deprecated: write storage.dsn");
	check_file(l, is_set(l, "storage.dsn") ? "storage.dsn" : "storage.data_dir", s->dsn);
	if (!s->dsn.n && l->c->file_mode)
		problem_add(l->p, NULL, S("storage.dsn"), "must be set, since HOME is not");
}

static void check_tools(struct loader *l)
{
	str shell = config_setting(l, "tools.exec.shell")->text;

	if (str_eq(config_setting(l, "tools.exec.mode")->text, S("off"))) {
		l->set[option_find(S("tools.exec.enabled"))].text = S("false");
		l->c->exec.enabled = false;
	}
	l->c->mcp.manifest_optional = !is_set(l, "mcp.manifest");
	if (!config_wanted(l, CONFIG_TOOLS))
		return;
	if (l->c->fs.enabled && !l->c->fs.roots.n)
		problem_add(l->p, NULL, config_name(l, row("tools.filesystem.roots")),
			    "must name at least one directory while the file tools are on");
	if (shell.n > 2 && !memchr(shell.p, ',', shell.n))
		problem_add(l->p, NULL, config_name(l, row("tools.exec.shell")),
			    "needs the shell and its flags, as in [/bin/bash, -lc]");
	if (l->place.mtclaw && l->c->exec.enabled && !is_set(l, "tools.exec.sandbox.profile"))
		config_warn(
			l, "tools.exec.sandbox.profile is not set: commands see everything but "
			   "our own data (compat); strict confines them to the workspace");
	config_check_jobs(l);
}

/* A password inside a URL is a secret like any other. */
static void keep_url_secret(struct loader *l, str url)
{
	size_t at = str_find(url, S("@")), from = str_find(url, S("://"));
	str user;

	if (at == SIZE_MAX || from == SIZE_MAX || at < from)
		return;
	user = str_sub(url, from + 3, at);
	(void)str_cut(&user, ':');
	if (user.n)
		config_secret(l, user);
}

/* All of them in one line: a whole file of a kindred program may have many. */
static void say_unused(struct loader *l)
{
	struct buf names = buf_in(l->a, 4096);

	for (size_t i = 0; i < options_n; i++) {
		const struct config_setting *s = &l->set[i];
		str name = str_starts(s->from, S("env ")) ? str_sub(s->from, 4, s->from.n)
							  : str_of(options[i].key);

		if (s->set && (options[i].flags & OPT_LATER) && options[i].type != OPT_SECRET)
			buf_fmt(&names, "%s%.*s", names.n ? ", " : "", STRF(name));
	}
	if (names.n)
		config_warn(l, "not used by this version yet: %s", buf_str(&names).p);
}

/* The machine's zone is what TZ names, for us as for every other program. */
static void check_zone(struct loader *l)
{
	str tz = str_trim(env_get(l->env, "TZ"));
	const struct zone *z;

	if (tz.n && *tz.p == ':')
		tz = str_sub(tz, 1, tz.n);
	if (str_eq(l->c->cron.zone, S("Local")) && tz.n &&
	    zone_load(&z, l->a, tz, NULL, NULL) == OK)
		l->c->cron.zone = arena_dup(l->keep, tz);
}

void config_check(struct loader *l)
{
	const struct http_cfg *h = &l->c->http;

	keep_url_secret(l, h->http_proxy);
	keep_url_secret(l, h->https_proxy);
	keep_url_secret(l, h->all_proxy);
	keep_url_secret(l, l->c->model.base_url);
	check_storage(l);
	check_model(l);
	check_spending(l);
	check_telegram(l);
	check_tools(l);
	check_zone(l);
	(void)config_wanted(l, 0);
	check_file(l, "log.file", l->c->log.file);
	if (l->place.both)
		config_warn(l, "config.yml lies beside %.*s and is not read",
			    STRF(l->place.path));
	say_unused(l);
}

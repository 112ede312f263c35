/*
 * Onboarding: the files.  Everything is new: what is there already is kept, or gets a
 * neighbour with a number.  The configuration comes last, and when something fails all that
 * was made is removed again, directories included.
 */
#include "cli/onboard.h"

#include "cli/templates.h"
#include "config/value.h"
#include "os/file.h"
#include "os/path.h"
#include "text/json.h"

#include <assert.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)64 << 10)
#define MADE_MAX 16
#define NUMBERS_MAX 100

struct writing {
	struct onboard *o;
	str key_file, token_file; /* as the configuration names them, "" none */
	str manifest, persona;
	const char *made[MADE_MAX]; /* to be removed when it fails */
	size_t made_n;
	struct made_dir {
		str path, there; /* there: what was there before, path or a parent of it */
	} dirs[MADE_MAX];
	size_t dirs_n;
};

static str in_dir(const struct onboard *o, str name)
{
	return str_starts(name, S("/"))
		       ? name
		       : arena_fmt(o->a, "%.*s/%.*s", STRF(o->dir), STRF(name));
}

/* base + ext, or base-2 + ext and so on: the first that is not there. */
static str free_name(const struct onboard *o, const char *base, const char *ext)
{
	str name = arena_fmt(o->a, "%s%s", base, ext);

	for (int i = 2; i < NUMBERS_MAX && path_taken(in_dir(o, name).p); i++)
		name = arena_fmt(o->a, "%s-%d%s", base, i, ext);
	return name;
}

/* --- the texts ---------------------------------------------------------------------- */

static void setting(const struct onboard *o, struct buf *b, const char *key, str value)
{
	if (value.n)
		buf_fmt(b, "%s: %s\n", key, value_yaml(o->a, value).p);
}

static void model_text(const struct writing *w, struct buf *b)
{
	const struct onboard *o = w->o;

	buf_add(b, S("agent:\n"));
	setting(o, b, "  model", o->model);
	setting(o, b, "  persona_dir", w->persona);
	setting(o, b, "  workspace", o->workspace);
	buf_add(b, S("  stream_replies: true\n\n"));
	buf_fmt(b, "openai: # %s\n", o->provider->title);
	setting(o, b, "  base_url", o->base_url);
	if (o->no_key)
		buf_add(b, S("  no_key: true\n"));
	setting(o, b, "  api_key_env", onboard_secret_variable(o, &o->key));
	setting(o, b, "  api_key_file", w->key_file);
}

static void channel_text(const struct writing *w, struct buf *b)
{
	const struct onboard *o = w->o;

	if (!o->telegram) {
		buf_add(b, S("\ngateway:\n  channel: stdio # telegram, once a bot is set up "
			     "below\n\nchannels:\n  telegram:\n    enabled: false\n"));
		return;
	}
	buf_add(b, S("\ngateway:\n  channel: telegram\n\nchannels:\n  telegram:\n"));
	setting(o, b, "    token_env", onboard_secret_variable(o, &o->token));
	setting(o, b, "    token_file", w->token_file);
	setting(o, b, "    api_base_url", o->telegram_api);
	buf_fmt(b, "    allow_from: [%lld] # numeric ids; nobody else is answered\n",
		(long long)o->owner);
}

static const char *on(bool is)
{
	return is ? "true" : "false";
}

static void tools_text(const struct writing *w, struct buf *b)
{
	const struct onboard *o = w->o;

	buf_fmt(b, "\ntools:\n  filesystem:\n    enabled: %s # in the workspace\n",
		on(o->files));
	buf_fmt(b, "  web_fetch:\n    enabled: %s\n", on(o->web));
	buf_fmt(b,
		"  exec:\n    enabled: %s\n    mode: approval # each command is asked about, "
		"unless a rule decides\n    sandbox:\n      profile: strict\n",
		on(o->exec));
	buf_fmt(b, "\nmemory:\n  enabled: %s\n\ncron:\n  enabled: %s\n", on(o->memory),
		on(o->cron));
	setting(o, b, "  timezone", o->zone);
	buf_add(b, S("\nmcp:\n"));
	setting(o, b, "  manifest", w->manifest);
}

static int config_text(const struct writing *w, str *out, struct err *e)
{
	struct buf b = buf_in(w->o->a, TEXT_MAX);

	buf_add(&b,
		S("# Written by `gantry onboard`; yours to change. Every option is explained "
		  "by\n# `gantry config docs`, and checked by `gantry config validate`.\n"
		  "version: 1\n\n"));
	model_text(w, &b);
	channel_text(w, &b);
	tools_text(w, &b);
	if (b.full)
		return err_set(e, E_LIMIT, "the configuration is over %zu bytes", TEXT_MAX);
	*out = buf_str(&b);
	return OK;
}

static void server_text(const struct onboard *o, const struct server_preset *p, struct buf *b)
{
	buf_fmt(b, "\n# %s\n[[server]]\nname    = \"%s\"\ncommand = \"%s\"\nargs    = [",
		p->title, p->name, p->command);
	for (size_t i = 0; i < COUNT(p->args) && p->args[i]; i++) {
		str arg = str_of(p->args[i]);
		buf_add(b, i ? S(", ") : S(""));
		buf_json(b, str_eq(arg, S("@WORKSPACE")) ? o->workspace : arg);
	}
	buf_add(b, S("]\n"));
	if (!cli_which(&o->cli->env, o->a, str_of(p->command)).n)
		buf_fmt(b, "disabled = true # until %s is installed\n", p->command);
}

static int manifest_text(const struct onboard *o, str *out, struct err *e)
{
	struct buf b = buf_in(o->a, TEXT_MAX);

	buf_add(&b, str_of(template_manifest));
	for (size_t i = 0; i < server_presets_n; i++)
		if (o->servers[i])
			server_text(o, &server_presets[i], &b);
	if (b.full)
		return err_set(e, E_LIMIT, "the list of servers is over %zu bytes", TEXT_MAX);
	*out = buf_str(&b);
	return OK;
}

/* --- writing ------------------------------------------------------------------------ */

static int make_dir(struct writing *w, str path, struct err *e)
{
	str there = path_existing(w->o->a, path);

	if (!str_eq(there, path)) {
		assert(w->dirs_n < MADE_MAX);
		w->dirs[w->dirs_n++] = (struct made_dir){ path, there };
	}
	return dir_make(path.p, 0700, e);
}

/* Files first; a directory that somebody put something into stays. */
static void take_back(struct writing *w)
{
	while (w->made_n)
		(void)unlink(w->made[--w->made_n]);
	while (w->dirs_n) {
		struct made_dir *d = &w->dirs[--w->dirs_n];
		for (str p = d->path; p.n > d->there.n; p = path_dir(w->o->a, p))
			(void)rmdir(p.p);
	}
}

static int make(struct writing *w, str name, str text, struct err *e)
{
	str path = in_dir(w->o, name);
	int rc = make_dir(w, path_dir(w->o->a, path), e);

	if (rc < 0 || (rc = file_place(path.p, text, 0600, e)) < 0)
		return rc;
	assert(w->made_n < MADE_MAX);
	w->made[w->made_n++] = path.p;
	return OK;
}

static int make_or_keep(struct writing *w, str name, str text, struct err *e)
{
	int rc = make(w, name, text, e);

	if (rc == E_BUSY && path_kind(in_dir(w->o, name).p, NULL) != PATH_FILE)
		return err_set(e, E_INVAL, "%s: not a regular file", in_dir(w->o, name).p);
	if (rc == E_BUSY)
		ask_say(&w->o->ask, "kept  %s", in_dir(w->o, name).p);
	return rc == E_BUSY ? OK : rc;
}

static bool serves(const struct onboard *o)
{
	for (size_t i = 0; i < server_presets_n; i++)
		if (o->servers[i])
			return true;
	return false;
}

/* How the files will be called; nothing is made yet. */
static void name_files(struct writing *w)
{
	struct onboard *o = w->o;

	w->persona = S("persona");
	w->key_file = o->no_key ? S("") : o->key.file;
	if (!o->no_key && o->key.typed.n)
		w->key_file = free_name(
			o, arena_fmt(o->a, "secrets/%s-key", o->provider->name).p, "");
	w->token_file = o->telegram ? o->token.file : S("");
	if (o->telegram && o->token.typed.n)
		w->token_file = free_name(o, "secrets/telegram-token", "");
	w->manifest = serves(o) ? free_name(o, "mcp", ".toml") : S("mcp.toml");
}

static int make_all(struct writing *w, struct err *e)
{
	struct onboard *o = w->o;
	str manifest, config;
	int rc;

	if ((rc = manifest_text(o, &manifest, e)) < 0 ||
	    (rc = config_text(w, &config, e)) < 0 || (rc = make_dir(w, o->dir, e)) < 0 ||
	    (rc = make_dir(w, o->workspace, e)) < 0)
		return rc;
	if (!o->no_key && o->key.typed.n &&
	    (rc = make(w, w->key_file, arena_cat(o->a, o->key.typed, S("\n")), e)) < 0)
		return rc;
	if (o->telegram && o->token.typed.n &&
	    (rc = make(w, w->token_file, arena_cat(o->a, o->token.typed, S("\n")), e)) < 0)
		return rc;
	for (size_t i = 0; i < template_persona_n; i++) {
		str name =
			arena_fmt(o->a, "%.*s/%s", STRF(w->persona), template_persona[i].name);
		if ((rc = make_or_keep(w, name, str_of(template_persona[i].text), e)) < 0)
			return rc;
	}
	if ((rc = make_or_keep(w, w->manifest, manifest, e)) < 0)
		return rc;
	return make(w, o->path, config, e);
}

/* What the person is asked about; ASK_BACK and the end are theirs. */
static int agreed(struct onboard *o, struct err *e)
{
	bool yes = true;
	int rc;

	ask_note(&o->ask, "It goes to %.*s and the files beside it.", STRF(o->path));
	rc = ask_yes(&o->ask, "Write this?", true, &yes, e);
	if (rc != OK || yes)
		return rc;
	o->ask.over = true;
	return err_set(e, E_CANCELED, "as you say");
}

int onboard_write(struct onboard *o, struct err *e)
{
	struct writing w;
	int rc;

	ask_note(&o->ask, "%s", "");
	ask_say(&o->ask, "%.*s with %.*s; %s; tools:%s%s%s%s%s%s", STRF(o->base_url),
		STRF(o->model), o->telegram ? "Telegram and the terminal" : "the terminal",
		o->files ? " files" : "", o->web ? " web" : "", o->exec ? " exec" : "",
		o->memory ? " memory" : "", o->cron ? " cron" : "",
		serves(o) ? " servers" : "");
	for (;;) {
		if ((rc = agreed(o, e)) != OK)
			return rc;
		w = (struct writing){ .o = o };
		name_files(&w);
		if ((rc = make_all(&w, e)) == OK)
			break;
		take_back(&w);
		if (o->ask.automatic)
			return rc;
		ask_say(&o->ask, "  ! %s; nothing was written. Mend that, or go back.", e->msg);
	}
	for (size_t i = 0; i < w.made_n; i++)
		ask_say(&o->ask, "wrote %s", w.made[i]);
	return OK;
}

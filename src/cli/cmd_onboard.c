/*
 * gantry onboard: from nothing to a configuration that works, by questions or by flags.  Here
 * are the order of the steps, the files that are there already, and the signals; each step is
 * in its onboard_*.c.
 */
#include "cli/onboard.h"

#include <signal.h>
#include <unistd.h>

#include "cli/cmd_doctor.h"
#include "cli/hear.h"
#include "config/find.h"
#include "os/file.h"
#include "os/path.h"
#include "os/signals.h"
#include "text/text.h"

/* A signal wakes the editor, or ends every wait. */
struct hearing {
	struct hear hear;
	struct cancel leave;
	struct edit *edit;
	_Atomic int signo;
};

static void on_signal(void *arg, int signo)
{
	struct hearing *h = arg;

	if (signo == SIGWINCH && h->edit)
		edit_resized(h->edit);
	if (signo == SIGWINCH)
		return;
	atomic_store(&h->signo, signo);
	cancel_fire(&h->leave, CANCEL_USER);
}

static int hearing_open(struct hearing *h, bool person, bool dumb, struct err *e)
{
	const struct edit_opt opt = {
		.in = STDIN_FILENO, .out = STDOUT_FILENO, .dumb = dumb, .max = 8192
	};
	int rc;

	if ((rc = signals_open(&h->hear.signals, e)) < 0 ||
	    (rc = cancel_init(&h->leave, NULL, 0, e)) < 0 ||
	    (person && (rc = edit_open(&h->edit, &opt, e)) < 0))
		return rc;
	h->hear.on_signal = on_signal;
	h->hear.arg = h;
	return hear_start(&h->hear, e);
}

static void hearing_close(struct hearing *h)
{
	hear_stop(&h->hear);
	edit_close(h->edit);
	cancel_done(&h->leave);
	fd_drop(&h->hear.signals);
}

/* --- what is there ------------------------------------------------------------------ */

/* dir/config.yaml gives dir/config-2.yaml: the first that is not there. */
static str beside(struct onboard *o)
{
	str stem = o->path, name = stem;
	const char *ext = "";

	if (str_ends(stem, S(".yaml")) || str_ends(stem, S(".yml"))) {
		ext = str_ends(stem, S(".yml")) ? ".yml" : ".yaml";
		stem = str_sub(stem, 0, stem.n - str_of(ext).n);
	}
	for (int i = 2; i < 100 && path_exists(name.p); i++)
		name = arena_fmt(o->a, "%.*s-%d%s", STRF(stem), i, ext);
	return name;
}

static int what_exists(struct onboard *o, struct err *e)
{
	str answer;
	int rc;

	if (o->ask.automatic)
		return err_set(
			e, E_BUSY,
			"%.*s exists already and is left as it is; say another place with "
			"--config FILE",
			STRF(o->path));
	ask_say(&o->ask, "%.*s exists already. It is not changed.", STRF(o->path));
	for (;;) {
		rc = ask_line(&o->ask, "keep it and stop here, or write a new one beside it",
			      S("keep"), &answer, e);
		if (rc < 0)
			return rc;
		if (rc == OK && str_ieq(answer, S("keep"))) {
			o->keep = true;
			return OK;
		}
		if (rc == OK && str_ieq(answer, S("beside"))) {
			o->path = beside(o);
			ask_say(&o->ask, "The new one will be %.*s; start it with --config.",
				STRF(o->path));
			return OK;
		}
		if ((rc = ask_again(&o->ask, e, "say keep or beside")) < 0)
			return rc;
	}
}

/* Where it goes, and whether that can be. */
static int place(struct onboard *o, struct err *e)
{
	const struct env *env = &o->cli->env;
	str named = str_trim(env_get(env, "GANTRY_CONFIG")), parent;
	str xdg = config_xdg(o->a, env, "XDG_CONFIG_HOME", ".config");
	struct config_place old;
	int rc;

	if (o->cli->config_path)
		named = str_of(o->cli->config_path);
	if (!named.n && !xdg.n)
		return err_set(e, E_INVAL, "HOME is not set: say where with --config FILE");
	o->path = named.n ? onboard_path(o, named)
			  : arena_cat(o->a, xdg, S("/gantry/config.yaml"));
	if (!o->path.n)
		return err_set(e, E_INVAL, "--config: %.*s is no path", STRF(named));
	o->dir = path_dir(o->a, o->path);
	if (path_kind(o->path.p, NULL) == PATH_DIR)
		return err_set(e, E_INVAL, "%.*s is a directory: say --config %.*s/config.yaml",
			       STRF(o->path), STRF(o->path));
	if (path_exists(o->path.p) && ((rc = what_exists(o, e)) < 0 || o->keep))
		return rc;
	parent = path_existing(o->a, o->dir);
	if (path_kind(parent.p, NULL) != PATH_DIR || !dir_writable(parent.p))
		return err_set(e, E_DENIED,
			       "%s cannot be written to: say another place with --config FILE",
			       parent.p);
	config_find(&old, o->a, NULL, env);
	if (old.path.n && path_exists(old.path.p) && !str_eq(old.path, o->path))
		ask_say(&o->ask, "(There is %.*s too. It is left as it is.)", STRF(old.path));
	return OK;
}

/* --- the steps ---------------------------------------------------------------------- */

static int (*const steps[])(struct onboard *o, struct err *e) = {
	onboard_provider, onboard_key,     onboard_model, onboard_telegram, onboard_workspace,
	onboard_tools,    onboard_servers, onboard_zone,  onboard_write,
};

/* What should be a name may be the secret itself: it is never repeated. */
static int check_name(struct onboard *o, const char *flag, const char *name, const char *file,
		      struct err *e)
{
	if (!name || onboard_variable(o, str_of(name)))
		return OK;
	return err_set(
		e, E_INVAL,
		"%s: a variable has letters, digits and _; the secret itself goes into a "
		"file, for %s",
		flag, file);
}

static int walk(struct onboard *o, struct err *e)
{
	const struct onboard_flags *f = &o->flags;
	int rc;

	if ((rc = check_name(o, "--key-env", f->key_env, "--key-file", e)) < 0 ||
	    (rc = check_name(o, "--telegram-token-env", f->telegram_env,
			     "--telegram-token-file", e)) < 0)
		return rc;
	rc = place(o, e);

	for (size_t i = 0; rc >= 0 && !o->keep && i < COUNT(steps);) {
		rc = steps[i](o, e);
		o->back = rc == ASK_BACK;
		if (rc == ASK_BACK && i == 0)
			ask_say(&o->ask, "This is the first question; Ctrl-C leaves.");
		else if (rc == ASK_BACK)
			i--;
		else
			i++;
	}
	return rc < 0 ? rc : OK;
}

static void say_next(const struct onboard *o)
{
	struct config_place usual;
	const char *opt;

	config_find(&usual, o->a, NULL, &o->cli->env);
	opt = str_eq(usual.path, o->path) ? ""
					  : arena_fmt(o->a, "--config %.*s ", STRF(o->path)).p;
	ask_say(&o->ask, "\nNext:\n  gantry %schat       talk to it here", opt);
	if (o->telegram)
		ask_say(&o->ask, "  gantry %srun        the daemon: write to your bot", opt);
	if (*opt && usual.path.n)
		ask_say(&o->ask, "Without --config it starts %.*s, as before.",
			STRF(usual.path));
	ask_say(&o->ask, "Its character is in %.*s/persona: make it yours.", STRF(o->dir));
}

/* What is not well is the doctor's to say, and no failure of what was done here. */
static void look_over(struct onboard *o)
{
	struct cli cli = *o->cli;

	cli.config_path = o->path.p;
	ask_note(&o->ask, "%s", "");
	ask_say(&o->ask, "Looking it over (gantry doctor):");
	(void)doctor_main(
		&cli, &(struct doctor_opt){ .offline = o->flags.no_check, .cancel = o->leave });
	if (cancel_reason(o->leave) == CANCEL_NONE)
		say_next(o);
}

static int ended(const struct onboard *o, const struct hearing *h, int rc, const struct err *e)
{
	int signo = atomic_load(&h->signo);

	if (rc == OK)
		return EXIT_OK;
	if (rc == E_CANCELED) {
		ask_say(&o->ask, "\nStopped; nothing was written.");
		return o->ask.over ? EXIT_FAILED : 128 + (signo ? signo : SIGINT);
	}
	return cli_fail("onboard: %s", e->msg);
}

/* --- the command -------------------------------------------------------------------- */

static const char *either(const struct env *env, const char *lower, const char *upper)
{
	str v = env_get(env, lower);

	return v.n ? v.p : env_get(env, upper).p;
}

/* The variables that belong to every process, as the configuration reads them. */
static int open_pool(struct onboard *o, struct err *e)
{
	const struct env *env = &o->cli->env;
	str ca = str_trim(env_get(env, "SSL_CERT_FILE"));
	const struct http_opt opt = {
		.ca_file = ca.n ? arena_cstr(o->a, ca) : NULL,
		.http_proxy = either(env, "http_proxy", "HTTP_PROXY"),
		.https_proxy = either(env, "https_proxy", "HTTPS_PROXY"),
		.all_proxy = either(env, "all_proxy", "ALL_PROXY"),
		.no_proxy = either(env, "no_proxy", "NO_PROXY"),
	};

	return http_pool_open(&o->pool, &opt, e);
}

static int take_flags(struct cli *cli, struct onboard_flags *f)
{
	const struct {
		const char *name, **value;
	} values[] = {
		{ "--provider", &f->provider },
		{ "--base-url", &f->base_url },
		{ "--key-env", &f->key_env },
		{ "--key-file", &f->key_file },
		{ "--model", &f->model },
		{ "--telegram-token-env", &f->telegram_env },
		{ "--telegram-token-file", &f->telegram_file },
		{ "--telegram-id", &f->telegram_id },
		{ "--telegram-api", &f->telegram_api },
		{ "--workspace", &f->workspace },
		{ "--tools", &f->tools },
		{ "--mcp", &f->mcp },
		{ "--zone", &f->zone },
	};
	bool bad = false;

	for (size_t i = 0; i < COUNT(values); i++) {
		(void)cli_value(cli, values[i].name, values[i].value, &bad);
		if (bad)
			return cli_misuse(cli, "%s wants a value", values[i].name);
	}
	f->no_check = cli_flag(cli, "--no-check");
	f->yes = cli_flag(cli, "--yes");
	return cli_rest(cli, 0, 0);
}

/* A server may say back what it was told. */
static str without_secrets(const void *arg, struct arena *a, str line)
{
	const struct onboard *o = arg;
	const str secrets[] = { onboard_secret_value(o, &o->key),
				onboard_secret_value(o, &o->token) };

	return text_redact_values(a, line, secrets, COUNT(secrets));
}

static int run(struct cli *cli)
{
	struct hearing h = { .hear = { .signals = -1, .quit = { -1 } }, .leave = { .fd = -1 } };
	struct onboard o = { .cli = cli, .a = cli->a, .leave = &h.leave };
	bool dumb = str_eq(env_get(&cli->env, "TERM"), S("dumb"));
	struct err e = { 0 };
	int rc, code = take_flags(cli, &o.flags);

	if (code != EXIT_OK)
		return code;
	if (!o.flags.yes && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		return cli_misuse(cli,
				  "it asks questions, and this is no terminal: say --yes and "
				  "flags");
	o.telegram_api = str_of(o.flags.telegram_api);
	if ((rc = hearing_open(&h, !o.flags.yes, dumb, &e)) == OK)
		rc = open_pool(&o, &e);
	o.ask = (struct ask){ .edit = h.edit,
			      .leave = &h.leave,
			      .tame = without_secrets,
			      .arg = &o,
			      .a = cli->a,
			      .automatic = o.flags.yes };
	if (rc == OK && !o.ask.automatic)
		ask_say(&o.ask,
			"Setting up gantry. Enter takes what stands in brackets, \"back\" "
			"goes one question\nback, Ctrl-C leaves; nothing is written before "
			"the end.\n");
	if (rc == OK)
		rc = walk(&o, &e);
	code = ended(&o, &h, rc, &e);
	if (code == EXIT_OK)
		look_over(&o);
	http_pool_close(o.pool);
	hearing_close(&h);
	return code;
}

const struct cmd cmd_onboard = {
	.name = "onboard",
	.summary = "set everything up by questions: model, Telegram, tools",
	.usage = "usage: gantry onboard [--yes] [FLAG VALUE]...\n"
		 "\n"
		 "Asks which model to use (and whether it answers), whether to use Telegram, "
		 "where the\n"
		 "agent may work and with which tools; writes config.yaml, a persona and "
		 "mcp.toml into\n"
		 "~/.config/gantry (or beside --config FILE) and overwrites nothing.  Keys are "
		 "not shown\n"
		 "and go into files of their own below secrets/.\n"
		 "\n"
		 "With --yes nobody is asked; flags answer (without --yes they are the "
		 "defaults):\n"
		 "  --provider NAME     openai gemini xai openrouter groq mistral deepseek "
		 "ollama\n"
		 "                      lmstudio llamacpp custom\n"
		 "  --base-url URL      instead of the provider's own\n"
		 "  --key-env NAME      variable of the key; --key-file FILE: the file it is "
		 "in\n"
		 "  --model NAME        as the endpoint calls it\n"
		 "  --telegram-id ID    your numeric id; --telegram-token-env NAME or\n"
		 "                      --telegram-token-file FILE: the bot's token\n"
		 "  --telegram-api URL  a Bot API server of your own\n"
		 "  --workspace DIR     the directory whose files the agent may touch\n"
		 "  --tools LIST        of files,web,exec,memory,cron; or none\n"
		 "  --mcp LIST          of filesystem,memory,thinking,fetch,time,git\n"
		 "  --zone ZONE         as in Europe/Berlin\n"
		 "  --no-check          ask neither the endpoint nor Telegram\n"
		 "\n"
		 "example:\n"
		 "  gantry onboard --yes --provider ollama --model qwen3\n",
	.run = run,
};

/*
 * What every subcommand needs: its options, its configuration, its ways of saying things.
 */
#include "cli/cli.h"

#include "cli/server_secrets.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf.h"
#include "config/value.h"
#include "config/find.h"
#include "os/file.h"
#include "os/log.h"
#include "os/path.h"
#include "text/json.h"
#include "text/text.h"

/* --- saying things ------------------------------------------------------------------ */

int cli_fail(const char *fmt, ...)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "gantry: %s\n", text_visible(&a, str_of(line), true).p);
	return EXIT_FAILED;
}

int cli_misuse(const struct cli *cli, const char *fmt, ...)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *name = cli->cmd ? cli->cmd->name : NULL;
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "gantry%s%s: %s; see: gantry%s%s --help\n", name ? " " : "",
		      name ? name : "", text_visible(&a, str_of(line), true).p, name ? " " : "",
		      name ? name : "");
	return EXIT_USAGE;
}

void cli_print(struct cli *cli, str text)
{
	str safe = text_visible(cli->a, text, false);

	(void)fwrite(safe.p, 1, safe.n, stdout);
}

int cli_answer(struct cli *cli, struct buf *b, bool json)
{
	if (b->full)
		return cli_fail("the answer is over %zu bytes; ask for less of it", b->max);
	if (json)
		(void)fwrite(b->p, 1, b->n, stdout);
	else
		cli_print(cli, buf_str(b));
	return EXIT_OK;
}

static bool runs(struct arena *a, str path)
{
	return path_kind(arena_cstr(a, path), NULL) == PATH_FILE &&
	       access(arena_cstr(a, path), X_OK) == 0;
}

str cli_which(const struct env *env, struct arena *a, str name)
{
	str path = env_get(env, "PATH");

	if (str_has(name, S("/")))
		return runs(a, name) ? name : S("");
	while (path.n) {
		str dir = str_cut(&path, ':');
		str file = arena_fmt(a, "%.*s/%.*s", STRF(dir), STRF(name));
		if (dir.n && runs(a, file))
			return file;
	}
	return S("");
}

/* --- options ------------------------------------------------------------------------ */

static void take_out(struct cli *cli, int at, int n)
{
	for (int i = at; i + n < cli->argc; i++)
		cli->argv[i] = cli->argv[i + n];
	cli->argc -= n;
}

bool cli_flag(struct cli *cli, const char *name)
{
	bool found = false;

	for (int i = 0; i < cli->argc && strcmp(cli->argv[i], "--") != 0;) {
		if (strcmp(cli->argv[i], name) != 0) {
			i++;
			continue;
		}
		take_out(cli, i, 1);
		found = true;
	}
	return found;
}

bool cli_value(struct cli *cli, const char *name, const char **value, bool *bad)
{
	size_t n = strlen(name);
	bool found = false;

	for (int i = 0; i < cli->argc && strcmp(cli->argv[i], "--") != 0;) {
		char *arg = cli->argv[i];

		if (strncmp(arg, name, n) != 0 || (arg[n] && arg[n] != '=')) {
			i++;
		} else if (arg[n] == '=') {
			*value = arg + n + 1;
			take_out(cli, i, 1);
			found = true;
		} else if (i + 1 < cli->argc && strcmp(cli->argv[i + 1], "--") != 0) {
			*value = cli->argv[i + 1];
			take_out(cli, i, 2);
			found = true;
		} else {
			take_out(cli, i, 1);
			*bad = true;
		}
	}
	return found && !*bad;
}

/* The word behind the command's name in a form of its usage; "" when none has to stand there. */
static str word_of_form(const struct cli *cli, str form)
{
	str name = str_of(cli->cmd->name);
	size_t at = str_find(form, name);
	str rest = at == SIZE_MAX ? S("") : str_trim(str_sub(form, at + name.n, form.n));
	str word = str_cut(&rest, ' ');

	return word.n && word.p[0] >= 'a' && word.p[0] <= 'z' ? word : S("");
}

static int missing(const struct cli *cli)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str usage = str_of(cli->cmd->usage), first = str_cut(&usage, '\n'), form = first;
	str said = cli->argc ? str_of(cli->argv[0]) : S("");
	struct buf b = buf_in(&a, 256);
	str last = S("");
	size_t n = 0;

	for (; form.n; form = str_cut(&usage, '\n')) {
		str word = word_of_form(cli, form);
		if (said.n && str_eq(word, said))
			return cli_misuse(cli, "something is missing, %.*s",
					  STRF(str_trim(form)));
		if (!word.n || str_eq(word, last))
			continue;
		for (last = word; word.n; n++) {
			buf_add(&b, n ? S(", ") : S(""));
			buf_add(&b, str_cut(&word, '|'));
		}
	}
	if (n > 1)
		return cli_misuse(cli, "say one of %.*s", STRF(buf_str(&b)));
	return cli_misuse(cli, "something is missing, %.*s", STRF(first));
}

int cli_rest(struct cli *cli, int min, int max)
{
	int i = 0;

	for (; i < cli->argc && strcmp(cli->argv[i], "--") != 0; i++)
		if (cli->argv[i][0] == '-' && cli->argv[i][1])
			return cli_misuse(cli, "unknown option %s", cli->argv[i]);
	if (i < cli->argc)
		take_out(cli, i, 1);
	if (cli->argc < min)
		return missing(cli);
	if (cli->argc > max)
		return cli_misuse(cli, "%s is one argument too many", cli->argv[max]);
	return EXIT_OK;
}

int cli_text(struct cli *cli, const struct config *cfg, str *text)
{
	struct err e = { 0 };

	*text = str_of(cli->argv[0]);
	if (str_eq(*text, S("-")) && file_read_fd(text, cli->a, STDIN_FILENO,
						  (size_t)cfg->limits.input_max_bytes, &e) < 0)
		return cli_fail("standard input: %s", e.msg);
	*text = str_trim(utf_repair(cli->a, *text));
	return text->n ? EXIT_OK : cli_misuse(cli, "there is no text");
}

/* --- the configuration -------------------------------------------------------------- */

/* Copies of the secrets for the log's redactor, which outlive the configuration they came
 * from.  A set is never changed once it is there, and kept to the end: other threads may be
 * reading it. */
struct hidden {
	str *values;
	size_t n;
};
static struct arena hidden_arena;
static const struct hidden *_Atomic hidden;

static str redact(struct arena *a, str line)
{
	const struct hidden *h = atomic_load(&hidden);

	return text_redact(a, h ? text_redact_values(a, line, h->values, h->n) : line);
}

static bool hides(const struct hidden *h, str value)
{
	for (size_t i = 0; h && i < h->n; i++)
		if (str_eq(h->values[i], value))
			return true;
	return false;
}

static void hide_value(struct hidden *h, str value)
{
	if (!hides(h, value))
		h->values[h->n++] = arena_dup(&hidden_arena, value);
}

/* Each as it is, and as it stands inside a JSON string where that differs; beside those that
 * were hidden before.  From one thread at a time. */
static void hide(const struct cli *cli, struct config *c)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct hidden *old = atomic_load(&hidden);
	size_t old_n = old ? old->n : 0;
	bool news = !old;

	server_secrets_add(c, &cli->env);
	for (size_t i = 0; i < c->secrets_n; i++)
		news = news || !hides(old, c->secrets[i]);
	if (!news)
		return;
	struct hidden *h = NEW(&hidden_arena, struct hidden);
	h->values = NEWN(&hidden_arena, str, old_n + 2 * c->secrets_n + 1);
	for (; h->n < old_n; h->n++)
		h->values[h->n] = old->values[h->n];
	for (size_t i = 0; i < c->secrets_n; i++) {
		struct buf b = buf_in(&a, c->secrets[i].n * 6 + 16);
		buf_json(&b, c->secrets[i]);
		hide_value(h, c->secrets[i]);
		hide_value(h, str_sub(buf_str(&b), 1, b.n - 1));
	}
	atomic_store(&hidden, h);
}

static enum log_level level_of(str word)
{
	if (str_eq(word, S("debug")))
		return LOG_DEBUG;
	if (str_eq(word, S("warn")))
		return LOG_WARN;
	return str_eq(word, S("error")) ? LOG_ERROR : LOG_INFO;
}

static int open_log(const struct cli *cli, const struct config *c, bool quiet)
{
	struct log_opt opt = {
		.level = level_of(c->log.level),
		.json = str_eq(c->log.format, S("json")) && !(quiet && cli->terminal),
		.file = c->log.file.p,
		.redact = redact,
	};
	struct err e = { 0 };

	if (quiet && !cli->log_level && opt.level < LOG_WARN && !c->log.file.n)
		opt.level = LOG_WARN;
	if (log_open(&opt, &e) < 0)
		return cli_fail("%s", e.msg);
	for (size_t i = 0; !quiet && i < c->warnings.n; i++)
		log_warn("config.warning", "text=%s", log_q(cli->a, c->warnings.v[i]).p);
	return EXIT_OK;
}

/* Where everything is, for whoever reads the log of a daemon. */
static void log_paths(struct cli *cli, const struct config *c)
{
	log_info("config.loaded", "file=%s dsn=%s persona=%s manifest=%s workspace=%s",
		 log_q(cli->a, c->path).p, log_q(cli->a, c->store.dsn).p,
		 log_q(cli->a, c->agent.persona_dir).p, log_q(cli->a, c->mcp.manifest).p,
		 log_q(cli->a, c->agent.workspace).p);
}

void cli_problems(str text)
{
	while (text.n) {
		str line = str_cut(&text, '\n');

		(void)cli_fail("%.*s", STRF(line));
	}
}

/* One end at a terminal is enough for a person's own directories: the other may be a pipe. */
struct config_opt cli_config_opt(const struct cli *cli, unsigned need)
{
	return (struct config_opt){
		.path = cli->config_path,
		.log_level = cli->log_level,
		.terminal = cli->terminal || isatty(STDIN_FILENO) || isatty(STDERR_FILENO),
		.need = need,
	};
}

bool cli_unset(const struct cli *cli)
{
	static const char *const names[] = { "LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY" };
	struct config_place place;

	config_find(&place, cli->a, cli->config_path, &cli->env);
	for (size_t i = 0; i < COUNT(names); i++)
		if (env_get(&cli->env, names[i]).n)
			return false;
	return !place.path.n;
}

int cli_config(struct cli *cli, unsigned need, bool quiet, struct config **out)
{
	struct config_opt opt = cli_config_opt(cli, need);
	struct config_problems problems;
	struct config *c;
	struct err e = { 0 };
	int rc = config_load(&c, &opt, &cli->env, cli->a, &problems, &e);

	if (rc < 0 && problems.n) {
		cli_problems(problems.text);
		return cli_unset(cli) ? cli_fail("%s", CLI_SET_UP) : EXIT_FAILED;
	}
	if (rc < 0)
		return cli_fail("%s", e.msg);
	hide(cli, c);
	if (open_log(cli, c, quiet) != EXIT_OK) {
		config_free(c);
		return EXIT_FAILED;
	}
	if (!quiet)
		log_paths(cli, c);
	*out = c;
	return EXIT_OK;
}

int cli_inspect(struct cli *cli, unsigned need, struct config **out,
		struct config_problems *problems, struct err *e)
{
	struct config_opt opt = cli_config_opt(cli, need);
	struct log_opt log = { .level = LOG_ERROR, .redact = redact };
	int rc;

	opt.inspect = true;
	if ((rc = config_load(out, &opt, &cli->env, cli->a, problems, e)) < 0)
		return rc;
	hide(cli, *out);
	if (cli->log_level)
		log.level = level_of((*out)->log.level);
	return log_open(&log, e);
}

int cli_reload(struct cli *cli, const struct config *running, struct config **out,
	       struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct cli now = *cli;
	struct config_opt opt = cli_config_opt(cli, CONFIG_ALL);
	struct config_problems problems;
	int rc = config_load(out, &opt, &cli->env, &a, &problems, e);

	if (rc < 0 && problems.n)
		return err_set(e, rc, "%.*s", STRF(str_trim(problems.text)));
	if (rc < 0)
		return rc;
	now.a = &a;
	config_keep(*out, running);
	hide(cli, *out);
	if (open_log(&now, *out, false) == EXIT_OK)
		return OK;
	config_free(*out);
	return err_set(e, E_IO, "the log cannot be opened again");
}

/* --- dispatch ----------------------------------------------------------------------- */

static void help(const struct cmd *const *cmds, size_t n)
{
	(void)printf("gantry runs one personal AI agent: one model, your tools, one database.\n"
		     "\n"
		     "usage: gantry [--config FILE] [--log-level LEVEL] [COMMAND] ...\n"
		     "\n");
	for (size_t i = 0; i < n; i++)
		(void)printf("  %-10s %s\n", cmds[i]->name, cmds[i]->summary);
	(void)printf("\n"
		     "Without a command it is `gantry run`.  More: gantry COMMAND --help\n"
		     "Example: gantry prompt \"What is on today?\"\n");
}

static const struct cmd *find(const struct cmd *const *cmds, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(cmds[i]->name, name) == 0 ||
		    (cmds[i]->alias && strcmp(cmds[i]->alias, name) == 0))
			return cmds[i];
	return NULL;
}

static int unknown(const struct cli *cli, const struct cmd *const *cmds, size_t n,
		   const char *name)
{
	const struct cmd *best = NULL;
	size_t nearest = 3;

	/* The beginning of one, else the nearest. */
	for (size_t i = 0; i < n && nearest && *name; i++) {
		size_t d = str_starts(str_of(cmds[i]->name), str_of(name))
				   ? 0
				   : value_distance(str_of(cmds[i]->name), str_of(name));
		if (d >= nearest)
			continue;
		nearest = d;
		best = cmds[i];
	}
	if (best)
		return cli_misuse(cli, "there is no command %s; did you mean %s?", name,
				  best->name);
	return cli_misuse(cli, "there is no command %s", name);
}

/* The output must have gone out, or the answer is lost. */
static int finish(int code)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_OK)
		return cli_fail("cannot write to standard output");
	return code;
}

/* Take the options that every command has out of argv. */
static int globals(struct cli *cli)
{
	bool bad = false;

	(void)cli_value(cli, "--config", &cli->config_path, &bad);
	if (bad)
		return cli_misuse(cli, "--config wants a file");
	(void)cli_value(cli, "--log-level", &cli->log_level, &bad);
	if (bad)
		return cli_misuse(cli, "--log-level wants debug, info, warn or error");
	return EXIT_OK;
}

int cli_main(struct cli *cli, const struct cmd *const *cmds, size_t n, int argc, char **argv)
{
	const char *name = "run";
	bool wanted;
	int code;

	cli->argc = argc - 1;
	cli->argv = argv + 1;
	if ((code = globals(cli)) != EXIT_OK)
		return code;
	wanted = cli_flag(cli, "--help");
	wanted = cli_flag(cli, "-h") || wanted;
	if (cli->argc && strcmp(cli->argv[0], "help") == 0) {
		wanted = true;
		take_out(cli, 0, 1);
	}
	if (wanted && !cli->argc) {
		help(cmds, n);
		return finish(EXIT_OK);
	}
	if (cli->argc && strcmp(cli->argv[0], "--version") == 0) {
		name = "version";
		take_out(cli, 0, 1);
	} else if (cli->argc && cli->argv[0][0] != '-') {
		name = cli->argv[0];
		take_out(cli, 0, 1);
	} else if (cli->argc) {
		return cli_misuse(cli, "unknown option %s", cli->argv[0]);
	}
	if (!(cli->cmd = find(cmds, n, name)))
		return unknown(cli, cmds, n, name);
	if (!wanted)
		return finish(cli->cmd->run(cli));
	(void)fputs(cli->cmd->usage, stdout);
	return finish(EXIT_OK);
}

/*
 * Writing the option table down: as the YAML of what is in force, and as the reference page.
 */
#include "config/render.h"

#include "config/options.h"
#include "config/value.h"
#include "text/text.h"

/* --- show --------------------------------------------------------------------------- */

static str first_part(str key, str *rest)
{
	*rest = key;
	return str_cut(rest, '.');
}

/* The lines for the maps that key is in and the key before it was not; then its own name. */
static void open_maps(struct buf *b, str key, str before)
{
	bool same = true;

	for (int depth = 0;; depth++) {
		str part = first_part(key, &key), other = first_part(before, &before);

		same = same && str_eq(part, other);
		if (same && key.n)
			continue;
		if (depth == 0)
			buf_addc(b, '\n');
		buf_fmt(b, "%*s%.*s:", depth * 2, "", STRF(part));
		if (!key.n)
			return;
		buf_addc(b, '\n');
	}
}

static bool structured(enum opt_type type)
{
	return type >= OPT_STRS || type == OPT_SECRET;
}

/* The value as it would be written, without a password that is part of it. */
static str shown(struct arena *a, const struct config *c, const struct option *o,
		 const struct config_setting *s)
{
	str text = text_redact_values(a, s->text, c->secrets, c->secrets_n);

	if (o->type == OPT_URL || str_starts(str_of(o->key), S("http.")))
		text = text_redact(a, text);
	return structured(o->type) ? text : value_yaml(a, text);
}

void config_show(struct buf *b, const struct config *c)
{
	str before = { 0 };

	if (c->file_mode)
		buf_fmt(b, "# file mode: %.*s (%.*s)\n", STRF(c->path), STRF(c->path_source));
	else
		buf_add(b, S("# env mode: there is no configuration file\n"));
	for (size_t i = 0; i < options_n; i++) {
		const struct option *o = &options[i];
		const struct config_setting *s = &c->settings[i];

		if (o->flags & OPT_ALIAS) /* its value is shown under the real name */
			continue;
		open_maps(b, str_of(o->key), before);
		before = str_of(o->key);
		buf_fmt(b, " %s", shown(b->a, c, o, s).p);
		if (s->from.n)
			buf_fmt(b, " # %.*s", STRF(s->from));
		if (s->set && (o->flags & OPT_LATER))
			buf_fmt(b, "%s", s->from.n ? ", not used yet" : " # not used yet");
		buf_addc(b, '\n');
	}
}

/* --- docs --------------------------------------------------------------------------- */

static const char intro[] =
	"# Configuration\n"
	"\n"
	"This page is generated: `build/gantry config docs > docs/configuration.md`.\n"
	"\n"
	"gantry is configured by variables alone (**env mode**) or by a YAML file (**file "
	"mode**).\n"
	"The file is the first of `--config FILE`, `$GANTRY_CONFIG`, `$MTCLAW_CONFIG`,\n"
	"`$XDG_CONFIG_HOME/gantry/config.yaml`, `~/.mtclaw/config.yaml` and `config.yml` "
	"there.\n"
	"Without any of them it is env mode. `gantry config path` says which file it is,\n"
	"`gantry config show` what is in force, `gantry config validate` what is wrong.\n"
	"\n"
	"- Every option has a key in the file and the variable `GANTRY_` + key, in capitals\n"
	"  with dots as `_` (`tools.exec.mode`: `GANTRY_TOOLS_EXEC_MODE`), which counts in "
	"both\n"
	"  modes and before all else. The variables listed below count in env mode only, so\n"
	"  that a stray `LOG_LEVEL` does not change what a file says; those of `http.*` "
	"belong\n"
	"  to the process and count in both, after the file.\n"
	"- Blank is unset. Booleans are `true` or `false` (also yes, no, on, off, 1, 0).\n"
	"  Durations have a unit: `30s`, `5m`, `1h30m`, `250ms`. Lists are `[a, b]` in the\n"
	"  file and `a,b` in a variable, where `[\"a,b\", c]` works too and is how maps are\n"
	"  written. `~` is the home directory; relative paths begin at the file's directory,\n"
	"  or for a variable at the working directory.\n"
	"- The file is strict: unknown and repeated keys are errors, all told at once with\n"
	"  line and column. It never holds a secret: name the variable (`*_env`) or the file\n"
	"  (`*_file`) that does.\n"
	"- A file of MTClaw (one in `~/.mtclaw`, or named by `$MTCLAW_CONFIG`) keeps that\n"
	"  program's default paths.\n"
	"- *R* marks options that `SIGHUP` reloads, *later* those that are checked but not\n"
	"  used by this version.\n";

static void add_range(struct buf *b, const struct option *o)
{
	bool ms = o->type == OPT_MS;
	int64_t max = o->max_file ? o->max_file : o->max;

	if (!o->min && !o->max)
		return;
	if (ms)
		buf_fmt(b, ", %s to %s", value_ms_text(b->a, o->min).p,
			value_ms_text(b->a, o->max).p);
	else if (o->max == INT64_MAX)
		buf_fmt(b, ", from %lld", (long long)o->min);
	else
		buf_fmt(b, ", %lld to %lld", (long long)o->min, (long long)o->max);
	if (max != o->max)
		buf_fmt(b, " (file mode: %lld)", (long long)max);
	if (o->min_file)
		buf_fmt(b, " (file mode: from %lld)", (long long)o->min_file);
}

static void add_words(struct buf *b, const struct option *o)
{
	str rest = str_of(o->words);

	while (rest.n) {
		str word = str_cut(&rest, ' ');

		if (!str_has(word, S("=")))
			buf_fmt(b, "%s`%.*s`", word.p == o->words ? "" : ", ", STRF(word));
	}
}

static void add_type(struct buf *b, const struct option *o)
{
	static const char *const names[] = {
		[OPT_STR] = "text",
		[OPT_BOOL] = "true or false",
		[OPT_INT] = "number",
		[OPT_REAL] = "number",
		[OPT_MS] = "duration",
		[OPT_MONEY] = "amount",
		[OPT_WORD] = "",
		[OPT_URL] = "URL",
		[OPT_PATH] = "path",
		[OPT_ZONE] = "time zone",
		[OPT_BACKEND] = "text",
		[OPT_SECRET] = "secret",
		[OPT_STRS] = "list",
		[OPT_WORDS] = "list of ",
		[OPT_PATHS] = "list of paths",
		[OPT_IDS] = "list of ids",
		[OPT_REGEXES] = "list of regular expressions",
		[OPT_RULES] = "list of maps",
		[OPT_GROUPS] = "map",
		[OPT_JOBS] = "list of maps",
		[OPT_PRICES] = "list of maps",
	};

	buf_add(b, str_of(names[o->type]));
	if (o->words)
		add_words(b, o);
	add_range(b, o);
}

static void add_default(struct buf *b, const struct option *o)
{
	if (!o->def_env && !o->def_file)
		return;
	if (o->def_env && o->def_file && str_eq(str_of(o->def_env), str_of(o->def_file))) {
		if (*o->def_env)
			buf_fmt(b, "`%s`", o->def_env);
		return;
	}
	buf_fmt(b, "env: %s%s%s, file: %s%s%s", o->def_env ? "`" : "",
		o->def_env ? o->def_env : "unset", o->def_env ? "`" : "",
		o->def_file ? "`" : "", o->def_file ? o->def_file : "unset",
		o->def_file ? "`" : "");
}

/* A cell of a Markdown table. */
static void add_cell(struct buf *b, str text)
{
	buf_add(b, S(" "));
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '|')
			buf_addc(b, '\\');
		buf_addc(b, text.p[i]);
	}
	buf_add(b, S(" |"));
}

static void add_row(struct buf *b, const struct option *o)
{
	struct buf type = buf_in(b->a, 4096), def = buf_in(b->a, 4096),
		   env = buf_in(b->a, 4096);
	str names = str_of(o->env);

	while (names.n)
		buf_fmt(&env, "%s`%s`", env.n ? ", " : "",
			arena_cstr(b->a, str_cut(&names, ' ')));
	add_type(&type, o);
	add_default(&def, o);
	buf_add(b, S("|"));
	add_cell(b, arena_fmt(b->a, "`%s`", o->key));
	add_cell(b, buf_str(&env));
	add_cell(b, buf_str(&type));
	add_cell(b, buf_str(&def));
	add_cell(b, arena_fmt(b->a, "%s%s%s%s", o->help,
			      o->flags & OPT_REQUIRED ? " Required." : "",
			      o->flags & OPT_RELOAD ? " *R*" : "",
			      o->flags & OPT_LATER ? " *later*" : ""));
	buf_addc(b, '\n');
}

void config_docs(struct buf *b)
{
	str section = { 0 };

	buf_add(b, str_of(intro));
	for (size_t i = 0; i < options_n; i++) {
		str rest, top = first_part(str_of(options[i].key), &rest);

		if (!str_eq(top, section))
			buf_fmt(b,
				"\n## %.*s\n"
				"\n"
				"| key | variable | value | default | |\n"
				"|---|---|---|---|---|\n",
				STRF(top));
		section = top;
		add_row(b, &options[i]);
	}
}

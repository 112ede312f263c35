/*
 * Loading: find the file, read it, then take the options row by row.  For each the first of
 * flag, GANTRY_ variable, file (in env mode the option's own variable) and default counts.
 */
#include "config/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/load_internal.h"
#include "os/file.h"
#include "os/path.h"

/* --- the environment ---------------------------------------------------------------- */

struct env env_copy(struct arena *a, char *const *environ_block)
{
	size_t n = 0;
	const char **v;

	while (environ_block && environ_block[n])
		n++;
	v = NEWN(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		v[i] = arena_cstr(a, str_of(environ_block[i]));
	return (struct env){ v };
}

str env_get(const struct env *env, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *v = env->v; v && *v; v++)
		if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
			return str_of(*v + n + 1);
	return S("");
}

/* --- what the other files use ------------------------------------------------------- */

void config_warn(struct loader *l, const char *fmt, ...)
{
	char line[4096];
	va_list ap;

	if (l->warnings_n == WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	l->warnings[l->warnings_n++] = arena_dup(l->keep, str_of(line));
}

void config_secret(struct loader *l, str value)
{
	for (size_t i = 0; i < l->secrets_n; i++)
		if (str_eq(l->secrets[i], value))
			return;
	if (value.n && l->secrets_n < SECRETS_MAX)
		l->secrets[l->secrets_n++] = arena_dup(l->keep, value);
}

void config_refuse(struct loader *l, const struct input *in, const struct yaml *at,
		   const char *what, const char *why)
{
	str name = what ? arena_fmt(l->a, "%.*s.%s", STRF(in->name), what) : in->name;

	problem_add(l->p, in->node ? at : NULL, name, "%s", why);
}

bool config_wanted(struct loader *l, unsigned need)
{
	bool wanted = need == 0 || (need & l->opt->need);

	l->p = wanted ? &l->problems : &l->unwanted;
	return wanted;
}

str config_name(const struct loader *l, const struct option *o)
{
	str names = str_of(o->env);

	if (l->c->file_mode)
		return str_of(o->key);
	return o->env ? str_cut(&names, ' ') : option_env_name(l->a, o);
}

const struct config_setting *config_setting(const struct loader *l, const char *key)
{
	return &l->set[option_find(str_of(key))];
}

/* --- one option --------------------------------------------------------------------- */

static const struct yaml *in_file(const struct loader *l, const struct option *o)
{
	const struct yaml *y = l->file;
	str rest = str_of(o->key);

	while (y && rest.n)
		y = yaml_get(y, str_cut(&rest, '.'));
	return y;
}

static bool blank(const struct yaml *y)
{
	return y->kind == YAML_SCALAR && (y->null || !str_trim(y->text).n);
}

static bool from_env(struct loader *l, const char *name, struct input *in)
{
	str value = str_trim(env_get(l->env, name));

	if (!value.n)
		return false;
	*in = (struct input){ .text = value,
			      .name = arena_dup(l->a, str_of(name)),
			      .from = arena_fmt(l->keep, "env %s", name) };
	return true;
}

/* The option's own variables; of several names the first that is set. */
static bool from_own_env(struct loader *l, const struct option *o, struct input *in)
{
	str names = str_of(o->env);

	if (l->c->file_mode && !(o->flags & OPT_PROCESS))
		return false;
	while (names.n)
		if (from_env(l, arena_cstr(l->a, str_cut(&names, ' ')), in))
			return true;
	return false;
}

static bool from_flag(const struct loader *l, const struct option *o, struct input *in)
{
	if (!l->opt->log_level || !str_eq(str_of(o->key), S("log.level")))
		return false;
	*in = (struct input){ .text = str_of(l->opt->log_level),
			      .name = S("--log-level"),
			      .from = S("flag") };
	return true;
}

/* False: nobody set it, and in holds the default. */
static bool choose(struct loader *l, const struct option *o, struct input *in)
{
	const struct yaml *y = in_file(l, o);

	if (from_flag(l, o, in))
		return true;
	if (o->type != OPT_SECRET && from_env(l, option_env_name(l->a, o).p, in))
		return true;
	if (y && !blank(y)) {
		*in = (struct input){ .node = y,
				      .name = str_of(o->key),
				      .from = arena_fmt(l->keep, "line %d", y->line) };
		return true;
	}
	if (from_own_env(l, o, in))
		return true;
	*in = (struct input){ .name = config_name(l, o) };
	return false;
}

/* The old name of storage.dsn gives its value to it. */
static void take_alias(struct loader *l, const struct option *o, struct input *in, bool *set)
{
	const struct config_setting *old;

	if (!str_eq(str_of(o->key), S("storage.dsn")))
		return;
	old = config_setting(l, "storage.path");
	if (!old->set)
		return;
	if (*set)
		problem_add(
			l->p, in->node, in->name,
			"storage.path, its old name, is set as well: keep only storage.dsn");
	*in = (struct input){ .text = old->text, .name = S("storage.path"), .from = old->from };
	*set = true;
}

static void take_option(struct loader *l, size_t i)
{
	const struct option *o = &options[i];
	struct config_setting *s = &l->set[i];
	struct input in;
	bool set = choose(l, o, &in), wanted = config_wanted(l, o->need);
	size_t before = l->p->n;

	take_alias(l, o, &in, &set);
	*s = (struct config_setting){ .from = in.from, .set = set };
	if (o->type == OPT_SECRET) {
		s->text = config_find_secret(l, o, &in);
		s->set = in.text.n > 0;
		s->from = S("");
		if (o->at)
			*(str *)((char *)l->c + o->at) = arena_dup(l->keep, in.text);
		return;
	}
	if (!set)
		in.text = config_default(l, o);
	if (set || in.text.n || o->type >= OPT_STRS)
		s->text = arena_dup(l->keep, config_convert(l, o, &in));
	if (wanted || !set || l->p->n == before)
		return;
	/* Wrong, but nobody needs it: the default will do. */
	in = (struct input){ .text = config_default(l, o), .name = in.name };
	if (in.text.n)
		s->text = arena_dup(l->keep, config_convert(l, o, &in));
}

/* --- the whole ---------------------------------------------------------------------- */

static int read_file(struct loader *l, struct err *e)
{
	struct err why = { 0 };
	str text;
	int rc;

	if (!l->place.path.n)
		return OK;
	l->c->file_mode = true;
	l->c->path = arena_dup(l->keep, l->place.path);
	l->c->path_source = arena_dup(l->keep, l->place.source);
	l->base = path_dir(l->a, l->place.path);
	if (!str_starts(l->base, S("/")))
		l->base = str_eq(l->base, S("."))
				  ? l->cwd
				  : arena_fmt(l->a, "%.*s/%.*s", STRF(l->cwd), STRF(l->base));
	rc = file_read(&text, l->a, l->c->path.p, YAML_TEXT_MAX, &why);
	if (rc == E_NOENT)
		return err_set(e, E_NOENT, "config: there is no file %s (%s)", l->c->path.p,
			       l->place.source.p);
	if (rc < 0)
		return err_set(e, rc, "config: %s", why.msg);
	l->file = yaml_read(l->a, text, &l->problems);
	return OK;
}

static void loader_init(struct loader *l)
{
	l->cwd = path_cwd(l->a);
	l->home = str_trim(env_get(l->env, "HOME"));
	while (l->home.n > 1 && str_ends(l->home, S("/")))
		l->home.n--;
	config_find(&l->place, l->a, l->opt->path, l->env);
	problems_init(&l->problems, l->a, l->place.path);
	problems_init(&l->unwanted, l->a, l->place.path);
	l->set = NEWN(l->keep, struct config_setting, options_n);
	l->c->settings = l->set;
}

/* Text fields that nothing set are "", so that .p always serves as a C string. */
static void fill_empty(struct config *c)
{
	for (size_t i = 0; i < options_n; i++) {
		const struct option *o = &options[i];
		str *s;

		if (!o->at ||
		    (o->type != OPT_STR && (o->type < OPT_WORD || o->type > OPT_SECRET)))
			continue;
		s = (str *)((char *)c + o->at);
		if (!s->p)
			*s = S("");
	}
	if (!c->path.p)
		c->path = c->path_source = S("");
}

static void keep_lists(struct loader *l)
{
	str *secrets = NEWN(l->keep, str, l->secrets_n + 1);
	str *warnings = NEWN(l->keep, str, l->warnings_n + 1);

	memcpy(secrets, l->secrets, l->secrets_n * sizeof(str));
	memcpy(warnings, l->warnings, l->warnings_n * sizeof(str));
	l->c->secrets = secrets;
	l->c->secrets_n = l->secrets_n;
	l->c->warnings = (struct str_list){ warnings, l->warnings_n };
}

static int load(struct loader *l, struct config_problems *problems, struct err *e)
{
	int rc;

	loader_init(l);
	if ((rc = read_file(l, e)) < 0)
		return rc;
	if (l->file || !l->c->file_mode) {
		config_check_keys(l);
		for (size_t i = 0; i < options_n; i++)
			take_option(l, i);
		config_check(l);
		config_check_env(l);
	}
	fill_empty(l->c);
	keep_lists(l);
	if (!l->problems.n)
		return OK;
	if (l->problems.n > PROBLEMS_MAX)
		buf_fmt(&l->problems.text, "and %zu more\n", l->problems.n - PROBLEMS_MAX);
	*problems = (struct config_problems){ buf_str(&l->problems.text), l->problems.n };
	return err_set(e, E_INVAL, "config: %zu problem%s", l->problems.n,
		       l->problems.n == 1 ? "" : "s");
}

int config_load(struct config **out, const struct config_opt *opt, const struct env *env,
		struct arena *a, struct config_problems *problems, struct err *e)
{
	struct arena keep = { 0 };
	struct loader *l = NEW(a, struct loader);
	int rc;

	*problems = (struct config_problems){ 0 };
	l->c = NEW(&keep, struct config);
	l->c->arena = keep;
	l->keep = &l->c->arena;
	l->a = a;
	l->opt = opt;
	l->env = env;
	rc = load(l, problems, e);
	if (rc < 0)
		config_free(l->c);
	else
		*out = l->c;
	return rc;
}

void config_free(struct config *c)
{
	struct arena all;

	if (!c)
		return;
	all = c->arena;
	arena_free(&all);
}

/*
 * Where secrets come from: a variable, or a file; never the configuration file itself.
 */
#include "config/load_internal.h"

#include "config/value.h"
#include "os/file.h"
#include "os/path.h"

#define SECRET_FILE_MAX (64 * 1024)

/* The text of the neighbour "<key>_env" or "<key>_file". */
static str neighbour(struct loader *l, const struct option *o, const char *suffix, str *name)
{
	str key = arena_fmt(l->a, "%s%s", o->key, suffix);
	const struct config_setting *s = config_setting(l, key.p);

	*name = s->set && str_starts(s->from, S("env ")) ? str_sub(s->from, 4, s->from.n) : key;
	return s->text;
}

/* The first one found is used; the value of another is a secret all the same. */
static void from_variable(struct loader *l, str name, struct input *in)
{
	str value = str_trim(env_get(l->env, arena_cstr(l->a, name)));

	if (!value.n)
		return;
	config_secret(l, value);
	if (in->text.n)
		return;
	*in = (struct input){ .text = value,
			      .name = arena_dup(l->a, name),
			      .from = arena_fmt(l->keep, "<set:env:%.*s>", STRF(name)) };
}

static void from_file(struct loader *l, str path, str name, struct input *in)
{
	struct err e = { 0 };
	unsigned mode = 0;
	str text;

	if (file_read(&text, l->a, path.p, SECRET_FILE_MAX, &e) < 0) {
		problem_add(l->p, NULL, name, "%s", e.msg);
		return;
	}
	if (path_kind(path.p, &mode) == PATH_FILE && (mode & 04))
		config_warn(l, "%.*s: %s can be read by every user of this machine", STRF(name),
			    path.p);
	text = str_trim(text);
	if (!text.n && l->opt->inspect && l->c->file_mode)
		config_warn(l, "%.*s: %.*s: the file is empty", STRF(name), STRF(path));
	else if (!text.n)
		problem_add(l->p, NULL, name, "%.*s: the file is empty", STRF(path));
	if (!text.n)
		return;
	config_secret(l, text);
	*in = (struct input){ .text = text,
			      .name = name,
			      .from = arena_fmt(l->keep, "<set:file:%.*s>", STRF(path)) };
}

str config_find_secret(struct loader *l, const struct option *o, struct input *in)
{
	str env_name, file_name;
	str variable = neighbour(l, o, "_env", &env_name);
	str path = neighbour(l, o, "_file", &file_name);

	if (in->node && !(in->node->kind == YAML_SCALAR && !in->node->text.n))
		problem_add(l->p, in->node, str_of(o->key),
			    "a secret does not belong in this file: name its variable in "
			    "%s_env, or "
			    "its file in %s_file",
			    o->key, o->key);
	*in = (struct input){ 0 };
	from_variable(l, option_env_name(l->a, o), in);
	if (variable.n && !value_variable(variable))
		problem_add(l->p, NULL, env_name,
			    "must be the name of a variable, not the secret itself");
	else if (variable.n)
		from_variable(l, variable, in);
	if (!in->text.n && path.n)
		from_file(l, path, file_name, in);
	/* A blank would break a header line, and is always a mistake. */
	if (in->text.n && !value_one_word(in->text))
		problem_add(l->p, NULL, in->name, "must be one word without blanks");
	return in->text.n ? in->from : S("<unset>");
}

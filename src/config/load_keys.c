/*
 * What stands in the file, or in a GANTRY_ variable, and is no option: most likely a slip of
 * the pen, so the nearest real name is given.
 */
#include "config/load_internal.h"

#include "config/value.h"

/* Names further away than this are no slip. */
static size_t near(str word)
{
	return word.n < 4 ? 1 : word.n < 9 ? 2 : 3;
}

/* The part of an option's key that stands directly under prefix ("" the top). */
static str part_under(const struct option *o, str prefix)
{
	str key = str_of(o->key), rest;

	if (prefix.n &&
	    !(str_starts(key, prefix) && key.n > prefix.n && key.p[prefix.n] == '.'))
		return S("");
	rest = prefix.n ? str_sub(key, prefix.n + 1, key.n) : key;
	return str_cut(&rest, '.');
}

static str last_part(const struct option *o)
{
	str rest = str_of(o->key), part = { 0 };

	while (rest.n)
		part = str_cut(&rest, '.');
	return part;
}

/* The nearest key beside the unknown one, else an option of that name elsewhere. */
static str suggestion(struct loader *l, str prefix, str word)
{
	size_t best = near(word) + 1;
	str found = { 0 };

	for (size_t i = 0; i < options_n; i++) {
		str part = part_under(&options[i], prefix);
		size_t d = part.n ? value_distance(part, word) : best;

		if (d >= best)
			continue;
		best = d;
		found = prefix.n ? arena_fmt(l->a, "%.*s.%.*s", STRF(prefix), STRF(part))
				 : part;
	}
	for (size_t i = 0; best > near(word) && i < options_n; i++)
		if (value_distance(last_part(&options[i]), word) <= near(word) / 2)
			return str_of(options[i].key);
	return found;
}

/* Is key an option, or the beginning of some? */
static bool is_option(str key)
{
	return option_find(key) != SIZE_MAX;
}

static unsigned section_need(str key)
{
	unsigned need = CONFIG_ALL & ~(unsigned)CONFIG_STORE;
	str top = str_cut(&key, '.');

	for (size_t i = 0; i < options_n; i++)
		if (str_eq(part_under(&options[i], S("")), top))
			need = options[i].need;
	return need;
}

static void check_map(struct loader *l, const struct yaml *map, str prefix)
{
	for (const struct yaml *m = map->child; m; m = m->next) {
		str key = prefix.n ? arena_fmt(l->a, "%.*s.%.*s", STRF(prefix), STRF(m->key))
				   : m->key;
		bool group = false;
		str hint;

		if (is_option(key))
			continue;
		(void)config_wanted(l, section_need(key));
		for (size_t i = 0; i < options_n && !group; i++)
			group = part_under(&options[i], key).n > 0;
		if (group && m->kind == YAML_MAP) {
			check_map(l, m, key);
		} else if (group && !m->null) {
			problem_add(l->p, m, key, "must be a map of options");
		} else if (!group) {
			hint = suggestion(l, prefix, m->key);
			if (hint.n)
				problem_add(l->p, m, key, "unknown key; did you mean %.*s?",
					    STRF(hint));
			else
				problem_add(l->p, m, key, "unknown key");
		}
	}
}

void config_check_keys(struct loader *l)
{
	if (!l->file)
		return;
	(void)config_wanted(l, 0);
	if (l->file->kind == YAML_MAP)
		check_map(l, l->file, S(""));
	else
		problem_add(l->p, l->file, S(""), "must be a map of options");
}

/* Other things that begin like our options: the lookup, and what tests use. */
static bool reserved(str name)
{
	static const char *const names[] = { "GANTRY_CONFIG", "GANTRY_FAULT", "GANTRY_CLOCK",
					     "GANTRY_CORPORA", ENV_WITHIN };

	for (size_t i = 0; i < COUNT(names); i++)
		if (str_eq(name, str_of(names[i])))
			return true;
	return false;
}

static void check_variable(struct loader *l, str name)
{
	size_t best = near(name) + 1;
	str found = { 0 };

	for (size_t i = 0; i < options_n; i++) {
		str known = option_env_name(l->a, &options[i]);
		size_t d = value_distance(known, name);

		if (d == 0)
			return;
		if (d < best) {
			best = d;
			found = known;
		}
	}
	if (found.n && !reserved(name))
		config_warn(l, "%.*s is not an option; did you mean %.*s?", STRF(name),
			    STRF(found));
}

void config_check_env(struct loader *l)
{
	for (const char *const *v = l->env->v; *v; v++) {
		str rest = str_of(*v), name = str_cut(&rest, '=');

		if (str_starts(name, S("GANTRY_")))
			check_variable(l, name);
	}
	for (size_t i = 0; !l->c->file_mode && options_foreign[i]; i++)
		if (env_get(l->env, options_foreign[i]).n)
			config_warn(l, "%s means nothing here and is ignored",
				    options_foreign[i]);
}

/*
 * Reloading: options that are taken only at start keep their value.
 */
#include "config/load.h"

#include <string.h>

#include "config/options.h"

static size_t field_size(enum opt_type type)
{
	switch (type) {
	case OPT_BOOL:
		return sizeof(bool);
	case OPT_INT:
	case OPT_MS:
	case OPT_MONEY:
		return sizeof(int64_t);
	case OPT_REAL:
		return sizeof(double);
	case OPT_IDS:
		return sizeof(struct i64_list);
	case OPT_STRS:
	case OPT_WORDS:
	case OPT_PATHS:
	case OPT_REGEXES:
		return sizeof(struct str_list);
	case OPT_RULES:
		return offsetof(struct policy_cfg, approval_timeout_ms);
	case OPT_JOBS:
		return sizeof(struct cron_job_list);
	case OPT_GROUPS:
		return 0;
	default:
		return sizeof(str);
	}
}

static const str *dup_strs(struct arena *a, const str *v, size_t n)
{
	str *copy = NEWN(a, str, n + 1);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_dup(a, v[i]);
	return copy;
}

static void copy_rules(struct arena *a, struct policy_cfg *to)
{
	struct policy_rule *copy = NEWN(a, struct policy_rule, to->n + 1);

	for (size_t i = 0; i < to->n; i++) {
		copy[i] = to->rules[i];
		copy[i].tool = arena_dup(a, copy[i].tool);
		struct policy_arg *args = NEWN(a, struct policy_arg, copy[i].args_n + 1);
		for (size_t k = 0; k < copy[i].args_n; k++) {
			args[k].name = arena_dup(a, copy[i].args[k].name);
			args[k].pattern = arena_dup(a, copy[i].args[k].pattern);
		}
		copy[i].args = args;
	}
	to->rules = copy;
}

static void copy_jobs(struct arena *a, struct cron_job_list *to)
{
	struct cron_job_cfg *copy = NEWN(a, struct cron_job_cfg, to->n + 1);

	for (size_t i = 0; i < to->n; i++) {
		copy[i] = to->v[i];
		copy[i].name = arena_dup(a, copy[i].name);
		copy[i].schedule = arena_dup(a, copy[i].schedule);
		copy[i].prompt = arena_dup(a, copy[i].prompt);
		copy[i].to_channel = arena_dup(a, copy[i].to_channel);
		copy[i].to_address = arena_dup(a, copy[i].to_address);
	}
	to->v = copy;
}

/* The field was copied byte by byte: give it its own memory. */
static void own_memory(struct config *c, const struct option *o)
{
	void *at = (char *)c + o->at;
	struct str_list *strs = at;
	struct i64_list *ids = at;
	int64_t *numbers;

	switch (o->type) {
	case OPT_BOOL:
	case OPT_INT:
	case OPT_MS:
	case OPT_MONEY:
	case OPT_REAL:
		return;
	case OPT_IDS:
		numbers = NEWN(&c->arena, int64_t, ids->n + 1);
		if (ids->n)
			memcpy(numbers, ids->v, ids->n * sizeof *numbers);
		ids->v = numbers;
		return;
	case OPT_STRS:
	case OPT_WORDS:
	case OPT_PATHS:
	case OPT_REGEXES:
		strs->v = dup_strs(&c->arena, strs->v, strs->n);
		return;
	case OPT_RULES:
		copy_rules(&c->arena, at);
		return;
	case OPT_JOBS:
		copy_jobs(&c->arena, at);
		return;
	default:
		*(str *)at = arena_dup(&c->arena, *(str *)at);
	}
}

/* Another value from the same place leaves no trace in the settings. */
static bool changed(const struct option *o, const struct config *fresh,
		    const struct config *running, size_t i)
{
	if (o->type == OPT_SECRET && o->at &&
	    !str_eq(*(const str *)((const char *)fresh + o->at),
		    *(const str *)((const char *)running + o->at)))
		return true;
	return !str_eq(fresh->settings[i].text, running->settings[i].text);
}

static bool is_among(const str *v, size_t n, str s)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(v[i], s))
			return true;
	return false;
}

/* What is hidden: the new values, and the old ones, which may turn up for a while. */
static void keep_secrets(struct config *fresh, const struct config *running)
{
	size_t n = fresh->secrets_n;
	str *all = NEWN(&fresh->arena, str, n + running->secrets_n + 1);

	if (n)
		memcpy(all, fresh->secrets, n * sizeof *all);
	for (size_t i = 0; i < running->secrets_n; i++)
		if (!is_among(fresh->secrets, fresh->secrets_n, running->secrets[i]))
			all[n++] = arena_dup(&fresh->arena, running->secrets[i]);
	fresh->secrets = all;
	fresh->secrets_n = n;
}

void config_keep(struct config *fresh, const struct config *running)
{
	struct arena *a = &fresh->arena;
	struct config_setting *set = NEWN(a, struct config_setting, options_n);
	str *warnings = NEWN(a, str, fresh->warnings.n + options_n);
	size_t n = fresh->warnings.n;

	if (n)
		memcpy(warnings, fresh->warnings.v, n * sizeof *warnings);
	for (size_t i = 0; i < options_n; i++) {
		const struct option *o = &options[i];
		const struct config_setting *was = &running->settings[i];

		set[i] = fresh->settings[i];
		if (o->flags & OPT_RELOAD)
			continue;
		if (changed(o, fresh, running, i))
			warnings[n++] =
				arena_fmt(a, "%s has changed; the next start takes it", o->key);
		set[i] = (struct config_setting){ .text = arena_dup(a, was->text),
						  .from = arena_dup(a, was->from),
						  .set = was->set };
		if (!o->at)
			continue;
		memcpy((char *)fresh + o->at, (const char *)running + o->at,
		       field_size(o->type));
		own_memory(fresh, o);
	}
	fresh->model.has_temperature = running->model.has_temperature;
	fresh->mcp.manifest_optional = running->mcp.manifest_optional;
	fresh->model.total_ms = running->model.total_ms;
	fresh->settings = set;
	keep_secrets(fresh, running);
	fresh->warnings = (struct str_list){ warnings, n };
}

/*
 * config/load_internal: what the files of this folder share while a configuration is loaded.
 */
#ifndef CONFIG_LOAD_INTERNAL_H
#define CONFIG_LOAD_INTERNAL_H

#include "config/find.h"
#include "config/options.h"
#include "config/problems.h"
#include "config/yaml.h"

#define SECRETS_MAX 16
#define WARNINGS_MAX 64

struct loader {
	struct config *c; /* what is built */
	struct arena *keep; /* its arena */
	struct arena *a; /* for the time of loading */
	const struct config_opt *opt;
	const struct env *env;
	struct config_place place;
	str base; /* directory that relative paths of the file begin in */
	str cwd, home;
	const struct yaml *file; /* NULL in env mode */
	struct config_setting *set; /* one per option */
	struct problems problems, unwanted;
	struct problems *p; /* where those of the option at hand go */
	str secrets[SECRETS_MAX];
	size_t secrets_n;
	str warnings[WARNINGS_MAX];
	size_t warnings_n;
};

/* One value before it is understood. */
struct input {
	str text;
	const struct yaml *node; /* when it stands in the file; text is not used then */
	str name; /* variable or key, for problems */
	str from; /* as in struct config_setting */
};

void config_warn(struct loader *l, const char *fmt, ...) PRINTF(2, 3);
void config_secret(struct loader *l, str value);

/* A problem of a value, or of its member what (NULL none): at a place of the file, when it
 * stands in one. */
void config_refuse(struct loader *l, const struct input *in, const struct yaml *at,
		   const char *what, const char *why);

/* Direct the problems of what follows: reported, or dropped when the command does not need
 * that part. */
bool config_wanted(struct loader *l, unsigned need);

/* "LLM_MODEL", "agent.model": what a person would set. */
str config_name(const struct loader *l, const struct option *o);
const struct config_setting *config_setting(const struct loader *l, const char *key);

/* load_convert.c: understand a value, set its field, return it as it would be written. */
str config_convert(struct loader *l, const struct option *o, const struct input *in);

/* load_structure.c: rules, groups and jobs. */
str config_structure(struct loader *l, const struct option *o, const struct input *in);
void config_check_jobs(struct loader *l);
bool config_groups_allow_someone(struct loader *l);

/* load_prices.c */
void config_take_prices(struct loader *l, const struct option *o, const struct input *in,
			const struct yaml *root);

/* load_defaults.c: the default of an option, as one would write it; "" none. */
str config_default(struct loader *l, const struct option *o);

/* load_secret.c: find the secret of an OPT_SECRET row. */
str config_find_secret(struct loader *l, const struct option *o, struct input *in);

/* load_check.c: what concerns more than one option. */
void config_check(struct loader *l);

/* load_keys.c: keys of the file, and GANTRY_ variables, that are no options. */
void config_check_keys(struct loader *l);
void config_check_env(struct loader *l);

#endif

/*
 * config/find: which file the configuration is in, if any.
 */
#ifndef CONFIG_FIND_H
#define CONFIG_FIND_H

#include "config/load.h"

struct config_place {
	str path; /* absolute unless it was given relative; "" in env mode */
	str source; /* flag, env:NAME, default, or "" in env mode */
	bool mtclaw; /* a file of MTClaw, which keeps that project's default paths */
	bool both; /* config.yml lies beside it and is not read */
};

/* flag, else GANTRY_CONFIG, MTCLAW_CONFIG, $XDG_CONFIG_HOME/gantry/config.yaml,
 * ~/.mtclaw/config.yaml or .yml; the last three only if they exist. */
void config_find(struct config_place *out, struct arena *a, const char *flag,
		 const struct env *env);

/* "$XDG_CONFIG_HOME" or "~/.config" for ("XDG_CONFIG_HOME", ".config"); "" without HOME. */
str config_xdg(struct arena *a, const struct env *env, const char *name,
	       const char *below_home);

#endif

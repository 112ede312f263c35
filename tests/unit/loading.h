/*
 * Loading a configuration in a test: HOME is a new directory for each test.
 */
#ifndef UNIT_LOADING_H
#define UNIT_LOADING_H

#include "config/load.h"

extern char home[64];

int make_home(void **state);
int remove_home(void **state);

/* A loaded configuration, or its problems. */
struct loaded {
	struct arena a;
	struct config *c;
	struct config_problems problems;
	struct err e;
	int rc;
};

void loaded_free(struct loaded *l);

/* Load with that HOME and these variables (at most 15); $H in one stands for HOME. */
void load(struct loaded *l, const struct config_opt *opt, const char *const *vars);

/* The same with the stdio channel, which needs no token. */
void load_stdio(struct loaded *l, const struct config_opt *opt, const char *const *vars);

/* The effective text of an option. */
str setting(const struct config *c, const char *key);

#define VARS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif

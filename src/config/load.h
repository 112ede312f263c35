/*
 * config/load: from an environment or a file to a struct config.
 *
 * The environment is read by main once, copied (env_copy) and wiped; everything here
 * takes that copy as an argument, so that loading is a function of its inputs and the files
 * it names.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "config/config.h"

struct env {
	const char *const *v; /* "K=V", NULL-terminated */
};

/* The agents that a tool server runs within, by the databases of those: gantry mcp says it to its
 * children, which hand it on. */
#define ENV_WITHIN "GANTRY_MCP_WITHIN"

/* A copy of an environment block, in a. */
struct env env_copy(struct arena *a, char *const *environ_block);
str env_get(const struct env *env, const char *name); /* "" when unset */

/* Which parts a command needs; the others may be missing or wrong without an error. */
enum config_need {
	CONFIG_STORE = 1, /* where the database is */
	CONFIG_MODEL = 2, /* the endpoint is required */
	CONFIG_CHANNEL = 4,
	CONFIG_TOOLS = 8,
	CONFIG_ALL = 15,
};

struct config_opt {
	const char *path; /* --config; NULL: look it up */
	const char *log_level; /* --log-level; NULL */
	bool terminal; /* a person sits there: XDG paths may replace the container's */
	unsigned need; /* config_need bits */
	bool inspect; /* only looking: in file mode a secret not there is a warning */
};

/* Every problem found, one a line, naming the variable or key (with line and column in a
 * file) and never a secret's value. */
struct config_problems {
	str text;
	size_t n;
};

/* *out is one object owning its memory; E_INVAL: problems is filled.  E_NOENT: a file was
 * asked for by name and is not there. */
int config_load(struct config **out, const struct config_opt *opt, const struct env *env,
		struct arena *a, struct config_problems *problems, struct err *e) MUSTUSE;
void config_free(struct config *c);

/* After a reload: what is only taken at start keeps the value it has in running, so that
 * fresh says what is in force; options that differ are named in its warnings. */
void config_keep(struct config *fresh, const struct config *running);

/* Environment for a child: inherit: all of env minus our own variables and every value
 * that is a secret; else PATH, HOME, LANG, TZ, TMPDIR.  Then the extra "K=V" on top.
 * NULL-terminated, in a. */
const char *const *config_child_env(struct arena *a, const struct config *c,
				    const struct env *env, bool inherit, const str *extra,
				    size_t extra_n);

/* text with $NAME and ${NAME} replaced by what env has, nothing where it has not; any other "$" is
 * itself.  In a, cut at 1 MiB. */
str config_child_expand(struct arena *a, const char *const *env, str text);

#endif

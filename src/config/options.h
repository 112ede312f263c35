/*
 * config/options: the one table of everything that can be configured.
 *
 * A row is all there is to an option: from it come reading, range errors, near misses,
 * `config show`, `config docs` and the reference page.  Order matters only where a default
 * is derived from an earlier row (options.c says where).
 */
#ifndef CONFIG_OPTIONS_H
#define CONFIG_OPTIONS_H

#include "config/load.h"

enum opt_type {
	OPT_STR,
	OPT_BOOL,
	OPT_INT,
	OPT_REAL,
	OPT_MS, /* a duration, kept in milliseconds */
	OPT_MONEY, /* an amount, kept in billionths */
	OPT_WORD, /* one of .words */
	OPT_URL,
	OPT_PATH, /* ~ and relative paths become absolute */
	OPT_ZONE, /* IANA time zone, or Local */
	OPT_BACKEND, /* builtin, or mcp:<server> */
	OPT_SECRET, /* never written in a file */
	OPT_STRS, /* lists from here on */
	OPT_WORDS,
	OPT_PATHS,
	OPT_IDS, /* 64-bit integers */
	OPT_REGEXES,
	OPT_RULES, /* maps and lists of maps from here on */
	OPT_GROUPS,
	OPT_JOBS,
	OPT_PRICES,
};

enum {
	OPT_RELOAD = 1, /* taken anew on SIGHUP */
	OPT_LATER = 2, /* checked, but nothing uses it yet */
	OPT_PROCESS = 4, /* its variables belong to the process: read in file mode too */
	OPT_REQUIRED = 8,
	OPT_ALIAS = 16, /* deprecated: another option's old name */
};

struct option {
	const char *key; /* path in the file, with dots */
	const char *env; /* variable of env mode, or a blank-separated list; NULL none */
	enum opt_type type;
	unsigned flags, need; /* need 0: always */
	const char *words; /* for OPT_WORD and OPT_WORDS */
	const char *def_env, *def_file; /* as one would write them; NULL: unset */
	int64_t min, max, min_file, max_file; /* max 0: no limit; *_file 0: the same */
	size_t at; /* offset in struct config; 0: no field */
	const char *help;
};

extern const struct option options[];
extern const size_t options_n;

/* Variables of kindred programs that mean nothing here; named when set. */
extern const char *const options_foreign[];

/* Row number of a key, or SIZE_MAX. */
size_t option_find(str key);

/* GANTRY_ and the key in capitals, dots as _. */
str option_env_name(struct arena *a, const struct option *o);

#endif

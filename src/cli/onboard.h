/*
 * cli/onboard: what the parts of `gantry onboard` share: the answers so far.
 *
 * Each step asks about one thing and changes only its own answers, so that it can be done
 * again.  Nothing is written before the last one.
 */
#ifndef CLI_ONBOARD_H
#define CLI_ONBOARD_H

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/presets.h"

/* Where a secret comes from. */
struct onboard_secret {
	str env; /* the variable it is usually in */
	str over; /* the variable that wins over whatever a configuration names */
	str file; /* a file that is there already, or "" */
	str typed; /* goes into a new file, or "" */
};

struct onboard_flags {
	const char *provider, *base_url, *key_env, *key_file, *model;
	const char *telegram_env, *telegram_file, *telegram_id, *telegram_api;
	const char *workspace, *tools, *mcp, *zone;
	bool yes, no_check;
};

struct onboard {
	struct cli *cli;
	struct arena *a; /* the command's */
	struct ask ask;
	struct onboard_flags flags;
	struct http_pool *pool;
	const struct cancel *leave;

	str path, dir; /* of the configuration; dir is absolute */
	bool keep; /* what is there is kept: nothing to write */
	bool back; /* the step was come back to: one that asks nothing is ASK_BACK */

	const struct provider *provider;
	str base_url, model;
	bool no_key;
	struct onboard_secret key;

	bool telegram;
	str telegram_api; /* "": Telegram's own */
	struct onboard_secret token;
	int64_t owner;

	str workspace, zone;
	bool tools_known, files, web, exec, memory, cron; /* known: from flags, or asked */
	bool telegram_known, servers_known;
	bool servers[16]; /* by row of server_presets */
};

/* A step: OK the next one, ASK_BACK the one before, else the end. */
int onboard_provider(struct onboard *o, struct err *e) MUSTUSE;
int onboard_key(struct onboard *o, struct err *e) MUSTUSE;
int onboard_model(struct onboard *o, struct err *e) MUSTUSE;
int onboard_telegram(struct onboard *o, struct err *e) MUSTUSE;
int onboard_workspace(struct onboard *o, struct err *e) MUSTUSE;
int onboard_tools(struct onboard *o, struct err *e) MUSTUSE;
int onboard_servers(struct onboard *o, struct err *e) MUSTUSE;
int onboard_zone(struct onboard *o, struct err *e) MUSTUSE;
int onboard_write(struct onboard *o, struct err *e) MUSTUSE;

/* A secret of the environment, of a file that a flag names, or typed.  *s keeps .env and .over;
 * E_INVAL also when a file would not win over the environment. */
int onboard_secret(struct onboard *o, struct onboard_secret *s, const char *what,
		   const char *file, struct err *e) MUSTUSE;

/* Its value now; "" when there is none. */
str onboard_secret_value(const struct onboard *o, const struct onboard_secret *s);

/* The variable that the configuration has to name: .env, or one that is not set where .env would
 * win over the file that was chosen. */
str onboard_secret_variable(const struct onboard *o, const struct onboard_secret *s);

/* Is it the name of a variable, and not the shape of a secret? */
bool onboard_variable(const struct onboard *o, str name);

/* An absolute path, ~ and relative ones as at a shell; "" when it is none. */
str onboard_path(const struct onboard *o, str path);

#endif

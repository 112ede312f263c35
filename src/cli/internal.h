/*
 * cli/internal: what main.c and the configuration command need beyond cli.h.
 */
#ifndef CLI_INTERNAL_H
#define CLI_INTERNAL_H

#include "cli/cli.h"

/* Parse argv, find the command (none: run), run it.  Returns the exit code. */
int cli_main(struct cli *cli, const struct cmd *const *cmds, size_t n, int argc, char **argv);

/* The lines of a problem list, each as its own message on stderr. */
void cli_problems(str text);

/* How to load for this command line. */
struct config_opt cli_config_opt(const struct cli *cli, unsigned need);

/* SIGHUP: load from the same sources again, keep what only a start takes (config_keep), and
 * let the log follow.  On an error running goes on. */
int cli_reload(struct cli *cli, const struct config *running, struct config **out,
	       struct err *e) MUSTUSE;

/* One per command, in cmd_<name>.c. */
extern const struct cmd cmd_run, cmd_chat, cmd_prompt, cmd_tools, cmd_sessions, cmd_status;
extern const struct cmd cmd_init, cmd_config, cmd_version;

#endif

/*
 * cli/cli: what the subcommands share.
 *
 * One file per subcommand, cmd_<name>.c, with one row in main.c.  Exit codes: 0 done,
 * 1 failed (the reason is one line on stderr), 2 usage, 128 + signal when interrupted.
 * Standard output is the answer, everything else goes to standard error.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "chan/telegram.h"
#include "config/load.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One run of the program. */
struct cli {
	struct arena *a; /* the command's, freed by main */
	struct env env; /* copied before the block was wiped */
	const char *config_path; /* --config, NULL */
	const char *log_level; /* --log-level, NULL */
	bool terminal; /* a person sits at stdin and stderr */
	int argc; /* what follows the subcommand's name */
	char **argv;
	const struct cmd *cmd;
};

struct cmd {
	const char *name, *alias; /* alias may be NULL */
	const char *summary; /* for gantry help */
	const char *usage; /* the text of --help, with an example */
	int (*run)(struct cli *cli);
};

/* "gantry: <sentence>" on stderr; returns EXIT_FAILED. */
int cli_fail(const char *fmt, ...) PRINTF(1, 2);

/* "gantry <cmd>: <sentence>" and where to find help; returns EXIT_USAGE. */
int cli_misuse(const struct cli *cli, const char *fmt, ...) PRINTF(2, 3);

/* Take an option out of argv wherever it stands before "--": a flag, or one with a value
 * (as "--x V" or "--x=V").  False when absent; an option without its value is a misuse:
 * *bad is set.  cli_rest() then refuses what still looks like an option, and says how many
 * arguments there are. */
bool cli_flag(struct cli *cli, const char *name);
bool cli_value(struct cli *cli, const char *name, const char **value, bool *bad);
int cli_rest(struct cli *cli, int min, int max); /* EXIT_OK or EXIT_USAGE */

/* The text that the first argument is, or standard input when that is "-": mended and trimmed.
 * EXIT_OK, or why not is said: EXIT_USAGE when there is none. */
int cli_text(struct cli *cli, const struct config *cfg, str *text);

/* Load the configuration, say every problem on stderr, and open the log with it.  EXIT_OK with
 * *out (config_free is the caller's), else the exit code. quiet: warnings of the log only. */
int cli_config(struct cli *cli, unsigned need, bool quiet, struct config **out);

/* Is nothing set up at all: no file, and none of the variables of the model?  CLI_SET_UP then says
 * what to do. */
bool cli_unset(const struct cli *cli);
#define CLI_SET_UP "gantry onboard sets this up"

/* Load it for looking only (config_opt.inspect), and hide its secrets: errors of the program go
 * to the log on stderr, and no log file is made.  As config_load(). */
int cli_inspect(struct cli *cli, unsigned need, struct config **out,
		struct config_problems *problems, struct err *e) MUSTUSE;

/* Foreign text made visible, to stdout. */
void cli_print(struct cli *cli, str text);

/* The whole of an answer, as JSON as it is: EXIT_OK, or EXIT_FAILED and a line when it did not fit,
 * and then nothing of it is printed. */
int cli_answer(struct cli *cli, struct buf *b, bool json);

/* The program of that name: the first one in PATH, or the name itself with a slash; "" none. */
str cli_which(const struct env *env, struct arena *a, str name);

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

/* The Telegram channel of this configuration; cfg and store are borrowed. */
int cli_open_telegram(struct channel **out, struct cli *cli, const struct config *cfg,
		      struct store *store, struct err *e) MUSTUSE;

/* One per command, in cmd_<name>.c. */
extern const struct cmd cmd_run, cmd_chat, cmd_prompt, cmd_tools, cmd_sessions, cmd_status;
extern const struct cmd cmd_memory, cmd_import, cmd_db;
extern const struct cmd cmd_trace, cmd_usage, cmd_report, cmd_queue;
extern const struct cmd cmd_policy, cmd_init, cmd_config, cmd_send, cmd_version, cmd_cron;
extern const struct cmd cmd_approvals, cmd_doctor, cmd_service;
extern const struct cmd cmd_onboard;
extern const struct cmd cmd_replay;
extern const struct cmd cmd_mcp;
extern const struct cmd cmd_auth;

#endif

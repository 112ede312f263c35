/*
 * gantry run: the daemon.
 */
#include "cli/cli.h"

#include "chan/stdio.h"
#include "gateway/gateway.h"
#include "os/file.h"
#include "os/log.h"
#include "os/notify.h"
#include "os/signals.h"

#include <unistd.h>

struct daemon {
	struct cli *cli;
	const struct config *cfg; /* of the start */
};

static int reload(void *arg, struct config **out, struct err *e)
{
	struct daemon *d = arg;

	return cli_reload(d->cli, d->cfg, out, e);
}

static bool on_telegram(const struct config *cfg)
{
	return str_eq(cfg->gateway.channel, S("telegram"));
}

static int open_channel(struct channel **out, struct cli *cli, const struct config *cfg,
			struct store *store, struct err *e)
{
	struct stdio_opt opt = {
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.stream = cfg->agent.stream_replies,
		.prompt = isatty(STDIN_FILENO) && isatty(STDERR_FILENO),
		.tool_trace = cfg->agent.tool_trace,
		.input_max = cfg->limits.input_max_bytes,
	};

	if (on_telegram(cfg))
		return cli_open_telegram(out, cli, cfg, store, e);
	return stdio_open(out, &opt, e);
}

static void close_channel(struct channel *channel, const struct config *cfg)
{
	if (on_telegram(cfg))
		telegram_close(channel);
	else
		stdio_close(channel);
}

static int serve(struct cli *cli, struct config *cfg, int signals)
{
	struct engine g;
	struct engine_opt opt = { .mode = STORE_DAEMON, .model = true };
	struct channel *channel = NULL;
	struct err e = { 0 };
	int signo = 0, kept;

	/* What goes wrong from here on is told, too. */
	if (on_telegram(cfg) && telegram_keep_log(&cfg->telegram, &kept, &e) < 0)
		return cli_fail("%s", e.msg);
	if (engine_open(&g, cfg, &cli->env, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	if (open_channel(&channel, cli, cfg, g.store, &e) < 0) {
		engine_close(&g);
		return cli_fail("%s", e.msg);
	}
	struct daemon d = { cli, cfg };
	struct notify notify;
	notify_init(&notify, env_get(&cli->env, "NOTIFY_SOCKET"),
		    env_get(&cli->env, "WATCHDOG_USEC"), env_get(&cli->env, "WATCHDOG_PID"),
		    getpid());
	struct gateway_opt run = {
		.channel = channel,
		.approver = on_telegram(cfg) ? NULL : stdio_approver(channel),
		.stream = cfg->agent.stream_replies,
		.signals = signals,
		.notify = &notify,
		.reload = reload,
		.arg = &d,
	};
	int rc = gateway_run(&g, &run, &signo, &e);
	close_channel(channel, cfg);
	engine_close(&g);
	/* A stop that was asked for is a success; one that failed shows both. */
	if (rc == OK)
		return EXIT_OK;
	(void)cli_fail("%s", e.msg);
	return signo ? 128 + signo : EXIT_FAILED;
}

static int run(struct cli *cli)
{
	SCOPED(fd_drop) int signals = -1;
	struct config *cfg = NULL;
	struct err e = { 0 };
	int code = cli_rest(cli, 0, 0);

	if (code != EXIT_OK || (code = cli_config(cli, CONFIG_ALL, false, &cfg)) != EXIT_OK)
		return code;
	if (signals_open(&signals, &e) < 0)
		code = cli_fail("%s", e.msg);
	else
		code = serve(cli, cfg, signals);
	config_free(cfg);
	return code;
}

const struct cmd cmd_run = {
	.name = "run",
	.alias = "gateway",
	.summary = "the daemon: take messages from the channel and answer them",
	.usage = "usage: gantry run\n"
		 "\n"
		 "Runs until SIGTERM, SIGINT or, with CHANNEL=stdio, the end of input.  SIGHUP "
		 "reads\n"
		 "the persona, the manifest and the reloadable options again.  Exit code 0 "
		 "after a\n"
		 "stop that was asked for, 1 after an error, 128 and the signal's number when "
		 "the\n"
		 "stop itself failed.\n"
		 "\n"
		 "example:\n"
		 "  echo 'what is in my calendar?' | CHANNEL=stdio gantry run\n",
	.run = run,
};

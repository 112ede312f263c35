/*
 * gantry send: a message to a chat, from a script or by hand.  The row belongs to this process,
 * which delivers it itself, whether a daemon runs or not; of a wait that a chat was told to keep
 * both know, since it is in the database.
 */
#include "cli/cli.h"

#include "base/utf.h"
#include "chan/telegram_update.h"
#include "cli/relay.h"
#include "os/file.h"
#include "store/outbox.h"

#include <unistd.h>

static int add_row(struct store *s, str address, str text, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct outbox_new row = { .channel = S(TELEGRAM_CHANNEL),
					.address = address,
					.kind = S("notice"),
					.text = text,
					.owner = store_owner(s) };
	int64_t id;
	int rc;

	if ((rc = store_begin(&tx, s, NULL, e)) < 0 ||
	    (rc = store_outbox_add(&tx, &row, &id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static int send_text(struct cli *cli, struct config *cfg, str address, str text)
{
	const struct engine_opt opt = { .mode = STORE_CLI, .store_only = true };
	struct engine g;
	struct err e = { 0 };
	int code = EXIT_OK;

	if (engine_open(&g, cfg, &cli->env, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	if (add_row(g.store, address, text, &e) < 0 || relay_send(&g, cli, cfg, &e) < 0)
		code = cli_fail("%s", e.msg);
	engine_close(&g);
	return code;
}

static int run(struct cli *cli)
{
	const char *chat_text = NULL, *thread_text = NULL;
	struct config *cfg = NULL;
	int64_t chat = 0, thread = 0;
	bool bad = false;
	str text = { 0 };
	int code;

	(void)cli_value(cli, "--chat", &chat_text, &bad);
	(void)cli_value(cli, "--thread", &thread_text, &bad);
	if (bad || !chat_text || !str_i64(str_of(chat_text), &chat) || chat == 0)
		return cli_misuse(cli, "say --chat ID, the number of a chat");
	if (thread_text && (!str_i64(str_of(thread_text), &thread) || thread <= 0))
		return cli_misuse(cli, "--thread wants the number of a topic");
	if (cli->argc == 0)
		return cli_misuse(cli, "there is no text");
	if ((code = cli_rest(cli, 1, 1)) != EXIT_OK ||
	    (code = cli_config(cli, CONFIG_STORE | CONFIG_CHANNEL, true, &cfg)) != EXIT_OK)
		return code;
	if (!cfg->telegram.token.n)
		code = cli_fail("there is no bot token; set TELEGRAM_BOT_TOKEN, or "
				"channels.telegram.token_file");
	else if ((code = cli_text(cli, cfg, &text)) == EXIT_OK)
		code = send_text(cli, cfg, telegram_address(cli->a, chat, thread), text);
	config_free(cfg);
	return code;
}

const struct cmd cmd_send = {
	.name = "send",
	.summary = "write to a chat",
	.usage = "usage: gantry send --chat ID [--thread N] TEXT|-\n"
		 "\n"
		 "Sends Markdown to a Telegram chat the bot may talk to, with or without a "
		 "running "
		 "daemon.\n"
		 "Exit code 1 when Telegram refused it, or when it is not known whether it "
		 "arrived.\n"
		 "\n"
		 "example:\n"
		 "  df -h | gantry send --chat 111111 -\n",
	.run = run,
};

/*
 * The Telegram channel as the configuration wants it, for the daemon and for gantry send.
 */
#include "cli/cli.h"

#include "agent/slash.h"

int cli_open_telegram(struct channel **out, struct cli *cli, const struct config *cfg,
		      struct store *store, struct err *e)
{
	const struct http_cfg *h = &cfg->http;
	struct telegram_command *menu;
	str name, help;
	size_t n = 0;

	while (slash_listed(n, &name, &help))
		n++;
	menu = NEWN(cli->a, struct telegram_command, n + 1);
	for (size_t i = 0; i < n; i++)
		(void)slash_listed(i, &menu[i].name, &menu[i].help);
	const struct telegram_opt opt = {
		.cfg = &cfg->telegram,
		.store = store,
		.http = { .ca_file = h->ca_file.p,
			  .http_proxy = h->http_proxy.p,
			  .https_proxy = h->https_proxy.p,
			  .all_proxy = h->all_proxy.p,
			  .no_proxy = h->no_proxy.p,
			  .user_agent = "gantry" },
		.stream = cfg->agent.stream_replies,
		.input_max = cfg->limits.input_max_bytes,
		.waiting_max = cfg->gateway.waiting_notice,
		.commands = menu,
		.commands_n = n,
	};
	return telegram_open(out, &opt, e);
}

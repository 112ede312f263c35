/*
 * chan/telegram: Telegram as a channel, over the Bot API.
 *
 * Updates come by long poll; what is let in becomes inbox rows in one transaction with the
 * cursor.  Answers go out as pieces of Telegram's HTML.  While a turn works its chat shows that
 * the bot is typing and, when asked for, the answer as it grows.  Questions are messages with
 * buttons.
 *
 * Threads  its own, from start to stop: the poll, the one that shows what works, and those that
 *          fetch files.
 * Errors   a token the server does not know ends the daemon (chan_up.on_fatal); everything else
 *          is waited out.
 */
#ifndef CHAN_TELEGRAM_H
#define CHAN_TELEGRAM_H

#include "chan/chan.h"
#include "os/http.h"

struct telegram_command {
	str name, help;
};

struct telegram_opt {
	const struct telegram_cfg *cfg; /* borrowed */
	struct store *store; /* borrowed */
	struct http_opt http; /* copied */
	bool stream; /* show answers as they grow, and what the tools do */
	int64_t input_max; /* bytes of one message */
	int64_t waiting_max; /* see struct inbox_new */
	const struct telegram_command *commands; /* borrowed: what the chat's menu offers */
	size_t commands_n;
};

/* Keep what is logged from here on for the owner, as far as he wants to hear of it; *fd is
 * readable when there is some, -1 he does not.  Telling is the channel's, which calls it too. */
int telegram_keep_log(const struct telegram_cfg *cfg, int *fd, struct err *e) MUSTUSE;

int telegram_open(struct channel **out, const struct telegram_opt *opt, struct err *e) MUSTUSE;
void telegram_close(struct channel *c);

#endif

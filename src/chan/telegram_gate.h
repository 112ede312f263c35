/*
 * chan/telegram_gate: who may talk to the bot, and when a group means it.
 *
 * Pure.  A refusal is silent to the sender; its word goes to the log.
 */
#ifndef CHAN_TELEGRAM_GATE_H
#define CHAN_TELEGRAM_GATE_H

#include "chan/telegram_update.h"
#include "config/config.h"

enum telegram_gate {
	GATE_PASS,
	GATE_NO_SENDER, /* nobody, or one of Telegram's shared pseudo users */
	GATE_BOT,
	GATE_CHAT_TYPE, /* neither private nor a group */
	GATE_GROUP, /* not configured */
	GATE_USER, /* not on the list */
	GATE_OTHER_BOT, /* a command for another bot */
	GATE_NOT_MENTIONED,
	GATE_EMPTY,
};

struct telegram_self {
	int64_t id;
	str name; /* without @ */
};

/* May this user command the bot in this chat?  Asked for messages and for presses. */
enum telegram_gate telegram_gate_user(const struct telegram_cfg *cfg,
				      const struct telegram_event *ev);

/* GATE_PASS: *typed is what the sender typed, without a leading mention of the bot. */
enum telegram_gate telegram_gate_message(const struct telegram_cfg *cfg,
					 const struct telegram_self *self,
					 const struct telegram_event *ev, str *typed);

/* "not-mentioned": for the log. */
const char *telegram_gate_word(enum telegram_gate g);

#endif

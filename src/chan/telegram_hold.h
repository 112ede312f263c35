/*
 * chan/telegram_hold: which chats must be left alone, and until when.
 *
 * Pure: times are monotonic and come as arguments; whoever owns the struct locks it.  A 429 does
 * not say whether it is meant for the chat or for the whole bot.  When several chats must wait at
 * the same time it is the bot: until the first of their waits is over, and so on.
 */
#ifndef CHAN_TELEGRAM_HOLD_H
#define CHAN_TELEGRAM_HOLD_H

#include <stdint.h>

#define TELEGRAM_HOLDS 64 /* of more chats those that wait longest are kept */

struct telegram_holds {
	struct telegram_hold {
		int64_t chat, until_ms;
	} v[TELEGRAM_HOLDS];
	int64_t all_until_ms; /* the whole bot must wait */
};

void telegram_holds_add(struct telegram_holds *h, int64_t chat, int64_t now_ms,
			int64_t until_ms);

/* 0 or a time in the past: the chat is free. */
int64_t telegram_holds_until(const struct telegram_holds *h, int64_t chat);

#endif

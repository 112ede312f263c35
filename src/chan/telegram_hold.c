/*
 * A short list of chats with the time until which each must wait.
 */
#include "chan/telegram_hold.h"

#include <stddef.h>

#define ALL_AFTER 3 /* chats that must wait at the same time */
#define ALL_MAX_MS 60000

static void judge_all(struct telegram_holds *h, int64_t now_ms)
{
	int64_t first = now_ms + ALL_MAX_MS;
	size_t n = 0;

	for (size_t i = 0; i < TELEGRAM_HOLDS; i++) {
		if (h->v[i].until_ms <= now_ms)
			continue;
		n++;
		first = h->v[i].until_ms < first ? h->v[i].until_ms : first;
	}
	if (n >= ALL_AFTER && first > h->all_until_ms)
		h->all_until_ms = first;
}

void telegram_holds_add(struct telegram_holds *h, int64_t chat, int64_t now_ms,
			int64_t until_ms)
{
	size_t at = 0;

	/* Its own place, else that of the one that is over first. */
	for (size_t i = 0; i < TELEGRAM_HOLDS; i++)
		if (h->v[i].until_ms < h->v[at].until_ms)
			at = i;
	for (size_t i = 0; i < TELEGRAM_HOLDS; i++)
		if (h->v[i].chat == chat)
			at = i;
	if (h->v[at].chat != chat || h->v[at].until_ms < until_ms)
		h->v[at] = (struct telegram_hold){ chat, until_ms };
	judge_all(h, now_ms);
}

int64_t telegram_holds_until(const struct telegram_holds *h, int64_t chat)
{
	for (size_t i = 0; i < TELEGRAM_HOLDS; i++)
		if (h->v[i].chat == chat && h->v[i].until_ms > h->all_until_ms)
			return h->v[i].until_ms;
	return h->all_until_ms;
}

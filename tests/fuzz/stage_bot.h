/*
 * tests/fuzz/stage_bot: the Bot API as a channel meets it on the stage: updates that wait until
 * they are confirmed, calls that are judged as strictly as the real service judges them, and
 * answers of every kind, as the fuzzer's bytes want them.  What it saw is its ledger.
 */
#ifndef FUZZ_STAGE_BOT_H
#define FUZZ_STAGE_BOT_H

#include "stage.h"

#define BOT_URL "http://bot.test"
#define BOT_TOKEN "4242:token-token-token"
#define BOT_PERSON 111 /* who may talk to it */
#define BOT_GROUP (-500)
#define BOT_WORDS 256 /* messages and answers that are counted */

/* A message of a person; its text holds "m<n>;". */
struct bot_said {
	bool fetched, confirmed; /* handed out; and never to be again */
	bool counts; /* it has to become a row */
};

/* An answer of ours; its text begins with "a<n>;". */
struct bot_heard {
	int sent; /* messages that begin with it, and stand */
	int64_t chat;
};

struct bot {
	bool dead; /* nothing gets through any more: the process was killed */
	bool odd; /* something was said that no Bot API says: what follows need not add up */
	bool mean; /* errors are answered at all */
	struct bot_said said[BOT_WORDS];
	size_t said_n;
	struct bot_heard heard[BOT_WORDS];
	int64_t held_ms[4]; /* monotonic, per chat: until when a 429 holds */
	char buttons[8][80]; /* data of those that were sent, the newest over the oldest */
	int64_t buttons_chat[8], buttons_message[8];
	size_t buttons_n;
};

extern struct bot bot;

void bot_begin(void);
void bot_end(void);
/* Somebody does something, as the bytes want it. */
void bot_person(void);
/* Answer what was left open and can be answered now. */
void bot_serve(void);

#endif

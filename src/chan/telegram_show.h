/*
 * chan/telegram_show: the calls behind what telegram_live decides to show.
 *
 * Threads  the one of telegram_live.  Blocks  at most ten seconds a call.
 * Errors   none are returned: nothing of this has to arrive.
 */
#ifndef CHAN_TELEGRAM_SHOW_H
#define CHAN_TELEGRAM_SHOW_H

#include "chan/telegram_internal.h"

/* A running turn as its chat is to see it. */
struct telegram_view {
	str turn;
	int64_t chat, thread;
	int64_t message_id; /* that shows it, 0 none yet; set when there is one */
	str text; /* the answer so far */
	str trace; /* lines about tools */
};

void telegram_show_typing(struct telegram *t, const struct telegram_view *v, struct arena *a);

/* In its message, which is made (and reserved for the answer) when there is none.  False: it
 * was not taken; when the chat has to wait, that is noted. */
bool telegram_show_text(struct telegram *t, struct telegram_view *v, struct arena *a);

/* Tell who pressed; text may be "". */
void telegram_show_answer(struct telegram *t, str press_id, str text, struct arena *a);

/* The first one who is allowed to write: his id is also that of the chat with him.  0 none. */
int64_t telegram_owner_chat(const struct telegram *t);

/* A line of its own, once. */
void telegram_show_notice(struct telegram *t, int64_t chat, int64_t thread, str text,
			  struct arena *a);

/* What became of a message with buttons. */
struct telegram_over {
	int64_t chat, message_id;
	str id; /* of the approval or question */
	int64_t field; /* of a question; -1 the last one that was asked */
	str verdict; /* how it ended; "" nothing is said */
	bool marks; /* not over: the buttons show what is picked */
};

/* The message without its buttons, or with others, as x says.  False: it did not work, and may
 * work later. */
bool telegram_show_verdict(struct telegram *t, const struct telegram_over *x, struct arena *a);

#endif

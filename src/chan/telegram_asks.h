/*
 * chan/telegram_asks: questions of tool servers in a chat.
 */
#ifndef CHAN_TELEGRAM_ASKS_H
#define CHAN_TELEGRAM_ASKS_H

#include "chan/telegram_internal.h"
#include "store/question.h"

/* The message that asks a field (pure); and of an outbox row, none when it is over. */
int telegram_asks_render(struct arena *a, const struct question *q, int64_t field,
			 struct piece_new **out, size_t *n, struct err *e) MUSTUSE;
int telegram_asks_render_row(struct telegram *t, const struct outbox_row *row, struct arena *a,
			     struct piece_new **out, size_t *n, struct err *e) MUSTUSE;

/* The keyboard below the field that is asked now (pure). */
str telegram_asks_buttons(const struct question *q, struct arena *a);
str telegram_asks_row_buttons(struct telegram *t, const struct outbox_row *row,
			      struct arena *a);

/* As telegram_press_judge() and _decide(); false: no button of a question. */
bool telegram_asks_judge(struct telegram *t, const struct telegram_event *ev, struct arena *a,
			 struct telegram_press *out);
int telegram_asks_decide(struct tx *tx, const struct telegram_event *ev,
			 struct telegram_press *p, struct arena *a, struct err *e) MUSTUSE;

/* A message that was typed: of whom and where, and its event. */
struct telegram_said {
	str text, address, sender, dedupe;
};
struct telegram_taken {
	bool taken; /* it is the reply to a question, and no message */
	bool decided; /* which is over with it */
	str turn; /* whose it is */
	str line; /* to tell, "" nothing */
};
int telegram_asks_reply(struct tx *tx, const struct telegram_event *ev,
			const struct telegram_said *m, struct arena *a,
			struct telegram_taken *out, struct err *e) MUSTUSE;

/* Is there nothing to press any more below the message of an approval or a question?  Then
 * *verdict says how that ended, "" nothing. */
bool telegram_asks_over(struct telegram *t, str id, int64_t message_id, struct arena *a,
			str *verdict);
/* What was asked before the start. */
void telegram_asks_watch_old(struct telegram *t);

#endif

/*
 * chan/asks: a question of a tool server that is a row, and what a person says to it in a channel.
 */
#ifndef CHAN_ASKS_H
#define CHAN_ASKS_H

#include "store/question.h"
#include "text/form.h"

/* The form that a row asks, and how far it is.  E_PROTO, E_INVAL, E_LIMIT: it holds none. */
int asks_form(const struct question *q, struct arena *a, struct form *f, struct form_fill *x,
	      struct err *e) MUSTUSE;

/* One step of a question that store_question_find() gave, in the same transaction; *q is as it is
 * then.  *wrong: why it did not move on, to be told; "" it did.  Errors are the store's. */
int asks_step(struct tx *tx, struct question *q, const struct form_said *said, str by,
	      struct arena *a, struct err *wrong, struct err *e) MUSTUSE;

#endif

/*
 * chan/question: the question whether a tool may run, as text for a terminal.
 */
#ifndef CHAN_QUESTION_H
#define CHAN_QUESTION_H

#include "base/arena.h"
#include "policy/approver.h"

/* Several lines, the last one without its end; nothing in it controls the terminal. */
str question_text(struct arena *a, const struct approval_ask *ask);

/* y and yes, in any case, white space around them. */
bool question_yes(str answer);

#endif

/*
 * chan/terminal: asking the person at the terminal whether a tool may run.
 *
 * Threads  any; one question is open at a time, others wait for it under their token.
 * Blocks   until the answer, the ask's timeout, or the end of the token.
 * After    end of input: that question and all later ones are E_DENIED.
 *
 * Whoever else reads the same input must not do so while a question is open.
 */
#ifndef CHAN_TERMINAL_H
#define CHAN_TERMINAL_H

#include "policy/approver.h"

/* Questions go to err_fd, answers (y or yes approve) come from in_fd, both borrowed.  What was
 * typed on a terminal before the question is no answer to it; lines in a pipe are taken in
 * turn, unless a question went unanswered. */
int terminal_approver_open(struct approver **out, int in_fd, int err_fd, struct err *e) MUSTUSE;
void terminal_approver_close(struct approver *a);

#endif

/*
 * agent/fold: old turns leave the prompt and become part of the session's summary.
 *
 * A turn never waits for it.  It leaves a row that says from where its history should begin;
 * the system worker asks the model for a new summary, and summary and beginning change in one
 * transaction, if nothing that was read changed meanwhile.  Until then, and for as long as the
 * model fails, the turns stay in the history, or are cut from the prompt where there is no room;
 * their rows stay in any case, and the next fold takes them in.
 */
#ifndef AGENT_FOLD_H
#define AGENT_FOLD_H

#include "store/session.h"
#include "store/system.h"

#define FOLD_WHAT "fold"

struct agent;

/* Leave the row: what is older than to_seq is to be folded, if the session is still as it says
 * (epoch and history_from_seq). */
int fold_leave(struct tx *tx, const struct session *session, int64_t to_seq,
	       struct err *e) MUSTUSE;

/* The handler (see agent/system). */
int fold_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
	     struct err *e) MUSTUSE;

#endif

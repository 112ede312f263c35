/*
 * agent/fit: which of the rows are sent, so that a request stays within its budget.  Pure.
 *
 * What leaves does so in large steps and seldom, so that between two steps every request begins
 * with the one before: half of the history; and all old tool results with their context blocks,
 * when the history changes anyway or they weigh a good part of the budget.
 */
#ifndef AGENT_FIT_H
#define AGENT_FIT_H

#include "store/message.h"

#define FIT_KEEP 4 /* tool results that stay whole when older ones collapse */

struct fit_budget {
	int64_t fixed; /* estimated tokens beside the messages */
	int64_t max_tokens, max_messages; /* of the whole; of finished turns */
	int64_t max_turns; /* finished ones; 0: no limit */
};

struct fit_plan {
	int64_t collapse_upto; /* collapse what is not younger; 0: nothing */
	int64_t cut_at; /* the history begins here, at the start of a turn; 0: as it is */
	int64_t fold_to; /* without a cut: it is getting full, and should begin here; 0: not yet */
	int64_t tokens; /* estimate of the request that comes out, fixed included */
};

/* rows are the history and behind it, from current on, the rows of the running turn, which stay;
 * those from fresh_from on were not sent yet.  Finished turns are cut whole, down to half of the
 * room beside what is fixed, though the last four stay where they fit at all.  Only when the
 * running turn alone is too much are its own results collapsed, at last those nobody read. */
int fit_plan(struct arena *a, const struct message *rows, size_t n, int64_t current,
	     int64_t fresh_from, const struct fit_budget *budget, struct fit_plan *out,
	     struct err *e) MUSTUSE;

/* Collapse the whole results but for the last keep, and those from fresh_from on: the highest
 * seq of them.  0: there are none, or together they weigh less than least tokens. */
int64_t fit_collapse_at(const struct message *rows, size_t n, int64_t fresh_from, size_t keep,
			int64_t least);

/* The estimated tokens of rows as fit_plan() counts them: what is collapsed counts as that. */
int64_t fit_rows_tokens(const struct message *rows, size_t n);

/* Where the history has to begin for it; 0 when all fits.  current when nothing of it does. */
int64_t fit_cut_at(const struct message *rows, size_t n, int64_t current,
		   const struct fit_budget *budget);

#endif

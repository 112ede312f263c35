/*
 * gateway/work: one turn, one delivery.  The daemon's threads loop over these; the chat and
 * a single prompt call them directly for their own rows.
 *
 * only is "" for the rows of any daemon, else an owner (see store/turn).
 */
#ifndef GATEWAY_WORK_H
#define GATEWAY_WORK_H

#include "chan/chan.h"
#include "gateway/engine.h"

struct work_opt {
	str only;
	struct channel *channel; /* where live output goes and pieces are sent; NULL none */
	struct approver *approver;
	bool stream;
	bool steer; /* follow-ups join the turn that runs */
	const struct cancel *leave; /* ends the wait for room on the disk; NULL: the root */
	_Atomic int64_t *beat; /* where this thread shows that it moves (gateway/beats); NULL */
};

struct work_done {
	char turn[ID_LEN + 1];
	int64_t row; /* the last inbox row it consumed */
};

/* Claim and run one turn to its end.  OK; E_NOENT there was nothing to claim; E_CANCELED
 * shutdown, released; else the database failed: a turn that was begun is remembered, and given
 * back by the next call, before it claims.  done (may be NULL) is filled in once a turn is
 * claimed, however it ends. */
int work_turn(struct engine *g, const struct work_opt *opt, struct work_done *done,
	      struct err *e) MUSTUSE;

/* Ring the clock and the system worker when a commit left something for them. */
void work_news(struct engine *g);

/* Deliver one outbox row: cut it into pieces and send each.  How a piece ended is written even
 * when that has to wait for room on the disk.  E_NOENT nothing to send now;
 * then *wake_at_ms (wall) is when to look again, 0 never. */
int work_deliver(struct engine *g, const struct work_opt *opt, int64_t *wake_at_ms,
		 struct err *e) MUSTUSE;

/* Do one system row that is ready.  OK: it is done, or will be tried again later; E_NOENT: none
 * is ready; E_CANCELED: c ended, and the row was put down. */
int work_system(struct engine *g, const struct cancel *c, struct err *e) MUSTUSE;

/* The same for a process that has no daemon beside it: all but watches, which are a daemon's. */
int work_tidy(struct engine *g, const struct cancel *c, struct err *e) MUSTUSE;

/* Leave a row for consolidation when its time has come: an interval after the last one, or after
 * the first start; restarts do not put it off.  For the clock: it only writes rows. */
int work_schedule(struct engine *g, const struct cancel *c, struct err *e) MUSTUSE;

#endif

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
};

/* Claim and run one turn to its end.  OK with its id in id (ID_LEN + 1 bytes, may be NULL);
 * E_NOENT there was nothing to claim; E_CANCELED shutdown, released; else the database failed. */
int work_turn(struct engine *g, const struct work_opt *opt, char *id, struct err *e) MUSTUSE;

/* Deliver one outbox row: cut it into pieces and send each.  E_NOENT nothing to send now;
 * then *wake_at_ms (wall) is when to look again, 0 never. */
int work_deliver(struct engine *g, const struct work_opt *opt, int64_t *wake_at_ms,
		 struct err *e) MUSTUSE;

#endif

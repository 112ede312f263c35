/*
 * gateway/health: is the daemon healthy, degraded or dead?  Pure, so that `gantry status`, the
 * watchdog and gantry doctor say the same of the same facts.
 *
 *   dead      a part that has to move did not for longer than its limit: the clock, the poll of
 *             the channel, a deliverer, a worker that looks for work, or a turn that runs.  A
 *             restart mends that
 *   degraded  the channel, or the model, failed the last time it was asked.  A restart would
 *             not mend it
 *   healthy   else; what was never asked is healthy
 *
 * A part of which nothing is known is not judged; one that has not moved since the daemon began
 * counts as having moved then.  A turn moves with each step that is
 * journaled; its limit is the longest step that the configuration allows, so that a tool which
 * takes long within its own limit counts as moving.
 */
#ifndef GATEWAY_HEALTH_H
#define GATEWAY_HEALTH_H

#include "config/config.h"
#include "store/health.h"

enum health_state { HEALTHY, DEGRADED, DEAD };

/* The parts of which there are heartbeats. */
#define PART_CLOCK "daemon" /* the clock thread */
#define PART_HEARD                                                                             \
	"poll" /* the channel's other side answered; its trouble is why it does not */
#define PART_POLL "poller" /* the thread that asks it moves */
#define PART_DELIVER "deliver" /* the deliverer that has not moved for longest */
#define PART_WORKER "worker" /* the same of the workers that look for work */
#define PART_TURN "turn" /* no heartbeat: from the rows of turns */

#define HEALTH_PARTS 5

struct health_part {
	const char *name; /* PART_... */
	int64_t age_ms; /* -1: nothing is known of it */
	int64_t limit_ms; /* 0: none */
};

struct health {
	enum health_state state;
	const char *part; /* the dead one's name; "model" or PART_HEARD for degraded; "" */
	str reason; /* "" for healthy */
	struct health_part parts[HEALTH_PARTS];
};

/* The longest that one step of a turn may take under cfg.  call_max_ms: the longest call that the
 * manifest allows, 0 nothing longer than cfg's own. */
int64_t health_step_max(const struct config *cfg, int64_t call_max_ms);

/* Of these rows at now_ms (wall).  step_max_ms: see above.  Text is made in a. */
void health_judge(const struct store_health *rows, int64_t now_ms, int64_t step_max_ms,
		  struct arena *a, struct health *out);

const char *health_word(enum health_state s);

#endif

/*
 * agent/spend: limits on what is spent.  Before a request is sent its worst case is held in
 * the database (the prompt as estimated and corrected, the longest answer), where turns,
 * workers and other processes see it; afterwards it is settled with what the model reported.
 *
 *	spend_begin -> spend_hold -> [request] -> spend_end -> store_spend_settle (in a commit)
 *
 * Without a limit none of it writes anything.
 *
 * Threads  one request is its caller's; the database sees to the rest.
 */
#ifndef AGENT_SPEND_H
#define AGENT_SPEND_H

#include "agent/agent.h"
#include "store/spend.h"

struct spend {
	struct agent *ag;
	const struct config *cfg; /* borrowed; NULL: there is no limit */
	str model; /* its name */
	int64_t prompt; /* tokens, estimated */
	struct arena *a;
	str scopes[SPEND_SCOPES]; /* turn, job, day, month; "" none */
	int64_t opens_ms[SPEND_SCOPES]; /* when a limit ends, 0 with the turn */
	const struct zone *zone;
	int64_t id; /* what is held, 0 nothing */
	str refusal; /* what a person is told when there is no room */
	str option; /* that says so */
	int64_t shut_ms; /* until when, 0 not known */
};

/* Is there any limit? */
bool spend_limited(const struct config *cfg);

/* turn_id "": work of our own.  a holds what *out points to. */
int spend_begin(struct spend *out, struct agent *ag, const struct config *cfg, str issuer,
		str turn_id, struct arena *a, struct err *e) MUSTUSE;

/* Before each request that may cost something, one that is sent again included: what an
 * earlier one of the same spend may have cost is then settled as estimated.  E_LIMIT: there
 * is no room, and refusal says why. */
int spend_hold(struct spend *s, int64_t prompt_tokens, const struct cancel *c,
	       struct err *e) MUSTUSE;

/* How to settle it: as answered (reply not NULL), or after a failure. */
struct spend_settle spend_end(const struct spend *s, const struct model_reply *reply,
			      const struct model_failure *fail);

/* Work of our own was refused: until when it waits at least; 0: it was not. */
void agent_spend_shut(struct agent *ag, int64_t until_ms);
int64_t agent_spend_shut_until(struct agent *ag);

/* What is used of the limits of days and months, a line each with a line break before it; ""
 * without limits. */
str spend_text(struct agent *ag, const struct config *cfg, struct arena *a);

#endif

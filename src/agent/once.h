/*
 * agent/once: one question to the model that belongs to no turn: no history, no tools.
 */
#ifndef AGENT_ONCE_H
#define AGENT_ONCE_H

#include "agent/agent.h"

struct once {
	str system, user;
	str turn_id; /* on whose account it is; "" none */
	str session_id; /* whose tokens these are; "" nobody's */
	size_t text_max; /* bytes of the answer */
	struct model *model; /* NULL: the agent's */
	int64_t tokens; /* of agent_once_request(): what it is estimated at */
	bool forgets; /* what is learnt of the endpoint is not kept: it was not our own request */
	bool strict; /* an answer that calls tools beside its text is E_PROTO */
};

/* Ask, and count the tokens of the answer.  *text is trimmed and never empty: an empty answer is
 * E_PROTO, a longer one than text_max E_LIMIT with *fail's kind MODEL_OK.  Else as
 * model_complete(). */
int agent_once(struct agent *ag, const struct once *q, struct arena *a, str *text,
	       struct model_failure *fail, const struct cancel *c, struct err *e) MUSTUSE;

/* One request of whatever form (of req what is asked; quirks and calls back are filled in): held,
 * settled and counted as above; of q account, model, tokens and forgets count.  As
 * model_complete(), and E_LIMIT with the words for a person when a limit leaves no room. */
int agent_once_request(struct agent *ag, const struct once *q, struct model_req *req,
		       struct arena *a, struct model_reply *reply, struct model_failure *fail,
		       const struct cancel *c, struct err *e) MUSTUSE;

#endif

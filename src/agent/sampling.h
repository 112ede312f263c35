/*
 * agent/sampling: a tool server asks our model for a completion, in the midst of a call.
 *
 * It is no part of the turn's loop: no history, no tools of ours, no persona.  It passes the
 * manifest's key "sampling", the policy's rules (as tool "sampling/SERVER"), with "ask" a person,
 * and the limits of spending; it has an audit row like a call; what it cost counts as the turn's.
 *
 * Threads  those of the run's calls.
 */
#ifndef AGENT_SAMPLING_H
#define AGENT_SAMPLING_H

#include "agent/run.h"

/* As mcp_call.on_question, for MCP_SAMPLE in a call of the run.  What may not be is OK with
 * out->code. */
int sampling_answer(struct run *r, str call_id, const struct mcp_question *q, struct arena *a,
		    struct mcp_answer *out, const struct cancel *c, struct err *e) MUSTUSE;

#endif

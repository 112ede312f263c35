/*
 * agent/sign_in: /auth, by which a person signs in to a tool server from the chat.  What is
 * pasted goes to mcp/auth alone: no row, log or answer holds it, and the model never sees it.
 *
 * Blocks   up to ten seconds for the servers, within 50 ms of c.
 */
#ifndef AGENT_SIGN_IN_H
#define AGENT_SIGN_IN_H

#include "agent/agent.h"

/* The answer to "/auth args": "" which servers there are; "SERVER" the link, or with "SERVER
 * device" a page and a code; "SERVER wait" whether that was typed; "SERVER remove"; else
 * "SERVER PASTE". */
str sign_in_command(struct agent *ag, str args, struct arena *a, const struct cancel *c);

/* Is the whole message an address that a sign-in here may be waiting for?  Asks no network. */
bool sign_in_expects(struct agent *ag, str message);

/* Is the whole message an address that a browser was sent to?  Then *reply says
 * what came of it. */
bool sign_in_paste(struct agent *ag, str message, struct arena *a, str *reply,
		   const struct cancel *c);

#endif

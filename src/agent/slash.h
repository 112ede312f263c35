/*
 * agent/slash: the slash commands, from one table.
 */
#ifndef AGENT_SLASH_H
#define AGENT_SLASH_H

#include "agent/agent.h"
#include "store/inbox.h"

/* Is text a control word (/stop, /cancel, /new, /clear)?  E_NOENT if not. */
int slash_control(str text, struct arena *a, enum control *what);

/* What to tell the user about it.  busy: a command of the chat's is under
 * way, which it ends. */
str slash_control_reply(struct arena *a, enum control what, const struct control_effect *ef,
			bool busy);

/* Is text another command?  Then *reply is its answer.  No turn is needed.  Blocks for
 * the writer where one changes something, and where it is slow; c ends that, and the
 * answer says so. */
bool slash_command(struct agent *ag, str channel, str address, str sender, str text,
		   struct arena *a, str *reply, const struct cancel *c);

/* Is text a command that asks the network, so that it may take ten seconds?  Then it is for no
 * thread that others wait for. */
bool slash_slow(struct agent *ag, str channel, str sender, str text);

/* May text hold what is to be kept nowhere, such as the code of a sign-in? */
bool slash_secret(str text);

/* The i-th command of the list people are shown, in its order; false behind the last. */
bool slash_listed(size_t i, str *name, str *help);

#endif

/*
 * agent/server_prompt: prompts of tool servers as commands: "/SERVER:PROMPT words" from a person is
 * filled in by the server, and what it says becomes the text of the turn.
 */
#ifndef AGENT_SERVER_PROMPT_H
#define AGENT_SERVER_PROMPT_H

#include "agent/run.h"

/* Fill in those of the turn's messages that are commands and are not yet; *filled: some were, and
 * the rows are to be read again.  What cannot be filled in because of how it was written is
 * answered at once, without the model. */
int run_server_prompt(struct run *r, struct arena *ra, bool *filled, struct err *e) MUSTUSE;

/* All prompts of all servers, for people. */
str server_prompt_list(struct agent *ag, struct arena *a, const struct cancel *c);

#endif

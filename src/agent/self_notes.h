/*
 * agent/self_notes: the notes the agent keeps on itself, SELF.md in the persona directory
 * (agent.self_notes; the tool is tools/self_note.c).  No other file there is ever written.
 */
#ifndef AGENT_SELF_NOTES_H
#define AGENT_SELF_NOTES_H

#include "config/config.h"
#include "store/system.h"

struct agent;

/* Where they are kept; "" they are off. */
str self_notes_path(struct arena *a, const struct config *cfg);

/* The file that is locked to change them; beside the database, where no tool gets at it. */
str self_notes_lock(struct arena *a, const struct config *cfg);

/* The handler of SYSTEM_RENEW: notes that fill more than half of their room are rewritten by the
 * model into fewer, and the persona is read again. */
int self_notes_renew(struct agent *ag, const struct system_row *row, const struct cancel *c,
		     struct err *e) MUSTUSE;

#endif

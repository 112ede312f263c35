/*
 * agent/system: what is done for system rows (store/system), one handler for each word.
 */
#ifndef AGENT_SYSTEM_H
#define AGENT_SYSTEM_H

#include "agent/agent.h"
#include "store/system.h"

/* Do the work of a claimed row.  OK: its effect and store_system_done() are committed.  E_NOENT:
 * nobody knows the word.  E_CANCELED or E_TIMEOUT when c ended; any other code: nothing but what
 * it cost was written, and it is worth another try later. */
int agent_system_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
		     struct err *e) MUSTUSE;

/* End a row whose work left nothing else to be committed. */
int agent_system_over(struct agent *ag, const struct system_row *row, struct err *e) MUSTUSE;

#endif

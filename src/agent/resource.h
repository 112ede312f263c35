/*
 * agent/resource: a resource that a chat subscribed to has changed: the model is told.
 */
#ifndef AGENT_RESOURCE_H
#define AGENT_RESOURCE_H

#include "store/system.h"

struct agent;

/* Handlers (see agent/system): of a change, and of asking a server again after a start. */
int resource_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
		 struct err *e) MUSTUSE;
int resource_again(struct agent *ag, const struct system_row *row, const struct cancel *c,
		   struct err *e) MUSTUSE;

#endif

/*
 * agent/watch: the look at a watch: its tool is called through the gate, without the model, and
 * only what is new wakes the model.
 */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include "store/system.h"

struct agent;

/* The handler (see agent/system). */
int watch_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
	      struct err *e) MUSTUSE;

#endif

/*
 * agent/consolidate: from time to time, what is worth keeping in new episodes and summaries
 * becomes durable memory: facts, preferences, people, patterns; duplicates are superseded.
 *
 * Where something contradicts the persona it is not stored: the user is told.  What was read
 * must still be there, as it was, when the result is stored, else the result is thrown away.
 */
#ifndef AGENT_CONSOLIDATE_H
#define AGENT_CONSOLIDATE_H

#include "store/system.h"

#define CONSOLIDATE_WHAT "consolidate"

struct agent;

/* The handler (see agent/system).  Without anything new the model is not asked. */
int consolidate_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
		    struct err *e) MUSTUSE;

#endif

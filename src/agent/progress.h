/*
 * agent/progress: what a person sees of how far a call is.  Pure.
 *
 * A line begins with "… NAME ", so that whoever shows lines can put the next one in its place; at
 * the end of the call comes one that begins with "✓ NAME" or "✗ NAME".
 */
#ifndef AGENT_PROGRESS_H
#define AGENT_PROGRESS_H

#include "base/arena.h"

/* Of one call.  Zero: nothing was told yet. */
struct progress {
	bool any;
	double first; /* where it stood when it was first told */
	int64_t first_ms;
	int64_t second_ms; /* when the second began in which so many lines were shown: */
	int shown;
};

/* The line to show now; "" when there were ten within a second, or there is nothing to say.
 * total < 0: not known.  Whatever a server reports is visible and bounded. */
str progress_line(struct progress *p, str name, double done, double total, str message,
		  int64_t now_ms, struct arena *a);

#endif

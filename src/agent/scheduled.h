/*
 * agent/scheduled: turns that nobody typed: a schedule or a watch began them.  Their inbox row's
 * meta says what they are: {"label": "...", "timeout_ms": N}.
 */
#ifndef AGENT_SCHEDULED_H
#define AGENT_SCHEDULED_H

#include "store/turn.h"

bool scheduled_turn(const struct turn *t);

/* How long it may run; 0 when it has no limit of its own. */
int64_t scheduled_timeout_ms(const struct turn *t);

/* What stands before its answer, so that nobody takes it for one to a question; "" none. */
str scheduled_label(const struct turn *t, struct arena *a);

/* Has its answer anywhere to go?  A job of the configuration may keep it to itself. */
bool scheduled_told(const struct turn *t);

#endif

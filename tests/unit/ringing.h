/*
 * Has a bell been rung since it was last asked about?
 */
#ifndef UNIT_RINGING_H
#define UNIT_RINGING_H

#include "gateway/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static inline bool rung(const struct bell *b)
{
	return bell_hear(b);
}

/* All bells of an engine, for setup and teardown. */
static inline void bells_init(struct engine *g)
{
	struct bell *all[] = { &g->inbox, &g->outbox, &g->control, &g->clock, &g->system };

	for (size_t i = 0; i < COUNT(all); i++)
		assert_int_equal(bell_init(all[i], NULL), OK);
}

static inline void bells_done(struct engine *g)
{
	struct bell *all[] = { &g->inbox, &g->outbox, &g->control, &g->clock, &g->system };

	for (size_t i = 0; i < COUNT(all); i++)
		bell_done(all[i]);
}

#endif

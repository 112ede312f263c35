/*
 * Zone files of any bytes: refused, or a zone whose wall times come back to their instants.
 */
#include "sched/zone.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct zone *z;

	if (zone_parse(&z, &a, S("x"), (str){ (const char *)data, size }, NULL) < 0)
		return 0;
	for (int64_t at = 0; at < INT64_C(4000000000); at += 399999999) {
		int64_t wall = zone_wall(z, at), back = zone_instant(z, wall);

		/* The first instant at which the clock had come that far. */
		if (back > at || zone_wall(z, back) < wall)
			abort();
		(void)zone_change_after(z, at);
		(void)zone_rfc3339(z, &a, at);
		if (zone_wall_seen(z, at) < wall)
			abort();
	}
	return 0;
}

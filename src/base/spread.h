/*
 * base/spread: how numbers are spread, in memory that does not grow with how many there are.
 * Percentiles are right to two parts in a hundred, and exact at both ends.
 */
#ifndef BASE_SPREAD_H
#define BASE_SPREAD_H

#include "base/attr.h"

#define SPREAD_PARTS 32 /* of each doubling */
#define SPREAD_BUCKETS (28 * SPREAD_PARTS)

/* Zero: nothing yet. */
struct spread {
	uint32_t count[SPREAD_BUCKETS];
	int64_t n, least, most;
};

/* Below 0 counts as 0, over 2^31 as that. */
void spread_add(struct spread *s, int64_t value);

/* The smallest number that percent of them do not exceed, as far as the buckets tell; 0 when
 * there is none. */
int64_t spread_at(const struct spread *s, int percent);

#endif

/*
 * A histogram whose buckets grow with the numbers: exact below SPREAD_PARTS, then so many
 * buckets for each doubling.
 */
#include "base/spread.h"

#define MOST ((INT64_C(1) << 31) - 1)

static size_t bucket_of(int64_t value)
{
	uint64_t v = (uint64_t)value;
	int shift = 0;

	if (value < SPREAD_PARTS)
		return (size_t)value;
	while (v >> shift >= 2 * SPREAD_PARTS)
		shift++;
	return (size_t)shift * SPREAD_PARTS + (size_t)(v >> shift);
}

/* The middle of a bucket. */
static int64_t middle(size_t bucket)
{
	size_t shift = bucket / SPREAD_PARTS;

	if (bucket < 2 * SPREAD_PARTS)
		return (int64_t)bucket;
	shift -= 1;
	return (((int64_t)(bucket % SPREAD_PARTS) + SPREAD_PARTS) << shift) +
	       (INT64_C(1) << shift) / 2;
}

void spread_add(struct spread *s, int64_t value)
{
	int64_t v = value < 0 ? 0 : value > MOST ? MOST : value;

	s->count[bucket_of(v)]++;
	if (s->n == 0 || v < s->least)
		s->least = v;
	if (v > s->most)
		s->most = v;
	s->n++;
}

int64_t spread_at(const struct spread *s, int percent)
{
	int64_t rank = (s->n * percent + 99) / 100, seen = 0;
	size_t i = 0;

	if (rank <= 1)
		return s->least;
	if (rank >= s->n)
		return s->most;
	for (; i < SPREAD_BUCKETS - 1 && (seen += s->count[i]) < rank; i++)
		continue;
	int64_t v = middle(i);
	return v < s->least ? s->least : v > s->most ? s->most : v;
}

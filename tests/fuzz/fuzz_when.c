/*
 * Times as people say them, of any bytes: refused, or a schedule that is kept and read back as
 * the same.
 */
#include "sched/when.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str repeat = { (const char *)data, size }, when = str_cut(&repeat, '\n');
	const int64_t now = INT64_C(1784721600000);
	struct sched s, again;
	int64_t next;

	if (when_parse(&s, &a, when, repeat, now, &zone_utc, NULL) < 0)
		return 0;
	if (s.first_at_ms <= now ||
	    sched_load(&again, &a, str_of(sched_kind_word(s.kind)), s.expr, NULL) < 0)
		abort();
	if (sched_next(&again, &zone_utc, s.first_at_ms, s.first_at_ms - 1, &next, NULL) < 0 ||
	    next != s.first_at_ms)
		abort();
	(void)when_next_words(&s, &a, &zone_utc, s.first_at_ms, now, 3);
	return 0;
}

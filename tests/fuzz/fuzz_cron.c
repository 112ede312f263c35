/*
 * Cron expressions of any bytes: refused, or due at minutes that follow one another.
 */
#include "sched/cron.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cron c;
	int64_t at = 1700000000, next;

	if (cron_parse(&c, (str){ (const char *)data, size }, NULL) < 0)
		return 0;
	for (int i = 0; i < 5; i++, at = next) {
		if (cron_next(&c, &zone_utc, at, &next, NULL) < 0)
			return 0;
		if (next <= at || next % 60 != 0)
			abort();
	}
	return 0;
}

/*
 * From when on to look.  Days are those of the configured zone and begin at its midnight.
 */
#include "cli/since.h"

#include "base/date.h"
#include "store/tally.h"

#include <stdio.h>

#define DAYS_MAX 36500
#define DAY_MS (INT64_C(24) * 3600 * 1000)

bool since_parse(str text, const struct zone *z, int64_t now_ms, int64_t *at_ms)
{
	int64_t n;
	bool zoned;

	if (str_eq(text, S("all"))) {
		*at_ms = 0;
		return true;
	}
	if (str_ends(text, S("d")) && str_i64(str_sub(text, 0, text.n - 1), &n) && n > 0 &&
	    n <= DAYS_MAX) {
		*at_ms = tally_day_at_ms(z, tally_period(z, TALLY_DAY, now_ms) - (n - 1));
		return true;
	}
	if (text.n == 10) {
		char whole[32];
		(void)snprintf(whole, sizeof whole, "%.*sT00:00:00Z", STRF(text));
		if (!date_parse_rfc3339(str_of(whole), &n, &zoned))
			return false;
		*at_ms = tally_day_at_ms(z, n / DAY_MS);
		return n >= 0;
	}
	return date_parse_rfc3339(text, at_ms, &zoned) && zoned && *at_ms > 0;
}

str since_day(struct arena *a, int64_t day)
{
	struct date d = date_of_ms(day * DAY_MS);

	return arena_fmt(a, "%04d-%02d-%02d", d.year, d.month, d.day);
}

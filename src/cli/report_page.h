/*
 * cli/report_page: the report on a span of time as one HTML page, from sums alone.
 */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include "cli/show.h"
#include "store/tally.h"

struct report {
	const struct tally *t; /* with all its parts */
	enum tally_unit unit; /* of its days */
	const struct config *cfg;
	const struct zone *zone;
	int64_t until_ms;
};

/* The page, in a. */
void report_page(struct buf *b, const struct report *r, struct arena *a);

#endif

/*
 * cli/chart: charts as inline SVG, each with its legend and, behind it, its numbers as a table.
 */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include "base/buf.h"

#define CHART_SERIES 4

enum chart_kind {
	CHART_COLUMNS, /* stacked, one a label, from left to right */
	CHART_CURVES, /* a curve for each series; 0 is a point where nothing was measured */
	CHART_ROWS, /* stacked, one a label, from top to bottom: for names */
};

struct chart {
	enum chart_kind kind;
	const char *title;
	const char *label; /* what the labels are: the head of the table's first column */
	const char *series[CHART_SERIES];
	int colours[CHART_SERIES]; /* of the page: c0 to c5 */
	size_t series_n;
	const str *labels; /* any text */
	const int64_t *values; /* n times series_n, 0 or more */
	size_t n;
	str (*show)(struct arena *a, int64_t value); /* with its unit */
	const char *note; /* under the chart, NULL none */
};

/* The whole section.  With nothing in it, it says so. */
void chart_write(struct buf *b, struct arena *a, const struct chart *c);

/* "950", "1.2k", "3.4M". */
str chart_short(struct arena *a, int64_t value);

#endif

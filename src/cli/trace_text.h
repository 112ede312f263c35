/*
 * cli/trace_text: a turn as a timeline for people.
 */
#ifndef CLI_TRACE_TEXT_H
#define CLI_TRACE_TEXT_H

#include "cli/show.h"
#include "store/trace.h"

/* What the requests of a turn used.  What was not reported is estimated, and counted in
 * .estimated. */
struct trace_sum {
	int64_t prompt, cached, completion;
	int64_t requests, failed, estimated;
	int64_t nano; /* money, of those with a price */
	int64_t unpriced; /* requests without one */
};
struct trace_sum trace_sum(const struct trace *t, const struct config *cfg);

/* At most 80 columns, no colours. */
void trace_text(struct buf *b, const struct trace *t, const struct config *cfg,
		const struct zone *z, struct arena *a);

#endif

/*
 * store/tally_sum: a sum that is being made, for the files of the tally.  Internal to store/.
 */
#ifndef STORE_TALLY_SUM_H
#define STORE_TALLY_SUM_H

#include "base/map.h"
#include "store/rows.h"
#include "store/tally.h"

struct sum {
	const struct tally_opt *opt;
	struct tally *t;
	struct db *db;
	struct arena *a; /* of the result */
	struct arena *tmp;
	struct spread *days; /* one a day, with TALLY_LATENCY */
	struct spread *tools; /* one a name; two a model */
	struct spread *models;
	struct map tool_names, model_names, error_names;
	int64_t day_from_ms, day_to_ms; /* the day that was looked up last */
	struct tally_day *day;
};

/* The tokens of a request, as columns of model_calls c. */
#define USED                                                                                   \
	"c.error, c.prompt_tokens, c.completion_tokens, c.cached_tokens, c.est_tokens, "       \
	"c.written_tokens, "                                                                   \
	"iif(c.completion_tokens IS NULL AND c.error = '', coalesce((SELECT "                  \
	"length(CAST(w.wire AS BLOB)) FROM turn_messages w WHERE w.turn_id = c.turn_id "       \
	"AND w.round = c.round AND w.idx = 0 AND w.role = 'assistant'), 0), 0)"

/* Those columns of a row, from col on: as reported, else estimated. */
struct tally_tokens sum_used(const struct rows *r, int col);

void sum_tokens(struct tally_tokens *to, const struct tally_tokens *used);

/* The place of a model in the list. */
size_t sum_model(struct sum *m, str issuer);

/* tally_sessions.c */
int sum_sessions(struct sum *m, struct err *e) MUSTUSE;

#endif

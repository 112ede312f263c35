/*
 * store/tally: what was done in a span of time, summed up: by day, session, tool, model, and what
 * went wrong.  Tokens come as reported; where a request was not counted, they are estimated and
 * it is one of .estimated.  Money is not in here: it is linear in the tokens of each model.
 *
 * Blocks   as long as the span has rows; nothing is sorted or collected row by row.
 * Limits   a row without a time that can be one (rows_at_ms) is of no day, and left out;
 *          TALLY_DAYS_MAX periods, TALLY_NAMES_MAX names of tools, models and errors each (what
 *          comes after them counts under "(others)"), so the memory does not grow with the rows.
 */
#ifndef STORE_TALLY_H
#define STORE_TALLY_H

#include "base/spread.h"
#include "config/price.h"
#include "sched/zone.h"
#include "store/store.h"

#define TALLY_DAYS_MAX 4000
#define TALLY_NAMES_MAX 200
#define TALLY_LATE_MS 120000 /* a schedule that began later than this after its time is late */

enum tally_unit { TALLY_DAY, TALLY_WEEK, TALLY_MONTH };

enum tally_part {
	TALLY_DAYS = 1, /* turns, tokens, schedules */
	TALLY_LATENCY = 2, /* of turns in each day */
	TALLY_SESSIONS = 4,
	TALLY_TOOLS = 8,
	TALLY_MODELS = 16,
	TALLY_ERRORS = 32,
};

struct tally_opt {
	unsigned parts;
	int64_t since_ms, until_ms; /* since 0: from the first that is known */
	const struct zone *zone; /* whose days they are */
	enum tally_unit unit;
	size_t sessions_max; /* those that used most tokens */
	str session_id; /* only this one, of TALLY_SESSIONS; "" all */
};

struct tally_tokens {
	int64_t requests, failed, prompt, cached, completion, written;
	int64_t estimated; /* requests of which a count is an estimate */
};

/* What one model had of a day or session. */
struct tally_share {
	struct tally_share *next;
	size_t model; /* in tally.models */
	struct tally_tokens used;
};

struct tally_day {
	int64_t day; /* its first one, counted from 1970-01-01 */
	int64_t turns, done, failed, canceled, unfinished;
	int64_t tool_calls;
	int64_t p50_ms, p95_ms; /* from being taken up to the answer, of turns that are done */
	struct tally_tokens used; /* also what belongs to no turn */
	struct tally_share *shares; /* of turns that are kept, and of our own work */
	int64_t on_time, late, broken, skipped; /* of schedules */
};

struct tally_session {
	str id, channel, address;
	int64_t turns, tool_calls;
	struct tally_tokens used;
	struct tally_share *shares;
};

struct tally_tool {
	str name;
	int64_t calls, done, failed, denied, in_doubt, canceled; /* the rest is not over */
	int64_t p50_ms, p95_ms;
};

struct tally_model {
	str issuer; /* "base URL|model" */
	struct tally_tokens used;
	int64_t first_p50_ms, p50_ms, p95_ms;
};

struct tally_error {
	str where; /* model, turn, tool, delivery, schedule */
	str what;
	int64_t n, last_at_ms;
};

struct tally {
	struct tally_day *days; /* in order, without gaps */
	struct tally_session *sessions; /* most tokens first */
	struct tally_tool *tools; /* most calls first */
	struct tally_model *models;
	struct tally_error *errors; /* most first */
	size_t days_n, sessions_n, tools_n, models_n, errors_n;
	int64_t sessions_all; /* how many there were, beside those in the list */
	int64_t since_ms; /* from where on it counts */
};

/* All in one view of the database. */
int store_tally(struct store *s, const struct tally_opt *opt, struct arena *a,
		struct tally *out, struct err *e) MUSTUSE;

/* What shares cost by the prices of the configuration. */
struct tally_cost {
	int64_t nano;
	int64_t priced, unpriced; /* requests that were answered, with and without a price */
	bool estimated; /* some of the tokens are */
};
struct tally_cost tally_cost(const struct tally *t, const struct tally_share *shares,
			     const struct models_cfg *prices);

/* "0.12 USD", "~" before it: of estimated tokens, "+" behind it: at least, as not all requests
 * have a price or are known by their model; "-" when nothing has a price. */
str tally_cost_text(struct arena *a, const struct tally_cost *c, const struct tally_tokens *all,
		    str currency);

/* The first day of the period that an instant is in, as tally_day.day. */
int64_t tally_period(const struct zone *z, enum tally_unit unit, int64_t at_ms);

/* When a day begins. */
int64_t tally_day_at_ms(const struct zone *z, int64_t day);

#endif

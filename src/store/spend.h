/*
 * store/spend: what was spent, and what is held for requests under way.
 *
 * A scope is a word that a limit is of ("day:20261130"); an amount counts in each scope that
 * it names.  What is held counts as spent until it is settled, also over a crash: then
 * recovery settles it as it was held, marked as estimated.
 */
#ifndef STORE_SPEND_H
#define STORE_SPEND_H

#include "store/store.h"

#define SPEND_SCOPES 4
#define SPEND_MOST INT64_C(100000000000000000) /* of one amount; more is cut to it */

struct spend_amount {
	int64_t tokens, nano; /* nano: money, as in config/price.h */
};

struct spent {
	struct spend_amount sum; /* with what is held */
	struct spend_amount held;
	struct spend_amount estimated; /* of the rest; not as reported */
};

/* What is spent in a scope, as committed and, in a transaction, as it stands there. */
int store_spent(struct store *s, str scope, struct spent *out, struct err *e) MUSTUSE;
int store_spent_in(struct tx *tx, str scope, struct spent *out, struct err *e) MUSTUSE;

/* Hold an amount in these scopes, words without blanks; *id names it for store_spend_settle(). */
int store_spend_hold(struct tx *tx, const str *scopes, size_t n,
		     const struct spend_amount *amount, int64_t *id, struct err *e) MUSTUSE;

/* What it came to; 0 is nothing.  Settled already: nothing happens. */
struct spend_settle {
	int64_t id; /* 0: nothing is held */
	struct spend_amount amount;
	bool estimated;
};
int store_spend_settle(struct tx *tx, const struct spend_settle *how, struct err *e) MUSTUSE;

/* The job that a turn is a run of, 0 none. */
int store_turn_job(struct store *s, str turn_id, int64_t *job_id, struct err *e) MUSTUSE;

/* The turn's run of a job counts as skipped, for this reason. */
int store_job_skipped(struct tx *tx, str turn_id, str reason, struct err *e) MUSTUSE;

#endif

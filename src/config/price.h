/*
 * config/price: what models cost, and what may be spent on them.
 *
 * Prices come from the configuration alone: none is built in, and a model without one costs
 * an unknown amount, never nothing.  Money is counted in whole billionths of the currency's
 * unit (nano), so that sums are exact; a sum that grows past what fits stays at INT64_MAX.
 */
#ifndef CONFIG_PRICE_H
#define CONFIG_PRICE_H

#include "base/buf.h"

/* Per million tokens, in nano. */
struct price {
	str model; /* glob on the model's name */
	/* cached: of a prompt's tokens that the provider had; written: that it keeps from now on */
	int64_t input, cached, output, written;
};

struct price_list {
	const struct price *v;
	size_t n;
};

struct models_cfg {
	struct price_list prices; /* the first that matches counts */
	str currency; /* a word to show */
};

/* Tokens of one request or of many; below 0: unknown, counted as none. */
struct price_usage {
	int64_t prompt, cached, completion, written; /* cached and written: parts of prompt */
};

/* The model's name out of an issuer, "base URL|model". */
str price_model(str issuer);

/* What that costs, rounded up to a whole nano.  False: the model has no price. */
bool price_of(const struct models_cfg *cfg, str model, const struct price_usage *u,
	      int64_t *nano);

/* The same of a request that is not answered yet, at its worst: nothing of it was kept, and all of
 * it is, if that costs more. */
bool price_worst(const struct models_cfg *cfg, str model, int64_t prompt, int64_t completion,
		 int64_t *nano);

/* An amount as people write it: digits with at most nine after a point.  False: anything
 * else, or more than a billion. */
bool price_read(str s, int64_t *nano);

/* "12.35 USD", "0.004217 USD": rounded to cents, or to a millionth below one unit. */
str price_text(struct arena *a, int64_t nano, str currency);

#endif

/*
 * What the sums cost.  A price is so much for a token, so it may be asked once for all tokens of
 * a model.
 */
#include "store/tally.h"

struct tally_cost tally_cost(const struct tally *t, const struct tally_share *shares,
			     const struct models_cfg *prices)
{
	struct tally_cost c = { 0 };

	for (const struct tally_share *s = shares; s; s = s->next) {
		const struct price_usage used = { .prompt = s->used.prompt,
						  .cached = s->used.cached,
						  .written = s->used.written,
						  .completion = s->used.completion };
		int64_t nano = 0, answered = s->used.requests - s->used.failed;
		if (!price_of(prices, price_model(t->models[s->model].issuer), &used, &nano)) {
			c.unpriced += answered;
			continue;
		}
		c.nano = c.nano > INT64_MAX - nano ? INT64_MAX : c.nano + nano;
		c.priced += answered;
		c.estimated = c.estimated || s->used.estimated > 0;
	}
	return c;
}

str tally_cost_text(struct arena *a, const struct tally_cost *c, const struct tally_tokens *all,
		    str currency)
{
	int64_t answered = all->requests - all->failed;

	if (!c->priced)
		return S("-");
	return arena_fmt(a, "%s%.*s%s", c->estimated ? "~" : "",
			 STRF(price_text(a, c->nano, currency)),
			 answered > c->priced ? "+" : "");
}

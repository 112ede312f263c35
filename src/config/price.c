/*
 * Prices: pure arithmetic on whole numbers.  Which model was asked, and how many tokens that
 * took, is for others to say.
 */
#include "config/price.h"

#define NANO 1000000000
#define MICRO 1000
#define CENT 10000000
#define PER 1000000 /* tokens a price is for */

/* Both below 2^63, so that three of these fit. */
static unsigned __int128 times(int64_t tokens, int64_t price)
{
	return tokens > 0 ? (unsigned __int128)tokens * (unsigned __int128)price : 0;
}

str price_model(str issuer)
{
	for (size_t at = str_find(issuer, S("|")); at != SIZE_MAX;
	     at = str_find(issuer, S("|")))
		issuer = str_sub(issuer, at + 1, issuer.n);
	return issuer;
}

bool price_of(const struct models_cfg *cfg, str model, const struct price_usage *u,
	      int64_t *nano)
{
	const struct price *p = NULL;

	for (size_t i = 0; i < cfg->prices.n && !p; i++)
		if (str_glob(cfg->prices.v[i].model, model))
			p = &cfg->prices.v[i];
	if (!p)
		return false;
	int64_t prompt = u->prompt > 0 ? u->prompt : 0;
	int64_t cached = u->cached > 0 ? u->cached : 0,
		written = u->written > 0 ? u->written : 0;
	cached = cached < prompt ? cached : prompt;
	written = written < prompt - cached ? written : prompt - cached;
	unsigned __int128 sum = times(prompt - cached - written, p->input) +
				times(cached, p->cached) + times(written, p->written) +
				times(u->completion, p->output);
	sum = (sum + PER - 1) / PER;
	*nano = sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
	return true;
}

bool price_worst(const struct models_cfg *cfg, str model, int64_t prompt, int64_t completion,
		 int64_t *nano)
{
	struct price_usage plain = { .prompt = prompt, .completion = completion };
	struct price_usage kept = plain;
	int64_t other = 0;

	kept.written = prompt;
	if (!price_of(cfg, model, &plain, nano) || !price_of(cfg, model, &kept, &other))
		return false;
	*nano = other > *nano ? other : *nano;
	return true;
}

bool price_read(str s, int64_t *nano)
{
	int64_t v = 0;
	size_t digits = 0, after = 0;
	bool point = false;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' && !point && digits) {
			point = true;
			continue;
		}
		if (s.p[i] < '0' || s.p[i] > '9' || (point && after == 9) ||
		    v > (int64_t)NANO * NANO / 10)
			return false;
		v = v * 10 + (s.p[i] - '0');
		digits++;
		after += point;
	}
	if (digits == 0 || (point && after == 0))
		return false;
	for (; after < 9; after++) {
		if (v > (int64_t)NANO * NANO / 10)
			return false;
		v *= 10;
	}
	*nano = v;
	return v <= (int64_t)NANO * NANO;
}

str price_text(struct arena *a, int64_t nano, str currency)
{
	bool large = nano >= NANO;
	int64_t step = large ? CENT : MICRO;
	int64_t n = nano / step + (nano % step >= step / 2);
	int64_t whole = n / (NANO / step), part = n % (NANO / step);

	return arena_fmt(a, large ? "%lld.%02lld %.*s" : "%lld.%06lld %.*s", (long long)whole,
			 (long long)part, STRF(currency));
}

/*
 * What models cost, in whole billionths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/price.h"

#define NO (-1)
#define BILLION INT64_C(1000000000)

static const struct {
	const char *in;
	int64_t out; /* NO: refused */
} amounts[] = {
	{ "0", 0 },
	{ "2.50", 2500000000 },
	{ "10", 10 * BILLION },
	{ "0.000000001", 1 },
	{ "0.0000000001", NO },
	{ "1000000000", BILLION *BILLION },
	{ "1000000000.0", BILLION *BILLION },
	{ "1000000000.000000001", NO },
	{ "1000000001", NO },
	{ "99999999999999999999999999", NO },
	{ "9223372036854775807", NO },
	{ "", NO },
	{ ".5", NO },
	{ "5.", NO },
	{ "1.2.3", NO },
	{ "-1", NO },
	{ "+1", NO },
	{ "1e3", NO },
	{ "1,5", NO },
	{ "$2", NO },
	{ "2 ", NO },
};

static void amounts_are_exact_decimals(void **state)
{
	for (size_t i = 0; i < COUNT(amounts); i++) {
		int64_t v = NO;
		bool ok = price_read(str_of(amounts[i].in), &v);

		if (ok != (amounts[i].out != NO) || (ok && v != amounts[i].out))
			fail_msg("%s: %lld", amounts[i].in, (long long)v);
	}
}

static const struct price rows[] = {
	{ { "gpt-4o-mini", 11 }, 150000000, 75000000, 600000000, 0 },
	{ { "gpt-*", 5 }, 2500000000, 1250000000, 10 * BILLION, 0 },
	{ { "tiny", 4 }, 1, 0, 1, 0 },
	{ { "huge", 4 },
	  BILLION *BILLION,
	  BILLION *BILLION,
	  BILLION *BILLION,
	  BILLION *BILLION },
	{ { "keeps", 5 }, BILLION, BILLION / 10, 2 * BILLION, BILLION + BILLION / 4 },
	{ { "gives", 5 }, BILLION, BILLION / 10, 2 * BILLION, 0 },
};
static const struct models_cfg cfg = { .prices = { rows, COUNT(rows) },
				       .currency = { "USD", 3 } };

static const struct {
	const char *model;
	struct price_usage used;
	int64_t nano; /* NO: no price */
} costs[] = {
	{ "gpt-4o-mini", { 1000000, 0, 0, 0 }, 150000000 },
	{ "gpt-4o-mini", { 1000, 400, 200, 0 }, 90000 + 30000 + 120000 },
	{ "gpt-4o", { 1, 0, 0, 0 }, 2500 },
	{ "gpt-4o", { 1, 1, 1, 0 }, 1250 + 10000 },
	{ "gpt-4o", { 1, 5, 0, 0 }, 1250 }, /* no more of it than there was */
	{ "gpt-4o", { -1, -1, -1, 0 }, 0 },
	{ "gpt-4o", { 3, -1, -1, 0 }, 7500 },
	{ "gpt-4o", { -1, 7, -1, 0 }, 0 },
	{ "tiny", { 1, 0, 0, 0 }, 1 }, /* a millionth of a nano is not nothing */
	{ "tiny", { 1000000, 0, 0, 0 }, 1 },
	{ "tiny", { 1000001, 0, 0, 0 }, 2 },
	{ "tiny", { 1, 1, 0, 0 }, 0 },
	{ "huge", { INT64_MAX, INT64_MAX, INT64_MAX, 0 }, INT64_MAX },
	{ "huge", { INT64_MAX, 1, INT64_MAX, 0 }, INT64_MAX },
	{ "huge", { 9, 0, 0, 0 }, 9 * BILLION *BILLION / 1000000 },
	{ "keeps", { 1000, 400, 200, 300 }, 300000 + 40000 + 375000 + 400000 },
	{ "keeps", { 1000, 400, 200, 9000 }, 40000 + 750000 + 400000 },
	{ "keeps", { 1000, 0, 0, -1 }, 1000000 },
	{ "huge", { INT64_MAX, 1, INT64_MAX, INT64_MAX }, INT64_MAX },
	{ "o3", { 1, 0, 0, 0 }, NO },
	{ "", { 1, 0, 0, 0 }, NO },
};

static void the_first_price_that_matches_counts_and_nothing_is_lost(void **state)
{
	for (size_t i = 0; i < COUNT(costs); i++) {
		int64_t nano = NO;
		bool ok = price_of(&cfg, str_of(costs[i].model), &costs[i].used, &nano);

		if (ok != (costs[i].nano != NO) || nano != costs[i].nano)
			fail_msg("%zu %s: %lld", i, costs[i].model, (long long)nano);
	}
}

static void the_worst_case_is_that_all_is_kept_when_that_costs_more(void **state)
{
	int64_t nano = 0;

	assert_true(price_worst(&cfg, S("keeps"), 1000, 200, &nano));
	assert_int_equal(nano, 1250000 + 400000);
	assert_true(price_worst(&cfg, S("gives"), 1000, 200, &nano));
	assert_int_equal(nano, 1000000 + 400000);
	assert_false(price_worst(&cfg, S("o3"), 1, 1, &nano));
}

static const struct {
	int64_t nano;
	const char *out;
} texts[] = {
	{ 0, "0.000000 USD" },
	{ 499, "0.000000 USD" },
	{ 500, "0.000001 USD" },
	{ 4217000, "0.004217 USD" },
	{ 999999999, "1.000000 USD" },
	{ BILLION, "1.00 USD" },
	{ 12345000000, "12.35 USD" },
	{ 12344999999, "12.34 USD" },
	{ INT64_MAX, "9223372036.85 USD" },
};

static void amounts_are_shown_rounded(void **state)
{
	for (size_t i = 0; i < COUNT(texts); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(price_text(&a, texts[i].nano, S("USD")).p, texts[i].out);
	}
}

static void the_model_is_what_follows_the_last_bar_of_an_issuer(void **state)
{
	assert_true(str_eq(price_model(S("https://a/v1|gpt-4o")), S("gpt-4o")));
	assert_true(str_eq(price_model(S("https://a/v1?x|y|m")), S("m")));
	assert_true(str_eq(price_model(S("m")), S("m")));
	assert_true(str_eq(price_model(S("")), S("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_are_exact_decimals),
		cmocka_unit_test(the_first_price_that_matches_counts_and_nothing_is_lost),
		cmocka_unit_test(the_worst_case_is_that_all_is_kept_when_that_costs_more),
		cmocka_unit_test(amounts_are_shown_rounded),
		cmocka_unit_test(the_model_is_what_follows_the_last_bar_of_an_issuer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

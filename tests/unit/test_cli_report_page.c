/* The report: the whole page of a small tally, byte for byte (tests/cases/seeing/report.html). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/report_page.h"
#include "os/file.h"

#define GOLDEN "tests/cases/seeing/report.html"
#define DAY INT64_C(86400000)
#define T0 (INT64_C(20787) * DAY) /* 2026-11-30T00:00:00Z */

static const struct price prices[] = { { S("gpt-*"), 2000000000, 500000000, 8000000000,
					 2000000000 } };
static const str secrets[] = { S("s3cr3t-value") };

static struct config *config(struct arena *a, bool priced)
{
	struct config *cfg = NEW(a, struct config);

	cfg->models.prices.v = prices;
	cfg->models.prices.n = priced ? 1 : 0;
	cfg->models.currency = S("USD");
	cfg->secrets = secrets;
	cfg->secrets_n = 1;
	return cfg;
}

static struct tally_share shares[] = {
	{ .model = 0,
	  .used = { .requests = 3,
		    .failed = 1,
		    .prompt = 3000000,
		    .cached = 1000000,
		    .completion = 100000 } },
};

static struct tally_share little = { .model = 0, .used = { .requests = 1, .prompt = 100 } };

static struct tally_day days[] = {
	{ .day = 20786,
	  .turns = 3,
	  .done = 2,
	  .failed = 1,
	  .tool_calls = 4,
	  .p50_ms = 1500,
	  .p95_ms = 9000,
	  .used = { .requests = 4,
		    .failed = 1,
		    .prompt = 3000000,
		    .cached = 1000000,
		    .completion = 100000,
		    .estimated = 1 },
	  .shares = &shares[0],
	  .on_time = 2,
	  .late = 1,
	  .broken = 1,
	  .skipped = 3 },
	{ .day = 20787, .turns = 1, .canceled = 1 },
};

static struct tally_tool tools[] = {
	{ .name = S("srv__<script>alert(1)</script>"),
	  .calls = 3,
	  .done = 2,
	  .failed = 1,
	  .p50_ms = 10,
	  .p95_ms = 20 },
	{ .name = S("x\xe2\x80\xaey\"'&"), .calls = 1, .denied = 1 },
};

static struct tally_session sessions[] = {
	{ .id = S("s1"),
	  .channel = S("telegram"),
	  .address = S("</text>"),
	  .turns = 3,
	  .used = { .requests = 3, .prompt = 3000, .completion = 100 } },
};

static struct tally_model models[] = {
	{ .issuer = S("https://user:pw@host/v1|gpt-1"),
	  .used = { .requests = 4,
		    .failed = 1,
		    .prompt = 3000000,
		    .cached = 1000000,
		    .completion = 100000 },
	  .first_p50_ms = 300,
	  .p50_ms = 1200,
	  .p95_ms = 4000 },
};

static struct tally_error errors[] = {
	{ .where = S("model"), .what = S("rate_limit s3cr3t-value"), .n = 2, .last_at_ms = T0 },
};

static struct tally whole(void)
{
	return (struct tally){
		.days = days,
		.days_n = COUNT(days),
		.tools = tools,
		.tools_n = COUNT(tools),
		.sessions = sessions,
		.sessions_n = COUNT(sessions),
		.models = models,
		.models_n = COUNT(models),
		.errors = errors,
		.errors_n = COUNT(errors),
		.since_ms = T0 - DAY,
	};
}

static str page_of(const struct tally *t, bool priced, struct arena *a)
{
	struct buf b = buf_in(a, 4u << 20);

	report_page(&b,
		    &(struct report){ .t = t,
				      .cfg = config(a, priced),
				      .zone = &zone_utc,
				      .until_ms = T0 + 43200000 },
		    a);
	return buf_str(&b);
}

static void a_page_is_the_same_bytes_for_the_same_sums(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct tally t = whole();
	struct err e = { 0 };
	str page = page_of(&t, true, &a), want;

	if (file_read(&want, &a, GOLDEN, 1u << 20, &e) < 0)
		fail_msg("%s", e.msg);
	if (!str_eq(page, want)) {
		size_t i = 0;
		while (i < page.n && i < want.n && page.p[i] == want.p[i])
			i++;
		fail_msg("differs at byte %zu: %.80s", i, page.p + i);
	}
	(void)state;
}

static void hostile_names_and_secrets_do_not_come_through(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct tally t = whole();
	str page = page_of(&t, true, &a);

	assert_true(str_has(page, S("srv__&lt;script&gt;alert(1)&lt;/script&gt;")));
	assert_false(str_has(page, S("<script")));
	assert_false(str_has(page, S("\xe2\x80\xae")));
	assert_false(str_has(page, secrets[0]));
	assert_false(str_has(page, S("user:pw")));
	assert_false(str_has(page, S("http://")));
	assert_false(str_has(page, S("https://")));
	(void)state;
}

static void cost_is_shown_only_with_prices(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct tally t = whole();

	/* 2 M at 2, 1 M at 0.5, 100 k at 8 a million; a request is not among the shares. */
	assert_true(str_has(page_of(&t, true, &a), S("5.30 USD+")));
	assert_true(str_has(page_of(&t, false, &a), S("No prices are configured")));
	days[0].shares = &little;
	assert_true(str_has(page_of(&t, true, &a), S(">0.0002</td>")));
	days[0].shares = shares;
	(void)state;
}

static void without_anything_each_chart_says_so(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct tally t = { .since_ms = T0 };
	str page = page_of(&t, true, &a);
	size_t n = 0;

	for (const char *p = page.p; (p = strstr(p, "Nothing in this time.")); p++)
		n++;
	assert_int_equal(n, 9);
	assert_false(str_has(page, S("<svg")));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_the_same_bytes_for_the_same_sums),
		cmocka_unit_test(hostile_names_and_secrets_do_not_come_through),
		cmocka_unit_test(cost_is_shown_only_with_prices),
		cmocka_unit_test(without_anything_each_chart_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

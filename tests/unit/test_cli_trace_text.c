/* A turn as a timeline: the whole text of one in which everything happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/trace_text.h"
#include "os/file.h"

#define GOLDEN "tests/cases/seeing/trace.txt"
#define T0 INT64_C(1796054400000) /* 2026-11-30T16:00:00Z */

static const struct price prices[] = { { S("gpt-*"), 2000000000, 500000000, 8000000000,
					 2000000000 } };

static struct config *config(struct arena *a)
{
	struct config *cfg = NEW(a, struct config);

	cfg->models.prices.v = prices;
	cfg->models.prices.n = COUNT(prices);
	cfg->models.currency = S("USD");
	return cfg;
}

static struct trace_model models[] = {
	{ .round = 1,
	  .attempt = 1,
	  .issuer = S("http://x|gpt-1"),
	  .finish = S("tool_calls"),
	  .prompt_tokens = 1000,
	  .completion_tokens = 20,
	  .cached_tokens = 600,
	  .first_token_ms = 400,
	  .total_ms = 1000,
	  .started_at_ms = T0 + 2000 },
	{ .round = 2,
	  .attempt = 2,
	  .issuer = S("http://x|gpt-1"),
	  .error = S("rate_limit"),
	  .prompt_tokens = -1,
	  .completion_tokens = -1,
	  .cached_tokens = -1,
	  .total_ms = 500,
	  .started_at_ms = T0 + 70000 },
	{ .round = 2,
	  .attempt = 3,
	  .issuer = S("http://x|gpt-1"),
	  .finish = S("stop"),
	  .prompt_tokens = -1,
	  .completion_tokens = -1,
	  .cached_tokens = -1,
	  .est_tokens = 1200,
	  .answer_bytes = 41,
	  .total_ms = 1500,
	  .started_at_ms = T0 + 70500 },
};

static struct trace_call calls[] = {
	{ .round = 1,
	  .index = 1,
	  .id = S("c1"),
	  .tool = S("web_fetch"),
	  .args = S("{\"url\":\"x\"}"),
	  .state = S("done"),
	  .decision = S("allow"),
	  .decider = S("policy"),
	  .duration_ms = 800,
	  .created_at_ms = T0 + 3000,
	  .started_at_ms = T0 + 3000,
	  .finished_at_ms = T0 + 3800 },
	{ .round = 1,
	  .index = 2,
	  .id = S("c2"),
	  .tool = S("read_file"),
	  .args = S("{}"),
	  .state = S("failed"),
	  .decision = S("allow"),
	  .decider = S("policy"),
	  .duration_ms = 200,
	  .created_at_ms = T0 + 3000,
	  .started_at_ms = T0 + 3100,
	  .finished_at_ms = T0 + 3300 },
	{ .round = 1,
	  .index = 3,
	  .id = S("c3"),
	  .tool = S("exec"),
	  .args = S("{\"command\":\"rm -r build\"}"),
	  .state = S("done"),
	  .decision = S("allow"),
	  .decider = S("111"),
	  .duration_ms = 4000,
	  .has_exit = true,
	  .created_at_ms = T0 + 3000,
	  .started_at_ms = T0 + 63000,
	  .finished_at_ms = T0 + 67000 },
};

static struct trace_ask asks[] = {
	{ .tool = S("exec"),
	  .call_id = S("c3"),
	  .state = S("used"),
	  .decided_by = S("111"),
	  .reason = S("it deletes"),
	  .created_at_ms = T0 + 3000,
	  .decided_at_ms = T0 + 63000 },
};

static struct trace_out outs[] = {
	{ .id = 1,
	  .channel = S("telegram"),
	  .kind = S("reply"),
	  .state = S("dead"),
	  .error = S("400 Bad Request"),
	  .pieces = 3,
	  .sent = 1,
	  .unknown = 1,
	  .dead = 1,
	  .attempts = 4,
	  .created_at_ms = T0 + 72100,
	  .finished_at_ms = T0 + 73000 },
};

static struct trace whole(void)
{
	return (struct trace){
		.id = S("t1"),
		.session_id = S("s1"),
		.channel = S("telegram"),
		.address = S("111"),
		.state = S("done"),
		.kind = S("message"),
		.rows_n = 1,
		.claims = 2,
		.arrived_at_ms = T0,
		.started_at_ms = T0 + 2000,
		.updated_at_ms = T0 + 72000,
		.finished_at_ms = T0 + 72000,
		.models = models,
		.models_n = COUNT(models),
		.calls = calls,
		.calls_n = COUNT(calls),
		.asks = asks,
		.asks_n = COUNT(asks),
		.outs = outs,
		.outs_n = COUNT(outs),
	};
}

static str text_of(const struct trace *t, struct arena *a)
{
	struct buf b = buf_in(a, 1u << 20);

	trace_text(&b, t, config(a), &zone_utc, a);
	return buf_str(&b);
}

static void ok_file(struct arena *a, str text)
{
	struct err e = { 0 };
	str want;

	if (file_read(&want, a, GOLDEN, 1u << 20, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(text.p, want.p);
}

static void everything_that_took_time_is_a_line_of_at_most_80_columns(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct trace t = whole();
	str text = text_of(&t, &a), rest = text;

	while (rest.n)
		assert_true(str_cut(&rest, '\n').n <= 80);
	ok_file(&a, text);
	(void)state;
}

static void the_sum_counts_money_and_marks_what_was_not_reported(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct trace t = whole();
	struct trace_sum s = trace_sum(&t, config(&a));

	assert_int_equal(s.requests, 3);
	assert_int_equal(s.failed, 1);
	assert_int_equal(s.estimated, 1);
	assert_int_equal(s.prompt, 2200);
	assert_int_equal(s.cached, 600);
	assert_int_equal(s.completion, 20 + 11);
	/* 400 at 2, 600 at 0.5, 20 at 8; 1200 at 2, 11 at 8, a million. */
	assert_int_equal(s.nano, 800000 + 300000 + 160000 + 2400000 + 88000);
	assert_int_equal(s.unpriced, 0);
	models[2].issuer = S("http://x|other");
	s = trace_sum(&t, config(&a));
	assert_int_equal(s.unpriced, 1);
	models[2].issuer = models[0].issuer;
	(void)state;
}

static void what_is_not_over_says_so_and_what_nothing_covers_is_a_gap(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct trace t = whole();

	t.state = S("parked");
	t.finished_at_ms = 0;
	t.updated_at_ms = T0 + 4000;
	t.models_n = 1;
	t.calls_n = 2;
	t.outs_n = 0;
	asks[0].decided_at_ms = 0;
	str text = text_of(&t, &a);
	assert_true(str_has(text, S("not over")));
	assert_false(str_has(text, S("gap")));
	asks[0].decided_at_ms = T0 + 63000;
	t.asks_n = 0;
	t.updated_at_ms = t.finished_at_ms = T0 + 20000;
	assert_true(str_has(text_of(&t, &a), S("16.2 s")));
	assert_true(str_has(text_of(&t, &a), S("nothing journaled")));
	(void)state;
}

static void a_turn_without_anything_is_shown(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct trace t = { .id = S("t"),
				 .session_id = S("s"),
				 .state = S("ready"),
				 .started_at_ms = T0,
				 .updated_at_ms = T0 };

	assert_true(str_has(text_of(&t, &a), S("turn t: ready")));
	(void)state;
}

static void what_has_no_time_stands_at_the_beginning(void **state)
{
	struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);
	struct trace_call call = { .round = 1,
				   .tool = S("exec"),
				   .args = S("{}"),
				   .state = S("done"),
				   .duration_ms = INT64_C(1000000000000) };
	struct trace t = { .id = S("t"),
			   .state = S("done"),
			   .started_at_ms = T0,
			   .finished_at_ms = T0 + 10,
			   .calls = &call,
			   .calls_n = 1 };

	trace_text(&b, &t, config(&a), &zone_utc, &a);
	assert_true(str_find(buf_str(&b), S("\n    0.000      0 ms  #")) != SIZE_MAX);
	assert_true(str_find(buf_str(&b), S("-1796")) == SIZE_MAX);
	assert_string_equal(show_time(&zone_utc, &a, INT64_MAX).p, "no such time");
	assert_string_equal(show_time(&zone_utc, &a, INT64_MIN).p, "no such time");
	assert_string_equal(show_time(&zone_utc, &a, T0).p, "2026-11-30 16:00:00");
	arena_free(&a);
	(void)state;
}

static void durations_are_short(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0 ms" },
		{ 999, "999 ms" },
		{ 1000, "1.0 s" },
		{ 1249, "1.2 s" },
		{ 59949, "59.9 s" },
		{ 59950, "1 m 00 s" },
		{ 3599499, "59 m 59 s" },
		{ 3600000, "1 h 00 m" },
		{ 90000000, "1 d 01 h" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(show_ms(&a, rows[i].ms).p, rows[i].text);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_took_time_is_a_line_of_at_most_80_columns),
		cmocka_unit_test(the_sum_counts_money_and_marks_what_was_not_reported),
		cmocka_unit_test(what_is_not_over_says_so_and_what_nothing_covers_is_a_gap),
		cmocka_unit_test(a_turn_without_anything_is_shown),
		cmocka_unit_test(what_has_no_time_stands_at_the_beginning),
		cmocka_unit_test(durations_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

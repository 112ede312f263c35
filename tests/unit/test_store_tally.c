/* Sums by day, session, tool and model, and what they cost. */
#include "store_world.h"

#include "os/clock.h"
#include "store/db.h"
#include "store/tally.h"

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))
#define DAY INT64_C(86400000)
#define T0 (INT64_C(20787) * DAY) /* 2026-11-30T00:00:00Z, a Monday */

/* Rows as the steps of turns leave them, at times of our choosing. */
static void turn(struct world *w, const char *id, const char *session, int64_t at_ms,
		 int64_t ms, const char *state)
{
	world_sql(w,
		  arena_fmt(&w->a,
			    "INSERT OR IGNORE INTO sessions (id, channel, address, "
			    "created_at_ms, updated_at_ms) VALUES ('%s', 'test', '%s', 1, 1); "
			    "INSERT INTO turns (id, session_id, state, epoch, error, "
			    "started_at_ms, updated_at_ms, finished_at_ms) VALUES ('%s', '%s', "
			    "'%s', 1, iif('%s' = 'failed', 'auth', ''), %lld, 1, "
			    "iif('%s' = 'running', NULL, %lld)); INSERT INTO usage "
			    "(minute_at_ms, turns) VALUES (%lld, 1) ON CONFLICT DO UPDATE SET "
			    "turns = turns + 1",
			    session, session, id, session, state, state, (long long)at_ms,
			    state, (long long)(at_ms + ms), (long long)(at_ms - at_ms % 60000))
			  .p);
}

/* tokens: "prompt, completion, cached". */
static void request(struct world *w, const char *turn_id, int64_t round, const char *issuer,
		    int64_t at_ms, const char *tokens, const char *error)
{
	world_sql(w, "INSERT OR IGNORE INTO request_parts VALUES (1, 1, '', 1)");
	world_sql(w,
		  arena_fmt(&w->a,
			    "INSERT INTO model_calls (turn_id, round, attempt, issuer, params, "
			    "system_part, tools_part, error, est_tokens, first_token_ms, "
			    "total_ms, started_at_ms, prompt_tokens, completion_tokens, "
			    "cached_tokens) VALUES ('%s', %lld, 1, '%s', '', 1, 1, '%s', 500, "
			    "100, 400, %lld, %s); INSERT INTO usage (minute_at_ms, "
			    "model_calls, prompt_tokens, completion_tokens, cached_tokens) "
			    "SELECT %lld, 1, coalesce(prompt_tokens, 0), "
			    "coalesce(completion_tokens, 0), coalesce(cached_tokens, 0) FROM "
			    "model_calls WHERE id = (SELECT max(id) FROM model_calls) "
			    "ON CONFLICT DO UPDATE SET model_calls = model_calls + 1, "
			    "prompt_tokens = prompt_tokens + excluded.prompt_tokens, "
			    "completion_tokens = completion_tokens + "
			    "excluded.completion_tokens, cached_tokens = cached_tokens + "
			    "excluded.cached_tokens",
			    turn_id, (long long)round, issuer, error, (long long)at_ms, tokens,
			    (long long)(at_ms - at_ms % 60000))
			  .p);
}

static void call(struct world *w, const char *id, const char *name, int64_t at_ms, int64_t ms,
		 const char *state)
{
	world_sql(w,
		  arena_fmt(&w->a,
			    "INSERT INTO tool_calls (id, session_id, turn_id, round, idx, seq, "
			    "provider_id, requested, name, args, safe, state, duration_ms, "
			    "created_at_ms) VALUES ('%s', 's1', '%s', 1, 1, 1, '', 'r', '%s', "
			    "'{}', 1, '%s', %lld, %lld)",
			    id, id, name, state, (long long)ms, (long long)at_ms)
			  .p);
}

static void run_of(struct world *w, int64_t due_ms, int64_t at_ms, const char *state, int64_t n)
{
	world_sql(w,
		  "INSERT OR IGNORE INTO jobs (id, source, channel, address, prompt, kind, "
		  "expr, zone, created_at_ms, updated_at_ms) VALUES (1, 'chat', 'c', 'a', 'p', "
		  "'daily', '08:00', 'UTC', 1, 1)");
	world_sql(w, arena_fmt(&w->a,
			       "INSERT INTO job_runs (job_id, scheduled_at_ms, last_at_ms, n, "
			       "state, started_at_ms) VALUES (1, %lld, %lld, %lld, '%s', %lld)",
			       (long long)due_ms, (long long)due_ms, (long long)n, state,
			       (long long)at_ms)
			     .p);
}

static struct tally tally(struct world *w, struct tally_opt opt)
{
	struct tally t;

	opt.zone = opt.zone ? opt.zone : &zone_utc;
	ok(w, store_tally(w->s, &opt, &w->a, &t, &w->e));
	return t;
}

static void fill(struct world *w)
{
	turn(w, "t1", "s1", T0 + 1000, 4000, "done");
	request(w, "t1", 1, "u|big", T0 + 1100, "1000, 50, 400", "");
	request(w, "t1", 2, "u|big", T0 + 3000, "NULL, NULL, NULL", "rate_limit");
	request(w, "t1", 3, "u|small", T0 + 3500, "NULL, NULL, NULL", "");
	world_sql(
		w,
		"INSERT INTO turn_messages (session_id, turn_id, seq, round, idx, role, wire, "
		"created_at_ms) VALUES ('s1', 't1', 1, 3, 0, 'assistant', '12345678', 1)");
	turn(w, "t2", "s2", T0 + DAY - 1, 1000, "failed");
	turn(w, "t3", "s2", T0 + 2 * DAY, 0, "running");
	request(w, "t3", 1, "u|small", T0 + 2 * DAY, "70, 7, 0", "");
	turn(w, "t4", "s2", T0 + 2 * DAY + 5, 9, "canceled");
	call(w, "c1", "exec", T0 + 2000, 100, "done");
	call(w, "c2", "exec", T0 + 2000, 300, "failed");
	call(w, "c3", "exec", T0 + 2000, 0, "denied");
	call(w, "c4", "web", T0 + DAY, 7, "in_doubt");
	run_of(w, T0, T0 + 1000, "ok", 1);
	run_of(w, T0 + 1, T0 + 1 + TALLY_LATE_MS + 1, "ok", 1);
	run_of(w, T0 + 2, T0 + 2, "error", 1);
	run_of(w, T0 + 3, T0 + 3, "skipped", 4);
	run_of(w, T0 + 4, T0 + 4, "started", 1);
}

static void days_hold_what_was_done_in_them_and_none_is_left_out(void **state)
{
	struct world *w = *state;

	fill(w);
	struct tally t = tally(w, (struct tally_opt){ .parts = TALLY_DAYS | TALLY_LATENCY,
						      .since_ms = T0,
						      .until_ms = T0 + 3 * DAY });
	assert_int_equal(t.days_n, 4);
	assert_int_equal(t.days[0].day, 20787);
	assert_int_equal(t.days[0].turns, 2);
	assert_int_equal(t.days[0].done, 1);
	assert_int_equal(t.days[0].failed, 1);
	assert_int_equal(t.days[0].p50_ms, 4000);
	assert_int_equal(t.days[0].used.requests, 3);
	assert_int_equal(t.days[0].used.failed, 1);
	assert_int_equal(t.days[0].used.prompt, 1500);
	assert_int_equal(t.days[0].used.completion, 52);
	assert_int_equal(t.days[0].used.cached, 400);
	assert_int_equal(t.days[0].used.estimated, 1);
	assert_int_equal(t.days[0].on_time * 1000 + t.days[0].late * 100 +
				 t.days[0].broken * 10 + t.days[0].skipped,
			 1114);
	assert_int_equal(t.days[1].turns, 0);
	assert_int_equal(t.days[2].unfinished, 1);
	assert_int_equal(t.days[2].canceled, 1);
	assert_int_equal(t.days[2].used.prompt, 70);
	assert_int_equal(t.days[3].turns, 0);
}

static void what_was_outside_of_the_span_does_not_count(void **state)
{
	struct world *w = *state;

	fill(w);
	struct tally t = tally(w, (struct tally_opt){ .parts = ~0u,
						      .since_ms = T0 + DAY - 1,
						      .until_ms = T0 + 2 * DAY,
						      .sessions_max = 5 });
	assert_int_equal(t.days_n, 3);
	assert_int_equal(t.days[0].turns + t.days[1].turns + t.days[2].turns, 2);
	assert_int_equal(t.tools_n, 1);
	assert_int_equal(t.sessions_n, 1);
	assert_int_equal(t.models_n, 1);
}

static void without_a_beginning_it_is_the_first_row(void **state)
{
	struct world *w = *state;
	struct tally_opt opt = { .parts = TALLY_DAYS, .until_ms = T0 + DAY };

	assert_int_equal(tally(w, opt).days_n, 1);
	fill(w);
	assert_int_equal(tally(w, opt).since_ms, T0);
	assert_int_equal(tally(w, opt).days_n, 2);
}

/* As a foreign shell can write them: a time is none, an amount has an end. */
static void rows_with_absurd_numbers_are_left_out_or_bounded(void **state)
{
	static const char *const times[] = { "9223372036854775807", "-9223372036854775808",
					     "253402300800000", "-1" };
	struct world *w = *state;

	fill(w);
	for (size_t i = 0; i < COUNT(times); i++)
		world_sql(w,
			  arena_fmt(&w->a,
				    "UPDATE turns SET started_at_ms = %s WHERE id = 't2'; "
				    "INSERT INTO turns (id, session_id, state, epoch, "
				    "error, started_at_ms, updated_at_ms, finished_at_ms) "
				    "VALUES ('x%zu', 's3', 'done', 1, '', %s, %s, %s); "
				    "INSERT INTO usage (minute_at_ms, turns) VALUES (%zu - "
				    "9223372036854775807, 1); INSERT INTO tool_calls (id, "
				    "session_id, turn_id, round, idx, seq, provider_id, "
				    "requested, name, args, safe, state, duration_ms, "
				    "created_at_ms) VALUES ('x%zu', 's1', 'x', 1, %zu, 1, '', "
				    "'r', 'n', '{}', 1, 'done', %s, %s)",
				    times[i], i, times[i], times[i], times[i], i, i, i,
				    times[i], times[i])
				  .p);
	world_sql(w, "UPDATE model_calls SET prompt_tokens = 9223372036854775807, "
		     "completion_tokens = -9223372036854775807 - 1, cached_tokens = -5, "
		     "total_ms = 9223372036854775807, first_token_ms = 9223372036854775807 "
		     "WHERE turn_id = 't1' AND error = ''");
	struct tally t =
		tally(w, (struct tally_opt){
				 .parts = ~0u, .until_ms = T0 + 3 * DAY, .sessions_max = 9 });
	assert_int_equal(t.since_ms, T0);
	assert_int_equal(t.days_n, 4);
	assert_int_equal(t.days[0].turns, 1);
	assert_int_equal(t.tools_n, 2);
	assert_int_equal(t.sessions_n, 2);
	assert_text(t.sessions[0].id, "s1");
	assert_int_equal(t.sessions[0].used.prompt, 2 * ROWS_MOST);
	assert_int_equal(t.sessions[0].used.completion, 0);
	assert_int_equal(t.sessions[0].used.cached, 0);
	assert_in_range(t.models[0].p95_ms, 1, ROWS_MOST);
}

static void weeks_begin_on_monday_and_months_on_the_first(void **state)
{
	struct world *w = *state;

	turn(w, "t0", "s1", T0 - 1, 1, "done");
	fill(w);
	struct tally_opt opt = { .parts = TALLY_DAYS,
				 .unit = TALLY_WEEK,
				 .since_ms = T0 - 1,
				 .until_ms = T0 + 3 * DAY };
	struct tally t = tally(w, opt);
	assert_int_equal(t.days_n, 2);
	assert_int_equal(t.days[0].day, 20787 - 7);
	assert_int_equal(t.days[0].turns, 1);
	assert_int_equal(t.days[1].turns, 4);
	opt.unit = TALLY_MONTH;
	t = tally(w, opt);
	assert_int_equal(t.days_n, 2);
	assert_int_equal(t.days[0].day, 20787 - 29);
	assert_int_equal(t.days[0].turns, 3);
	assert_int_equal(t.days[1].turns, 2);
}

static void the_heaviest_sessions_are_kept(void **state)
{
	struct world *w = *state;
	struct tally_opt opt = { .parts = TALLY_SESSIONS,
				 .since_ms = T0,
				 .until_ms = T0 + 3 * DAY,
				 .sessions_max = 1 };

	fill(w);
	struct tally t = tally(w, opt);
	assert_int_equal(t.sessions_all, 2);
	assert_int_equal(t.sessions_n, 1);
	assert_text(t.sessions[0].id, "s1");
	assert_text(t.sessions[0].address, "s1");
	assert_int_equal(t.sessions[0].turns, 1);
	assert_int_equal(t.sessions[0].tool_calls, 2);
	assert_int_equal(t.sessions[0].used.prompt, 1500);
	opt.session_id = S("s2");
	t = tally(w, opt);
	assert_text(t.sessions[0].id, "s2");
	assert_int_equal(t.sessions[0].turns, 3);
	opt.session_id = S("");
	opt.sessions_max = 9;
	t = tally(w, opt);
	assert_int_equal(t.sessions_n, 2);
	assert_text(t.sessions[1].id, "s2");
}

static const struct price own_prices[] = { { S("big"), 1000000000, 100000000, 10000000000,
					     2000000000 } };

/* Summaries and memory: they have no turn, and cost all the same. */
static void work_of_our_own_has_its_model_and_its_price(void **state)
{
	const struct models_cfg cfg = { .prices = { own_prices, 1 }, .currency = S("EUR") };
	const struct usage_own u = { .issuer = S("u|big"),
				     .prompt_tokens = 1000,
				     .completion_tokens = 10,
				     .cached_tokens = 100,
				     .written_tokens = 200 };
	struct world *w = *state;

	for (int i = 0; i < 2; i++) {
		struct tx tx = world_begin(w);
		ok(w, store_usage_own(&tx, &u, &w->e));
		world_commit(w, &tx);
	}
	struct tally t = tally(w, (struct tally_opt){ .parts = TALLY_DAYS | TALLY_MODELS,
						      .since_ms = 1,
						      .until_ms = clock_now_ms() });
	const struct tally_day *d = &t.days[t.days_n - 1];
	assert_int_equal(d->used.requests, 2);
	assert_int_equal(d->used.prompt, 2000);
	assert_int_equal(t.models_n, 1);
	assert_int_equal(t.models[0].used.written, 400);
	struct tally_cost c = tally_cost(&t, d->shares, &cfg);
	/* Of each 700 at 1, 100 at 0.1, 200 at 2, 10 at 10 a million. */
	assert_int_equal(c.nano, 2 * (700000 + 10000 + 400000 + 100000));
	assert_text(tally_cost_text(&w->a, &c, &d->used, cfg.currency), "0.002420 EUR");
}

static void tools_models_and_errors_are_counted(void **state)
{
	struct world *w = *state;

	fill(w);
	world_sql(w,
		  "INSERT INTO outbox (id, channel, address, kind, text, state, created_at_ms) "
		  "VALUES (1, 'c', 'a', 'reply', '', 'dead', 1)");
	world_sql(w,
		  arena_fmt(&w->a,
			    "INSERT INTO pieces (outbox_id, idx, method, body, plain, state, "
			    "updated_at_ms) VALUES (1, 1, 'send', '', '', 'dead', %lld)",
			    (long long)T0)
			  .p);
	struct tally t =
		tally(w, (struct tally_opt){ .parts = TALLY_TOOLS | TALLY_MODELS | TALLY_ERRORS,
					     .since_ms = T0,
					     .until_ms = T0 + 3 * DAY });
	assert_int_equal(t.tools_n, 2);
	assert_text(t.tools[0].name, "exec");
	assert_int_equal(t.tools[0].calls * 1000 + t.tools[0].done * 100 +
				 t.tools[0].failed * 10 + t.tools[0].denied,
			 3111);
	assert_int_equal(t.tools[0].p50_ms, 100);
	assert_int_equal(t.tools[0].p95_ms, 300);
	assert_int_equal(t.models_n, 2);
	assert_text(t.models[0].issuer, "u|big");
	assert_int_equal(t.models[0].p50_ms, 400);
	assert_int_equal(t.models[0].first_p50_ms, 100);
	const char *const errors[] = { "delivery: refused",  "model: rate_limit",
				       "schedule: error",    "tool: exec failed",
				       "tool: web in doubt", "turn: auth" };
	assert_int_equal(t.errors_n, COUNT(errors));
	for (size_t i = 0; i < t.errors_n; i++)
		assert_text(arena_fmt(&w->a, "%.*s: %.*s", STRF(t.errors[i].where),
				      STRF(t.errors[i].what)),
			    errors[i]);
}

static void names_without_end_count_as_others(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < TALLY_NAMES_MAX + 20; i++)
		call(w, arena_fmt(&w->a, "c%d", i).p, arena_fmt(&w->a, "tool%d", i).p, T0, 1,
		     "failed");
	struct tally t = tally(w, (struct tally_opt){ .parts = TALLY_TOOLS | TALLY_ERRORS,
						      .since_ms = T0,
						      .until_ms = T0 + DAY });
	assert_int_equal(t.tools_n, TALLY_NAMES_MAX);
	assert_text(t.tools[0].name, "(others)");
	assert_int_equal(t.tools[0].calls, 21);
	assert_int_equal(t.errors_n, TALLY_NAMES_MAX);
	assert_int_equal(t.errors[0].n, 21);
}

static void money_is_of_what_has_a_price_and_says_when_it_is_not_all(void **state)
{
	static const struct price prices[] = { { S("big"), 1000000000, 100000000, 10000000000,
						 1000000000 } };
	static const struct models_cfg cfg = { .prices = { prices, 1 }, .currency = S("EUR") };
	struct world *w = *state;

	fill(w);
	struct tally t = tally(w, (struct tally_opt){ .parts = TALLY_DAYS,
						      .since_ms = T0,
						      .until_ms = T0 + 3 * DAY });
	struct tally_cost c = tally_cost(&t, t.days[0].shares, &cfg);
	/* 600 at 1, 400 at 0.1, 50 at 10 a million. */
	assert_int_equal(c.nano, 600000 + 40000 + 500000);
	assert_int_equal(c.priced, 1);
	assert_int_equal(c.unpriced, 1);
	assert_text(tally_cost_text(&w->a, &c, &t.days[0].used, cfg.currency), "0.001140 EUR+");
	c = tally_cost(&t, t.days[2].shares, &cfg);
	assert_text(tally_cost_text(&w->a, &c, &t.days[2].used, cfg.currency), "-");
	c = (struct tally_cost){ .nano = 5000000000, .priced = 2, .estimated = true };
	assert_text(tally_cost_text(&w->a, &c, &(struct tally_tokens){ .requests = 2 },
				    cfg.currency),
		    "~5.00 EUR");
}

#define test(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(days_hold_what_was_done_in_them_and_none_is_left_out),
		test(what_was_outside_of_the_span_does_not_count),
		test(without_a_beginning_it_is_the_first_row),
		test(rows_with_absurd_numbers_are_left_out_or_bounded),
		test(weeks_begin_on_monday_and_months_on_the_first),
		test(the_heaviest_sessions_are_kept),
		test(work_of_our_own_has_its_model_and_its_price),
		test(tools_models_and_errors_are_counted),
		test(names_without_end_count_as_others),
		test(money_is_of_what_has_a_price_and_says_when_it_is_not_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

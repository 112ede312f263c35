/* One turn read back whole, found by the beginning of its id. */
#include "store_world.h"

#include "store/model_call.h"
#include "store/db.h"
#include "store/trace.h"

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

static void a_turn_comes_back_with_all_that_belongs_to_it_and_nothing_else(void **state)
{
	struct world *w = *state;
	const struct model_row used = { .round = 1,
					.attempt = 1,
					.issuer = S("u|m"),
					.params = S("{}"),
					.system = S("s"),
					.tools = S("[]"),
					.finish = S("stop"),
					.prompt_tokens = 5,
					.completion_tokens = -1,
					.cached_tokens = -1,
					.total_ms = 7,
					.started_at_ms = 1000 };
	struct trace t;
	str last;

	world_turn(w, "1", "other", 1);
	(void)world_add(w, "2", "mine");
	struct turn turn = world_claim(w);
	struct call calls[] = { world_call(1, 1, CALL_RUNNING, true),
				world_call(1, 2, CALL_PLANNED, false) };
	world_step(w, &turn, 1, calls, COUNT(calls));
	struct tx tx = world_begin(w);
	ok(w, store_model_call(&tx, turn.id, &used, &w->e));
	world_commit(w, &tx);
	ok(w, store_trace_last(w->s, S(""), &w->a, &last, &w->e));
	assert_true(str_eq(last, turn.id));
	ok(w, store_trace(w->s, str_sub(turn.id, 0, turn.id.n - 2), &w->a, &t, &w->e));
	assert_true(str_eq(t.id, turn.id));
	assert_text(t.state, "running");
	assert_text(t.kind, "message");
	assert_text(t.address, "2");
	assert_int_equal(t.claims, 1);
	assert_int_equal(t.calls_n, 2);
	assert_text(t.calls[0].state, "running");
	assert_true(t.calls[0].started_at_ms > 0 && t.calls[1].started_at_ms == 0);
	assert_int_equal(t.calls[0].duration_ms, -1);
	assert_int_equal(t.models_n, 1);
	assert_int_equal(t.models[0].prompt_tokens, 5);
	assert_int_equal(t.models[0].completion_tokens, -1);
	assert_true(t.models[0].answer_bytes > 0);
	assert_int_equal(t.outs_n + t.asks_n, 0);
	assert_int_equal(t.finished_at_ms, 0);
	assert_false(t.cut);
}

static void the_last_turn_is_that_of_the_session(void **state)
{
	struct world *w = *state;
	str first, last;

	assert_int_equal(store_trace_last(w->s, S(""), &w->a, &last, &w->e), E_NOENT);
	world_turn(w, "1", "a", 0);
	world_turn(w, "2", "b", 0);
	ok(w, store_trace_last(w->s, S(""), &w->a, &last, &w->e));
	ok(w,
	   store_trace_last(w->s, world_text(w, "SELECT id FROM sessions WHERE address = '1'"),
			    &w->a, &first, &w->e));
	assert_false(str_eq(first, last));
	assert_int_equal(store_trace_last(w->s, S("none"), &w->a, &last, &w->e), E_NOENT);
}

static void an_id_of_none_or_of_several_is_refused(void **state)
{
	struct world *w = *state;
	struct trace t;

	world_turn(w, "1", "a", 0);
	world_turn(w, "1", "b", 0);
	assert_int_equal(store_trace(w->s, S("f"), &w->a, &t, &w->e), E_NOENT);
	assert_int_equal(store_trace(w->s, S(""), &w->a, &t, &w->e), E_INVAL);
	assert_int_equal(store_trace(w->s, S("' OR 1"), &w->a, &t, &w->e), E_NOENT);
}

static void a_turn_of_very_many_calls_is_cut_and_says_so(void **state)
{
	struct world *w = *state;
	struct trace t;

	(void)world_add(w, "1", "a");
	struct turn turn = world_claim(w);
	world_sql(
		w,
		arena_fmt(&w->a,
			  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
			  "WHERE i < %d) INSERT INTO tool_calls (id, session_id, turn_id, "
			  "round, idx, seq, provider_id, requested, name, args, safe, state, "
			  "created_at_ms) SELECT 'c' || i, '', '%.*s', 1, i, i, '', 't', 't', "
			  "'{}', 1, 'done', 1 FROM n",
			  TRACE_ROWS_MAX + 1, STRF(turn.id))
			.p);
	ok(w, store_trace(w->s, turn.id, &w->a, &t, &w->e));
	assert_int_equal(t.calls_n, TRACE_ROWS_MAX);
	assert_true(t.cut);
}

/* A foreign shell can write anything into them. */
static void times_that_can_be_none_come_back_as_not_known(void **state)
{
	struct world *w = *state;
	struct trace t;

	(void)world_add(w, "2", "mine");
	struct turn turn = world_claim(w);
	struct call calls[] = { world_call(1, 1, CALL_RUNNING, true) };
	world_step(w, &turn, 1, calls, COUNT(calls));
	world_sql(w, "UPDATE turns SET started_at_ms = -9223372036854775807, updated_at_ms = "
		     "5000, finished_at_ms = 9223372036854775807");
	world_sql(w, "UPDATE tool_calls SET created_at_ms = 9223372036854775807, "
		     "started_at_ms = -1, duration_ms = 9223372036854775807");
	ok(w, store_trace(w->s, turn.id, &w->a, &t, &w->e));
	assert_int_equal(t.started_at_ms, 5000);
	assert_int_equal(t.finished_at_ms, 0);
	assert_int_equal(t.calls[0].created_at_ms, 0);
	assert_int_equal(t.calls[0].started_at_ms, 0);
	assert_int_equal(t.calls[0].duration_ms, ROWS_MOST);
}

#define test(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_turn_comes_back_with_all_that_belongs_to_it_and_nothing_else),
		test(the_last_turn_is_that_of_the_session),
		test(an_id_of_none_or_of_several_is_refused),
		test(times_that_can_be_none_come_back_as_not_known),
		test(a_turn_of_very_many_calls_is_cut_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The life of a turn: who runs it, its steps, its ends, and every step that is refused. */
#include "store_world.h"

#include "os/clock.h"

#include <stdio.h>
#include <string.h>

static struct turn started(struct world *w)
{
	(void)world_add(w, "1", "hello");
	return world_claim(w);
}

static str state_of(struct world *w)
{
	return world_text(w, "SELECT state FROM turns");
}

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

static int try_claim(struct world *w, str only, struct turn *t)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);

	return store_turn_claim(&tx, only, &w->a, t, &w->e);
}

static void control(struct world *w, enum control what)
{
	struct tx tx = world_begin(w);
	struct control_effect out;

	ok(w, store_control(&tx, what, S("test"), S("1"), S(""), &w->a, &out, &w->e));
	world_commit(w, &tx);
}

static void nothing_to_do_is_said_and_harmless(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);
	struct turn t;

	assert_int_equal(E_NOENT, store_turn_claim(&tx, S(""), &w->a, &t, &w->e));
	ok(w, store_cursor_set(&tx, S("k"), 1, &w->e));
	world_commit(w, &tx);
	assert_int_equal(1, world_i64(w, "SELECT value FROM cursors"));
}

static void a_claim_tells_whether_another_one_would_find_something(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "a");
	(void)world_add(w, "1", "b");
	assert_false(world_claim(w).more); /* the session is taken */
	(void)world_add(w, "2", "c");
	(void)world_add(w, "3", "d");
	assert_true(world_claim(w).more);
	assert_false(world_claim(w).more);
}

static void the_oldest_row_of_a_free_session_comes_first(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "a");
	(void)world_add(w, "1", "b");
	(void)world_add(w, "2", "c");
	struct turn a = world_claim(w), c = world_claim(w);
	assert_text(a.rows[0].text, "a");
	assert_text(c.rows[0].text, "c");
	assert_true(world_idle(w));
	world_finish(w, &a);
	struct turn b = world_claim(w);
	assert_text(b.rows[0].text, "b");
	assert_int_equal(1, b.attempts);
	assert_false(b.resumed);
	assert_int_equal(0, b.owner.n);
	world_check(w);
}

static void a_parked_turn_keeps_its_session(void **state)
{
	struct world *w = *state;

	(void)started(w);
	(void)world_add(w, "1", "more");
	world_sql(w, "UPDATE turns SET state = 'parked', owner = ''");
	assert_true(world_idle(w));
}

static void the_database_itself_refuses_a_second_turn(void **state)
{
	struct world *w = *state;

	(void)started(w);
	int64_t before = world_i64(w, "SELECT count(*) FROM turns");
	world_sql(w,
		  "INSERT OR IGNORE INTO turns (id, session_id, state, epoch, started_at_ms, "
		  "updated_at_ms) SELECT 'x', id, 'parked', 1, 1, 1 FROM sessions");
	assert_int_equal(before, world_i64(w, "SELECT count(*) FROM turns"));
}

static void rows_of_a_command_are_run_by_it_alone(void **state)
{
	struct world *w = *state;
	struct turn t;

	(void)world_add_owned(w, "1", "x", store_owner(w->s));
	assert_true(world_idle(w));
	assert_int_equal(E_NOENT, try_claim(w, S("somebody-else-00000000"), &t));
	t = world_claim_in(w, w->s, store_owner(w->s));
	assert_text(t.rows[0].text, "x");
	assert_true(str_eq(t.owner, store_owner(w->s)));
	ok(w, store_turn_release(w->s, t.id, NULL, &w->e));
	assert_true(world_idle(w));
	t = world_claim_in(w, w->s, store_owner(w->s));
	assert_true(t.resumed);
}

static void a_whole_turn_is_read_back_as_it_was_written(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct call calls[] = {
		world_call(1, 1, CALL_RUNNING, true),
		world_call(1, 2, CALL_PLANNED, false),
		world_call(1, 3, CALL_DENIED, false),
	};
	struct message *m;
	struct call *c;
	size_t mn, cn;

	world_step(w, &t, 1, calls, 3);
	ok(w, store_turn_load(w->s, t.id, &w->a, &m, &mn, &c, &cn, &w->e));
	assert_int_equal(3, mn);
	assert_text(m[0].role, "user");
	assert_text(m[0].context, "[context]");
	assert_text(m[1].role, "assistant");
	assert_text(m[1].issuer, "http://m|m1");
	assert_text(m[2].role, "tool");
	assert_int_equal(3, m[2].index);
	assert_int_equal(5, m[2].seq);
	assert_text(m[2].tool_name, "read_file");
	assert_text(m[2].wire, "{\"role\":\"tool\",\"tool_call_id\":\"call_p\","
			       "\"content\":\"result\"}");
	assert_int_equal(3, cn);
	assert_int_equal(CALL_RUNNING, c[0].state);
	assert_true(c[0].safe && !c[1].safe);
	assert_int_equal(CALL_PLANNED, c[1].state);
	assert_int_equal(CALL_DENIED, c[2].state);
	assert_text(c[2].result, "result");
	assert_string_equal(c[1].id, calls[1].id);

	struct tx tx = world_begin(w);
	calls[1].decision = S("approved");
	calls[1].decider = S("bob");
	calls[1].pid = 4242;
	calls[1].start_time = 99;
	ok(w, store_call_start(&tx, t.id, &calls[1], &w->e));
	calls[0].state = CALL_FAILED;
	calls[0].result = S("no such file");
	calls[0].result_wire = S("{\"role\":\"tool\",\"x\":1}");
	calls[0].truncated = true;
	calls[0].has_exit = true;
	calls[0].exit_code = 3;
	calls[0].duration_ms = 12;
	ok(w, store_call_finish(&tx, t.id, &calls[0], &w->e));
	calls[1].state = CALL_DONE;
	calls[1].result = S("ok");
	ok(w, store_call_finish(&tx, t.id, &calls[1], &w->e));
	world_commit(w, &tx);
	ok(w, store_turn_load(w->s, t.id, &w->a, &m, &mn, &c, &cn, &w->e));
	assert_int_equal(5, mn);
	assert_int_equal(3, m[2].seq);
	assert_text(m[2].wire, "{\"role\":\"tool\",\"x\":1}");
	assert_text(m[3].text, "ok");
	assert_int_equal(CALL_FAILED, c[0].state);
	assert_true(c[0].truncated && c[0].has_exit);
	assert_int_equal(3, c[0].exit_code);
	assert_int_equal(12, c[0].duration_ms);
	assert_text(c[0].result, "no such file");
	assert_text(c[1].decision, "approved");
	assert_text(c[1].decider, "bob");
	assert_int_equal(4242, c[1].pid);
	assert_false(c[1].has_exit);
	world_finish(w, &t);
	world_check(w);
}

static void a_call_keeps_the_result_it_has(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct call call = world_call(1, 1, CALL_DONE, false);
	struct tx tx;

	world_step(w, &t, 1, &call, 1);
	tx = world_begin(w);
	call.state = CALL_FAILED;
	call.result = S("other");
	ok(w, store_call_finish(&tx, t.id, &call, &w->e));
	world_commit(w, &tx);
	assert_text(world_text(w, "SELECT state FROM tool_calls"), "done");
	assert_text(world_text(w, "SELECT content FROM turn_messages WHERE role='tool'"),
		    "result");
}

static void attempts_count_claims_without_a_step(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct call call = world_call(1, 1, CALL_RUNNING, true);
	struct tx tx;

	for (int i = 2; i < 5; i++) {
		world_sql(w, "UPDATE turns SET state = 'ready', owner = ''");
		t = world_claim(w);
		assert_int_equal(i, t.attempts);
		assert_true(t.resumed);
	}
	world_step(w, &t, 1, &call, 1);
	assert_int_equal(0, world_i64(w, "SELECT attempts FROM turns"));
	world_sql(w, "UPDATE turns SET state = 'ready', owner = ''");
	t = world_claim(w);
	assert_int_equal(1, t.attempts);
	tx = world_begin(w);
	call.state = CALL_DONE;
	ok(w, store_call_finish(&tx, t.id, &call, &w->e));
	world_commit(w, &tx);
	assert_int_equal(0, world_i64(w, "SELECT attempts FROM turns"));
	world_sql(w, "UPDATE turns SET state = 'ready', owner = ''");
	t = world_claim(w);
	ok(w, store_turn_release(w->s, t.id, NULL, &w->e));
	assert_int_equal(0, world_i64(w, "SELECT attempts FROM turns"));
	assert_int_equal(6, world_i64(w, "SELECT fence FROM turns"));
}

static void a_running_call_of_a_released_turn_is_planned_or_in_doubt(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct call calls[] = { world_call(1, 1, CALL_RUNNING, true),
				world_call(1, 2, CALL_RUNNING, false),
				world_call(1, 3, CALL_PLANNED, false) };
	struct message *m;
	struct call *c;
	size_t mn, cn;

	world_step(w, &t, 1, calls, 3);
	ok(w, store_turn_release(w->s, t.id, NULL, &w->e));
	t = world_claim(w);
	ok(w, store_turn_load(w->s, t.id, &w->a, &m, &mn, &c, &cn, &w->e));
	assert_int_equal(CALL_PLANNED, c[0].state);
	assert_true(c[0].interrupted);
	assert_int_equal(CALL_IN_DOUBT, c[1].state);
	assert_true(str_has(c[1].result, S("may or may not")));
	assert_int_equal(CALL_PLANNED, c[2].state);
	assert_false(c[2].interrupted);
	assert_int_equal(3, mn);
	assert_text(m[2].role, "tool");
	struct tx tx = world_begin(w);
	ok(w, store_call_start(&tx, t.id, &calls[0], &w->e));
	world_commit(w, &tx);
	assert_text(world_text(w, "SELECT state FROM tool_calls WHERE idx = 1"), "running");
	world_check(w);
}

struct end_case {
	enum turn_end end;
	enum turn_history history;
	const char *state;
	size_t history_n; /* what the turn gives to the next prompt */
};

static void every_end_closes_calls_rows_and_turn(void **state)
{
	static const struct end_case cases[] = {
		{ TURN_CANCELED, HISTORY_NOTE, "canceled", 2 },
		{ TURN_CANCELED, HISTORY_NONE, "canceled", 0 },
		{ TURN_FAILED, HISTORY_NOTE, "failed", 2 },
		{ TURN_GIVEN_UP, HISTORY_NONE, "given_up", 0 },
		{ TURN_INTERRUPTED, HISTORY_NOTE, "interrupted", 2 },
		{ TURN_FAILED, HISTORY_FULL, "failed", 5 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char address[8];
		struct session session;
		struct message *m;
		size_t n;
		(void)snprintf(address, sizeof address, "%zu", i);
		(void)world_add(w, address, "go");
		struct turn t = world_claim(w);
		struct call calls[] = { world_call(1, 1, CALL_DONE, false),
					world_call(1, 2, CALL_RUNNING, true),
					world_call(1, 3, CALL_PLANNED, true) };
		world_step(w, &t, 1, calls, 3);
		struct turn_finish f = { .end = cases[i].end,
					 .history = cases[i].history,
					 .note = S(
						 "{\"role\":\"assistant\",\"content\":\"n\"}"),
					 .error = S("why") };
		ok(w, world_finish_as(w, &t, f));
		assert_text(world_text(w, "SELECT state FROM turns ORDER BY rowid DESC"),
			    cases[i].state);
		assert_text(world_text(w, "SELECT group_concat(state) FROM (SELECT state FROM "
					  "tool_calls ORDER BY rowid DESC LIMIT 3)"),
			    "canceled,in_doubt,done");
		ok(w, store_session_get(w->s, t.session.id, &w->a, &session, &w->e));
		ok(w, store_history(w->s, &session, 100, &w->a, &m, &n, &w->e));
		assert_int_equal(cases[i].history_n, n);
		if (n == 2)
			assert_text(m[1].wire, "{\"role\":\"assistant\",\"content\":\"n\"}");
		assert_int_equal(E_CANCELED, world_finish_as(w, &t, f));
	}
	assert_true(world_idle(w));
	world_check(w);
}

static void an_answer_that_comes_too_late_goes_nowhere(void **state)
{
	static const struct {
		const char *what;
		const char *sql;
	} cases[] = {
		{ "cancelled", "UPDATE turns SET cancel_requested = 1" },
		{ "new epoch", "UPDATE sessions SET epoch = epoch + 1" },
		{ "taken over", "UPDATE turns SET owner = 'other'" },
		{ "given back", "UPDATE turns SET state = 'ready', owner = ''" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char address[8];
		(void)snprintf(address, sizeof address, "%zu", i);
		(void)world_add(w, address, "go");
		struct turn t = world_claim(w);
		world_sql(w, cases[i].sql);
		struct tx tx = world_begin(w);
		struct outbox_new row = { .channel = S("test"),
					  .address = S("1"),
					  .kind = S("reply"),
					  .text = S("late") };
		struct turn_finish f = { .end = TURN_DONE,
					 .history = HISTORY_FULL,
					 .final_wire = S("{}"),
					 .round = 1 };
		int64_t id;
		ok(w, store_outbox_add(&tx, &row, &id, &w->e));
		assert_int_equal(E_CANCELED, store_turn_finish(&tx, &t, &f, &w->e));
		assert_int_equal(E_CANCELED, store_commit(&tx, &w->e));
		assert_int_equal(0, world_i64(w, "SELECT count(*) FROM outbox"));
		assert_int_equal(0, world_i64(w, "SELECT count(*) FROM turn_messages "
						 "WHERE role = 'assistant'"));
		world_sql(w, "UPDATE turns SET state = 'failed', owner = '' "
			     "WHERE state IN ('ready', 'running')");
	}
}

static void steps_of_a_cancelled_turn_are_refused_but_its_results_kept(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct call calls[] = { world_call(1, 1, CALL_RUNNING, false),
				world_call(1, 2, CALL_PLANNED, false) };
	struct call next = world_call(2, 1, CALL_PLANNED, false);
	struct turn_step step = { .round = 2, .wire = S("{}"), .calls = &next, .calls_n = 1 };
	struct tx tx;

	world_step(w, &t, 1, calls, 2);
	control(w, CONTROL_STOP);
	tx = world_begin(w);
	assert_int_equal(E_CANCELED, store_turn_step(&tx, t.id, &step, &w->e));
	assert_int_equal(E_CANCELED, store_commit(&tx, &w->e));
	tx = world_begin(w);
	assert_int_equal(E_CANCELED, store_call_start(&tx, t.id, &calls[1], &w->e));
	store_rollback(&tx);
	tx = world_begin(w);
	assert_int_equal(E_CANCELED,
			 store_message_user(&tx, t.id, S("{}"), S("x"), S(""), &w->e));
	store_rollback(&tx);
	tx = world_begin(w);
	calls[0].state = CALL_DONE;
	ok(w, store_call_finish(&tx, t.id, &calls[0], &w->e));
	world_commit(w, &tx);
	ok(w, world_finish_as(w, &t,
			      (struct turn_finish){ .end = TURN_CANCELED,
						    .history = HISTORY_NOTE,
						    .note = S("{}") }));
	world_check(w);
}

static void wrong_steps_are_refused_and_change_nothing(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct call calls[] = { world_call(1, 1, CALL_RUNNING, false),
				world_call(1, 3, CALL_PLANNED, false) };
	struct turn_step step = { .round = 1, .wire = S("{}"), .calls = calls, .calls_n = 2 };
	struct turn_finish done = {
		.end = TURN_DONE, .history = HISTORY_FULL, .final_wire = S("{}"), .round = 2
	};
	struct call stranger = world_call(1, 1, CALL_DONE, false);
	struct tx tx = world_begin(w);

	assert_int_equal(E_INVAL, store_turn_step(&tx, t.id, &step, &w->e));
	store_rollback(&tx);
	world_step(w, &t, 1, calls, 1);
	tx = world_begin(w);
	step.calls_n = 0;
	assert_int_equal(E_INVAL, store_turn_step(&tx, t.id, &step, &w->e));
	store_rollback(&tx);
	/* Running already, and no child to record. */
	tx = world_begin(w);
	assert_int_equal(E_INVAL, store_call_start(&tx, t.id, &calls[0], &w->e));
	store_rollback(&tx);
	tx = world_begin(w);
	assert_int_equal(E_INVAL, store_call_finish(&tx, t.id, &stranger, &w->e));
	store_rollback(&tx);
	/* Running is no end. */
	tx = world_begin(w);
	assert_int_equal(E_INVAL, store_call_finish(&tx, t.id, &calls[0], &w->e));
	store_rollback(&tx);
	assert_int_equal(E_INVAL, world_finish_as(w, &t, done));
	assert_int_equal(E_INVAL,
			 world_finish_as(w, &t,
					 (struct turn_finish){ .end = TURN_FAILED,
							       .history = HISTORY_NOTE }));
	assert_text(state_of(w), "running");
	tx = world_begin(w);
	calls[0].state = CALL_DONE;
	ok(w, store_call_finish(&tx, t.id, &calls[0], &w->e));
	world_commit(w, &tx);
	ok(w, world_finish_as(w, &t, done));
	/* Everything after the end. */
	assert_int_equal(E_CANCELED, store_turn_release(w->s, t.id, NULL, &w->e));
	step.round = 3;
	tx = world_begin(w);
	assert_int_equal(E_CANCELED, store_turn_step(&tx, t.id, &step, &w->e));
	store_rollback(&tx);
	tx = world_begin(w);
	assert_int_equal(E_CANCELED, store_turn_step(&tx, S("no-such-turn"), &step, &w->e));
	store_rollback(&tx);
	assert_int_equal(4, world_i64(w, "SELECT count(*) FROM turn_messages"));
	world_check(w);
}

static void a_doomed_transaction_does_nothing_more(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct turn_step step = { .round = 1, .wire = S("{}") };
	struct tx tx = world_begin(w);

	assert_int_equal(
		E_INVAL,
		store_call_finish(&tx, t.id, &(struct call){ .state = CALL_DONE }, &w->e));
	assert_int_equal(E_INVAL, store_turn_step(&tx, t.id, &step, &w->e));
	assert_int_equal(E_INVAL, store_cursor_set(&tx, S("k"), 1, &w->e));
	assert_int_equal(E_INVAL, store_commit(&tx, &w->e));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM cursors"));
	world_step(w, &t, 1, NULL, 0);
}

static void canceled_is_asked_without_the_writer(void **state)
{
	struct world *w = *state;
	struct turn t = started(w);
	struct tx tx = world_begin(w);
	bool canceled = true;

	ok(w, store_turn_canceled(w->s, t.id, &canceled, &w->e));
	assert_false(canceled);
	store_rollback(&tx);
	control(w, CONTROL_NEW);
	ok(w, store_turn_canceled(w->s, t.id, &canceled, &w->e));
	assert_true(canceled);
	canceled = false;
	ok(w, store_turn_canceled(w->s, S("gone"), &canceled, &w->e));
	assert_true(canceled);
}

/* A worker that claims knows of what is left, now and later: it hands that on. */
static void a_claim_tells_of_rows_that_wait_also_of_those_for_a_time(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "a");
	assert_false(world_claim(w).more);
	(void)world_add(w, "1", "behind the turn that runs");
	(void)world_add(w, "2", "b");
	assert_false(world_claim(w).more);
	(void)world_add(w, "3", "c");
	(void)world_add(w, "4", "d");
	assert_true(world_claim(w).more);
	world_sql(w, "UPDATE inbox SET ready_at_ms = 4000000000000 WHERE text = 'd'");
	(void)world_add(w, "5", "e");
	assert_true(world_claim(w).more);
	world_sql(w, "DELETE FROM inbox WHERE text = 'd'");
	(void)world_add(w, "6", "f");
	assert_false(world_claim(w).more);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_claim_tells_of_rows_that_wait_also_of_those_for_a_time),
		T(nothing_to_do_is_said_and_harmless),
		T(a_claim_tells_whether_another_one_would_find_something),
		T(the_oldest_row_of_a_free_session_comes_first),
		T(a_parked_turn_keeps_its_session),
		T(the_database_itself_refuses_a_second_turn),
		T(rows_of_a_command_are_run_by_it_alone),
		T(a_whole_turn_is_read_back_as_it_was_written),
		T(a_call_keeps_the_result_it_has),
		T(attempts_count_claims_without_a_step),
		T(a_running_call_of_a_released_turn_is_planned_or_in_doubt),
		T(every_end_closes_calls_rows_and_turn),
		T(an_answer_that_comes_too_late_goes_nowhere),
		T(steps_of_a_cancelled_turn_are_refused_but_its_results_kept),
		T(wrong_steps_are_refused_and_change_nothing),
		T(a_doomed_transaction_does_nothing_more),
		T(canceled_is_asked_without_the_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

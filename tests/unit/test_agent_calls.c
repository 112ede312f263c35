/*
 * Calls whose effect is in our own database: effect and result are one commit, or neither is.
 */
#include "agent_world.h"

#include "full_disk.h"
#include "os/clock.h"

#include <string.h>

static int64_t kept(struct agent_world *k)
{
	return world_i64(k->w, "SELECT count(*) FROM tool_lists");
}

static void assert_text(str got, const char *want)
{
	if (!str_eq(got, str_of(want)))
		fail_msg("got \"%.*s\", not \"%s\"", STRF(got), want);
}

static str call_state(struct agent_world *k)
{
	return world_text(k->w, "SELECT state FROM tool_calls");
}

static str tool_text(struct agent_world *k)
{
	return world_text(k->w, "SELECT content FROM turn_messages WHERE role = 'tool'");
}

static int seen_without(struct agent_world *k, struct err *e)
{
	/* Another connection sees neither before the commit. */
	assert_int_equal(kept(k), 0);
	assert_int_equal(
		world_i64(k->w, "SELECT count(*) FROM turn_messages WHERE role = 'tool'"), 0);
	return OK;
}

static void an_effect_and_its_result_are_one_commit(void **state)
{
	struct agent_world *k = *state;

	k->on_effect = seen_without;
	aw_says(k, "c:keep {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_told(k), "Done");
	assert_int_equal(kept(k), 1);
	assert_text(call_state(k), "done");
	/* What the effect said is what the model sees. */
	assert_text(tool_text(k), "kept for good");
	aw_has(aw_request(k, 1), "kept for good");
	world_check(k->w);
}

static int fill_once(struct agent_world *k, struct err *e)
{
	if (atomic_load(&k->effects) == 1)
		atomic_store(&full_writes, 2);
	return seen_without(k, e);
}

static void an_effect_whose_commit_failed_is_gone_and_made_anew(void **state)
{
	struct agent_world *k = *state;

	k->on_effect = fill_once;
	aw_says(k, "c:keep {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_told(k), "Done");
	assert_true(atomic_load(&k->effects) > 1);
	/* Each time has a name of its own: only the last one's is there. */
	assert_int_equal(kept(k), 1);
	assert_int_equal(k->ran, 1);
	assert_text(call_state(k), "done");
	world_check(k->w);
}

static int refuse(struct agent_world *k, struct err *e)
{
	return err_set(e, E_INVAL, "that is no good");
}

static void an_effect_that_the_database_refuses_is_a_failure_for_the_model(void **state)
{
	struct agent_world *k = *state;

	k->on_effect = refuse;
	aw_says(k, "c:keep {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_told(k), "Done");
	assert_int_equal(kept(k), 0);
	assert_int_equal(atomic_load(&k->effects), 1);
	assert_text(call_state(k), "failed");
	assert_text(tool_text(k), "error: that is no good; it had no effect");
}

static struct agent_world *here; /* for what a tool does */

static void cancel(void)
{
	world_sql(here->w, "UPDATE turns SET cancel_requested = 1");
}

static void next_epoch(void)
{
	world_sql(here->w, "UPDATE sessions SET epoch = epoch + 1");
}

static void a_turn_that_was_cancelled_meanwhile_has_no_effect(void **state)
{
	void (*const how[])(void) = { cancel, next_epoch };

	(void)state;
	for (size_t i = 0; i < COUNT(how); i++) {
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		here = k;
		k->on_odd = how[i];
		aw_says(k, "c:keep {}");
		aw_says(k, "t:Done");
		aw_hear(k, "hi");
		ok(k->w, aw_run(k));
		assert_text(aw_state(k), "canceled");
		assert_int_equal(atomic_load(&k->effects), 0);
		assert_int_equal(kept(k), 0);
		assert_text(call_state(k), "canceled");
		aw_has(tool_text(k).p, "it had no effect");
		(void)agent_world_teardown((void **)&k);
	}
}

static void fence(void)
{
	world_sql(here->w, "UPDATE turns SET owner = 'somebody'");
}

static void a_turn_that_was_taken_over_has_no_effect_and_no_result(void **state)
{
	struct agent_world *k = *state;

	here = k;
	k->on_odd = fence;
	aw_says(k, "c:keep {}");
	aw_hear(k, "hi");
	assert_true(aw_run(k) < 0);
	assert_int_equal(atomic_load(&k->effects), 0);
	assert_int_equal(kept(k), 0);
	assert_text(call_state(k), "running");
}

static void finish_it(void)
{
	world_sql(here->w, "UPDATE tool_calls SET state = 'done'");
}

static void a_call_that_has_its_result_has_no_second_effect(void **state)
{
	struct agent_world *k = *state;

	here = k;
	k->on_odd = finish_it;
	aw_says(k, "c:keep {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	(void)!aw_run(k);
	assert_int_equal(atomic_load(&k->effects), 0);
	assert_int_equal(kept(k), 0);
}

static void a_call_outside_of_turns_commits_its_own_effect(void **state)
{
	struct agent_world *k = *state;
	struct toolset set;

	aw_open(k);
	for (int i = 0; i < 2; i++) {
		struct call c = { .requested = S("keep"), .args = S("{}"), .index = 1 };
		k->on_effect = i ? refuse : NULL;
		tools_snapshot(k->tools, &k->w->a, &set);
		const struct tool_spec *spec = tools_admit(k->tools, &set, &c, &k->w->a);
		assert_non_null(spec);
		ok(k->w, tools_run(k->tools, spec, &c, NULL, &k->w->a, &k->token, &k->w->e));
		assert_int_equal(c.state, i ? CALL_FAILED : CALL_DONE);
		assert_text(c.result,
			    i ? "error: that is no good; it had no effect" : "kept for good");
		assert_int_equal(kept(k), 1);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_effect_and_its_result_are_one_commit),
		TEST(an_effect_whose_commit_failed_is_gone_and_made_anew),
		TEST(an_effect_that_the_database_refuses_is_a_failure_for_the_model),
		cmocka_unit_test(a_turn_that_was_cancelled_meanwhile_has_no_effect),
		TEST(a_turn_that_was_taken_over_has_no_effect_and_no_result),
		TEST(a_call_that_has_its_result_has_no_second_effect),
		TEST(a_call_outside_of_turns_commits_its_own_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

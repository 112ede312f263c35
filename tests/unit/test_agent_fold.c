/*
 * Old turns become part of the session's summary: what the model is given, what is kept, and
 * what happens when something changed meanwhile or the model fails.
 */
#include "agent_world.h"

#include "agent/fold.h"
#include "agent/internal.h"
#include "agent/system.h"
#include "store/memory_forget.h"

#include <string.h>

static int64_t from_seq(struct agent_world *k)
{
	return world_i64(k->w, "SELECT history_from_seq FROM sessions");
}

static str summary(struct agent_world *k)
{
	return world_text(k->w, "SELECT summary FROM sessions");
}

static int64_t rows(struct agent_world *k)
{
	return world_i64(k->w, "SELECT count(*) FROM system_rows");
}

/* Leave a row for the only session, as a turn would. */
static void leave(struct agent_world *k, int64_t epoch, int64_t to)
{
	struct session s;

	ok(k->w, store_session_find(k->w->s, S("test"), S("1"), &k->w->a, &s, &k->w->e));
	s.epoch = epoch;
	struct tx tx = world_begin(k->w);
	ok(k->w, fold_leave(&tx, &s, to, &k->w->e));
	world_commit(k->w, &tx);
}

static int run(struct agent_world *k)
{
	struct system_row row;
	struct tx tx = world_begin(k->w);

	aw_open(k);
	ok(k->w, store_system_claim(&tx, S(""), &k->w->a, &row, &k->w->e));
	world_commit(k->w, &tx);
	return agent_system_run(k->agent, &row, &k->token, &k->w->e);
}

/* Three turns; the first messages are 1, 5 and 9. */
static void talk(struct agent_world *k)
{
	world_turn(k->w, "1", "I am Ann", 1);
	world_turn(k->w, "1", "I live in Rome", 1);
	world_turn(k->w, "1", "What is new?", 1);
}

static void turns_that_leave_become_the_summary_in_one_step(void **state)
{
	struct agent_world *k = *state;

	talk(k);
	leave(k, 1, 9);
	aw_says(k, "t: Facts: Ann, Rome ");
	ok(k->w, run(k));
	assert_string_equal("Facts: Ann, Rome", summary(k).p);
	assert_int_equal(9, from_seq(k));
	assert_int_equal(9, world_i64(k->w, "SELECT folded_seq FROM sessions"));
	assert_int_equal(0, rows(k));
	const char *asked = aw_request(k, -1);
	aw_has(asked, "user: I am Ann");
	aw_has(asked, "user: I live in Rome");
	aw_has(asked, "assistant: answer");
	aw_has(asked, "[read_file gave a result of");
	aw_lacks(asked, "What is new?");
	aw_has(asked, "Summary so far:\\n(none)");
}

static void the_summary_before_goes_into_the_next_and_what_it_cost_is_counted(void **state)
{
	struct agent_world *k = *state;

	talk(k);
	world_sql(k->w, "UPDATE sessions SET summary = 'Facts: Ann', folded_seq = 5, "
			"history_from_seq = 5");
	leave(k, 1, 9);
	aw_says(k, "t:Facts: Ann, Rome");
	ok(k->w, run(k));
	const char *asked = aw_request(k, -1);
	aw_has(asked, "Summary so far:\\nFacts: Ann\\n");
	aw_lacks(asked, "user: I am Ann");
	assert_int_equal(1, world_i64(k->w, "SELECT sum(model_calls) FROM usage"));
	assert_true(world_i64(k->w, "SELECT sum(prompt_tokens) FROM usage") > 0);
	assert_int_equal(1,
			 world_i64(k->w, "SELECT u.p = s.prompt_tokens AND s.prompt_tokens > 0 "
					 "FROM sessions s, (SELECT sum(prompt_tokens) AS p "
					 "FROM usage) u"));
}

static void what_a_turn_cut_is_folded_even_if_nobody_asked(void **state)
{
	struct agent_world *k = *state;

	talk(k);
	world_sql(k->w, "UPDATE sessions SET history_from_seq = 9");
	leave(k, 1, 0);
	aw_says(k, "t:Facts: Ann");
	ok(k->w, run(k));
	assert_string_equal("Facts: Ann", summary(k).p);
}

static void with_nothing_to_fold_the_model_is_not_asked(void **state)
{
	struct agent_world *k = *state;

	talk(k);
	leave(k, 2, 9); /* of an epoch that is not this one */
	ok(k->w, run(k));
	assert_int_equal(0, rows(k));
	assert_int_equal(0, k->lb.requests);
	assert_string_equal("", summary(k).p);
	assert_int_equal(0, from_seq(k));
}

static void a_session_that_is_gone_is_done(void **state)
{
	struct agent_world *k = *state;

	talk(k);
	leave(k, 1, 9);
	world_sql(k->w, "PRAGMA foreign_keys = ON; DELETE FROM sessions");
	ok(k->w, run(k));
	assert_int_equal(0, rows(k));
}

static void start_afresh(struct agent_world *k)
{
	struct tx tx = world_begin(k->w);
	struct control_effect out;

	ok(k->w,
	   store_control(&tx, CONTROL_NEW, S("test"), S("1"), S(""), &k->w->a, &out, &k->w->e));
	world_commit(k->w, &tx);
}

static void a_summary_of_what_was_forgotten_meanwhile_is_thrown_away(void **state)
{
	struct agent_world *k = *state;
	struct session s;

	talk(k);
	ok(k->w, store_session_find(k->w->s, S("test"), S("1"), &k->w->a, &s, &k->w->e));
	start_afresh(k);
	struct tx tx = world_begin(k->w);
	assert_int_equal(E_CANCELED, store_session_fold(&tx, &s, S("old"), 9, &k->w->e));
	assert_int_equal(E_CANCELED, store_commit(&tx, &k->w->e));
	assert_string_equal("", summary(k).p);
	assert_int_equal(0, from_seq(k));
}

static int64_t remember(struct agent_world *k, str subject, str content)
{
	struct memory m = {
		.kind = S("fact"), .subject = subject, .content = content, .source = S("chat")
	};
	struct tx tx = world_begin(k->w);
	bool known;
	int64_t id;

	ok(k->w, store_memory_add(&tx, &m, &id, &known, &k->w->e));
	world_commit(k->w, &tx);
	return id;
}

static void forget(struct agent_world *k, int64_t id, str talk)
{
	struct tx tx = world_begin(k->w);
	struct memory *gone;
	size_t n;

	ok(k->w, store_memory_forget(&tx, &id, 1, talk, &k->w->a, &gone, &n, &k->w->e));
	assert_int_equal(1, n);
	world_commit(k->w, &tx);
}

static void what_was_forgotten_does_not_come_back_in_a_summary(void **state)
{
	struct agent_world *k = *state;

	talk(k);
	forget(k, remember(k, S("ann"), S("Ann lives in Rome")),
	       world_text(k->w, "SELECT id FROM sessions"));
	leave(k, 1, 9);
	aw_says(k, "t:Facts: she is Ann. Ann lives in Rome. She likes tea.");
	ok(k->w, run(k));
	assert_string_equal("Facts: she is Ann. She likes tea.", summary(k).p);
}

static void a_summary_that_was_written_while_memory_lost_something_is_written_again(
	void **state)
{
	struct agent_world *k = *state;

	talk(k);
	(void)remember(k, S("ann"), S("Ann lives in Rome"));
	leave(k, 1, 9);
	/* The answer is there, and paid for. */
	world_sql(k->w, "CREATE TRIGGER meanwhile AFTER UPDATE OF prompt_tokens ON sessions "
			"BEGIN DELETE FROM memory WHERE id = 1; END");
	aw_says(k, "t:Ann lives in Rome. She is tall.");
	aw_says(k, "t:She is tall.");
	assert_int_equal(E_BUSY, run(k));
	assert_string_equal("", summary(k).p);
	assert_int_equal(0, from_seq(k));
	world_sql(k->w, "DROP TRIGGER meanwhile; UPDATE system_rows SET owner = ''");
	ok(k->w, run(k));
	assert_string_equal("She is tall.", summary(k).p);
	assert_int_equal(9, from_seq(k));
}

static void a_failing_model_loses_nothing_and_cuts_nothing(void **state)
{
	struct agent_world *k = *state;

	talk(k);
	leave(k, 1, 9);
	aw_says(k, "e:");
	assert_int_equal(E_PROTO, run(k));
	assert_string_equal("", summary(k).p);
	assert_int_equal(0, from_seq(k));
	assert_int_equal(1, rows(k));
	assert_int_equal(1, world_i64(k->w, "SELECT sum(model_calls) FROM usage"));
}

static void a_long_past_is_folded_in_parts(void **state)
{
	struct agent_world *k = *state;
	char text[3001];

	memset(text, 'x', 3000);
	text[3000] = '\0';
	for (int i = 0; i < 40; i++) /* some 30 000 tokens */
		world_turn(k->w, "1", text, 0);
	leave(k, 1, world_i64(k->w, "SELECT max(first_seq) FROM turns"));
	aw_says(k, "t:one");
	aw_says(k, "t:two");
	ok(k->w, run(k));
	assert_int_equal(2, k->lb.requests);
	assert_string_equal("two", summary(k).p);
	aw_has(aw_request(k, -1), "Summary so far:\\none\\n");
}

static void old_results_collapse_where_the_prompt_begins_anew_anyway(void **state)
{
	struct agent_world *k = *state;

	for (int i = 0; i < 7; i++) /* results are 3, 7, 11, 15, ... */
		world_turn(k->w, "1", "hi", 1);
	(void)world_add(k->w, "1", "now");
	struct turn t = world_claim(k->w);
	world_step(k->w, &t, 1, (struct call[]){ world_call(1, 1, CALL_RUNNING, false) }, 1);
	leave(k, 1, 5);
	aw_says(k, "t:Facts");
	ok(k->w, run(k));
	assert_string_equal("5 7 9 11", world_text(k->w, "SELECT group_concat(seq, ' ') FROM "
							 "(SELECT seq FROM turn_messages WHERE "
							 "collapsed ORDER BY seq)")
						.p);
}

static void an_endless_summary_is_cut(void **state)
{
	struct agent_world *k = *state;
	str say = arena_fmt(&k->w->a, "t:%09000d", 1);

	talk(k);
	leave(k, 1, 9);
	aw_says(k, say.p);
	ok(k->w, run(k));
	assert_in_range(summary(k).n, 3000, 4000);
}

static void nobody_does_what_nobody_knows(void **state)
{
	struct agent_world *k = *state;
	struct system_row row = { .what = S("dance") };

	aw_open(k);
	assert_int_equal(E_NOENT, agent_system_run(k->agent, &row, &k->token, &k->w->e));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(turns_that_leave_become_the_summary_in_one_step),
		TEST(the_summary_before_goes_into_the_next_and_what_it_cost_is_counted),
		TEST(what_a_turn_cut_is_folded_even_if_nobody_asked),
		TEST(with_nothing_to_fold_the_model_is_not_asked),
		TEST(a_session_that_is_gone_is_done),
		TEST(a_summary_of_what_was_forgotten_meanwhile_is_thrown_away),
		TEST(what_was_forgotten_does_not_come_back_in_a_summary),
		TEST(a_summary_that_was_written_while_memory_lost_something_is_written_again),
		TEST(a_failing_model_loses_nothing_and_cuts_nothing),
		TEST(a_long_past_is_folded_in_parts),
		TEST(old_results_collapse_where_the_prompt_begins_anew_anyway),
		TEST(an_endless_summary_is_cut),
		TEST(nobody_does_what_nobody_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

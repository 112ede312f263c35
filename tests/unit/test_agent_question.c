/*
 * Turns whose questions are rows: they park, and go on where the answer finds them.
 */
#include "agent_world.h"

#include "os/clock.h"
#include "store/approval.h"

#include <string.h>

#define CALLS                                                                                  \
	"SELECT group_concat(state || ' ' || decision || ' ' || decider, ', ') FROM "          \
	"(SELECT * FROM tool_calls ORDER BY idx)"

/* A turn that asks about "echo", parked. */
static struct agent_world *parked(void **state, const char *calls)
{
	struct agent_world *k = *state;

	k->rules[0] = (struct policy_rule){ .tool = S("echo"), .verdict = VERDICT_ASK };
	k->cfg.policy.n = 1;
	k->cfg.policy.approval_timeout_ms = 3600000;
	k->io.parks = true;
	k->io.approver = NULL;
	aw_says(k, calls);
	aw_says(k, "t:Done");
	aw_hear(k, "do it");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "parked");
	return k;
}

static str id_of(struct agent_world *k, int index)
{
	return world_text(k->w, arena_fmt(&k->w->a,
					  "SELECT a.id FROM approvals a JOIN tool_calls c "
					  "ON c.id = a.call_id WHERE c.idx = %d "
					  "ORDER BY a.rowid DESC LIMIT 1",
					  index)
					.p);
}

static void press(struct agent_world *k, int index, bool yes, bool always)
{
	struct tx tx = world_begin(k->w);
	struct approval_press press = { id_of(k, index), yes, always, S("ada"),
					clock_now_ms() };
	enum approval_end end;
	struct approval p;

	ok(k->w, store_approval_decide(&tx, &press, &k->w->a, &p, &end, &k->w->e));
	assert_int_equal(end, APPROVAL_END_DECIDED);
	world_commit(k->w, &tx);
}

static void go_on(struct agent_world *k, const char *state)
{
	aw_claim(k);
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, state);
}

static void a_yes_runs_the_call_and_the_turn_ends(void **state)
{
	struct agent_world *k = parked(state, "c:echo {\"a\":1}");

	assert_int_equal(k->ran, 0);
	assert_string_equal(world_text(k->w, "SELECT command || ' ' || state FROM approvals").p,
			    "{\"a\":1} pending");
	press(k, 1, true, false);
	go_on(k, "done");
	assert_int_equal(k->ran, 1);
	assert_string_equal(world_text(k->w, CALLS).p, "done approved ada");
	assert_string_equal(world_text(k->w, "SELECT state FROM approvals").p, "used");
	world_check(k->w);
}

static void a_no_is_a_result_for_the_model(void **state)
{
	struct agent_world *k = parked(state, "c:echo {}");

	press(k, 1, false, false);
	go_on(k, "done");
	assert_int_equal(k->ran, 0);
	assert_string_equal(world_text(k->w, CALLS).p, "denied denied ada");
	aw_has(aw_request(k, -1), "refused by the user (ada)");
}

static void silence_is_a_result_for_the_model(void **state)
{
	struct agent_world *k = parked(state, "c:echo {}");
	struct tx tx = world_begin(k->w);
	int64_t n;

	ok(k->w, store_approval_expire(&tx, clock_now_ms() + 2 * 3600000, &n, &k->w->e));
	world_commit(k->w, &tx);
	go_on(k, "done");
	assert_string_equal(world_text(k->w, CALLS).p, "denied expired clock");
	aw_has(aw_request(k, -1), "nobody answered in time");
}

static void what_may_run_runs_beside_the_question(void **state)
{
	struct agent_world *k = parked(state, "c:look {}|echo {}");

	assert_string_equal(world_text(k->w, CALLS).p, "done allow policy, planned ask policy");
	press(k, 2, true, false);
	go_on(k, "done");
	assert_int_equal(k->ran, 2);
}

static void each_question_is_asked_and_answered_by_itself(void **state)
{
	struct agent_world *k = parked(state, "c:echo {\"n\":1}|echo {\"n\":2}");

	assert_int_equal(2, world_i64(k->w, "SELECT count(*) FROM outbox "
					    "WHERE kind = 'approval'"));
	press(k, 2, true, false);
	go_on(k, "parked");
	assert_string_equal(world_text(k->w, CALLS).p, "planned ask policy, done approved ada");
	/* Nothing was asked twice. */
	assert_int_equal(2, world_i64(k->w, "SELECT count(*) FROM approvals"));
	press(k, 1, false, false);
	go_on(k, "done");
	assert_int_equal(k->ran, 1);
	world_check(k->w);
}

static void always_asks_no_more_about_exactly_this(void **state)
{
	struct agent_world *k = parked(state, "c:echo {\"a\":1}");

	press(k, 1, true, true);
	go_on(k, "done");
	assert_int_equal(1, world_i64(k->w, "SELECT count(*) FROM approval_grants"));
}

static void a_rule_that_denies_meanwhile_wins(void **state)
{
	struct agent_world *k = parked(state, "c:echo {}");
	struct tools_opt tools = { .policy = &k->cfg.policy,
				   .limits = &k->cfg.limits,
				   .mcp = &k->source };

	/* As after a restart with another configuration. */
	k->rules[0].verdict = VERDICT_DENY;
	agent_close(k->agent);
	tools_close(k->tools);
	ok(k->w, tools_open(&k->tools, &tools, &k->w->e));
	struct agent_opt opt = {
		.cfg = &k->cfg, .store = k->w->s, .model = k->model, .tools = k->tools
	};
	ok(k->w, agent_open(&k->agent, &opt, &k->w->e));
	press(k, 1, true, false);
	go_on(k, "done");
	assert_int_equal(k->ran, 0);
	assert_string_equal(world_text(k->w, CALLS).p, "denied deny policy");
	/* The yes cannot be used later either. */
	assert_string_equal(world_text(k->w, "SELECT state FROM approvals").p, "expired");
}

static void stop_ends_the_parked_turn(void **state)
{
	struct agent_world *k = parked(state, "c:echo {}");
	struct control_effect ef;
	struct tx tx = world_begin(k->w);

	ok(k->w,
	   store_control(&tx, CONTROL_STOP, S("test"), S("1"), S(""), &k->w->a, &ef, &k->w->e));
	world_commit(k->w, &tx);
	go_on(k, "canceled");
	assert_int_equal(k->ran, 0);
	world_check(k->w);
}

static void what_is_too_long_to_read_is_not_asked(void **state)
{
	struct agent_world *k = *state;
	struct buf b = buf_in(&k->w->a, 1 << 20);

	k->rules[0] = (struct policy_rule){ .tool = S("echo"), .verdict = VERDICT_ASK };
	k->cfg.policy.n = 1;
	k->io.parks = true;
	buf_add(&b, S("c:echo {\"a\":\""));
	/* Each is shown as what it is. */
	while (b.n < 40000)
		buf_add(&b, S("\u202e"));
	buf_add(&b, S("\"}"));
	buf_addc(&b, '\0');
	aw_says(k, buf_str(&b).p);
	aw_says(k, "t:Done");
	aw_hear(k, "do it");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "done");
	assert_int_equal(k->ran, 0);
	assert_string_equal(world_text(k->w, "SELECT decision FROM tool_calls").p, "too long");
}

#define T(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_yes_runs_the_call_and_the_turn_ends),
		T(a_no_is_a_result_for_the_model),
		T(silence_is_a_result_for_the_model),
		T(what_may_run_runs_beside_the_question),
		T(each_question_is_asked_and_answered_by_itself),
		T(always_asks_no_more_about_exactly_this),
		T(a_rule_that_denies_meanwhile_wins),
		T(stop_ends_the_parked_turn),
		T(what_is_too_long_to_read_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Limits on spending: no request without room for its worst case, and always a reply.
 */
#include "agent_world.h"

#include "agent/once.h"
#include "agent/slash.h"
#include "agent/spend.h"
#include "config/price.h"

#include <string.h>

static const struct price price = { { "*", 1 }, 1000000, 1000000, 2000000 };

static struct agent_world *thrifty(void **state)
{
	struct agent_world *k = *state;

	k->cfg.spending.answer_tokens = 100;
	k->cfg.models = (struct models_cfg){ { &price, 1 }, S("EUR") };
	return k;
}

#define SPENT(scope) "SELECT coalesce(sum(tokens), 0) FROM spent WHERE scope LIKE '" scope "%'"

static void without_limits_nothing_is_written(void **state)
{
	struct agent_world *k = thrifty(state);

	for (int i = 0; i < 2; i++) {
		aw_says(k, "c:echo {}");
		aw_says(k, "t:Done");
	}
	aw_hear(k, "hi");
	int64_t before = store_commits(k->w->s);
	ok(k->w, aw_run(k));
	int64_t plain = store_commits(k->w->s) - before;
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM spent"), 0);
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM sqlite_sequence WHERE name = "
					 "'spend_holds'"),
			 0);
	/* With one, a commit for each request. */
	k->cfg.spending.day.tokens = 1000000;
	aw_hear(k, "hi");
	before = store_commits(k->w->s);
	ok(k->w, aw_run(k));
	assert_int_equal(store_commits(k->w->s) - before, plain + 2);
	/* As the endpoint reports: 100 and 10 a request. */
	assert_int_equal(world_i64(k->w, SPENT("turn:")), 220);
	assert_int_equal(world_i64(k->w, SPENT("day:")), 220);
	assert_int_equal(world_i64(k->w, SPENT("month:")), 220);
	assert_int_equal(
		world_i64(k->w, "SELECT sum(nano) FROM spent WHERE scope LIKE 'day:%'"),
		2 * (100 * 1 + 10 * 2));
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM spend_holds"), 0);
}

static void a_turn_without_room_is_refused_in_one_message(void **state)
{
	struct agent_world *k = thrifty(state);

	k->cfg.spending.day.tokens = 1000;
	k->cfg.cron.zone = S("UTC");
	aw_says(k, "t:never");
	world_sql(k->w, "INSERT INTO spent VALUES (strftime('day:%Y%m%d'), 950, 0, 0, 0, "
			"unixepoch() * 1000)");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "failed");
	aw_has(aw_told(k).p, "The limit of 1000 tokens a day leaves no room for a further "
			     "question to the model: 950 tokens used, and this one could take "
			     "up to 1");
	aw_has(aw_told(k).p, ". It opens again on 20");
	aw_has(aw_told(k).p, " at 00:00 (UTC). To go on before, raise spending.day_tokens.");
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM outbox"), 1);
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM model_calls"), 0);
	/* It is not in the way of later prompts, and the next day there is room. */
	world_sql(k->w, "UPDATE spent SET scope = 'day:20200101'");
	aw_says(k, "t:Good morning");
	aw_hear(k, "again");
	ok(k->w, aw_run(k));
	aw_lacks(aw_request(k, -1), "\"hi");
}

/* Not a further request, but a reply with what there is. */
static void a_turn_lands_with_what_it_has(void **state)
{
	struct agent_world *k = thrifty(state);

	k->cfg.spending.turn.nano =
		500; /* the first request has up to ~300, each comes to 120 */
	aw_says(k, "c:echo {}");
	aw_says(k, "c:echo {\"a\":1}");
	aw_says(k, "c:echo {\"a\":2}");
	aw_says(k, "t:never");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "done");
	aw_has(aw_told(k).p, "on it\n\n[The limit of 0.000001 EUR "
			     "a turn leaves no room");
	aw_has(aw_told(k).p, "raise spending.turn_money.]");
	assert_true(k->lb.requests >= 1 && k->lb.requests <= 3);
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM spend_holds"), 0);
	world_check(k->w);
}

static void what_was_not_reported_is_kept_as_estimated(void **state)
{
	struct agent_world *k = thrifty(state);

	k->cfg.spending.day.tokens = 100000;
	k->cfg.model.max_retries = 0;
	aw_says(k, "5:down"); /* it refused: that cost nothing */
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_int_equal(world_i64(k->w, SPENT("day:")), 0);
	aw_says(k, "h:"); /* it read the request, and then? */
	aw_fires(k);
	aw_hear(k, "hi");
	(void)!aw_run(k);
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM spend_holds"), 0);
	assert_true(world_i64(k->w, SPENT("day:")) > 0);
	assert_int_equal(world_i64(k->w, "SELECT tokens - est_tokens FROM spent WHERE "
					 "scope LIKE 'day:%'"),
			 0);
}

static void a_limit_in_money_needs_a_price(void **state)
{
	struct agent_world *k = thrifty(state);

	k->cfg.models.prices.n = 0;
	k->cfg.spending.month.nano = 1000000;
	aw_says(k, "t:never");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	aw_has(aw_told(k).p,
	       "spending.month_money is a limit in money, and models.prices has no "
	       "price of ");
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM model_calls"), 0);
}

static void work_of_our_own_waits(void **state)
{
	struct agent_world *k = thrifty(state);
	struct once q = { .system = S("s"), .user = S("u"), .text_max = 100 };
	struct model_failure fail;
	str text;

	k->cfg.spending.day.tokens = 50;
	aw_says(k, "t:never");
	aw_open(k);
	assert_int_equal(agent_once(k->agent, &q, &k->w->a, &text, &fail, NULL, &k->e),
			 E_LIMIT);
	assert_string_equal(k->e.msg, "spending.day_tokens leaves no room");
	assert_true(agent_spend_shut_until(k->agent) > clock_now_ms());
	assert_int_equal(agent_spend_shut_until(k->agent), 0);
	k->cfg.spending.day.tokens = 5000;
	ok(k->w, agent_once(k->agent, &q, &k->w->a, &text, &fail, NULL, &k->e));
	assert_int_equal(world_i64(k->w, SPENT("day:")), 110);
	assert_int_equal(world_i64(k->w, SPENT("turn:")), 0);
}

static void status_and_tokens_tell_what_is_left(void **state)
{
	struct agent_world *k = thrifty(state);
	const char *const words[] = { "/status", "/tokens" };
	str reply;

	k->cfg.spending.day = (struct spending_limit){ 1000, 2000000000 };
	k->cfg.spending.month.tokens = 5000;
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	for (size_t i = 0; i < COUNT(words); i++) {
		assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"),
					  str_of(words[i]), &k->w->a, &reply));
		aw_has(reply.p, "\nspent this day: 110 tokens of 1000 tokens, 890 tokens left");
		aw_has(reply.p, "\nspent this day: 0.000000 EUR of 2.00 EUR, 2.00 EUR left");
		aw_has(reply.p,
		       "\nspent this month: 110 tokens of 5000 tokens, 4890 tokens left");
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_limits_nothing_is_written),
		TEST(a_turn_without_room_is_refused_in_one_message),
		TEST(a_turn_lands_with_what_it_has),
		TEST(what_was_not_reported_is_kept_as_estimated),
		TEST(a_limit_in_money_needs_a_price),
		TEST(work_of_our_own_waits),
		TEST(status_and_tokens_tell_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Limits on spending: no request without room for its worst case, and always a reply.
 */
#include "agent_world.h"

#include "agent/once.h"
#include "agent/slash.h"
#include "agent/spend.h"
#include "config/price.h"
#include "os/seam.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* What the wall clock says; 0: what it does. */
static _Atomic int64_t wall_s;

int seam_clock(clockid_t id, struct timespec *out)
{
	int rc = clock_gettime(id, out);
	int64_t set = atomic_load(&wall_s);

	if (set && id == CLOCK_REALTIME)
		*out = (struct timespec){ .tv_sec = set };
	return rc;
}

int seam_slice(int ms)
{
	return ms;
}

static const struct price price = { { "*", 1 }, 1000000, 1000000, 2000000, 1000000 };

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
					  str_of(words[i]), &k->w->a, &reply, NULL));
		aw_has(reply.p, "\nspent this day: 110 tokens of 1000 tokens, 890 tokens left");
		aw_has(reply.p, "\nspent this day: 0.000000 EUR of 2.00 EUR, 2.00 EUR left");
		aw_has(reply.p,
		       "\nspent this month: 110 tokens of 5000 tokens, 4890 tokens left");
	}
}

/* --- many at once, and the calendar ------------------------------------------------------- */

static struct agent_world *calendar(void **state)
{
	struct agent_world *k = thrifty(state);

	k->cfg.cron.zone = S("Europe/Berlin");
	aw_open(k);
	return k;
}

static void set_clock(int64_t at_s)
{
	atomic_store(&wall_s, at_s);
}

/* A request of 900 tokens and up to 100 of an answer; OK or E_LIMIT. */
static int ask(struct agent_world *k, struct spend *s)
{
	struct err e = { 0 };

	ok(k->w, spend_begin(s, k->agent, &k->cfg, S("url|m"), S(""), &k->w->a, &e));
	return spend_hold(s, 900, NULL, &e);
}

static void use_up(struct agent_world *k, const struct spend *s)
{
	const struct spend_settle how = { s->id, { 1000, 1000 }, false };
	struct tx tx = world_begin(k->w);

	ok(k->w, store_spend_settle(&tx, &how, &k->w->e));
	world_commit(k->w, &tx);
}

#define RACERS 8
#define ROUNDS 20

struct racer {
	struct agent *agent;
	const struct config *cfg;
	pthread_barrier_t *line;
	int rc[ROUNDS];
};

static void *race(void *arg)
{
	struct racer *r = arg;

	for (int i = 0; i < ROUNDS; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct spend s;
		struct err e = { 0 };
		r->rc[i] = spend_begin(&s, r->agent, r->cfg, S("url|m"), S(""), &a, &e);
		(void)pthread_barrier_wait(r->line);
		if (r->rc[i] == OK)
			r->rc[i] = spend_hold(&s, 900, NULL, &e);
	}
	return NULL;
}

static void the_last_room_is_had_by_one_of_many_at_once(void **state)
{
	struct agent_world *k = thrifty(state);
	struct racer racers[RACERS];
	pthread_t ids[RACERS];
	pthread_barrier_t line;
	int had = 0;

	k->cfg.spending.day.tokens = 5 * 1000 + 999; /* for five, and nearly for a sixth */
	aw_open(k);
	set_clock(1800000000);
	assert_int_equal(pthread_barrier_init(&line, NULL, RACERS), 0);
	for (int i = 0; i < RACERS; i++) {
		racers[i] = (struct racer){ k->agent, &k->cfg, &line, { 0 } };
		assert_int_equal(pthread_create(&ids[i], NULL, race, &racers[i]), 0);
	}
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(pthread_join(ids[i], NULL), 0);
	(void)pthread_barrier_destroy(&line);
	for (int i = 0; i < RACERS; i++)
		for (int j = 0; j < ROUNDS; j++) {
			assert_true(racers[i].rc[j] == OK || racers[i].rc[j] == E_LIMIT);
			had += racers[i].rc[j] == OK;
		}
	assert_int_equal(had, 5);
	assert_int_equal(world_i64(k->w, "SELECT sum(tokens) FROM spend_holds"), 5000);
	set_clock(0);
}

/* 2027-01-15 12:00 in Berlin. */
#define NOON INT64_C(1800010800)
#define HOUR 3600

static void no_day_opens_again_when_the_clock_is_set_back(void **state)
{
	struct agent_world *k = calendar(state);
	struct spend s;

	k->cfg.spending.day.tokens = 1000;
	set_clock(NOON);
	assert_int_equal(ask(k, &s), OK);
	use_up(k, &s);
	assert_int_equal(ask(k, &s), E_LIMIT);
	set_clock(NOON - HOUR);
	assert_int_equal(ask(k, &s), E_LIMIT);
	/* Into the day before, which has room of its own, and forward again. */
	set_clock(NOON - 13 * HOUR);
	assert_int_equal(ask(k, &s), OK);
	use_up(k, &s);
	assert_int_equal(ask(k, &s), E_LIMIT);
	set_clock(NOON);
	assert_int_equal(ask(k, &s), E_LIMIT);
	set_clock(NOON + 12 * HOUR - 1);
	assert_int_equal(ask(k, &s), E_LIMIT);
	aw_has(s.refusal.p, "It opens again on 2027-01-16 at 00:00 (Europe/Berlin)");
	set_clock(NOON + 12 * HOUR);
	assert_int_equal(ask(k, &s), OK);
	set_clock(0);
}

/* The last second of a month in Berlin; the next one is in the next. */
static const struct {
	int64_t last_s;
	const char *opens;
} ends[] = {
	{ 1798757999, "2027-01-01 at 00:00" }, /* of a year, too */
	{ 1801436399, "2027-02-01 at 00:00" },
	{ 1803855599, "2027-03-01 at 00:00" },
	{ 1806530399, "2027-04-01 at 00:00" }, /* in summer time */
};

static void a_month_ends_with_its_last_second(void **state)
{
	struct agent_world *k = calendar(state);
	struct spend s;

	k->cfg.spending.month.tokens = 1000;
	for (size_t i = 0; i < COUNT(ends); i++) {
		set_clock(ends[i].last_s);
		assert_int_equal(ask(k, &s), OK);
		use_up(k, &s);
		assert_int_equal(ask(k, &s), E_LIMIT);
		if (!str_has(s.refusal, str_of(ends[i].opens)))
			fail_msg("%s: %s", ends[i].opens, s.refusal.p);
		assert_int_equal(s.shut_ms, (ends[i].last_s + 1) * 1000);
		set_clock(ends[i].last_s + 1);
		assert_int_equal(ask(k, &s), OK);
		world_sql(k->w, "DELETE FROM spend_holds");
		set_clock(ends[i].last_s);
		assert_int_equal(ask(k, &s), E_LIMIT);
	}
	set_clock(0);
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
		TEST(the_last_room_is_had_by_one_of_many_at_once),
		TEST(no_day_opens_again_when_the_clock_is_set_back),
		TEST(a_month_ends_with_its_last_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What is spent and what is held.
 */
#include "store_world.h"

#include "store/spend.h"

static const str day = { "day:20261130", 12 }, month = { "month:202611", 12 };

static int64_t hold(struct world *w, const str *scopes, size_t n, int64_t tokens, int64_t nano)
{
	struct tx tx = world_begin(w);
	int64_t id = 0;

	ok(w, store_spend_hold(&tx, scopes, n, &(struct spend_amount){ tokens, nano }, &id,
			       &w->e));
	world_commit(w, &tx);
	return id;
}

static void settle(struct world *w, int64_t id, int64_t tokens, int64_t nano, bool estimated)
{
	struct tx tx = world_begin(w);

	ok(w, store_spend_settle(&tx, &(struct spend_settle){ id, { tokens, nano }, estimated },
				 &w->e));
	world_commit(w, &tx);
}

static void spends(struct world *w, str scope, int64_t tokens, int64_t nano, int64_t held,
		   int64_t estimated)
{
	struct spent s;

	ok(w, store_spent(w->s, scope, &s, &w->e));
	assert_int_equal(s.sum.tokens, tokens);
	assert_int_equal(s.sum.nano, nano);
	assert_int_equal(s.held.tokens, held);
	assert_int_equal(s.estimated.tokens, estimated);
}

static void what_is_held_counts_until_it_is_settled(void **state)
{
	struct world *w = *state;
	const str both[] = { day, month };

	spends(w, day, 0, 0, 0, 0);
	int64_t id = hold(w, both, 2, 100, 7);
	int64_t other = hold(w, &month, 1, 5, 1);
	spends(w, day, 100, 7, 100, 0);
	spends(w, month, 105, 8, 105, 0);
	spends(w, S("day:2026113"), 0, 0, 0, 0); /* a part of a name is none */
	settle(w, id, 30, 2, false);
	spends(w, day, 30, 2, 0, 0);
	spends(w, month, 35, 3, 5, 0);
	settle(w, id, 30, 2, false); /* once */
	settle(w, 0, 30, 2, false);
	spends(w, day, 30, 2, 0, 0);
	settle(w, other, 4, 1, true);
	spends(w, month, 34, 3, 0, 4);
}

static void what_the_dead_held_is_spent_as_estimated(void **state)
{
	struct world *w = *state;
	const str both[] = { day, month };
	int64_t n;

	(void)hold(w, both, 2, 100, 7);
	(void)hold(w, &day, 1, 1, 1);
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	spends(w, day, 101, 8, 101, 0); /* we live */
	world_reopen(w, STORE_DAEMON);
	spends(w, day, 101, 8, 101, 0); /* counted over a crash */
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	spends(w, day, 101, 8, 0, 101);
	spends(w, month, 100, 7, 0, 100);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM spend_holds"), 0);
}

static void no_amount_is_too_large_to_be_added(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 50; i++)
		settle(w, hold(w, &day, 1, INT64_MAX, INT64_MAX), INT64_MAX, INT64_MAX, true);
	spends(w, day, INT64_C(4000000000000000000), INT64_C(4000000000000000000), 0,
	       INT64_C(4000000000000000000));
	settle(w, hold(w, &month, 1, -5, -5), -5, -5, false);
	spends(w, month, 0, 0, 0, 0);
}

static void old_sums_are_forgotten(void **state)
{
	struct world *w = *state;

	settle(w, hold(w, &day, 1, 5, 5), 5, 5, false);
	world_sql(w, "UPDATE spent SET updated_at_ms = updated_at_ms - 63 * 86400000");
	settle(w, hold(w, &month, 1, 5, 5), 5, 5, false);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM spent"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_held_counts_until_it_is_settled),
		TEST(what_the_dead_held_is_spent_as_estimated),
		TEST(no_amount_is_too_large_to_be_added),
		TEST(old_sums_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

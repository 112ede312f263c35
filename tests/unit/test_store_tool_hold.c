/*
 * Holds of tools: of a conversation, for a while.
 */
#include "store_world.h"

#include "store/tool_hold.h"

static str on(struct world *w, str session)
{
	str *v, all = S("");
	size_t n;

	ok(w, store_tool_holds(w->s, session, &w->a, &v, &n, &w->e));
	for (size_t i = 0; i < n; i++)
		all = arena_fmt(&w->a, "%.*s%s%.*s", STRF(all), i ? " " : "", STRF(v[i]));
	return all;
}

static void hold(struct world *w, str session, const char *prefix, enum tool_hold how)
{
	struct tx tx = world_begin(w);

	ok(w, store_tool_hold(&tx, session, str_of(prefix), how, &w->e));
	world_commit(w, &tx);
}

static void later(struct world *w, int hours)
{
	world_sql(w, arena_fmt(&w->a, "UPDATE tool_holds SET used_at_ms = used_at_ms - %lld",
			       hours * 3600000LL + 60000)
			     .p);
}

static void a_hold_ends_when_it_is_not_used(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "hi", 0);
	world_turn(w, "2", "hi", 0);
	str one = world_text(w, "SELECT id FROM sessions WHERE address = '1'");
	str two = world_text(w, "SELECT id FROM sessions WHERE address = '2'");
	hold(w, one, "google__calendar", TOOL_HOLD_BRIEF);
	hold(w, one, "flights", TOOL_HOLD_SHORT);
	assert_string_equal("flights google__calendar", on(w, one).p);
	assert_string_equal("", on(w, two).p);
	later(w, 5);
	struct tx tx = world_begin(w);
	ok(w, store_tool_used(&tx, one, S("google__calendar"), &w->e));
	world_commit(w, &tx);
	later(w, 5);
	assert_string_equal("flights google__calendar", on(w, one).p);
	later(w, 1);
	assert_string_equal("flights", on(w, one).p);
	later(w, 17);
	assert_string_equal("", on(w, one).p);
	hold(w, two, "garmin", TOOL_HOLD_BRIEF); /* what is over goes */
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM tool_holds"));
	hold(w, two, "garmin", TOOL_HOLD_SHORT);
	later(w, 20);
	assert_string_equal("garmin", on(w, two).p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hold_ends_when_it_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

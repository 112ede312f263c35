/*
 * Looks of a watch, with the real tools: the first is the seed, and switched off there are none.
 */
#include "agent_world.h"

#include "agent/system.h"
#include "os/clock.h"
#include "store/system.h"
#include "store/watch.h"

static void add(struct agent_world *k)
{
	const struct watch w = { .channel = S("test"),
				 .address = S("1"),
				 .sender = S("7"),
				 .tool = S("look"),
				 .args = S("{\"text\":\"[]\"}"),
				 .interval_ms = 60000 };
	struct tx tx = world_begin(k->w);
	int64_t id;

	ok(k->w, store_watch_add(&tx, &w, 5, &id, &k->w->e));
	world_commit(k->w, &tx);
}

static void look(struct agent_world *k)
{
	struct system_row row;
	struct tx tx = world_begin(k->w);

	aw_open(k);
	ok(k->w, store_system_claim(&tx, S(""), &k->w->a, &row, &k->w->e));
	world_commit(k->w, &tx);
	ok(k->w, agent_system_run(k->agent, &row, &k->token, &k->w->e));
}

static void the_first_look_calls_the_tool_and_the_next_is_an_interval_away(void **state)
{
	struct agent_world *k = *state;
	int64_t now = clock_now_ms(), at = 0;

	k->cfg.watch.enabled = true;
	add(k);
	look(k);
	assert_int_equal(k->ran, 1);
	ok(k->w, store_system_next_at(k->w->s, &at, &k->w->e));
	assert_true(at >= now + 60000);
}

static void switched_off_nothing_is_looked_at_and_nothing_forgotten(void **state)
{
	struct agent_world *k = *state;
	int64_t now = clock_now_ms(), at = 0;

	add(k);
	world_sql(k->w, "UPDATE watches SET seen = 'a', pending = '- b', last_error = 'x'");
	look(k);
	assert_int_equal(k->ran, 0);
	assert_string_equal(
		world_text(k->w, "SELECT seen || pending || last_error || seeded FROM watches")
			.p,
		"a- bx0");
	ok(k->w, store_system_next_at(k->w->s, &at, &k->w->e));
	assert_true(at >= now + 60000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_look_calls_the_tool_and_the_next_is_an_interval_away),
		TEST(switched_off_nothing_is_looked_at_and_nothing_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

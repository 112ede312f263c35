/* A turn asked again: recorded results by name and arguments, whatever the order. */
#include "agent_world.h"

#include "agent/fork.h"

#include <string.h>

#define assert_text(s, t) assert_string_equal(arena_cstr(&k->w->a, (s)), (t))

/* A turn of two calls, one of them twice, and an answer. */
static void live(struct agent_world *k)
{
	aw_says(k, "c:echo {\"a\":1,\"b\":[true,null,1.5]}|echo {\"a\":2}");
	aw_says(k, "c:echo {\"a\":2}");
	aw_says(k, "t:Then");
}

static int fork_last(struct agent_world *k, struct fork *f)
{
	struct model_failure fail;
	str id;

	aw_hear(k, "do it");
	ok(k->w, aw_run(k));
	ok(k->w, store_trace_last(k->w->s, S(""), &k->w->a, &id, &k->w->e));
	return fork_turn(f, k->agent, id, &k->w->a, &fail, NULL, &k->w->e);
}

static void calls_are_known_by_name_and_arguments(void **state)
{
	struct agent_world *k = *state;
	struct fork f;

	live(k);
	aw_says(k, "c:echo {\"b\":[true,null,1.5],\"a\":1}");
	aw_says(k, "c:echo {\"a\":2}|echo {\"a\":2}|echo {\"a\":2}");
	aw_says(k, "t:Now");
	ok(k->w, fork_last(k, &f));
	assert_int_equal(f.end, FORK_ANSWERED);
	assert_int_equal(f.n, 3);
	assert_text(f.was, "Then");
	assert_text(f.is, "Now");
	assert_true(f.v[0].calls[0].then == &f.past.calls[0]);
	assert_true(f.v[1].calls[0].then == &f.past.calls[1]);
	assert_true(f.v[1].calls[1].then == &f.past.calls[2]);
	assert_true(f.v[1].calls[2].then == &f.past.calls[2]); /* the last again */
	assert_false(f.v[0].same_calls);
	assert_int_equal(k->ran, 3); /* by the turn; none by the fork */
}

static void the_same_calls_are_told(void **state)
{
	struct agent_world *k = *state;
	struct fork f;
	const struct call **then;
	str text;

	live(k);
	live(k);
	ok(k->w, fork_last(k, &f));
	assert_int_equal(f.end, FORK_ANSWERED);
	assert_true(f.v[0].same_calls && f.v[1].same_calls && f.v[2].same_calls);
	assert_true(str_eq(f.was, f.is));
	assert_int_equal(fork_then(&f, 1, &k->w->a, &then, &text), 2);
	assert_int_equal(fork_then(&f, 9, &k->w->a, &then, &text), 0);
}

static void another_value_is_another_call(void **state)
{
	static const char *const others[] = {
		"{\"a\":2,\"b\":1}", "{\"a\":2.5}", "{\"a\":\"2\"}",
		"{\"c\":2}",         "{\"a\":[2]}", "{\"a\":1,\"b\":[true,null,1.25]}",
	};

	struct agent_world *k = *state;
	struct model_failure fail;
	struct fork f;
	str id;

	live(k);
	for (size_t i = 0; i < COUNT(others); i++)
		aw_says(k, arena_fmt(&k->w->a, "c:echo %s", others[i]).p);
	ok(k->w, fork_last(k, &f));
	id = f.past.turn.id;
	for (size_t i = 0; i < COUNT(others); i++) {
		if (i)
			ok(k->w, fork_turn(&f, k->agent, id, &k->w->a, &fail, NULL, &k->w->e));
		assert_int_equal(f.end, FORK_UNRECORDED);
		assert_text(f.v[0].calls[0].args, others[i]);
		assert_null(f.v[0].calls[0].then);
	}
}

#define test(name)                                                                             \
	cmocka_unit_test_setup_teardown(name, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(calls_are_known_by_name_and_arguments),
		test(the_same_calls_are_told),
		test(another_value_is_another_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

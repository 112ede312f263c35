/*
 * What is done every minute: the work of the dead is handed on, and those who are to do it hear
 * of it at once.
 */
#include "ringing.h"
#include "store_world.h"

#include "gateway/sweep.h"
#include "os/clock.h"
#include "os/http.h"
#include "store/system.h"

struct minute {
	struct world *w;
	struct config cfg;
	struct engine g;
	struct sweep sweep;
};

static int setup(void **state)
{
	static struct minute m;

	m = (struct minute){ 0 };
	(void)world_setup((void **)&m.w);
	m.g = (struct engine){ .cfg = &m.cfg, .store = m.w->s };
	bells_init(&m.g);
	assert_int_equal(http_pool_open(&m.g.pool, &(struct http_opt){ 0 }, NULL), OK);
	*state = &m;
	return 0;
}

static int teardown(void **state)
{
	struct minute *m = *state;

	http_pool_close(m->g.pool);
	bells_done(&m->g);
	return world_teardown((void **)&m->w);
}

static void sweep(struct minute *m)
{
	ok(m->w, sweep_up(&m->sweep, &m->g, NULL, &m->w->e));
}

static void where_nobody_died_nobody_is_called(void **state)
{
	struct minute *m = *state;

	(void)world_add(m->w, "1", "hi");
	sweep(m);
	assert_false(rung(&m->g.inbox) || rung(&m->g.outbox) || rung(&m->g.system));
}

static void the_turn_of_one_who_died_calls_those_who_go_on_with_it(void **state)
{
	struct minute *m = *state;
	struct store *other = world_open(m->w, STORE_CLI);

	(void)world_add(m->w, "1", "hi");
	(void)world_claim_in(m->w, other, S(""));
	store_close(other);
	sweep(m);
	assert_true(rung(&m->g.inbox));
	assert_true(rung(&m->g.outbox));
	assert_int_equal(world_i64(m->w, "SELECT count(*) FROM turns WHERE state = 'ready'"),
			 1);
	sweep(m);
	assert_false(rung(&m->g.inbox) || rung(&m->g.outbox));
}

static void work_of_our_own_that_a_command_left_calls_the_system_worker(void **state)
{
	struct minute *m = *state;
	struct world *w = m->w;
	struct store *other = world_open(w, STORE_CLI);
	struct system_row row;
	struct tx tx = world_begin(w);

	ok(w, store_system_add(&tx, &(struct system_new){ .what = S("fold") }, &w->e));
	world_commit(w, &tx);
	(void)store_news(w->s);
	ok(w, store_begin(&tx, other, NULL, &w->e));
	ok(w, store_system_claim(&tx, S(""), &w->a, &row, &w->e));
	ok(w, store_commit(&tx, &w->e));
	sweep(m);
	assert_false(rung(&m->g.system)); /* it lives */
	store_close(other);
	sweep(m);
	assert_true(rung(&m->g.system));
	sweep(m);
	assert_false(rung(&m->g.system));
}

static void what_is_too_old_is_looked_for_now_and_then(void **state)
{
	struct minute *m = *state;
	int64_t now = clock_mono_ms();

	sweep(m);
	assert_true(m->sweep.retain_at_ms > now);
	m->sweep.retain_at_ms = now + 1000000;
	sweep(m);
	assert_int_equal(m->sweep.retain_at_ms, now + 1000000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(where_nobody_died_nobody_is_called),
		TEST(the_turn_of_one_who_died_calls_those_who_go_on_with_it),
		TEST(work_of_our_own_that_a_command_left_calls_the_system_worker),
		TEST(what_is_too_old_is_looked_for_now_and_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

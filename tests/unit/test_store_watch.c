/*
 * Watches: a look and what it saw are one commit; what was not answered is not forgotten.
 */
#include "store_world.h"

#include "os/clock.h"
#include "store/system.h"
#include "store/watch.h"

#include <string.h>

static const struct watch one = { .channel = S("test"),
				  .address = S("1"),
				  .sender = S("7"),
				  .tool = S("srv__feed"),
				  .args = S("{}"),
				  .label = S("news"),
				  .interval_ms = 60000 };

static int64_t add(struct world *w)
{
	struct tx tx = world_begin(w);
	int64_t id = 0;

	ok(w, store_watch_add(&tx, &one, 2, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

static struct watch get(struct world *w, int64_t id)
{
	struct watch v;

	ok(w, store_watch_get(w->s, id, &w->a, &v, &w->e));
	return v;
}

static bool looked(struct world *w, const struct watch *v, struct watch_look l)
{
	struct tx tx = world_begin(w);
	bool kept;

	ok(w, store_watch_looked(&tx, v, &l, &kept, &w->e));
	world_commit(w, &tx);
	return kept;
}

static void a_watch_is_looked_at_at_once_and_counts(void **state)
{
	struct world *w = *state;
	struct watch *v;
	int64_t id = add(w), more;
	size_t n;

	assert_int_equal(world_i64(w, "SELECT count(*) FROM system_rows WHERE what = 'watch' "
				      "AND key = '1'"),
			 1);
	(void)add(w);
	struct tx tx = world_begin(w);
	assert_int_equal(store_watch_add(&tx, &one, 2, &more, &w->e), E_LIMIT);
	assert_int_equal(store_watch_cancel(&tx, id, S("test"), S("2"), &w->e), E_NOENT);
	ok(w, store_watch_cancel(&tx, id, S("test"), S("1"), &w->e));
	assert_int_equal(store_watch_cancel(&tx, id, S("test"), S("1"), &w->e), E_NOENT);
	world_commit(w, &tx);
	ok(w, store_watch_list(w->s, S("test"), S("1"), &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	assert_false(get(w, id).enabled);
}

static void a_look_that_failed_is_no_seed(void **state)
{
	struct world *w = *state;
	int64_t id = add(w);
	struct watch v = get(w, id);

	assert_true(looked(w, &v, (struct watch_look){ .error = S("no net") }));
	v = get(w, id);
	assert_false(v.seeded);
	assert_string_equal(v.last_error.p, "no net");
	assert_true(looked(w, &v, (struct watch_look){ .seen = S("a\n") }));
	v = get(w, id);
	assert_true(v.seeded);
	assert_string_equal(v.last_error.p, "");
}

static void news_wake_once_and_are_kept_until_they_are_answered(void **state)
{
	struct world *w = *state;
	int64_t id = add(w);
	struct watch v = get(w, id), old = v;
	const struct watch_look news = { .seen = S("a\nb\n"),
					 .pending = S("- b\n"),
					 .text = S("[watch] b"),
					 .meta = S("{}") };

	assert_true(looked(w, &v, news));
	assert_false(looked(w, &old, news)); /* it is not as it was read */
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox WHERE kind = 'watch'"), 1);
	assert_int_equal(get(w, id).wake, WATCH_OPEN);
	struct turn t = world_claim(w);
	assert_int_equal(get(w, id).wake, WATCH_OPEN);
	ok(w, world_finish_as(w, &t,
			      (struct turn_finish){ .end = TURN_FAILED, .error = S("no") }));
	v = get(w, id);
	assert_int_equal(v.wake, WATCH_FAILED);
	assert_string_equal(v.pending.p, "- b\n");
	struct watch_look again = news;
	again.seen = S("a\nb\nc\n");
	assert_true(looked(w, &v, again));
	t = world_claim(w);
	world_finish(w, &t);
	assert_int_equal(get(w, id).wake, WATCH_QUIET);
}

static void a_cancelled_watch_forgets_what_it_saw_and_goes(void **state)
{
	struct world *w = *state;
	int64_t id = add(w);

	(void)add(w);
	world_sql(w, "UPDATE watches SET seen = 'a', pending = '- b', updated_at_ms = 1000");
	struct tx tx = world_begin(w);
	ok(w, store_watch_cancel(&tx, id, S("test"), S("1"), &w->e));
	ok(w, store_watch_sweep(&tx, 2000, &w->e));
	world_commit(w, &tx);
	assert_int_equal(get(w, id).seen.n + get(w, id).pending.n, 0);
	tx = world_begin(w);
	ok(w, store_watch_sweep(&tx, clock_now_ms() + 1000, &w->e));
	world_commit(w, &tx);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM watches"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_watch_is_looked_at_at_once_and_counts),
		TEST(a_look_that_failed_is_no_seed),
		TEST(news_wake_once_and_are_kept_until_they_are_answered),
		TEST(a_cancelled_watch_forgets_what_it_saw_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

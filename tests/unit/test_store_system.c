/*
 * Rows of work that is no turn: one of a kind, whose it is, when it is due again.
 */
#include "store_world.h"

#include "os/clock.h"
#include "store/system.h"

#include <string.h>

static void add(struct world *w, const char *what, const char *key, int64_t at)
{
	struct tx tx = world_begin(w);

	ok(w, store_system_add(&tx,
			       &(struct system_new){ .what = str_of(what),
						     .key = str_of(key),
						     .text = S("{}"),
						     .ready_at_ms = at },
			       &w->e));
	world_commit(w, &tx);
}

static void a_commit_leaves_word_of_it_once(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);

	ok(w, store_system_add(&tx, &(struct system_new){ .what = S("a"), .text = S("{}") },
			       &w->e));
	store_rollback(&tx);
	assert_int_equal(0, store_news(w->s));
	add(w, "a", "1", 0);
	assert_int_equal(STORE_NEWS_SYSTEM, store_news(w->s));
	assert_int_equal(0, store_news(w->s));
}

static int claim_in(struct world *w, struct store *s, struct system_row *row)
{
	SCOPED(store_rollback) struct tx tx = { 0 };

	ok(w, store_begin(&tx, s, NULL, &w->e));
	int rc = store_system_claim(&tx, S(""), &w->a, row, &w->e);
	if (rc == OK)
		ok(w, store_commit(&tx, &w->e));
	return rc;
}

static struct system_row claim(struct world *w)
{
	struct system_row row = { 0 };

	ok(w, claim_in(w, w->s, &row));
	return row;
}

static void end(struct world *w, int (*how)(struct tx *tx, int64_t id, struct err *e),
		int64_t id)
{
	struct tx tx = world_begin(w);

	ok(w, how(&tx, id, &w->e));
	world_commit(w, &tx);
}

static void fails(struct world *w, int64_t id)
{
	struct tx tx = world_begin(w);

	ok(w, store_system_retry(&tx, id, S("no luck"), &w->e));
	world_commit(w, &tx);
}

static int64_t rows(struct world *w)
{
	return world_i64(w, "SELECT count(*) FROM system_rows");
}

static int64_t wait_of(struct world *w)
{
	return world_i64(w, "SELECT ready_at_ms FROM system_rows") - clock_now_ms();
}

static void there_is_one_row_of_a_kind_and_key(void **state)
{
	struct world *w = *state;
	struct system_row row;

	add(w, "fold", "a", 0);
	add(w, "fold", "a", 0);
	add(w, "fold", "b", 0);
	assert_int_equal(2, rows(w));
	row = claim(w);
	assert_string_equal("a", row.key.p);
	assert_int_equal(1, row.attempts);
	end(w, store_system_done, row.id);
	row = claim(w);
	assert_string_equal("b", row.key.p);
	end(w, store_system_done, row.id);
	assert_int_equal(0, rows(w));
	assert_int_equal(E_NOENT, claim_in(w, w->s, &row));
}

static void a_kind_can_be_left_to_somebody_else(void **state)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct world *w = *state;
	struct system_row row;
	bool ready = true;

	add(w, "watch", "a", 0);
	ok(w, store_system_ready(w->s, S("watch"), &ready, &w->e));
	assert_false(ready);
	ok(w, store_system_ready(w->s, S(""), &ready, &w->e));
	assert_true(ready);
	add(w, "fold", "b", clock_now_ms() + 60000);
	ok(w, store_system_ready(w->s, S("watch"), &ready, &w->e));
	assert_false(ready);
	add(w, "fold", "c", 0);
	ok(w, store_system_ready(w->s, S("watch"), &ready, &w->e));
	assert_true(ready);
	ok(w, store_begin(&tx, w->s, NULL, &w->e));
	ok(w, store_system_claim(&tx, S("watch"), &w->a, &row, &w->e));
	assert_string_equal(row.key.p, "c");
	assert_int_equal(E_NOENT, store_system_claim(&tx, S("watch"), &w->a, &row, &w->e));
}

static void what_is_not_due_waits_and_may_be_moved_forward_only(void **state)
{
	struct world *w = *state;
	int64_t now = clock_now_ms(), at;
	struct system_row row;

	ok(w, store_system_next_at(w->s, &at, &w->e));
	assert_int_equal(0, at);
	add(w, "fold", "a", now + 60000);
	assert_int_equal(E_NOENT, claim_in(w, w->s, &row));
	ok(w, store_system_next_at(w->s, &at, &w->e));
	assert_int_equal(now + 60000, at);
	add(w, "fold", "a", now + 90000);
	ok(w, store_system_next_at(w->s, &at, &w->e));
	assert_int_equal(now + 60000, at);
	add(w, "fold", "a", now);
	(void)claim(w);
	ok(w, store_system_next_at(w->s, &at, &w->e));
	assert_int_equal(0, at); /* what is worked on waits for nobody */
}

static void what_is_asked_for_during_its_work_is_done_once_more(void **state)
{
	struct world *w = *state;

	add(w, "fold", "a", 0);
	struct system_row row = claim(w);
	add(w, "fold", "a", 0);
	end(w, store_system_done, row.id);
	row = claim(w);
	assert_int_equal(1, row.attempts);
	end(w, store_system_done, row.id);
	assert_int_equal(0, rows(w));
}

static void what_is_asked_for_later_waits_for_its_time_after_its_work(void **state)
{
	struct world *w = *state;

	add(w, "fold", "a", 0);
	struct system_row row = claim(w);
	add(w, "fold", "a", clock_now_ms() + 90000);
	add(w, "fold", "a", clock_now_ms() + 60000);
	add(w, "fold", "a", clock_now_ms() + 80000);
	end(w, store_system_done, row.id);
	assert_in_range(wait_of(w), 50000, 60000);
}

static void failures_are_spaced_further_and_further_and_asking_does_not_help(void **state)
{
	struct world *w = *state;
	static const int64_t after[] = { 30, 60, 120, 240, 480, 960, 1920, 3600, 3600 };

	add(w, "fold", "a", 0);
	for (size_t i = 0; i < COUNT(after); i++) {
		struct system_row row = claim(w);
		assert_int_equal(i + 1, row.attempts);
		fails(w, row.id);
		assert_in_range(wait_of(w), after[i] * 1000 - 5000, after[i] * 1000);
		add(w, "fold", "a", 0);
		assert_true(wait_of(w) > after[i] * 1000 - 10000);
		world_sql(w, "UPDATE system_rows SET ready_at_ms = 1");
	}
	assert_true(str_eq(world_text(w, "SELECT error FROM system_rows"), S("no luck")));
}

static void what_a_shutdown_puts_down_has_not_been_tried(void **state)
{
	struct world *w = *state;

	add(w, "fold", "a", 0);
	struct system_row row = claim(w);
	end(w, store_system_release, row.id);
	row = claim(w);
	assert_int_equal(1, row.attempts);
}

static void a_row_is_its_owners_alone(void **state)
{
	struct world *w = *state;
	struct store *other = world_open(w, STORE_CLI);
	struct system_row row;
	struct tx tx = { 0 };

	add(w, "fold", "a", 0);
	ok(w, claim_in(w, other, &row));
	assert_int_equal(E_NOENT, claim_in(w, w->s, &row));
	static int (*const ends[])(struct tx * tx, int64_t id,
				   struct err * e) = { store_system_done,
						       store_system_release };
	for (size_t i = 0; i < COUNT(ends); i++) {
		tx = world_begin(w);
		assert_int_equal(E_CANCELED, ends[i](&tx, 1, &w->e));
		assert_int_equal(E_CANCELED, store_commit(&tx, &w->e));
	}
	tx = world_begin(w);
	assert_int_equal(E_CANCELED, store_system_retry(&tx, 1, S(""), &w->e));
	store_rollback(&tx);
	store_close(other); /* it dies */
	int64_t n;
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	row = claim(w);
	assert_int_equal(2, row.attempts); /* it may have been what killed it */
}

static void what_kills_again_and_again_is_put_off(void **state)
{
	struct world *w = *state;
	int64_t n;

	add(w, "fold", "a", 0);
	for (int i = 1; i <= 4; i++) {
		struct store *other = world_open(w, STORE_CLI);
		struct system_row row;
		ok(w, claim_in(w, other, &row));
		store_close(other);
		ok(w, store_recover(w->s, NULL, &n, &w->e));
		assert_true(i < 3 ? wait_of(w) <= 0 : wait_of(w) > 20000);
		world_sql(w, "UPDATE system_rows SET ready_at_ms = 1");
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_commit_leaves_word_of_it_once),
		TEST(there_is_one_row_of_a_kind_and_key),
		TEST(a_kind_can_be_left_to_somebody_else),
		TEST(what_is_not_due_waits_and_may_be_moved_forward_only),
		TEST(what_is_asked_for_during_its_work_is_done_once_more),
		TEST(what_is_asked_for_later_waits_for_its_time_after_its_work),
		TEST(failures_are_spaced_further_and_further_and_asking_does_not_help),
		TEST(what_a_shutdown_puts_down_has_not_been_tried),
		TEST(a_row_is_its_owners_alone),
		TEST(what_kills_again_and_again_is_put_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

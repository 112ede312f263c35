/*
 * Rows that wait for a file: what may be claimed meanwhile, and what the end of the fetching does.
 */
#include "store_world.h"

#include "os/clock.h"

static int64_t add(struct world *w, const char *text, const char *album, const char *fetch)
{
	struct tx tx = world_begin(w);
	struct inbox_new row = { .channel = S("tg"),
				 .address = S("1"),
				 .kind = S("message"),
				 .text = str_of(text),
				 .album = str_of(album),
				 .fetch = str_of(fetch) };
	int64_t id = -1;

	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

static int end(struct world *w, int64_t id, const char *text, const char *file)
{
	struct attachment f = { S("photo"), str_of(file), S("image/png"), 3 };
	struct tx tx = world_begin(w);
	int rc = store_fetch_end(&tx, id, str_of(text), *file ? &f : NULL, &w->e);

	world_commit(w, &tx); /* E_NOENT does not doom it */
	return rc;
}

static bool claimable(struct world *w, struct turn *t)
{
	struct tx tx = world_begin(w);
	int rc = store_turn_claim(&tx, S(""), &w->a, t, &w->e);

	if (rc == OK)
		world_commit(w, &tx);
	else
		store_rollback(&tx);
	assert_true(rc == OK || rc == E_NOENT);
	return rc == OK;
}

static void a_row_is_claimed_with_what_was_fetched_and_nothing_overtakes_it(void **state)
{
	struct world *w = *state;
	struct inbox_fetch f;
	struct turn t;
	int64_t id = add(w, "look", "", "{file}"), at = -1;

	(void)add(w, "and then", "", "");
	assert_false(claimable(w, &t));
	ok(w, store_inbox_next_at(w->s, clock_now_ms(), &at, &w->e));
	assert_int_equal(at, 0); /* nobody knows when */
	ok(w, store_fetch_next(w->s, S("tg"), 0, 1, &w->a, &f, &w->e));
	assert_int_equal(f.id, id);
	assert_true(str_eq(f.fetch, S("{file}")));
	assert_int_equal(end(w, id, "[x] look", "a.png"), OK);
	assert_true(claimable(w, &t));
	assert_int_equal(t.rows_n, 1);
	assert_true(str_eq(t.rows[0].text, S("[x] look")));
	assert_int_equal(t.rows[0].files_n, 1);
	assert_true(str_eq(t.rows[0].files[0].file, S("a.png")));
	assert_int_equal(store_fetch_next(w->s, S("tg"), 0, 1, &w->a, &f, &w->e), E_NOENT);
	assert_int_equal(end(w, id, "twice", "b.png"), E_NOENT);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM attachments"), 1);
}

static void each_fetcher_has_its_own_rows_and_each_channel(void **state)
{
	struct world *w = *state;
	struct inbox_fetch f;
	int64_t first = add(w, "a", "", "A"), second = add(w, "b", "", "B");

	for (int64_t n = 0; n < 2; n++) {
		ok(w, store_fetch_next(w->s, S("tg"), n, 2, &w->a, &f, &w->e));
		assert_int_equal(f.id % 2, n);
		assert_true(f.id == first || f.id == second);
	}
	assert_int_equal(store_fetch_next(w->s, S("other"), 0, 1, &w->a, &f, &w->e), E_NOENT);
}

static void an_album_waits_for_the_last_of_its_files(void **state)
{
	struct world *w = *state;
	struct turn t;
	int64_t a = add(w, "one", "g", "A"), b = add(w, "", "g", "B");

	(void)add(w, "later", "", "");
	assert_int_equal(end(w, b, "", "b.png"), OK);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox WHERE ready_at_ms = "
				      "9223372036854775807"),
			 2);
	assert_int_equal(end(w, a, "one", ""), OK);
	/* Still as long as one waits for one more part. */
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox WHERE album = 'g' "
				      "AND ready_at_ms = (SELECT max(created_at_ms) FROM inbox "
				      "WHERE album = 'g') + 1500"),
			 2);
	assert_false(claimable(w, &t));
	world_sql(w, "UPDATE inbox SET ready_at_ms = 1 WHERE album = 'g'");
	assert_true(claimable(w, &t));
	assert_int_equal(t.rows_n, 2);
	assert_int_equal(t.rows[1].files_n, 1);
}

static void a_dropped_row_is_not_fetched_and_stays_dropped(void **state)
{
	struct world *w = *state;
	struct control_effect ef;
	struct inbox_fetch f;
	int64_t id = add(w, "look", "", "A");
	struct tx tx = world_begin(w);

	ok(w, store_control(&tx, CONTROL_STOP, S("tg"), S("1"), S(""), &w->a, &ef, &w->e));
	world_commit(w, &tx);
	assert_int_equal(ef.dropped, 1);
	assert_int_equal(store_fetch_next(w->s, S("tg"), 0, 1, &w->a, &f, &w->e), E_NOENT);
	assert_int_equal(end(w, id, "look", "a.png"), E_NOENT);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM attachments"), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_row_is_claimed_with_what_was_fetched_and_nothing_overtakes_it),
		T(each_fetcher_has_its_own_rows_and_each_channel),
		T(an_album_waits_for_the_last_of_its_files),
		T(a_dropped_row_is_not_fetched_and_stays_dropped),
	};

	return cmocka_run_group_tests_name("store/fetch", tests, NULL, NULL);
}

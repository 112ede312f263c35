/*
 * Subscriptions to resources: one message a change and a minute, in one commit with its row.
 */
#include "store_world.h"

#include "os/clock.h"
#include "store/resource.h"
#include "store/system.h"

static const struct resource_watch one = { .channel = S("test"),
					   .address = S("1"),
					   .sender = S("7"),
					   .server = S("srv"),
					   .uri = S("note://one") };

static int add(struct world *w, const char *address, const char *uri, int64_t max)
{
	struct tx tx = world_begin(w);
	struct resource_watch v = one;

	v.address = str_of(address);
	v.uri = str_of(uri);
	int rc = store_resource_add(&tx, &v, max, 8, &w->e);
	world_commit(w, &tx);
	return rc;
}

static int64_t changed(struct world *w, const char *server, const char *uri)
{
	struct tx tx = world_begin(w);
	int64_t n = -1;

	ok(w, store_resource_changed(&tx, str_of(server), str_of(uri), &n, &w->e));
	world_commit(w, &tx);
	return n;
}

static void tell(struct world *w, int64_t id)
{
	struct resource_watch v;
	struct tx tx;

	ok(w, store_resource_get(w->s, id, &w->a, &v, &w->e));
	tx = world_begin(w);
	ok(w, store_resource_tell(&tx, &v, 1, S("it changed"), S("{}"), &w->e));
	world_commit(w, &tx);
}

static void the_chats_of_a_resource_are_found_and_no_others(void **state)
{
	struct world *w = *state;
	struct resource_watch *v;
	size_t n;

	assert_int_equal(add(w, "1", "note://one", 3), OK);
	assert_int_equal(add(w, "1", "note://one", 3), OK);
	assert_int_equal(add(w, "2", "note://one", 3), OK);
	assert_int_equal(add(w, "1", "note://two", 3), OK);
	assert_int_equal(add(w, "1", "note://three", 3), E_LIMIT);
	assert_int_equal(changed(w, "srv", "note://one"), 2);
	assert_int_equal(changed(w, "other", "note://one"), 0);
	assert_int_equal(changed(w, "srv", "note://three"), 0);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM system_rows"));
	ok(w, store_resource_list(w->s, S("test"), S("1"), &w->a, &v, &n, &w->e));
	assert_int_equal(n, 2);
	assert_true(str_eq(v[1].uri, S("note://two")));
	ok(w, store_resource_list(w->s, S(""), S(""), &w->a, &v, &n, &w->e));
	assert_int_equal(n, 3);
}

static void many_changes_are_one_row_and_one_message_a_minute(void **state)
{
	struct world *w = *state;
	int64_t now = clock_now_ms();

	assert_int_equal(add(w, "1", "note://one", 3), OK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(changed(w, "srv", "note://one"), 1);
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM system_rows"));
	assert_true(world_i64(w, "SELECT ready_at_ms FROM system_rows") < now + 30000);
	tell(w, 1);
	tell(w, 1); /* the last one waits */
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox WHERE kind = 'watch'"));
	world_sql(w, "DELETE FROM system_rows");
	assert_int_equal(changed(w, "srv", "note://one"), 1);
	assert_true(world_i64(w, "SELECT ready_at_ms FROM system_rows") >= now + 60000);
	world_sql(w, "UPDATE inbox SET state = 'done'");
	tell(w, 1);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM inbox WHERE kind = 'watch'"));
}

static void a_server_has_so_many_and_others_theirs(void **state)
{
	struct world *w = *state;
	struct resource_watch other = one;
	struct tx tx;

	for (int i = 0; i < 8; i++)
		assert_int_equal(add(w, "1", arena_fmt(&w->a, "note://%d", i).p, 100), OK);
	assert_int_equal(add(w, "2", "note://8", 100), E_LIMIT);
	assert_int_equal(add(w, "1", "note://7", 100), OK);
	other.server = S("other");
	tx = world_begin(w);
	ok(w, store_resource_add(&tx, &other, 100, 8, &w->e));
	world_commit(w, &tx);
}

static void what_changed_of_a_server_is_told_of_together_once_a_minute(void **state)
{
	struct world *w = *state;
	struct resource_watch v, *all;
	int64_t at, now = clock_now_ms();
	size_t n;

	for (int i = 0; i < 3; i++)
		assert_int_equal(add(w, "1", arena_fmt(&w->a, "note://%d", i).p, 100), OK);
	assert_int_equal(add(w, "2", "note://1", 100), OK);
	assert_int_equal(changed(w, "srv", "note://0"), 1);
	assert_int_equal(changed(w, "srv", "note://1"), 2);
	ok(w, store_resource_get(w->s, 1, &w->a, &v, &w->e));
	struct tx tx = world_begin(w);
	ok(w, store_resource_when(&tx, &v, &at, &w->e));
	assert_int_equal(at, 0);
	ok(w, store_resource_gather(&tx, &v, &w->a, &all, &n, &w->e));
	assert_int_equal(n, 2);
	assert_true(str_is(all[0].uri, "note://0") && str_is(all[1].uri, "note://1"));
	ok(w, store_resource_tell(&tx, all, n, S("both"), S("{}"), &w->e));
	world_commit(w, &tx);
	/* Its own row is the caller's to end; that of the other chat stays. */
	assert_true(str_is(world_text(w, "SELECT group_concat(key) FROM (SELECT key FROM "
					 "system_rows ORDER BY key)"),
			   "1,4"));
	/* The third waits for its minute, and for the message to be read. */
	ok(w, store_resource_get(w->s, 3, &w->a, &v, &w->e));
	for (int i = 0; i < 2; i++) {
		tx = world_begin(w);
		ok(w, store_resource_when(&tx, &v, &at, &w->e));
		world_commit(w, &tx);
		assert_true(at >= now + 60000);
		world_sql(w, i ? "UPDATE inbox SET state = 'done'"
			       : "UPDATE resource_watches SET told_at_ms = 1");
	}
	tx = world_begin(w);
	ok(w, store_resource_when(&tx, &v, &at, &w->e));
	world_commit(w, &tx);
	assert_int_equal(at, 0);
}

static void what_was_taken_back_is_not_told(void **state)
{
	struct world *w = *state;
	struct resource_watch v;
	struct tx tx;

	assert_int_equal(add(w, "1", "note://one", 3), OK);
	ok(w, store_resource_get(w->s, 1, &w->a, &v, &w->e));
	tx = world_begin(w);
	ok(w, store_resource_remove(&tx, &one, &w->e));
	world_commit(w, &tx);
	tx = world_begin(w);
	assert_int_equal(store_resource_remove(&tx, &one, &w->e), E_NOENT);
	ok(w, store_resource_tell(&tx, &v, 1, S("it changed"), S("{}"), &w->e));
	world_commit(w, &tx);
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM inbox"));
	assert_int_equal(store_resource_get(w->s, 1, &w->a, &v, &w->e), E_NOENT);
}

static void a_start_asks_for_all_of_them_again(void **state)
{
	struct world *w = *state;
	struct system_row row;
	struct tx tx;

	assert_int_equal(add(w, "1", "note://one", 3), OK);
	assert_int_equal(add(w, "2", "note://two", 3), OK);
	for (int i = 0; i < 2; i++) {
		tx = world_begin(w);
		ok(w, store_resource_again(&tx, &w->e));
		world_commit(w, &tx);
	}
	assert_int_equal(
		2, world_i64(w, "SELECT count(*) FROM system_rows WHERE what = 'resubscribe'"));
	tx = world_begin(w);
	ok(w, store_system_claim(&tx, S(""), &w->a, &row, &w->e));
	world_commit(w, &tx);
	assert_true(str_eq(row.key, S("1")));
}

static void a_chat_that_moved_takes_its_subscriptions_along(void **state)
{
	struct world *w = *state;
	struct tx tx;

	assert_int_equal(add(w, "-1", "note://one", 3), OK);
	assert_int_equal(add(w, "-1002", "note://one", 3), OK);
	tx = world_begin(w);
	ok(w, store_address_move(&tx, S("test"), S("-1"), S("-1002"), &w->e));
	world_commit(w, &tx);
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM resource_watches"));
	assert_true(str_eq(world_text(w, "SELECT address FROM resource_watches"), S("-1002")));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(the_chats_of_a_resource_are_found_and_no_others),
		T(many_changes_are_one_row_and_one_message_a_minute),
		T(a_server_has_so_many_and_others_theirs),
		T(what_changed_of_a_server_is_told_of_together_once_a_minute),
		T(what_was_taken_back_is_not_told),
		T(a_start_asks_for_all_of_them_again),
		T(a_chat_that_moved_takes_its_subscriptions_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

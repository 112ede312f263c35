/* What a session has ready joins its running turn: in order, behind what there is, once. */
#include "store_world.h"

#include "os/clock.h"

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))
#define MESSAGES                                                                               \
	"SELECT group_concat(round || '.' || idx || ' ' || role, ', ') FROM "                  \
	"(SELECT * FROM turn_messages ORDER BY seq)"

/* The texts that joined, "" none. */
static str join(struct world *w, const struct turn *t)
{
	struct tx tx = world_begin(w);
	struct inbox_row *rows;
	str all = S("");
	size_t n;

	ok(w, store_turn_join(&tx, t->id, &w->a, &rows, &n, &w->e));
	for (size_t i = 0; i < n; i++)
		all = arena_fmt(&w->a, "%.*s%.*s;", STRF(all), STRF(rows[i].text));
	if (n)
		ok(w, store_message_user(&tx, t->id, S("{\"role\":\"user\",\"content\":\"x\"}"),
					 all, S(""), &w->e));
	world_commit(w, &tx);
	return all;
}

static size_t joinable(struct world *w)
{
	size_t n;
	str *ids;

	ok(w, store_turn_joinable(w->s, &w->a, &ids, &n, &w->e));
	return n;
}

static void rows_join_in_order_and_once(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "first");
	struct turn t = world_claim(w);
	assert_int_equal(joinable(w), 0);
	(void)world_add(w, "2", "elsewhere");
	(void)world_add(w, "1", "a");
	(void)world_add(w, "1", "b");
	assert_int_equal(joinable(w), 1);
	assert_text(join(w, &t), "a;b;");
	assert_text(join(w, &t), "");
	assert_int_equal(joinable(w), 0);
	assert_text(world_text(w, MESSAGES), "0.0 user, 0.1 user");
	/* Each row knows its message. */
	assert_int_equal(2, world_i64(w, "SELECT count(DISTINCT message_seq) FROM inbox "
					 "WHERE turn_id IS NOT NULL AND message_seq > 0"));
	world_finish(w, &t);
	world_check(w);
}

static void nobody_joins_a_scheduled_turn(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "first");
	struct turn t = world_claim(w);
	(void)world_add(w, "1", "a");
	assert_int_equal(joinable(w), 1);
	world_sql(w, "UPDATE inbox SET kind = 'cron' WHERE text = 'first'");
	assert_int_equal(joinable(w), 0);
	world_finish(w, &t);
}

static void they_come_behind_the_results_of_the_last_round(void **state)
{
	struct world *w = *state;
	struct call calls[] = { world_call(1, 1, CALL_DONE, true),
				world_call(1, 2, CALL_DONE, true) };

	(void)world_add(w, "1", "first");
	struct turn t = world_claim(w);
	world_step(w, &t, 1, calls, 2);
	(void)world_add(w, "1", "more");
	assert_text(join(w, &t), "more;");
	assert_text(world_text(w, MESSAGES), "0.0 user, 1.0 assistant, 1.1 tool, 1.2 tool, "
					     "1.3 user");
	world_finish(w, &t);
	assert_int_equal(6, world_i64(w, "SELECT prompt_n FROM turns"));
	world_check(w);
}

static void after_a_crash_what_joined_is_still_there(void **state)
{
	struct world *w = *state;
	struct message *msgs;
	struct call *calls;
	size_t msgs_n, calls_n;
	int64_t n;

	(void)world_add(w, "1", "first");
	struct turn t = world_claim(w);
	(void)world_add(w, "1", "more");
	(void)join(w, &t);
	world_reopen(w, STORE_DAEMON);
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	t = world_claim(w);
	assert_int_equal(t.rows_n, 2);
	ok(w, store_turn_load(w->s, t.id, &w->a, &msgs, &msgs_n, &calls, &calls_n, &w->e));
	assert_int_equal(msgs_n, 2);
	assert_text(msgs[1].text, "more;");
	world_finish(w, &t);
	assert_true(world_idle(w));
}

static void nothing_joins_a_turn_that_is_to_end(void **state)
{
	struct world *w = *state;
	struct control_effect ef;
	struct inbox_row *rows;
	size_t n;

	(void)world_add(w, "1", "first");
	struct turn t = world_claim(w);
	struct tx tx = world_begin(w);
	ok(w, store_control(&tx, CONTROL_STOP, S("test"), S("1"), S(""), &w->a, &ef, &w->e));
	world_commit(w, &tx);
	(void)world_add(w, "1", "after that");
	tx = world_begin(w);
	assert_int_equal(store_turn_join(&tx, t.id, &w->a, &rows, &n, &w->e), E_CANCELED);
	store_rollback(&tx);
	assert_text(world_text(w, "SELECT state FROM inbox WHERE text = 'after that'"),
		    "ready");
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(rows_join_in_order_and_once),
		T(nobody_joins_a_scheduled_turn),
		T(they_come_behind_the_results_of_the_last_round),
		T(after_a_crash_what_joined_is_still_there),
		T(nothing_joins_a_turn_that_is_to_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

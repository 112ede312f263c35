/* The door in: rows, events seen twice, cursors, control words. */
#include "store_world.h"

static int64_t add_event(struct world *w, const char *channel, const char *event)
{
	struct tx tx = world_begin(w);
	struct inbox_new row = { .channel = str_of(channel),
				 .address = S("1"),
				 .dedupe = str_of(event),
				 .kind = S("message"),
				 .text = S("hi") };
	int64_t id = -1;

	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

static void an_event_seen_again_inserts_nothing(void **state)
{
	struct world *w = *state;

	assert_true(add_event(w, "tg", "7:1") > 0);
	assert_int_equal(0, add_event(w, "tg", "7:1"));
	assert_true(add_event(w, "tg", "7:2") > 0);
	assert_true(add_event(w, "other", "7:1") > 0);
	assert_true(add_event(w, "tg", "") > 0);
	assert_true(add_event(w, "tg", "") > 0);
	assert_int_equal(5, world_i64(w, "SELECT count(*) FROM inbox"));
}

static void a_rolled_back_event_was_not_seen(void **state)
{
	struct world *w = *state;
	struct inbox_new row = { .channel = S("tg"),
				 .address = S("1"),
				 .dedupe = S("9"),
				 .kind = S("message"),
				 .text = S("hi") };
	struct tx tx = world_begin(w);
	int64_t id;

	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	store_rollback(&tx);
	assert_true(add_event(w, "tg", "9") > 0);
}

static void everything_of_a_row_comes_back_with_its_turn(void **state)
{
	struct world *w = *state;
	struct inbox_new row = {
		.channel = S("tg"),
		.address = S("-100:5"),
		.kind = S("message"),
		.sender = S("42"),
		.text = S("h\xc3\xa9llo"),
		.meta = S("{\"a\":1}"),
		.reply_to = S("77"),
	};
	struct tx tx = world_begin(w);
	int64_t id;

	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	struct turn t = world_claim(w);
	assert_int_equal(1, t.rows_n);
	assert_int_equal(id, t.rows[0].id);
	assert_true(str_eq(t.channel, row.channel) && str_eq(t.address, row.address));
	assert_true(str_eq(t.kind, row.kind) && str_eq(t.sender, row.sender));
	assert_true(str_eq(t.rows[0].text, row.text) && str_eq(t.rows[0].meta, row.meta));
	assert_true(str_eq(t.reply_to, row.reply_to));
	assert_true(str_eq(t.session.address, row.address));
}

static void the_cursor_is_assigned_also_backwards(void **state)
{
	struct world *w = *state;
	static const int64_t values[] = { 1000, 1001, 7, INT64_MAX, -1 };
	int64_t at = 5;

	ok(w, store_cursor_get(w->s, S("tg|api|1"), &at, &w->e));
	assert_int_equal(0, at);
	for (size_t i = 0; i < COUNT(values); i++) {
		struct tx tx = world_begin(w);
		ok(w, store_cursor_set(&tx, S("tg|api|1"), values[i], &w->e));
		ok(w, store_cursor_set(&tx, S("tg|api|2"), 3, &w->e));
		world_commit(w, &tx);
		ok(w, store_cursor_get(w->s, S("tg|api|1"), &at, &w->e));
		assert_int_equal(values[i], at);
	}
	ok(w, store_cursor_get(w->s, S("tg|api|2"), &at, &w->e));
	assert_int_equal(3, at);
}

static void ready_rows_are_counted_per_session_and_in_all(void **state)
{
	struct world *w = *state;
	struct session session;
	int64_t n;

	(void)world_add(w, "1", "a");
	(void)world_add(w, "1", "b");
	(void)world_add(w, "2", "c");
	ok(w, store_session_find(w->s, S("test"), S("1"), &w->a, &session, &w->e));
	ok(w, store_inbox_ready(w->s, session.id, &n, &w->e));
	assert_int_equal(2, n);
	ok(w, store_inbox_ready(w->s, S(""), &n, &w->e));
	assert_int_equal(3, n);
	(void)world_claim(w);
	ok(w, store_inbox_ready(w->s, session.id, &n, &w->e));
	assert_int_equal(1, n);
}

static void work_is_open_until_its_turn_has_ended(void **state)
{
	struct world *w = *state;
	int64_t n;

	(void)world_add(w, "1", "a");
	(void)world_add(w, "2", "b");
	(void)world_add_owned(w, "3", "a prompt's", S("other"));
	ok(w, store_inbox_open(w->s, &n, &w->e));
	assert_int_equal(2, n);
	struct turn t = world_claim(w);
	ok(w, store_inbox_open(w->s, &n, &w->e));
	assert_int_equal(2, n);
	world_finish(w, &t);
	ok(w, store_inbox_open(w->s, &n, &w->e));
	assert_int_equal(1, n);
}

static struct control_effect control(struct world *w, enum control what, const char *event)
{
	struct tx tx = world_begin(w);
	struct control_effect out;

	ok(w, store_control(&tx, what, S("test"), S("1"), str_of(event), &w->a, &out, &w->e));
	world_commit(w, &tx);
	return out;
}

static void stop_cancels_the_turn_and_drops_what_waits(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "a");
	struct turn t = world_claim(w);
	(void)world_add(w, "1", "b");
	(void)world_add(w, "1", "c");
	(void)world_add(w, "2", "other");
	struct control_effect out = control(w, CONTROL_STOP, "e1");
	assert_true(str_eq(out.turn_id, t.id));
	assert_int_equal(2, out.dropped);
	assert_false(out.seen);
	bool canceled = false;
	ok(w, store_turn_canceled(w->s, t.id, &canceled, &w->e));
	assert_true(canceled);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM inbox WHERE state='dropped'"));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox WHERE state='ready'"));
	assert_int_equal(1, world_i64(w, "SELECT epoch FROM sessions WHERE address='1'"));
}

static void a_repeated_control_word_does_nothing(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "a");
	(void)control(w, CONTROL_NEW, "e1");
	(void)world_add(w, "1", "b");
	struct control_effect out = control(w, CONTROL_NEW, "e1");
	assert_true(out.seen);
	assert_int_equal(0, out.dropped);
	assert_int_equal(2, world_i64(w, "SELECT epoch FROM sessions"));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox WHERE state='ready'"));
}

static void new_starts_an_epoch_without_summary(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "a", 0);
	world_sql(w, "UPDATE sessions SET summary = 'old', history_from_seq = 1");
	struct control_effect out = control(w, CONTROL_NEW, "");
	assert_int_equal(0, out.turn_id.n);
	struct session session;
	ok(w, store_session_find(w->s, S("test"), S("1"), &w->a, &session, &w->e));
	assert_int_equal(2, session.epoch);
	assert_int_equal(0, session.summary.n);
	assert_int_equal(0, session.messages_n);
	assert_int_equal(0, session.history_from_seq);
}

static void a_control_word_in_an_unknown_chat_is_fine(void **state)
{
	struct world *w = *state;
	struct control_effect out = control(w, CONTROL_NEW, "e1");

	assert_int_equal(0, out.turn_id.n);
	assert_int_equal(0, out.dropped);
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM sessions"));
}

static void stop_makes_a_parked_turn_claimable(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "a");
	struct turn t = world_claim(w);
	world_sql(w, "UPDATE turns SET state = 'parked', owner = ''");
	assert_true(world_idle(w));
	struct control_effect out = control(w, CONTROL_STOP, "");
	assert_true(str_eq(out.turn_id, t.id));
	struct turn again = world_claim(w);
	assert_true(str_eq(again.id, t.id) && again.resumed);
	ok(w, world_finish_as(
		      w, &again,
		      (struct turn_finish){ .end = TURN_CANCELED, .history = HISTORY_NONE }));
	world_check(w);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(an_event_seen_again_inserts_nothing),
		T(a_rolled_back_event_was_not_seen),
		T(everything_of_a_row_comes_back_with_its_turn),
		T(the_cursor_is_assigned_also_backwards),
		T(ready_rows_are_counted_per_session_and_in_all),
		T(work_is_open_until_its_turn_has_ended),
		T(stop_cancels_the_turn_and_drops_what_waits),
		T(a_repeated_control_word_does_nothing),
		T(new_starts_an_epoch_without_summary),
		T(a_control_word_in_an_unknown_chat_is_fine),
		T(stop_makes_a_parked_turn_claimable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

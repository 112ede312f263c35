/* A group that became a supergroup: what was said and what waits go with it. */
#include "store_world.h"

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

static void move(struct world *w, const char *from, const char *to)
{
	struct tx tx = world_begin(w);

	ok(w, store_address_move(&tx, S("test"), str_of(from), str_of(to), &w->e));
	world_commit(w, &tx);
}

static void reply(struct world *w, const char *address)
{
	struct tx tx = world_begin(w);
	struct outbox_new row = { .channel = S("test"),
				  .address = str_of(address),
				  .kind = S("reply"),
				  .text = S("x") };
	int64_t id;

	ok(w, store_outbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
}

static void the_conversation_and_what_waits_move_with_every_thread(void **state)
{
	struct world *w = *state;

	world_turn(w, "-1", "hello", 0);
	(void)world_add(w, "-1", "next");
	(void)world_add(w, "-1:7", "topic");
	(void)world_add(w, "-12", "another chat");
	reply(w, "-1");
	move(w, "-1", "-100");
	assert_text(world_text(w, "SELECT group_concat(address, ' ') FROM (SELECT address "
				  "FROM sessions ORDER BY address)"),
		    "-100 -100:7 -12");
	assert_text(world_text(w, "SELECT group_concat(address, ' ') FROM (SELECT address "
				  "FROM inbox WHERE state = 'ready' ORDER BY id)"),
		    "-100 -100:7 -12");
	assert_text(world_text(w, "SELECT address FROM outbox"), "-100");
	/* It goes on in the same conversation. */
	(void)world_add(w, "-100", "here");
	assert_int_equal(3, world_i64(w, "SELECT count(*) FROM sessions"));
	world_check(w);
}

static void messages_of_the_old_address_are_not_named_at_the_new_one(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "-1", "hello");
	struct turn t = world_claim(w);
	struct tx tx = world_begin(w);
	ok(w,
	   store_outbox_reserve(&tx, S("test"), S("-1"), t.id, t.session.id, S("77"), &w->e));
	world_commit(w, &tx);
	reply(w, "-1");
	world_sql(w, "UPDATE outbox SET reply_to = '5', state = 'ready' "
		     "WHERE state <> 'reserved';"
		     "INSERT INTO pieces (outbox_id, idx, method, body, plain, remote_id, "
		     "updated_at_ms) SELECT id, 1, 'edit', 'b', 'p', '77', 1 FROM outbox "
		     "WHERE state = 'ready'");
	move(w, "-1", "-100");
	assert_text(world_text(w, "SELECT group_concat(live_id || reply_to, '') FROM outbox"),
		    "");
	assert_text(world_text(w, "SELECT method || remote_id FROM pieces"), "send");
	/* Who still shows the turn at the old one, and the turn itself, know that only. */
	tx = world_begin(w);
	assert_int_equal(E_NOENT, store_outbox_reserve(&tx, S("test"), S("-1"), t.id,
						       t.session.id, S("78"), &w->e));
	world_commit(w, &tx);
	const struct outbox_new row = { .turn_id = t.id,
					.channel = S("test"),
					.address = S("-1"),
					.kind = S("reply"),
					.text = S("answer"),
					.reply_to = S("5") };
	int64_t id;
	tx = world_begin(w);
	ok(w, store_outbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	assert_text(world_text(w, "SELECT address || ':' || reply_to FROM outbox "
				  "WHERE text = 'answer'"),
		    "-100:");
	world_finish(w, &t);
	tx = world_begin(w);
	assert_int_equal(E_NOENT, store_outbox_reserve(&tx, S("test"), S("-1"), t.id,
						       t.session.id, S("79"), &w->e));
	world_commit(w, &tx);
}

static void a_second_time_changes_nothing(void **state)
{
	struct world *w = *state;

	world_turn(w, "-1", "hello", 0);
	move(w, "-1", "-100");
	move(w, "-1", "-100");
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM sessions "
					 "WHERE address = '-100'"));
}

static void a_first_message_at_the_new_address_joins_the_old_conversation(void **state)
{
	struct world *w = *state;

	world_turn(w, "-1", "hello", 0);
	(void)world_add(w, "-100", "we moved");
	move(w, "-1", "-100");
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM sessions"));
	struct turn t = world_claim(w);
	assert_text(t.address, "-100");
	assert_int_equal(t.session.messages_n, 2);
	world_finish(w, &t);
	world_check(w);
}

static void where_a_conversation_is_already_only_what_waits_goes(void **state)
{
	struct world *w = *state;

	world_turn(w, "-1", "old", 0);
	world_turn(w, "-100", "new", 0);
	(void)world_add(w, "-1", "waits");
	move(w, "-1", "-100");
	struct turn t = world_claim(w);
	assert_text(t.session.address, "-100");
	assert_text(t.rows[0].text, "waits");
	world_finish(w, &t);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM sessions"));
}

static void the_old_address_of_a_new_one_is_known(void **state)
{
	struct world *w = *state;
	str origin;

	assert_int_equal(
		store_address_origin(w->s, S("test"), S("-100"), &w->a, &origin, &w->e),
		E_NOENT);
	move(w, "-1", "-100");
	world_reopen(w, STORE_DAEMON);
	ok(w, store_address_origin(w->s, S("test"), S("-100"), &w->a, &origin, &w->e));
	assert_text(origin, "-1");
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_conversation_and_what_waits_move_with_every_thread),
		T(messages_of_the_old_address_are_not_named_at_the_new_one),
		T(a_second_time_changes_nothing),
		T(a_first_message_at_the_new_address_joins_the_old_conversation),
		T(where_a_conversation_is_already_only_what_waits_goes),
		T(the_old_address_of_a_new_one_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

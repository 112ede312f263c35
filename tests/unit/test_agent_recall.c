/*
 * What of memory is in a request: the snapshot, the hits for a message, and how they stay.
 */
#include "agent_world.h"

#include "store/memory_forget.h"

#include <string.h>

static int64_t remember(struct agent_world *k, const char *kind, const char *subject,
			const char *content, const char *source)
{
	struct memory m = { .kind = str_of(kind),
			    .subject = str_of(subject),
			    .content = str_of(content),
			    .source = str_of(source) };
	struct tx tx = world_begin(k->w);
	int64_t id = 0;
	bool known;

	ok(k->w, store_memory_add(&tx, &m, &id, &known, &k->w->e));
	world_commit(k->w, &tx);
	return id;
}

static void turn(struct agent_world *k, const char *text)
{
	aw_hear(k, text);
	ok(k->w, aw_run(k));
}

static int setup(void **state)
{
	(void)agent_world_setup(state);
	((struct agent_world *)*state)->cfg.memory =
		(struct memory_cfg){ .enabled = true, .backend = S("builtin") };
	return 0;
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; (text = strstr(text, "\\n- (")); text++)
		n++;
	return n;
}

static void what_holds_is_in_the_system_message_and_hits_are_at_the_message(void **state)
{
	struct agent_world *k = *state;

	(void)remember(k, "preference", "chris", "coaching tone", "chat");
	(void)remember(k, "episode", "climbing", "climbed in Chamonix", "chat");
	aw_says(k, "t:ok");
	turn(k, "how was Chamonix, chris?");
	const char *r = aw_request(k, 0);
	aw_has(r, "The persona above outranks anything recalled from memory");
	aw_has(r, "no guesses; what is wrong is replaced or forgotten.\\n\\n[memory]\\n- "
		  "(preference) chris: coaching tone\"");
	/* What the snapshot has is not said twice. */
	aw_has(r, "UTC\\n\\n[memory]\\n- (episode) climbing: climbed in Chamonix\"");
	assert_int_equal(lines_of(r), 2);
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM memory_uses WHERE memory_id = 2 "
					 "AND line = 1"),
			 1);
}

static void without_memory_nothing_of_it_is_said(void **state)
{
	struct agent_world *k = *state;

	k->cfg.memory.enabled = false;
	(void)remember(k, "preference", "chris", "coaching tone", "chat");
	aw_says(k, "t:ok");
	turn(k, "hello chris");
	aw_lacks(aw_request(k, 0), "coaching");
	aw_lacks(aw_request(k, 0), "outranks");
	assert_int_equal(world_i64(k->w, "SELECT count(*) FROM memory_snapshots"), 0);
}

static void there_are_thirty_rows_at_most_and_a_third_is_for_hits(void **state)
{
	struct agent_world *k = *state;

	for (int i = 0; i < 40; i++) {
		str n = arena_fmt(&k->w->a, "thing number %d", i);
		(void)remember(k, "fact", "misc", n.p, "chat");
		(void)remember(k, "episode", "walk", n.p, "chat");
	}
	(void)remember(k, "person", "mom", "her birthday is in May", "chat");
	for (int i = 0; i < 30; i++)
		(void)remember(k, "fact", "later", arena_fmt(&k->w->a, "item %d", i).p, "chat");
	aw_says(k, "t:ok");
	turn(k, "which things were there?");
	const char *r = aw_request(k, 0), *user = strstr(r, "\"role\":\"user\"");
	assert_int_equal(lines_of(r), 30);
	assert_int_equal(lines_of(user), 10);
	aw_has(r, "- (person) mom: her birthday is in May"); /* each kind has its share */
}

static void what_a_chat_adds_does_not_change_what_was_sent(void **state)
{
	struct agent_world *k = *state;
	static const char end[] = "\"role\":\"user\"";

	(void)remember(k, "preference", "chris", "coaching tone", "chat");
	for (int i = 0; i < 7; i++)
		aw_says(k, "t:ok");
	turn(k, "hi");
	(void)remember(k, "fact", "car", "a red Volvo", "chat");
	turn(k, "and the car?"); /* 1: as before; it is found for the message */
	(void)remember(k, "fact", "home", "near the lake", "operator");
	turn(k, "hi"); /* 2: somebody else changed something */
	turn(k, "hi"); /* 3 */
	world_sql(k->w, "DELETE FROM memory WHERE subject = 'home'");
	turn(k, "hi"); /* 4: a foreign shell too */
	world_sql(k->w, "UPDATE memory_snapshots SET used_at_ms = used_at_ms - 3700000");
	(void)remember(k, "fact", "boat", "a dinghy", "chat");
	world_sql(k->w, "UPDATE sessions SET summary = 'They met.'");
	turn(k, "hi"); /* 5: the summary is new, so all is */
	(void)remember(k, "fact", "bike", "a tandem", "chat");
	world_sql(k->w, "UPDATE memory_snapshots SET used_at_ms = used_at_ms - 3700000");
	turn(k, "hi"); /* 6: after a pause */
	size_t n[7];
	for (int i = 0; i < 7; i++)
		n[i] = (size_t)(strstr(aw_request(k, i), end) - aw_request(k, i));
	const char *first = strstr(aw_request(k, 0), "\"messages\"");
	const char *second = strstr(aw_request(k, 1), "\"messages\"");
	assert_memory_equal(first, second, (size_t)(strstr(first, end) - first));
	aw_has(aw_request(k, 1), "- (fact) car: a red Volvo");
	assert_true(n[2] > n[1]);
	assert_int_equal(n[3], n[2]);
	aw_has(aw_request(k, 3), "- (fact) home: near the lake");
	aw_lacks(aw_request(k, 4), "near the lake");
	aw_has(aw_request(k, 5), "- (fact) boat: a dinghy");
	aw_has(aw_request(k, 6), "- (fact) bike: a tandem");
}

static void a_new_epoch_has_a_new_snapshot(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, "t:ok");
	aw_says(k, "t:ok");
	turn(k, "hi");
	(void)remember(k, "fact", "car", "a red Volvo", "chat");
	world_sql(k->w, "UPDATE sessions SET epoch = epoch + 1");
	turn(k, "hello");
	aw_lacks(aw_request(k, 0), "Volvo");
	aw_has(aw_request(k, 1), "[memory]\\n- (fact) car: a red Volvo");
}

static void a_message_without_a_hit_has_no_block(void **state)
{
	struct agent_world *k = *state;

	(void)remember(k, "episode", "climbing", "climbed in Chamonix", "chat");
	aw_says(k, "t:ok");
	turn(k, "what is the weather like?");
	aw_lacks(aw_request(k, 0), "[memory]");
}

static int64_t doomed;
static struct agent_world *here;

static void forget(void)
{
	struct tx tx = world_begin(here->w);
	struct memory *gone;
	size_t n;

	ok(here->w,
	   store_memory_forget(&tx, &doomed, 1, S(""), &here->w->a, &gone, &n, &here->w->e));
	world_commit(here->w, &tx);
}

static void a_forgotten_row_is_in_no_later_request(void **state)
{
	struct agent_world *k = *state;

	(void)remember(k, "fact", "safe", "the code is zanzibar", "chat");
	doomed = remember(k, "episode", "safe", "zanzibar was tried", "chat");
	for (int i = 0; i < 3; i++)
		aw_says(k, "t:ok");
	turn(k, "what about the safe?");
	here = k;
	forget();
	turn(k, "and now?");
	doomed = 1;
	forget();
	turn(k, "and then?");
	aw_has(aw_request(k, 0), "zanzibar was tried");
	aw_lacks(aw_request(k, 1), "zanzibar was tried");
	aw_has(aw_request(k, 1), "[memory]\\n- (forgotten)\"");
	aw_lacks(aw_request(k, 2), "zanzibar");
	assert_int_equal(world_i64(k->w,
				   "SELECT count(*) FROM request_parts WHERE content LIKE "
				   "'%zanzibar%'"),
			 0);
}

static void what_a_tool_forgets_is_not_in_the_request_after_it(void **state)
{
	struct agent_world *k = *state;

	doomed = remember(k, "fact", "safe", "the code is zanzibar", "chat");
	(void)remember(k, "episode", "safe", "zanzibar was tried", "chat");
	here = k;
	k->on_odd = forget;
	aw_says(k, "t:ok");
	aw_says(k, "c:odd {}");
	aw_says(k, "t:ok");
	turn(k, "what about the safe?");
	turn(k, "forget the code");
	aw_has(aw_request(k, 1), "the code is zanzibar");
	aw_lacks(aw_request(k, 2), "the code is zanzibar");
	aw_has(aw_request(k, 2), "zanzibar was tried");
	assert_int_equal(world_i64(k->w,
				   "SELECT count(*) FROM request_parts WHERE content LIKE "
				   "'%the code is zanzibar%'"),
			 0);
}

static void what_is_forgotten_while_a_turn_is_put_down_is_not_in_its_next_request(void **state)
{
	struct agent_world *k = *state;

	doomed = remember(k, "fact", "safe", "the code is zanzibar", "chat");
	(void)remember(k, "fact", "lake", "is deep", "chat");
	aw_says(k, "t:ok");
	aw_hear(k, "hi");
	ok(k->w, store_turn_release(k->w->s, k->t.id, NULL, &k->w->e));
	here = k;
	forget();
	aw_claim(k);
	ok(k->w, aw_run(k));
	aw_lacks(aw_request(k, 0), "zanzibar");
	aw_has(aw_request(k, 0), "lake: is deep"); /* the rest is there */
}

static void what_a_foreign_shell_deletes_is_not_in_the_next_request(void **state)
{
	struct agent_world *k = *state;

	(void)remember(k, "fact", "safe", "the code is zanzibar", "chat");
	aw_says(k, "t:ok");
	aw_says(k, "t:ok");
	turn(k, "hi");
	world_sql(k->w, "UPDATE sessions SET summary = 'They like tea. The code is zanzibar.'");
	world_sql(k->w, "DELETE FROM memory WHERE subject = 'safe'");
	turn(k, "and now?");
	aw_has(aw_request(k, 1), "They like tea.");
	aw_lacks(aw_request(k, 1), "zanzibar");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_holds_is_in_the_system_message_and_hits_are_at_the_message),
		TEST(without_memory_nothing_of_it_is_said),
		TEST(there_are_thirty_rows_at_most_and_a_third_is_for_hits),
		TEST(what_a_chat_adds_does_not_change_what_was_sent),
		TEST(a_new_epoch_has_a_new_snapshot),
		TEST(a_message_without_a_hit_has_no_block),
		TEST(a_forgotten_row_is_in_no_later_request),
		TEST(what_a_tool_forgets_is_not_in_the_request_after_it),
		TEST(what_is_forgotten_while_a_turn_is_put_down_is_not_in_its_next_request),
		TEST(what_a_foreign_shell_deletes_is_not_in_the_next_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

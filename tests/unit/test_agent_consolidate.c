/*
 * What becomes of episodes and summaries: what is asked, what is stored, what is thrown away,
 * and that nothing is lost or doubled wherever it ends.
 */
#include "agent_world.h"

#include "agent/consolidate.h"
#include "agent/system.h"
#include "os/clock.h"
#include "store/consolidate.h"
#include "store/memory_forget.h"

#include <string.h>

static int64_t add(struct agent_world *k, const char *kind, const char *subject,
		   const char *content)
{
	struct memory m = { .kind = str_of(kind),
			    .subject = str_of(subject),
			    .content = str_of(content),
			    .source = S("chat") };
	struct tx tx = world_begin(k->w);
	bool known;
	int64_t id;

	ok(k->w, store_memory_add(&tx, &m, &id, &known, &k->w->e));
	world_commit(k->w, &tx);
	return id;
}

static struct agent_world *remembering(void **state)
{
	struct agent_world *k = *state;

	k->cfg.memory.enabled = true;
	k->cfg.memory.backend = S("builtin");
	k->cfg.gateway.channel = S("test");
	return k;
}

static int run(struct agent_world *k)
{
	struct system_row row;
	struct tx tx = world_begin(k->w);

	aw_open(k);
	ok(k->w, store_system_add(&tx, &(struct system_new){ .what = S(CONSOLIDATE_WHAT) },
				  &k->w->e));
	ok(k->w, store_system_claim(&tx, S(""), &k->w->a, &row, &k->w->e));
	world_commit(k->w, &tx);
	return agent_system_run(k->agent, &row, &k->token, &k->w->e);
}

/* All rows: "id kind subject: content (by whom superseded); ". */
static str rows(struct agent_world *k)
{
	return world_text(
		k->w,
		"SELECT coalesce(group_concat(id || ' ' || kind || ' ' || subject || ': ' "
		"|| content || iif(superseded_by IS NULL, '', ' <' || superseded_by), "
		"'; '), '') FROM (SELECT * FROM memory ORDER BY id)");
}

static int64_t unread(struct agent_world *k)
{
	struct consolidate_item *v;
	size_t n;

	ok(k->w, store_consolidate_next(k->w->s, 100, 100, &k->w->a, &v, &n, &k->w->e));
	return (int64_t)n;
}

static int64_t system_rows(struct agent_world *k)
{
	return world_i64(k->w, "SELECT count(*) FROM system_rows");
}

static void with_nothing_new_nobody_is_asked(void **state)
{
	struct agent_world *k = remembering(state);

	(void)add(k, "fact", "rome", "Ann lives in Rome");
	ok(k->w, run(k));
	assert_int_equal(0, k->lb.requests);
	assert_int_equal(0, system_rows(k));
	assert_int_equal(0, world_i64(k->w, "SELECT count(*) FROM usage"));
}

static void what_lasts_is_stored_and_takes_the_place_of_what_was_shown(void **state)
{
	struct agent_world *k = remembering(state);

	(void)add(k, "fact", "ann", "Ann lives in Rome near the river"); /* 1 */
	(void)add(k, "fact", "ann", "Ann lives in the city of Rome"); /* 2 */
	(void)add(k, "preference", "tea", "Green only"); /* 3, about something else */
	(void)add(k, "episode", "ann", "Ann said she moved from Rome to Milan"); /* 4 */
	world_turn(k->w, "1", "hi", 0);
	world_sql(k->w, "UPDATE sessions SET summary = 'Facts: they plan a trip'");
	aw_says(k, "t:```json\n"
		   "[{\"kind\":\"fact\",\"subject\":\"ann\",\"content\":\"Ann lives in Milan\","
		   "\"supersedes\":[1,\"2\",3,4,99]},{\"kind\":\"mood\",\"subject\":\"x\","
		   "\"content\":\"y\"},{\"kind\":\"insight\",\"subject\":\"ann\",\"content\":"
		   "\"Ann moves often\"}]\n```");
	ok(k->w, run(k));
	assert_string_equal("1 fact ann: Ann lives in Rome near the river <5; "
			    "2 fact ann: Ann lives in the city of Rome <5; "
			    "3 preference tea: Green only; "
			    "4 episode ann: Ann said she moved from Rome to Milan; "
			    "5 fact ann: Ann lives in Milan; 6 insight ann: Ann moves often",
			    rows(k).p);
	assert_string_equal("consolidation", world_text(k->w, "SELECT source FROM memory "
							      "WHERE id = 5")
						     .p);
	const char *asked = aw_request(k, 0);
	aw_has(asked, "- id=1 (fact) ann: Ann lives in Rome near the river");
	aw_has(asked, "- episode id=4 ann: Ann said she moved");
	aw_has(asked, "they plan a trip");
	aw_lacks(asked, "Green only");
	assert_int_equal(0, unread(k));
	assert_int_equal(0, system_rows(k));
	assert_int_equal(110, world_i64(k->w, "SELECT sum(prompt_tokens + completion_tokens) "
					      "FROM usage"));
}

static void what_was_read_is_not_read_again_until_it_changes(void **state)
{
	struct agent_world *k = remembering(state);

	(void)add(k, "episode", "ann", "Ann moved");
	world_turn(k->w, "1", "hi", 0);
	world_sql(k->w, "UPDATE sessions SET summary = 'one'");
	aw_says(k, "t:[]");
	aw_says(k, "t:[]");
	ok(k->w, run(k));
	ok(k->w, run(k));
	assert_int_equal(1, k->lb.requests);
	world_sql(k->w, "UPDATE sessions SET summary = 'two'");
	ok(k->w, run(k));
	assert_int_equal(2, k->lb.requests);
	const char *asked = aw_request(k, 1);
	aw_has(asked, "two");
	aw_lacks(asked, "Ann moved");
}

static void what_contradicts_the_persona_is_told_and_not_stored(void **state)
{
	struct agent_world *k = remembering(state);

	world_turn(k->w, "1", "hi", 0);
	(void)add(k, "episode", "tone", "Asked for long answers");
	aw_says(k, "t:[{\"subject\":\"tone\",\"content\":\"wants long answers\","
		   "\"contradicts\":\"Be brief.\"}]");
	ok(k->w, run(k));
	assert_string_equal("1 episode tone: Asked for long answers", rows(k).p);
	str told = world_text(k->w, "SELECT text FROM outbox WHERE kind = 'notice' "
				    "AND channel = 'test' AND address = '1'");
	aw_has(told.p, "- tone: wants long answers\n  persona: Be brief.");
	ok(k->w, run(k));
	assert_int_equal(1, world_i64(k->w, "SELECT count(*) FROM outbox WHERE kind = "
					    "'notice'"));
}

static void a_bad_batch_is_halved_until_the_one_to_blame_is_alone(void **state)
{
	struct agent_world *k = remembering(state);

	for (int i = 0; i < 4; i++)
		(void)add(k, "episode", "e", arena_fmt(&k->w->a, "episode %d", i).p);
	aw_says(k, "t:I cannot do that."); /* 0 1 2 3 */
	aw_says(k, "e:"); /* 0 1 */
	aw_says(k, "t:[{\"subject\":\"s\",\"content\":\"zero\"}]"); /* 0 */
	aw_says(k, "t:no"); /* 1 */
	aw_says(k, "t:[{\"subject\":\"s\",\"content\":\"two and three\"}]"); /* 2 3 */
	aw_says(k, "t:no"); /* 1, again, twice */
	aw_says(k, "t:no");
	ok(k->w, run(k));
	assert_int_equal(5, k->lb.requests);
	assert_int_equal(2, world_i64(k->w, "SELECT count(*) FROM memory WHERE kind = 'fact'"));
	assert_int_equal(1, unread(k));
	ok(k->w, run(k));
	ok(k->w, run(k));
	assert_int_equal(0, unread(k)); /* left as it is, and still an active episode */
	ok(k->w, run(k));
	assert_int_equal(7, k->lb.requests);
	assert_int_equal(4,
			 world_i64(k->w, "SELECT count(*) FROM memory WHERE kind = 'episode' "
					 "AND superseded_by IS NULL"));
}

static void a_model_that_fails_costs_nothing_that_was_done(void **state)
{
	struct agent_world *k = remembering(state);

	(void)add(k, "episode", "e", "one");
	(void)add(k, "episode", "e", "two");
	aw_says(k, "t:no"); /* both */
	aw_says(k, "t:[{\"subject\":\"s\",\"content\":\"one\"}]");
	aw_says(k, "4:refused");
	aw_says(k, "t:[{\"subject\":\"s\",\"content\":\"two\"}]");
	assert_int_equal(E_INVAL, run(k));
	assert_int_equal(1, unread(k));
	world_sql(k->w, "DELETE FROM system_rows"); /* as if its time had come */
	ok(k->w, run(k));
	assert_int_equal(0, unread(k));
	assert_string_equal("1 episode e: one; 2 episode e: two; 3 fact s: one; 4 fact s: two",
			    rows(k).p);
}

static void a_provider_that_is_down_gives_no_episode_up(void **state)
{
	struct agent_world *k = remembering(state);

	(void)add(k, "episode", "e", "one");
	(void)add(k, "episode", "e", "two");
	for (int i = 0; i < 4; i++)
		aw_says(k, "5:overloaded");
	aw_says(k, "t:[]");
	for (int i = 1; i <= 4; i++) {
		assert_int_equal(E_IO, run(k));
		assert_int_equal(i, k->lb.requests); /* and nothing is halved */
		world_sql(k->w, "DELETE FROM system_rows"); /* as if its time had come */
	}
	assert_int_equal(2, unread(k));
	assert_int_equal(0, world_i64(k->w, "SELECT count(*) FROM consolidated"));
	ok(k->w, run(k));
	assert_int_equal(0, unread(k));
}

static void what_was_forgotten_is_not_learnt_again(void **state)
{
	struct agent_world *k = remembering(state);
	struct memory *gone;
	size_t n;

	int64_t id = add(k, "fact", "safe", "the code is zanzibar");
	world_turn(k->w, "1", "hi", 0);
	world_sql(k->w, "UPDATE sessions SET summary = 'Facts: they have a safe'");
	str talk = world_text(k->w, "SELECT id FROM sessions");
	struct tx tx = world_begin(k->w);
	ok(k->w, store_memory_forget(&tx, &id, 1, talk, &k->w->a, &gone, &n, &k->w->e));
	world_commit(k->w, &tx);
	aw_says(k, "t:[{\"subject\":\"safe\",\"content\":\"The safe opens with the code "
		   "zanzibar\"},{\"subject\":\"safe\",\"content\":\"They own a safe\"}]");
	ok(k->w, run(k));
	assert_string_equal("2 fact safe: They own a safe", rows(k).p);
}

static void a_run_has_an_end_and_leaves_the_rest_to_another(void **state)
{
	struct agent_world *k = remembering(state);

	for (int i = 0; i < 20; i++)
		(void)add(k, "episode", "e", arena_fmt(&k->w->a, "episode %d", i).p);
	for (int i = 0; i < 8; i++)
		aw_says(k, "t:no");
	ok(k->w, run(k));
	assert_int_equal(8, k->lb.requests);
	assert_int_equal(1, system_rows(k));
	/* With a model that copes with nothing it would go on for ever. */
	assert_true(world_i64(k->w, "SELECT ready_at_ms FROM system_rows") >
		    clock_now_ms() + 600000);
}

/* The model's answer comes when something has changed: the store is asked as the handler does. */
static void what_changed_while_the_model_thought_is_seen(void **state)
{
	static const char *const changes[] = {
		"UPDATE memory SET content = 'other' WHERE id = 1",
		"DELETE FROM memory WHERE id = 1",
		"UPDATE memory SET superseded_by = 2 WHERE id = 1",
		"UPDATE memory SET expires_at = '2001-01-01T00:00:00.000Z' WHERE id = 1",
		"UPDATE memory SET updated_at = '2001-01-01T00:00:00.000Z' WHERE id = 1",
		"UPDATE sessions SET summary = 'other'",
		"DELETE FROM sessions",
		"SELECT 1",
	};
	struct agent_world *k = remembering(state);
	struct consolidate_item *v;
	size_t n;

	(void)add(k, "episode", "e", "one");
	(void)add(k, "fact", "f", "a fact");
	world_turn(k->w, "1", "hi", 0);
	world_sql(k->w, "UPDATE sessions SET summary = 'summary'; PRAGMA foreign_keys = ON");
	ok(k->w, store_consolidate_next(k->w->s, 9, 9, &k->w->a, &v, &n, &k->w->e));
	assert_int_equal(2, n);
	for (size_t i = 0; i < COUNT(changes); i++) {
		bool same[2];
		world_sql(k->w, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT * FROM "
				"memory");
		world_sql(k->w, "DROP TABLE IF EXISTS talks; CREATE TABLE talks AS SELECT id, "
				"summary FROM sessions");
		world_sql(k->w,
			  arena_fmt(&k->w->a, "PRAGMA foreign_keys = OFF; %s", changes[i]).p);
		struct tx tx = world_begin(k->w);
		for (size_t j = 0; j < 2; j++)
			ok(k->w, store_consolidate_same(&tx, &v[j], &same[j], &k->w->e));
		store_rollback(&tx);
		if ((same[0] && same[1]) != (i + 1 == COUNT(changes)))
			fail_msg("%s: not seen", changes[i]);
		world_sql(k->w,
			  "DELETE FROM memory; INSERT INTO memory SELECT * FROM kept;"
			  "INSERT OR IGNORE INTO sessions (id, channel, address, "
			  "created_at_ms, updated_at_ms) SELECT id, 'test', '1', 1, 1 FROM "
			  "talks; UPDATE sessions SET summary = (SELECT summary FROM talks)");
	}
}

static void what_is_gone_is_forgotten_here_too(void **state)
{
	struct agent_world *k = remembering(state);

	(void)add(k, "episode", "e", "one");
	(void)add(k, "episode", "e", "two");
	aw_says(k, "t:[]");
	ok(k->w, run(k));
	world_sql(k->w, "DELETE FROM memory WHERE id = 1");
	ok(k->w, run(k));
	assert_string_equal("2",
			    world_text(k->w, "SELECT group_concat(key) FROM consolidated").p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(with_nothing_new_nobody_is_asked),
		TEST(what_lasts_is_stored_and_takes_the_place_of_what_was_shown),
		TEST(what_was_read_is_not_read_again_until_it_changes),
		TEST(what_contradicts_the_persona_is_told_and_not_stored),
		TEST(a_bad_batch_is_halved_until_the_one_to_blame_is_alone),
		TEST(a_model_that_fails_costs_nothing_that_was_done),
		TEST(a_provider_that_is_down_gives_no_episode_up),
		TEST(what_was_forgotten_is_not_learnt_again),
		TEST(a_run_has_an_end_and_leaves_the_rest_to_another),
		TEST(what_changed_while_the_model_thought_is_seen),
		TEST(what_is_gone_is_forgotten_here_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

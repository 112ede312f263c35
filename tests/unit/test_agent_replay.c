/*
 * Requests made again from the journal: the same bytes as the endpoint got, and when a row was
 * changed, which.
 */
#include "agent_world.h"

#include "agent/replay.h"

#include <string.h>

/* Calls, an empty answer, a lesson, a landing: three turns of all that shapes a request. */
static void live_a_little(struct agent_world *k)
{
	k->cfg.limits.tool_max_iterations = 3;
	aw_says(k, "c:echo {\"a\":1}|grow {}");
	aw_says(k, "e:");
	aw_says(k, "t:One");
	aw_says(k,
		"4:Unsupported parameter: 'max_tokens' is not supported with this model. Use "
		"'max_completion_tokens' instead.");
	aw_says(k, "c:echo {\"b\":\"\\u00e9 \\\"x\\\"\"}");
	aw_says(k, "c:bad {}");
	aw_says(k, "c:nosuch {}");
	aw_says(k, "t:Two");
	aw_says(k, "t:Three");
	aw_hear(k, "first");
	ok(k->w, aw_run(k));
	k->cfg.model.max_tokens = 77;
	aw_hear(k, "second");
	ok(k->w, aw_run(k));
	aw_hear(k, "third");
	ok(k->w, aw_run(k));
}

static void replay(struct agent_world *k, struct replay *r, const char *id)
{
	ok(k->w, replay_turn(r, k->w->s, str_of(id), &k->w->a, &k->w->e));
}

static void replay_last(struct agent_world *k, struct replay *r)
{
	str id;

	ok(k->w, store_trace_last(k->w->s, S(""), &k->w->a, &id, &k->w->e));
	replay(k, r, id.p);
}

static void a_request_is_made_again_byte_for_byte(void **state)
{
	struct agent_world *k = *state;
	struct replay r;
	str *ids;
	size_t n, at = 0, compared = 0;

	live_a_little(k);
	ok(k->w, store_turn_ids(k->w->s, &k->w->a, &ids, &n, &k->w->e));
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		replay(k, &r, ids[i].p);
		assert_int_equal(r.same, r.n);
		for (size_t j = 0; j < r.n; j++, compared++) {
			const char *body = r.v[j].made.body.p;
			/* A body that was refused and sent anew has no row of its own. */
			while (at < (size_t)k->lb.requests &&
			       !strstr(aw_request(k, (int)at), body))
				at++;
			if (at++ >= (size_t)k->lb.requests)
				fail_msg("never sent: %s", body);
		}
	}
	assert_int_equal(compared, 3 + 4 + 1);
}

static void the_beginning_of_an_id_is_enough(void **state)
{
	struct agent_world *k = *state;
	struct replay r;
	struct err e = { 0 };
	str *ids;
	size_t n;

	live_a_little(k);
	ok(k->w, store_turn_ids(k->w->s, &k->w->a, &ids, &n, &k->w->e));
	replay_last(k, &r);
	assert_true(str_eq(r.turn.id, ids[2]));
	replay(k, &r, arena_dup(&k->w->a, str_sub(ids[1], 0, 20)).p);
	assert_true(str_eq(r.turn.id, ids[1]));
	assert_int_equal(replay_turn(&r, k->w->s, str_sub(ids[1], 0, 3), &k->w->a, &e),
			 E_INVAL);
	assert_int_equal(replay_turn(&r, k->w->s, S("zzz"), &k->w->a, &e), E_NOENT);
	assert_int_equal(replay_turn(&r, k->w->s, S("%"), &k->w->a, &e), E_NOENT);
}

static const struct {
	const char *sql, *where;
	enum replay_state state;
} changes[] = {
	{ "UPDATE turn_messages SET wire = '{\"role\":\"user\",\"content\":\"firsT\"}', "
	  "content = 'firsT' WHERE content = 'first'",
	  "message 1 of 14 (user) is not what was sent; it is now: "
	  "{\"role\":\"user\",\"content\":\"firsT",
	  REPLAY_DIFFERS },
	{ "DELETE FROM turn_messages WHERE seq = (SELECT max(seq) FROM turn_messages)", "",
	  REPLAY_SAME }, /* the answer came after it */
	{ "DELETE FROM turn_messages WHERE content = 'third'",
	  "there were 14 messages, and from number 14 on they are gone", REPLAY_DIFFERS },
	{ "UPDATE request_parts SET content = 'Be evil.' WHERE content NOT LIKE '[%'",
	  "the system message is not what was sent; it is now: Be evil.", REPLAY_DIFFERS },
	{ "UPDATE request_parts SET content = replace(content, '\"name\":\"echo\"', "
	  "'\"name\":\"ECHO\"') WHERE content LIKE '[%'",
	  "the tools are not what was sent; they are now: [{", REPLAY_DIFFERS },
	{ "UPDATE request_parts SET content = 'x' WHERE content LIKE '[%'",
	  "it cannot be made any more: the list of its tools cannot be read", REPLAY_DIFFERS },
	{ "UPDATE model_calls SET params = '{'",
	  "it cannot be made any more: ", REPLAY_DIFFERS },
	{ "UPDATE model_calls SET issuer = 'x|other'", "messages, system message and tools are",
	  REPLAY_DIFFERS },
	{ "UPDATE model_calls SET request = ''",
	  "it was sent by a version that kept no record of its requests", REPLAY_UNKNOWN },
	{ "UPDATE model_calls SET request = 'x'",
	  "the record of this request: ", REPLAY_UNKNOWN },
	{ "DELETE FROM turn_messages", "it cannot be made any more: prompt: no user message",
	  REPLAY_DIFFERS },
};

static void the_first_difference_is_shown(void **state)
{
	struct agent_world *k = *state;
	struct replay r;

	live_a_little(k);
	world_sql(k->w, "CREATE TABLE kept_m AS SELECT * FROM turn_messages;"
			"CREATE TABLE kept_c AS SELECT * FROM model_calls;"
			"CREATE TABLE kept_p AS SELECT * FROM request_parts");
	for (size_t i = 0; i < COUNT(changes); i++) {
		world_sql(k->w, changes[i].sql);
		replay_last(k, &r);
		assert_int_equal(r.n, 1);
		if (r.v[0].state != changes[i].state)
			fail_msg("%s: %d %s", changes[i].sql, r.v[0].state, r.v[0].where.p);
		if (changes[i].where[0])
			aw_has(r.v[0].where.p, changes[i].where);
		world_sql(k->w,
			  "DELETE FROM turn_messages; DELETE FROM model_calls;"
			  "UPDATE request_parts SET content = (SELECT content FROM kept_p "
			  "WHERE kept_p.id = request_parts.id);"
			  "INSERT INTO turn_messages SELECT * FROM kept_m;"
			  "INSERT INTO model_calls SELECT * FROM kept_c");
	}
	replay_last(k, &r);
	assert_int_equal(r.v[0].state, REPLAY_SAME);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_made_again_byte_for_byte),
		TEST(the_beginning_of_an_id_is_enough),
		TEST(the_first_difference_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

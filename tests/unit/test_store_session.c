/* Sessions, what is read back from them, and the small facts of state.h. */
#include "store_world.h"

#include "store/health.h"
#include "store/model_call.h"

#include "os/clock.h"

#include <stdio.h>

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

static struct session find(struct world *w, const char *address)
{
	struct session s;

	ok(w, store_session_find(w->s, S("test"), str_of(address), &w->a, &s, &w->e));
	return s;
}

static void a_key_names_one_session(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);
	struct session a, b, c;

	ok(w, store_session_ensure(&tx, S("test"), S("1"), &w->a, &a, &w->e));
	ok(w, store_session_ensure(&tx, S("test"), S("1"), &w->a, &b, &w->e));
	ok(w, store_session_ensure(&tx, S("test"), S("1:2"), &w->a, &c, &w->e));
	world_commit(w, &tx);
	assert_int_equal(21, a.id.n);
	assert_true(str_eq(a.id, b.id));
	assert_false(str_eq(a.id, c.id));
	assert_int_equal(1, a.epoch);
	assert_true(a.created_at_ms > 0);
	assert_int_equal(E_NOENT, store_session_get(w->s, S("nope"), &w->a, &b, &w->e));
	assert_int_equal(E_NOENT,
			 store_session_find(w->s, S("other"), S("1"), &w->a, &b, &w->e));
	ok(w, store_session_get(w->s, c.id, &w->a, &b, &w->e));
	assert_text(b.address, "1:2");
	assert_text(world_text(w, "SELECT chat_id || '/' || thread_id FROM sessions "
				  "WHERE address = '1:2'"),
		    "1/2");
}

static void the_list_is_newest_first_and_limited(void **state)
{
	struct world *w = *state;
	struct session *list;
	size_t n;

	for (int i = 0; i < 20; i++) {
		char address[8];
		(void)snprintf(address, sizeof address, "%d", i);
		(void)world_add(w, address, "x");
	}
	world_sql(w, "UPDATE sessions SET updated_at_ms = CAST(address AS INTEGER) / 2");
	ok(w, store_session_list(w->s, 0, &w->a, &list, &n, &w->e));
	assert_int_equal(20, n);
	for (size_t i = 1; i < n; i++)
		assert_true(list[i - 1].updated_at_ms > list[i].updated_at_ms ||
			    str_cmp(list[i - 1].id, list[i].id) > 0);
	ok(w, store_session_list(w->s, 3, &w->a, &list, &n, &w->e));
	assert_int_equal(3, n);
}

static int remove_session(struct world *w, str id)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	int rc = store_session_remove(&tx, id, &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

static void removing_keeps_the_audit_and_nothing_else(void **state)
{
	static const char *const gone[] = { "sessions", "turns",  "turn_messages",
					    "inbox",    "outbox", "model_calls" };
	struct world *w = *state;
	struct model_row call = { .round = 1, .issuer = S("i"), .params = S("{}") };
	struct outbox_new out = { .channel = S("test"), .address = S("1"), .kind = S("reply") };
	int64_t id;

	world_turn(w, "1", "a", 3);
	(void)world_add(w, "1", "b");
	struct turn t = world_claim(w);
	out.session_id = t.session.id;
	struct tx tx = world_begin(w);
	ok(w, store_model_call(&tx, t.id, &call, &w->e));
	ok(w, store_outbox_add(&tx, &out, &id, &w->e));
	world_commit(w, &tx);
	assert_int_equal(E_BUSY, remove_session(w, t.session.id));
	world_sql(w, "UPDATE turns SET state = 'parked' WHERE state = 'running'");
	assert_int_equal(E_BUSY, remove_session(w, t.session.id));
	world_sql(w, "UPDATE turns SET state = 'running' WHERE state = 'parked'");
	world_finish(w, &t);
	assert_int_equal(E_NOENT, remove_session(w, S("nope")));
	ok(w, remove_session(w, t.session.id));
	for (size_t i = 0; i < COUNT(gone); i++)
		assert_int_equal(
			0,
			world_i64(w, arena_fmt(&w->a, "SELECT count(*) FROM %s", gone[i]).p));
	assert_int_equal(3, world_i64(w, "SELECT count(*) FROM tool_calls"));
	assert_text(world_text(w, "SELECT session_id FROM tool_calls"),
		    arena_cstr(&w->a, t.session.id));
}

static void a_session_remembers_title_model_and_tokens(void **state)
{
	struct world *w = *state;
	struct model_row call = { .round = 1,
				  .issuer = S("https://h/v1|m|large"),
				  .params = S("{}"),
				  .system = S("sys"),
				  .tools = S("[]"),
				  .finish = S("stop"),
				  .prompt_tokens = 100,
				  .completion_tokens = 20,
				  .cached_tokens = 50 };

	(void)world_add(w, "1", "  plan a trip\nto the sea");
	struct turn t = world_claim(w);
	struct tx tx = world_begin(w);
	ok(w, store_model_call(&tx, t.id, &call, &w->e));
	call.attempt = 1;
	call.prompt_tokens = call.completion_tokens = call.cached_tokens = -1;
	ok(w, store_model_call(&tx, t.id, &call, &w->e));
	world_commit(w, &tx);
	struct session s = find(w, "1");
	assert_text(s.title, "plan a trip");
	assert_text(s.model, "large");
	assert_int_equal(100, s.prompt_tokens);
	assert_int_equal(20, s.completion_tokens);
	assert_int_equal(1, s.messages_n);
	/* The same texts are stored once, and unknown is not zero. */
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM request_parts"));
	assert_text(world_text(w, "SELECT p.content FROM model_calls c JOIN request_parts p "
				  "ON p.id = c.system_part"),
		    "sys");
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM model_calls "
					 "WHERE prompt_tokens IS NULL"));
	world_finish(w, &t);
	(void)world_add(w, "1", "second");
	(void)world_claim(w);
	assert_text(find(w, "1").title, "plan a trip");
}

static void parts_with_one_hash_are_told_apart(void **state)
{
	struct world *w = *state;
	struct model_row call = { .round = 1,
				  .issuer = S("i"),
				  .params = S("{}"),
				  .system = S("one"),
				  .tools = S("one") };

	(void)world_add(w, "1", "x");
	struct turn t = world_claim(w);
	struct tx tx = world_begin(w);
	ok(w, store_model_call(&tx, t.id, &call, &w->e));
	world_commit(w, &tx);
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM request_parts"));
	world_sql(w, "UPDATE request_parts SET content = 'another with the hash of one'");
	tx = world_begin(w);
	ok(w, store_model_call(&tx, t.id, &call, &w->e));
	world_commit(w, &tx);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM request_parts"));
	assert_int_equal(1, world_i64(w, "SELECT count(DISTINCT hash) FROM request_parts"));
}

/* --- history -------------------------------------------------------------------------------- */

static void history_is_whole_turns_oldest_first(void **state)
{
	static const struct {
		int64_t max;
		size_t n; /* turns have 2, 5, 2, 4 messages */
		const char *first;
	} cases[] = { { 100, 13, "a" }, { 13, 13, "a" }, { 12, 11, "b" }, { 10, 6, "c" },
		      { 6, 6, "c" },    { 5, 4, "d" },   { 1, 4, "d" } };
	struct world *w = *state;
	struct message *m;
	size_t n;

	world_turn(w, "1", "a", 0);
	world_turn(w, "1", "b", 2);
	world_turn(w, "1", "c", 0);
	world_turn(w, "1", "d", 1);
	world_turn(w, "2", "other", 1);
	(void)world_add(w, "1", "now");
	struct turn t = world_claim(w);
	for (size_t i = 0; i < COUNT(cases); i++) {
		ok(w, store_history(w->s, &t.session, cases[i].max, &w->a, &m, &n, &w->e));
		assert_int_equal(cases[i].n, n);
		assert_text(m[0].text, cases[i].first);
		assert_text(m[0].role, "user");
		for (size_t k = 1; k < n; k++)
			assert_int_equal(m[k - 1].seq + 1, m[k].seq);
		assert_text(m[n - 1].text, "answer");
	}
	world_check(w);
}

static void history_begins_at_the_cut_and_with_the_epoch(void **state)
{
	struct world *w = *state;
	struct control_effect effect;
	struct message *m;
	struct tx tx;
	size_t n;

	world_turn(w, "1", "a", 0);
	world_turn(w, "1", "b", 0);
	world_turn(w, "1", "c", 0);
	struct session s = find(w, "1");
	for (int64_t cut = 2; cut <= 3; cut++) {
		tx = world_begin(w);
		ok(w, store_session_cut(&tx, s.id, cut, &w->e));
		world_commit(w, &tx);
		s = find(w, "1");
		assert_int_equal(cut, s.history_from_seq);
		ok(w, store_history(w->s, &s, 100, &w->a, &m, &n, &w->e));
		assert_int_equal(4, n);
		assert_text(m[0].text, "b");
	}
	tx = world_begin(w);
	ok(w, store_control(&tx, CONTROL_NEW, S("test"), S("1"), S(""), &w->a, &effect, &w->e));
	assert_int_equal(E_NOENT, store_session_cut(&tx, S("nope"), 1, &w->e));
	world_commit(w, &tx);
	s = find(w, "1");
	ok(w, store_history(w->s, &s, 100, &w->a, &m, &n, &w->e));
	assert_int_equal(0, n);
	world_turn(w, "1", "d", 0);
	s = find(w, "1");
	ok(w, store_history(w->s, &s, 100, &w->a, &m, &n, &w->e));
	assert_int_equal(2, n);
	assert_int_equal(2, s.messages_n);
	assert_text(m[0].text, "d");
	/* People see all of it. */
	ok(w, store_messages(w->s, s.id, 0, 0, &w->a, &m, &n, &w->e));
	assert_int_equal(8, n);
	ok(w, store_messages(w->s, s.id, 3, 2, &w->a, &m, &n, &w->e));
	assert_int_equal(2, n);
	assert_int_equal(4, m[0].seq);
}

static void collapsing_marks_what_is_old_and_long(void **state)
{
	struct world *w = *state;
	struct message *m;
	struct tx tx;
	size_t n;

	world_turn(w, "1", "a", 2);
	world_turn(w, "1", "b", 1);
	struct session s = find(w, "1");
	tx = world_begin(w);
	ok(w, store_collapse(&tx, s.id, 3, 6, &w->e));
	world_commit(w, &tx);
	ok(w, store_history(w->s, &s, 100, &w->a, &m, &n, &w->e));
	for (size_t i = 0; i < n; i++)
		assert_int_equal(m[i].seq >= 3 && m[i].seq <= 6 &&
					 !str_eq(m[i].role, S("assistant")),
				 m[i].collapsed);
}

/* --- state.h ----------------------------------------------------------------------------------- */

static void a_heartbeat_is_seen_by_others(void **state)
{
	struct world *w = *state;
	struct store *r = world_open(w, STORE_READ);
	int64_t at = 0, before = clock_now_ms();

	assert_int_equal(E_NOENT, store_heartbeat_get(r, S("daemon"), &at, &w->e));
	for (int i = 0; i < 2; i++) {
		struct tx tx = world_begin(w);
		ok(w, store_heartbeat(&tx, S("daemon"), S("1.2"), &w->e));
		ok(w, store_heartbeat(&tx, S("poll"), S("1.2"), &w->e));
		world_commit(w, &tx);
	}
	ok(w, store_heartbeat_get(r, S("daemon"), &at, &w->e));
	assert_true(at >= before);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM heartbeats"));
	assert_text(world_text(w, "SELECT id || version FROM heartbeat"), "11.2");
	store_close(r);
}

static str trouble_of(struct world *w, const char *part)
{
	struct store_health h;

	ok(w, store_health_get(w->s, &w->a, &h, &w->e));
	for (size_t i = 0; i < h.n; i++)
		if (str_is(h.beats[i].part, part))
			return h.beats[i].trouble;
	return S("?");
}

static void trouble_of_a_part_stands_until_its_next_heartbeat(void **state)
{
	struct world *w = *state;

	assert_text(trouble_of(w, "poll"), "?");
	struct tx tx = world_begin(w);
	ok(w, store_trouble(&tx, S("poll"), S("refused"), &w->e));
	world_commit(w, &tx);
	assert_text(trouble_of(w, "poll"), "refused");
	tx = world_begin(w);
	ok(w, store_heartbeat(&tx, S("poll"), S("1.2"), &w->e));
	world_commit(w, &tx);
	assert_text(trouble_of(w, "poll"), "");
}

static void a_heartbeat_may_be_of_another_time(void **state)
{
	struct world *w = *state;
	int64_t at = 0;
	struct tx tx = world_begin(w);

	ok(w, store_heartbeat_at(&tx, S("worker"), S("1.2"), 12345, &w->e));
	world_commit(w, &tx);
	ok(w, store_heartbeat_get(w->s, S("worker"), &at, &w->e));
	assert_int_equal(at, 12345);
}

static void usage_is_summed_from_a_time_on(void **state)
{
	struct world *w = *state;
	struct model_row call = { .round = 1,
				  .issuer = S("i"),
				  .params = S("{}"),
				  .prompt_tokens = 10,
				  .completion_tokens = 2,
				  .cached_tokens = 4 };
	struct usage u;

	world_turn(w, "1", "a", 3);
	(void)world_add(w, "1", "b");
	struct turn t = world_claim(w);
	struct tx tx = world_begin(w);
	ok(w, store_model_call(&tx, t.id, &call, &w->e));
	call.cached_tokens = -1;
	ok(w, store_model_call(&tx, t.id, &call, &w->e));
	world_commit(w, &tx);
	ok(w, store_usage(w->s, 0, &u, &w->e));
	assert_int_equal(1, u.turns);
	assert_int_equal(2, u.model_calls);
	assert_int_equal(20, u.prompt_tokens);
	assert_int_equal(4, u.completion_tokens);
	assert_int_equal(4, u.cached_tokens);
	assert_int_equal(3, u.tool_calls);
	world_sql(w, "UPDATE usage SET minute_at_ms = 600000");
	ok(w, store_usage(w->s, 659999, &u, &w->e));
	assert_int_equal(1, u.turns);
	ok(w, store_usage(w->s, 660000, &u, &w->e));
	assert_int_equal(0, u.turns);
	assert_int_equal(0, u.tool_calls);
}

static void quirks_and_tool_lists_are_kept_per_name(void **state)
{
	struct world *w = *state;
	uint32_t flags = 9;
	int64_t window = 9;
	str json = S("x");

	ok(w, store_quirks_get(w->s, S("a|m"), &flags, &window, &w->e));
	ok(w, store_tools_get(w->s, S("s"), &w->a, &json, &w->e));
	assert_int_equal(0, flags);
	assert_int_equal(0, window);
	assert_int_equal(0, json.n);
	for (uint32_t i = 1; i <= 2; i++) {
		struct tx tx = world_begin(w);
		ok(w, store_quirks_set(&tx, S("a|m"), UINT32_MAX - i, 8192 * i, &w->e));
		ok(w, store_quirks_set(&tx, S("b|m"), 1, 0, &w->e));
		ok(w, store_tools_set(&tx, S("s"), i == 1 ? S("[1]") : S("[2]"), &w->e));
		world_commit(w, &tx);
	}
	ok(w, store_quirks_get(w->s, S("a|m"), &flags, &window, &w->e));
	ok(w, store_tools_get(w->s, S("s"), &w->a, &json, &w->e));
	assert_int_equal(UINT32_MAX - 2, flags);
	assert_int_equal(16384, window);
	assert_text(json, "[2]");
}

static void recipes_of_the_older_programs_work(void **state)
{
	struct world *w = *state;
	static const char *const recipes[] = {
		"SELECT id, summary, updated_at FROM session",
		"SELECT id, session_id, role, content, created_at FROM session_message",
		"SELECT id, updated_at, version FROM heartbeat",
		"SELECT id, session_id, command, cwd, decision, rule, exit_code, duration_ms, "
		"truncated, created_at FROM exec_audit",
		"SELECT id, session_id, seq, role, content, tool_calls, tool_call_id, "
		"tool_name, "
		"created_at FROM messages",
		"SELECT id, channel, chat_id, thread_id, title, model, summary, prompt_tokens, "
		"completion_tokens, created_at, updated_at FROM sessions",
		"SELECT id, session_id, channel, chat_id, tool, command, reason, state, "
		"message_id, created_at, expires_at, decided_at, decided_by FROM approvals",
		"SELECT version, name, applied_at FROM schema_migrations",
	};

	world_turn(w, "1", "hello", 1);
	world_sql(w, "UPDATE tool_calls SET name = 'exec', args = "
		     "'{\"command\":\"ls -l\",\"cwd\":\"/tmp\"}'");
	for (size_t i = 0; i < COUNT(recipes); i++)
		(void)world_text(w, recipes[i]);
	assert_text(world_text(w, "SELECT command || ' in ' || cwd FROM exec_audit"),
		    "ls -l in /tmp");
	assert_text(world_text(w, "SELECT tool_calls FROM messages WHERE seq = 2"),
		    "[{\"id\":\"call_p\",\"name\":\"read_file\",\"args\":\"{}\"}]");
	assert_text(world_text(w, "SELECT tool_call_id FROM messages WHERE role = 'tool'"),
		    "call_p");
	assert_text(world_text(w, "SELECT group_concat(role || '=' || content) "
				  "FROM session_message"),
		    "user=hello,assistant=answer");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_key_names_one_session),
		T(the_list_is_newest_first_and_limited),
		T(removing_keeps_the_audit_and_nothing_else),
		T(a_session_remembers_title_model_and_tokens),
		T(parts_with_one_hash_are_told_apart),
		T(history_is_whole_turns_oldest_first),
		T(history_begins_at_the_cut_and_with_the_epoch),
		T(collapsing_marks_what_is_old_and_long),
		T(a_heartbeat_is_seen_by_others),
		T(trouble_of_a_part_stands_until_its_next_heartbeat),
		T(a_heartbeat_may_be_of_another_time),
		T(usage_is_summed_from_a_time_on),
		T(quirks_and_tool_lists_are_kept_per_name),
		T(recipes_of_the_older_programs_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

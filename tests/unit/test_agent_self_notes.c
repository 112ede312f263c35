/*
 * The agent's notes on itself: written by the tool, shortened when a conversation begins afresh,
 * never at the cost of what a person wrote.
 */
#include "agent_world.h"

#include "agent/internal.h"
#include "agent/self_notes.h"
#include "agent/system.h"
#include "os/clock.h"
#include "os/file.h"
#include "tools/builtin.h"

#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

static const char *at(struct agent_world *k, const char *name)
{
	return arena_fmt(&k->w->a, "%s/persona/%s", k->w->dir, name).p;
}

static str content(struct agent_world *k, const char *name)
{
	str text = S("(absent)");

	(void)!file_read(&text, &k->w->a, at(k, name), 1 << 20, NULL);
	return text;
}

static void put(struct agent_world *k, const char *name, str text)
{
	assert_int_equal(file_write_atomic(at(k, name), text, 0600, NULL), OK);
}

static struct agent_world *with_notes(void **state)
{
	struct agent_world *k = *state;

	assert_int_equal(dir_make(at(k, ""), 0700, NULL), OK);
	put(k, "SOUL.md", S("You are Tim."));
	k->cfg.agent.persona_dir = arena_fmt(&k->w->a, "%s/persona", k->w->dir);
	k->cfg.agent.self_notes = true;
	return k;
}

/* Call self_note by itself. */
static str note(struct agent_world *k, const char *args, enum call_state want)
{
	struct tools *t;
	struct tools_opt opt = { .self_path = self_notes_path(&k->w->a, &k->cfg),
				 .self_lock = self_notes_lock(&k->w->a, &k->cfg) };
	struct toolset set;
	struct call call = { .requested = S("self_note"), .args = str_of(args) };

	assert_int_equal(tools_open(&t, &opt, NULL), OK);
	tools_snapshot(t, &k->w->a, &set);
	const struct tool_spec *spec = tools_admit(t, &set, &call, &k->w->a);
	if (spec)
		ok(k->w, tools_run(t, spec, &call, &(struct tool_ctx){ 0 }, &k->w->a, NULL,
				   &k->w->e));
	str result = arena_dup(&k->w->a, call.result);
	tools_close(t);
	if (call.state != want)
		fail_msg("%s: %.*s", args, STRF(result));
	return result;
}

static void renew(struct agent_world *k, int want)
{
	struct system_row row;
	struct tx tx = world_begin(k->w);

	ok(k->w,
	   store_system_add(&tx, &(struct system_new){ .what = S(SYSTEM_RENEW) }, &k->w->e));
	ok(k->w, store_system_claim(&tx, S(""), &k->w->a, &row, &k->w->e));
	world_commit(k->w, &tx);
	assert_int_equal(want, agent_system_run(k->agent, &row, &k->token, &k->w->e));
	assert_int_equal(want != OK, world_i64(k->w, "SELECT count(*) FROM system_rows"));
}

static bool persona_has(struct agent_world *k, const char *text)
{
	struct snapshot *s = agent_snapshot_get(k->agent);
	bool has = str_has(s->persona, str_of(text));

	agent_snapshot_put(k->agent, s);
	return has;
}

static void a_note_is_a_line_and_in_the_persona_of_the_next_conversation(void **state)
{
	struct agent_world *k = with_notes(state);

	aw_open(k);
	struct snapshot *running = agent_snapshot_get(k->agent);
	(void)note(k, "{\"note\":\"  be dry\\nand short \"}", CALL_DONE);
	(void)note(k, "{\"note\":\"no emoji\"}", CALL_DONE);
	assert_string_equal("- be dry and short\n- no emoji\n", content(k, "SELF.md").p);
	assert_false(persona_has(k, "no emoji"));
	renew(k, OK);
	assert_true(persona_has(k, "You are Tim."));
	assert_true(persona_has(k, "no emoji"));
	assert_false(str_has(running->persona, S("no emoji"))); /* a turn keeps what it had */
	renew(k, OK);
	agent_snapshot_put(k->agent, running);
	assert_string_equal("You are Tim.", content(k, "SOUL.md").p);
	assert_int_equal(0, k->lb.requests); /* there is little to shorten */
}

static void what_is_no_note_is_refused(void **state)
{
	struct agent_world *k = with_notes(state);
	str line = arena_fmt(&k->w->a, "{\"note\":\"%0301d\"}", 1);

	(void)note(k, "{}", CALL_FAILED);
	(void)note(k, "{\"note\":\" \"}", CALL_FAILED);
	aw_has(note(k, line.p, CALL_FAILED).p, "at most 300 characters");
	assert_string_equal("(absent)", content(k, "SELF.md").p);
	line = arena_fmt(&k->w->a, "{\"note\":\"%0290d\"}", 1);
	for (int i = 0; i < 13; i++)
		(void)note(k, line.p, CALL_DONE);
	aw_has(note(k, line.p, CALL_FAILED).p, "full");
	assert_in_range(content(k, "SELF.md").n, 3500, 4096);
}

static void it_is_off_unless_asked_for_and_where_nothing_can_be_written(void **state)
{
	struct agent_world *k = with_notes(state);

	k->cfg.agent.self_notes = false;
	(void)note(k, "{\"note\":\"x\"}", CALL_FAILED);
	k->cfg.agent.self_notes = true;
	k->cfg.agent.persona_dir = S("/proc/self"); /* also for root */
	aw_has(note(k, "{\"note\":\"x\"}", CALL_FAILED).p, "no tool");
}

static void no_link_is_followed_to_another_file(void **state)
{
	struct agent_world *k = with_notes(state);

	assert_int_equal(symlink("SOUL.md", at(k, "SELF.md")), 0);
	(void)note(k, "{\"note\":\"x\"}", CALL_FAILED);
	assert_string_equal("You are Tim.", content(k, "SOUL.md").p);
}

static str many(struct agent_world *k)
{
	struct buf b = buf_in(&k->w->a, 8192);

	for (int i = 0; i < 100; i++)
		buf_fmt(&b, "- a note with number %d\n", i);
	return buf_str(&b);
}

static void many_notes_become_fewer(void **state)
{
	struct agent_world *k = with_notes(state);

	put(k, "SELF.md", many(k));
	aw_says(k, "t:- be dry\n- be short");
	aw_open(k);
	renew(k, OK);
	assert_string_equal("- be dry\n- be short\n", content(k, "SELF.md").p);
	assert_true(persona_has(k, "be short"));
	aw_has(aw_request(k, 0), "a note with number 99");
}

static void what_the_endpoint_will_not_take_is_learnt_for_all_later_requests(void **state)
{
	struct agent_world *k = with_notes(state);

	put(k, "SELF.md", many(k));
	k->cfg.model.has_temperature = true;
	k->cfg.model.temperature = 0.5;
	aw_says(k, "4:temperature is not supported with this model");
	aw_says(k, "t:- be dry");
	aw_open(k);
	renew(k, OK);
	assert_string_equal("- be dry\n", content(k, "SELF.md").p);
	assert_int_equal(1, world_i64(k->w, "SELECT count(*) FROM quirks WHERE flags = 4"));
	aw_has(aw_request(k, 0), "temperature");
	aw_lacks(aw_request(k, 1), "temperature");
}

static void nobody_changes_them_while_somebody_else_does(void **state)
{
	struct agent_world *k = with_notes(state);
	struct cancel *c = &k->token;
	int lock = -1;

	k->cfg.store.data_dir = str_of(k->w->dir);
	str path = self_notes_lock(&k->w->a, &k->cfg);
	put(k, "SELF.md", many(k));
	aw_says(k, "t:- be dry");
	aw_says(k, "t:- be dry");
	aw_open(k);
	assert_int_equal(lock_take(&lock, path.p, NULL), OK);
	c->deadline_ms = clock_mono_ms() + 1000;
	renew(k, E_TIMEOUT);
	assert_true(str_eq(many(k), content(k, "SELF.md")));
	assert_int_equal(E_TIMEOUT, tool_self_lock(&(int){ -1 }, path, c, NULL));
	fd_drop(&lock);
	c->deadline_ms = 0;
	world_sql(k->w, "DELETE FROM system_rows");
	renew(k, OK);
	(void)note(k, "{\"note\":\"be short\"}", CALL_DONE);
	assert_string_equal("- be dry\n- be short\n", content(k, "SELF.md").p);
	assert_false(lock_probe(path.p, NULL));
}

static void a_bad_answer_changes_nothing_and_is_tried_again(void **state)
{
	static const char *const answers[] = { "t:Sure, here they are.", "e:", "4:no" };
	struct agent_world *k = with_notes(state);

	put(k, "SELF.md", many(k));
	for (size_t i = 0; i < COUNT(answers); i++)
		aw_says(k, answers[i]);
	aw_open(k);
	for (size_t i = 0; i < COUNT(answers); i++) {
		renew(k, i < 2 ? E_PROTO : E_INVAL);
		world_sql(k->w, "DELETE FROM system_rows");
	}
	assert_true(str_eq(many(k), content(k, "SELF.md")));
}

static void a_conversation_that_begins_afresh_asks_for_it(void **state)
{
	struct agent_world *k = *state;
	struct control_effect out;

	world_turn(k->w, "1", "hi", 0);
	struct tx tx = world_begin(k->w);
	ok(k->w, store_control(&tx, CONTROL_STOP, S("test"), S("1"), S(""), &k->w->a, &out,
			       &k->w->e));
	world_commit(k->w, &tx);
	assert_int_equal(0, world_i64(k->w, "SELECT count(*) FROM system_rows"));
	tx = world_begin(k->w);
	ok(k->w,
	   store_control(&tx, CONTROL_NEW, S("test"), S("1"), S(""), &k->w->a, &out, &k->w->e));
	world_commit(k->w, &tx);
	assert_int_equal(1, world_i64(k->w, "SELECT count(*) FROM system_rows "
					    "WHERE what = 'renew'"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_note_is_a_line_and_in_the_persona_of_the_next_conversation),
		TEST(what_is_no_note_is_refused),
		TEST(it_is_off_unless_asked_for_and_where_nothing_can_be_written),
		TEST(no_link_is_followed_to_another_file),
		TEST(many_notes_become_fewer),
		TEST(what_the_endpoint_will_not_take_is_learnt_for_all_later_requests),
		TEST(nobody_changes_them_while_somebody_else_does),
		TEST(a_bad_answer_changes_nothing_and_is_tried_again),
		TEST(a_conversation_that_begins_afresh_asks_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

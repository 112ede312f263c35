/*
 * Slash commands: what is one, what a control word says, what the others show.
 */
#include "agent_world.h"

#include "agent/slash.h"
#include "store/tool_hold.h"
#include "model/quirks.h"

#include <string.h>

static struct agent_world *at_work; /* of the tool that looks meanwhile */

static const struct word {
	const char *text;
	int control; /* -1: none */
	const char *answer; /* part of a read-only command's answer, NULL: none */
} words[] = {
	{ "/new", CONTROL_NEW, NULL },
	{ " /NEW \n", CONTROL_NEW, NULL },
	{ "/clear", CONTROL_NEW, NULL },
	{ "/stop", CONTROL_STOP, NULL },
	{ "/cancel", CONTROL_STOP, NULL },
	/* With anything behind it, it is said to the model. */
	{ "/new please", -1, NULL },
	{ "/stop it", -1, NULL },
	{ "/help me", -1, NULL },
	{ "/status of my order", -1, NULL },
	{ "new", -1, NULL },
	{ "say /new", -1, NULL },
	{ "/", -1, NULL },
	{ "/newer", -1, NULL },
	{ "/usr/bin", -1, NULL },
	{ "", -1, NULL },
	{ "/help", -1, "/stop: end the running turn" },
	{ "/tools", -1, "\n- echo" },
	{ "/status", -1, "\nuptime=" },
	{ "/perf", -1, "no turns yet" },
	{ "/brief", -1, NULL },
	{ "/short", -1, NULL },
	{ "/off", -1, NULL },
	{ "/brief me on the news", -1, NULL },
	{ "/Short google__calendar", -1, "tools.dynamic is off" },
	{ "/brief@AnyBot a,b", -1, "tools.dynamic is off" },
	{ "/off x", -1, "tools.dynamic is off" },
	{ "/tokens", -1, "\nhistory: 0 (0 messages)\n" },
	{ "/usage", -1, "\ntoday: 0 turns, 0 requests, 0 tool calls, tokens 0 in" },
	{ "/start", -1, "/stop: end the running turn" },
	{ "/start x1y2", -1, "Hello" },
	{ "/whoami", -1, "chat: 1\nuser: ada\nsession: none yet" },
	{ "/resend", -1, "Nothing is missing" },
};

static void a_command_is_a_whole_message(void **state)
{
	struct agent_world *k = *state;

	aw_open(k);
	for (size_t i = 0; i < COUNT(words); i++) {
		const struct word *c = &words[i];
		enum control what = CONTROL_STOP;
		str reply = S("");
		int rc = slash_control(str_of(c->text), &k->w->a, &what);
		bool is = slash_command(k->agent, S("test"), S("1"), S("ada"), str_of(c->text),
					&k->w->a, &reply, NULL);
		if (rc != (c->control < 0 ? E_NOENT : OK) || is != (c->answer != NULL))
			fail_msg("\"%s\": control %d, command %d", c->text, rc, is);
		if (c->control >= 0)
			assert_int_equal(what, c->control);
		if (c->answer)
			aw_has(reply.p, c->answer);
	}
}

static void what_may_hold_a_code_is_a_secret(void **state)
{
	static const char *const secret[] = {
		"/auth far abc",  "/auth far\tabc",
		"/auth far\nabc", "/auth http://127.0.0.1:33418/callback?code=abc",
		"/auth code=abc", "http://127.0.0.1:33418/callback?code=abc&state=def",
	};
	static const char *const plain[] = { "/auth", "/auth far", "/auth far ", "hello",
					     "/help" };

	(void)state;
	for (size_t i = 0; i < COUNT(secret); i++)
		if (!slash_secret(str_of(secret[i])))
			fail_msg("\"%s\" would be kept", secret[i]);
	for (size_t i = 0; i < COUNT(plain); i++)
		if (slash_secret(str_of(plain[i])))
			fail_msg("\"%s\" would not be kept", plain[i]);
}

static void only_an_owner_signs_in_where_others_talk_too(void **state)
{
	static const int64_t owners[] = { 4711 };
	struct agent_world *k = *state;
	str reply;

	k->cfg.telegram.allow_from = (struct i64_list){ owners, 1 };
	aw_open(k);
	static const char *const others[] = { "4712", "", "ada" };
	for (size_t i = 0; i < COUNT(others); i++) {
		assert_true(slash_command(k->agent, S("telegram"), S("-5"), str_of(others[i]),
					  S("/auth srv remove"), &k->w->a, &reply, NULL));
		aw_has(reply.p, "Only who is in channels.telegram.allow_from");
	}
	assert_true(slash_command(k->agent, S("telegram"), S("-5"), S("4711"), S("/auth"),
				  &k->w->a, &reply, NULL));
	aw_lacks(reply.p, "Only who");
	assert_true(slash_command(k->agent, S("cli"), S("1"), S("local"), S("/auth"), &k->w->a,
				  &reply, NULL));
	aw_lacks(reply.p, "Only who");
}

static void help_lists_each_command_once_and_no_alias(void **state)
{
	struct agent_world *k = *state;
	str reply;

	aw_open(k);
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/help"), &k->w->a,
				  &reply, NULL));
	for (size_t i = 0; i < 6; i++) {
		const char *name =
			(const char *[]){ "help", "new", "status", "tools", "stop", "perf" }[i];
		aw_has(reply.p, arena_fmt(&k->w->a, "/%s: ", name).p);
	}
	aw_lacks(reply.p, "/cancel");
	aw_lacks(reply.p, "/clear");
}

static const struct effect {
	enum control what;
	const char *turn;
	int64_t dropped;
	const char *says;
	bool busy;
} effects[] = {
	{ CONTROL_STOP, "", 0, "nothing is running.", false },
	{ CONTROL_STOP, "", 1, "1 waiting message dropped.", false },
	{ CONTROL_STOP, "x", 0, "stopping…", false },
	{ CONTROL_STOP, "", 0, "stopping…", true },
	{ CONTROL_STOP, "", 1, "stopping… 1 waiting message dropped.", true },
	{ CONTROL_NEW, "", 0, "session reset.", true },
	{ CONTROL_STOP, "x", 2, "stopping… 2 waiting messages dropped.", false },
	{ CONTROL_NEW, "", 0, "session reset.", false },
	{ CONTROL_NEW, "x", 0, "session reset; the running turn was stopped.", false },
	{ CONTROL_NEW, "x", 3,
	  "session reset; the running turn was stopped. 3 waiting messages dropped.", false },
};

static void a_control_word_says_what_it_did(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(effects); i++) {
		const struct effect *c = &effects[i];
		struct control_effect ef = { .turn_id = str_of(c->turn),
					     .dropped = c->dropped };
		assert_string_equal(slash_control_reply(&a, c->what, &ef, c->busy).p, c->says);
	}
}

static void what_asks_the_network_is_slow(void **state)
{
	static const char *const slow[] = { "/auth", "/auth far", "/AUTH far x", "/prompts" };
	static const char *const quick[] = { "/stop",
					     "/new",
					     "/status",
					     "/help",
					     "/prompts x",
					     "hi",
					     "http://127.0.0.1/callback?code=1&state=2" };
	struct agent_world *k = *state;

	aw_open(k);
	for (size_t i = 0; i < COUNT(slow); i++)
		assert_true(slash_slow(k->agent, S("test"), S("ada"), str_of(slow[i])));
	for (size_t i = 0; i < COUNT(quick); i++)
		assert_false(slash_slow(k->agent, S("test"), S("ada"), str_of(quick[i])));
}

static void status_and_perf_tell_of_finished_turns(void **state)
{
	struct agent_world *k = *state;
	str reply;

	aw_says(k, "c:echo {\"n\":1}|echo {\"n\":2}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	assert_true(slash_command(k->agent, S("test"), S("2"), S("ada"), S("/status"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "session=none yet\nhistory_messages=0");
	ok(k->w, aw_run(k));
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/status"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "model=m");
	aw_has(reply.p, arena_fmt(&k->w->a, "session=%.*s\n", STRF(k->t.session.id)).p);
	/* The user's, the call, its two results, the answer. */
	aw_has(reply.p, "history_messages=5");
	aw_has(reply.p, "(estimate)");
	aw_has(reply.p, "session_tokens: prompt 200, completion 20 (as reported)");
	aw_has(reply.p, "since start: turns 1, model calls 2, tool calls 2");
	aw_has(reply.p, "tools=11");
	aw_lacks(reply.p, "model_quirks");
	aw_lacks(reply.p, "model_window");
	struct tx tx = world_begin(k->w);
	ok(k->w, store_quirks_set(&tx, model_issuer(k->model),
				  QUIRK_MAX_COMPLETION | QUIRK_NO_TEMPERATURE, 8192, &k->w->e));
	world_commit(k->w, &tx);
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/status"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "\nmodel_quirks: max_completion_tokens no_temperature (learned)\n"
			"model_window=8192 tokens (learned)\n");
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/perf"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "last 1 turn (");
	aw_has(reply.p, "#1 ");
	aw_has(reply.p, "rounds=2 tools=2 batch=2 rec=0 prompt=200 gen=20");
}

static void perf_remembers_the_last_dozen(void **state)
{
	struct agent_world *k = *state;
	str reply;

	cancel_fire(&k->token, CANCEL_USER); /* quick turns that ask nobody */
	for (int i = 0; i < 14; i++) {
		aw_hear(k, "hi");
		ok(k->w, aw_run(k));
	}
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/perf"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "last 12 turns");
	aw_has(reply.p, "\n#14 ");
	aw_has(reply.p, "\n#3 ");
	int lines = 0;
	for (size_t i = 0; i < reply.n; i++)
		lines += reply.p[i] == '\n';
	assert_int_equal(lines, 12);
	aw_lacks(reply.p, "\n#2 ");
	aw_has(reply.p, "[canceled]");
}

static void said_at_work(void)
{
	struct agent_world *k = at_work;
	str reply;

	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/tokens"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "(running)\n");
	aw_lacks(reply.p, "this turn: 0");
}

static void tokens_tells_where_they_go_and_what_was_cached(void **state)
{
	struct agent_world *k = at_work = *state;
	str reply;

	k->on_odd = said_at_work;
	aw_says(k, "t:Done");
	aw_says(k, "c:odd {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	world_sql(k->w, "UPDATE model_calls SET prompt_tokens = 3 * est_tokens, "
			"cached_tokens = 2 * est_tokens");
	world_sql(k->w, "UPDATE sessions SET summary = 'Facts: she is Ann'");
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/tokens"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "\npersona: 0\n");
	aw_has(reply.p, "\nsummary: 5\n");
	aw_has(reply.p, " (6 messages)\n");
	aw_has(reply.p, " tools)\nthis turn: 0 (none runs)\n");
	aw_has(reply.p, "(history is cut when it is over 33333)");
	aw_has(reply.p, "the model counts 3.00 tokens for one of these");
	aw_has(reply.p, "(66%)\nsince start, as reported: prompt 300, answers 30, cached");
	assert_null(strstr(reply.p, "USD")); /* without a price there is no cost */
	static const struct price price = {
		{ "m*", 2 }, 2000000000, 500000000, 2000000000, 2000000000
	};
	k->cfg.models = (struct models_cfg){ { &price, 1 }, S("USD") };
	world_sql(k->w, "UPDATE sessions SET model = 'm1'");
	world_sql(k->w, "UPDATE model_calls SET prompt_tokens = 1000, cached_tokens = 200, "
			"completion_tokens = 10");
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/tokens"), &k->w->a,
				  &reply, NULL));
	aw_has(reply.p, "prompt 1000, answer 10, cached 200 (20%), 0.001720 USD\n");
}

static void families(const struct tool_source *self, struct arena *a,
		     void (*add)(void *arg, const struct tool_spec *spec), void *arg)
{
	static const char *const names[] = { "echo", "box__look", "box__take" };

	(void)a;
	for (size_t i = 0; i < COUNT(names); i++)
		add(arg, &(struct tool_spec){ .name = str_of(names[i]),
					      .description = S("a tool"),
					      .schema = S("{\"type\":\"object\"}"),
					      .source = self,
					      .impl = names[i] });
}

static void tokens_counts_the_tools_that_are_on(void **state)
{
	struct agent_world *k = *state;
	str before, after;

	k->cfg.agent.dynamic_tools = true;
	k->source.list = families;
	world_turn(k->w, "1", "hi", 0);
	aw_open(k);
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/tokens"), &k->w->a,
				  &before, NULL));
	struct tx tx = world_begin(k->w);
	ok(k->w, store_tool_hold(&tx, world_text(k->w, "SELECT id FROM sessions"), S("box"),
				 TOOL_HOLD_SHORT, &k->w->e));
	world_commit(k->w, &tx);
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/tokens"), &k->w->a,
				  &after, NULL));
	aw_has(before.p, "\ntools: 6 (1 of 3 tools)\n");
	aw_has(after.p, "\ntools: 22 (3 of 3 tools)\n");
}

static void nothing_to_call_is_said(void **state)
{
	struct agent_world *k = *state;
	str reply;

	k->none = true;
	aw_open(k);
	assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"), S("/tools"), &k->w->a,
				  &reply, NULL));
	assert_string_equal(reply.p, "tools: (none)");
}

/* A write of somebody else's that takes its time does not hold up the end of the channel. */
static void what_waits_for_the_writer_can_be_ended(void **state)
{
	static const char *const writes[] = { "/resend", "/brief box" };
	struct agent_world *k = *state;
	SCOPED(cancel_done) struct cancel stop = { .fd = -1 };
	str reply;

	k->cfg.agent.dynamic_tools = true;
	k->source.list = families;
	aw_open(k);
	ok(k->w, cancel_init(&stop, NULL, 0, &k->e));
	cancel_fire(&stop, CANCEL_SHUTDOWN);
	struct tx tx = world_begin(k->w);
	for (size_t i = 0; i < COUNT(writes); i++) {
		assert_true(slash_command(k->agent, S("test"), S("1"), S("ada"),
					  str_of(writes[i]), &k->w->a, &reply, &stop));
		if (!str_has(reply, S("interrupted by shutdown")))
			fail_msg("%s: %s", writes[i], reply.p);
	}
	world_commit(k->w, &tx);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_command_is_a_whole_message),
		TEST(only_an_owner_signs_in_where_others_talk_too),
		TEST(help_lists_each_command_once_and_no_alias),
		cmocka_unit_test(what_may_hold_a_code_is_a_secret),
		cmocka_unit_test(a_control_word_says_what_it_did),
		TEST(what_asks_the_network_is_slow),
		TEST(status_and_perf_tell_of_finished_turns),
		TEST(perf_remembers_the_last_dozen),
		TEST(tokens_tells_where_they_go_and_what_was_cached),
		TEST(tokens_counts_the_tools_that_are_on),
		TEST(nothing_to_call_is_said),
		TEST(what_waits_for_the_writer_can_be_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

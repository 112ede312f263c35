/*
 * Answers that are kept: what one is bound to, and what was granted for good.
 */
#include "policy/rules.h"
#include "tools/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void list(const struct tool_source *self, struct arena *a,
		 void (*add)(void *arg, const struct tool_spec *spec), void *arg)
{
	const struct tool_spec one = { .name = S("mail__send"),
				       .schema = S("{}"),
				       .source = self };

	add(arg, &one);
}

static int call(const struct tool_source *self, const struct tool_spec *spec, str args,
		const struct tool_ctx *ctx, struct arena *a, struct tool_result *out,
		const struct cancel *c, struct err *e)
{
	return err_set(e, E_INVAL, "not here");
}

static bool granted(void *arg, str tool, str hash, bool *changed)
{
	const str *was = arg;

	*changed = str_eq(str_sub(hash, 0, 64), str_sub(*was, 0, 64)) && !str_eq(hash, *was);
	return str_eq(tool, S("mail__send")) && str_eq(hash, *(const str *)arg);
}

static const struct tool_source source = { .name = "test", .list = list, .call = call };

static struct tools *open_tools(enum policy_verdict action, const str *hash,
				const char *workspace)
{
	static struct policy_rule rule;
	static struct policy_cfg policy = { .rules = &rule, .n = 1 };
	struct tools_opt opt = { .policy = &policy,
				 .workspace = str_of(workspace),
				 .mcp = &source,
				 .granted = hash ? granted : NULL,
				 .granted_arg = (void *)hash };
	struct tools *t;

	rule = (struct policy_rule){ .tool = S("mail__*"), .verdict = action };
	assert_int_equal(tools_open(&t, &opt, NULL), OK);
	return t;
}

static struct call admit(struct tools *t, struct arena *a, const char *args)
{
	struct toolset set;
	struct call c = { .requested = S("mail__send"), .args = str_of(args) };

	tools_snapshot(t, a, &set);
	(void)tools_admit(t, &set, &c, a);
	return c;
}

static str hash_of(struct arena *a, const char *args, const char *workspace)
{
	struct tools *t = open_tools(VERDICT_ASK, NULL, workspace);
	struct call c = admit(t, a, args);
	str hash = tools_hash(t, &(struct tool_spec){ .name = S("mail__send") }, &c, a);

	tools_close(t);
	return hash;
}

static void an_answer_is_bound_to_arguments_and_directory(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str hash = hash_of(&a, "{\"to\":1}", "/tmp");

	(void)state;
	assert_int_equal(hash.n, 64);
	assert_true(str_eq(hash, hash_of(&a, "{\"to\":1}", "/tmp")));
	assert_false(str_eq(hash, hash_of(&a, "{\"to\":2}", "/tmp")));
	assert_false(str_eq(hash, hash_of(&a, "{\"to\":1}", "/")));
}

static void an_answer_about_a_command_is_bound_to_where_commands_start(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const char *const places[][2] = { { "/w", "/x" },
						 { "/v", "/x" },
						 { "/w", "/y" } };
	const struct tool_spec spec = { .name = S("exec"), .shell = true };
	const struct call c = { .name = S("exec"), .args = S("{\"command\":\"ls\"}") };
	str hash[COUNT(places)];

	(void)state;
	for (size_t i = 0; i < COUNT(places); i++) {
		struct exec_cfg exec = { .cwd = str_of(places[i][1]) };
		struct tools_opt opt = { .workspace = str_of(places[i][0]), .exec = &exec };
		struct tools *t;
		assert_int_equal(tools_open(&t, &opt, NULL), OK);
		hash[i] = tools_hash(t, &spec, &c, &a);
		tools_close(t);
	}
	assert_true(str_eq(hash[0], hash[1]));
	assert_false(str_eq(hash[0], hash[2]));
}

static void an_answer_is_bound_to_the_tool_and_to_where_its_arguments_begin(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const char *const calls[][2] = { { "ab", "c" }, { "a", "bc" }, { "xb", "c" } };
	struct tools *t = open_tools(VERDICT_ASK, NULL, "/tmp");
	const struct tool_spec spec = { .name = S("x") };
	str hash[COUNT(calls)];

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		struct call c = { .name = str_of(calls[i][0]), .args = str_of(calls[i][1]) };
		hash[i] = tools_hash(t, &spec, &c, &a);
	}
	assert_false(str_eq(hash[0], hash[1]));
	assert_false(str_eq(hash[0], hash[2]));
	tools_close(t);
}

static void a_command_is_shown_alone_only_where_that_is_all_of_it(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"command\":\"ls\"}", "ls" },
		{ "{\"command\":\"ls\",\"cwd\":\"sub\"}", "ls\n(in sub)" },
		{ "{\"command\":\"ls\",\"env\":\"X\"}", "{\"command\":\"ls\",\"env\":\"X\"}" },
	};
	struct tools *t = open_tools(VERDICT_ASK, NULL, "/tmp");
	const struct tool_spec spec = { .name = S("exec"), .shell = true, .source = &source };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct approval_ask ask;
		struct call c = { .name = S("exec"),
				  .args = str_of(rows[i][0]),
				  .reason = S("why\nPASSWORD=hunter2 \x1b[2J") };
		assert_true(tools_question(t, &spec, &c, 100, &a, &ask));
		assert_true(str_eq(ask.display, str_of(rows[i][1])));
		assert_true(str_eq(ask.reason, S("why PASSWORD=[REDACTED] \\x1b[2J")));
	}
	tools_close(t);
}

static const struct {
	enum policy_verdict action;
	const char *args, *decision;
	enum call_state state;
} cases[] = {
	{ VERDICT_ASK, "{\"to\":1}", "granted", CALL_RUNNING },
	{ VERDICT_ASK, "{\"to\":2}", "ask", CALL_PLANNED },
	/* Deny rules win over what was granted. */
	{ VERDICT_DENY, "{\"to\":1}", "deny", CALL_DENIED },
};

static void what_was_granted_is_asked_no_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str hash = hash_of(&a, "{\"to\":1}", "/tmp");
		struct tools *t = open_tools(cases[i].action, &hash, "/tmp");
		struct call c = admit(t, &a, cases[i].args);
		assert_int_equal(c.state, cases[i].state);
		assert_true(str_eq(c.decision, str_of(cases[i].decision)));
		tools_close(t);
	}
}

static void a_tool_that_was_described_anew_is_asked_about_again_and_says_so(void **state)
{
	static const char *const prints[] = { "aa", "bb" };
	SCOPED(arena_free) struct arena a = { 0 };
	struct tool_spec spec = { .name = S("mail__send"), .source = &source };
	const struct toolset set = { .v = &spec, .n = 1 };
	struct tools *plain = open_tools(VERDICT_ASK, NULL, "/tmp");
	struct call same = { .name = spec.name, .args = S("{\"to\":1}") };
	spec.print = str_of(prints[0]);
	str hash = tools_hash(plain, &spec, &same, &a);
	tools_close(plain);
	struct tools *t = open_tools(VERDICT_ASK, &hash, "/tmp");

	(void)state;
	for (size_t i = 0; i < COUNT(prints); i++) {
		struct call c = { .requested = spec.name, .args = same.args };
		struct approval_ask ask;
		spec.print = str_of(prints[i]);
		(void)tools_admit(t, &set, &c, &a);
		assert_int_equal(c.state, i ? CALL_PLANNED : CALL_RUNNING);
		assert_true(tools_question(t, &spec, &c, 1000, &a, &ask));
		assert_int_equal(str_has(ask.reason, S("describes the tool in another way")),
				 i);
	}
	tools_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_bound_to_arguments_and_directory),
		cmocka_unit_test(an_answer_about_a_command_is_bound_to_where_commands_start),
		cmocka_unit_test(
			an_answer_is_bound_to_the_tool_and_to_where_its_arguments_begin),
		cmocka_unit_test(a_command_is_shown_alone_only_where_that_is_all_of_it),
		cmocka_unit_test(what_was_granted_is_asked_no_more),
		cmocka_unit_test(
			a_tool_that_was_described_anew_is_asked_about_again_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

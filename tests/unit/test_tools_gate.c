/*
 * The gate: arguments, policy, approval, limits, and what the model is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "tools/tools.h"

/* A source with a few tools, whose next answer is what the test says. */
struct fake {
	int rc, calls;
	struct tool_result result;
	const char *error;
	str args; /* of the last call */
	struct cancel *fire; /* fired while the tool runs */
};

static void fake_list(const struct tool_source *self, struct arena *a,
		      void (*add)(void *arg, const struct tool_spec *spec), void *arg)
{
	const struct tool_spec few[] = {
		{ .name = S("z__plain"), .server = S("z"), .schema = S("{}"), .source = self },
		{ .name = S("a__safe"),
		  .server = S("a"),
		  .description = S("12345678"),
		  .schema = S("{}"),
		  .safe = true,
		  .source = self },
		{ .name = S("m__own"),
		  .server = S("m"),
		  .schema = S("{}"),
		  .own_cap = true,
		  .source = self },
		{ .name = S("s__shell"),
		  .server = S("s"),
		  .schema = S("{}"),
		  .shell = true,
		  .source = self },
	};

	for (size_t i = 0; i < COUNT(few); i++)
		add(arg, &few[i]);
}

static int fake_call(const struct tool_source *self, const struct tool_spec *spec, str args,
		     const struct tool_ctx *ctx, struct arena *a, struct tool_result *out,
		     const struct cancel *c, struct err *e)
{
	struct fake *f = self->arg;

	f->calls++;
	f->args = args;
	*out = f->result;
	if (f->fire)
		cancel_fire(f->fire, CANCEL_USER);
	return f->rc == OK ? OK : err_set(e, f->rc, "%s", f->error ? f->error : "no reason");
}

static const struct limits_cfg limits = { .tool_result_max_chars = 200 };

struct bench {
	struct arena a;
	struct fake fake;
	struct tool_source source;
	struct tools *tools;
	struct toolset set;
};

static void bench_up(struct bench *b, const struct policy_cfg *policy, const str *secrets,
		     size_t n)
{
	*b = (struct bench){ 0 };
	b->source =
		(struct tool_source){ .name = "fake", .list = fake_list, .call = fake_call };
	struct tools_opt opt = {
		.policy = policy, .limits = &limits, .secrets = secrets, .secrets_n = n
	};
	opt.mcp = &b->source;
	assert_int_equal(tools_open(&b->tools, &opt, NULL), OK);
	tools_snapshot(b->tools, &b->a, &b->set);
}

static void bench_drop(struct bench *b)
{
	tools_close(b->tools);
	arena_free(&b->a);
}

static struct call asked(str name, str args)
{
	return (struct call){ .requested = name, .args = args, .index = 1, .duration_ms = -1 };
}

/* Admit and, when allowed, run. */
static struct call through(struct bench *b, str name, str args)
{
	struct call call = asked(name, args);
	const struct tool_spec *spec;

	b->source.arg = &b->fake;
	spec = tools_admit(b->tools, &b->set, &call, &b->a);
	assert_true((spec != NULL) ==
		    (call.state == CALL_RUNNING || call.state == CALL_PLANNED));
	if (call.state == CALL_RUNNING)
		assert_int_equal(tools_run(b->tools, spec, &call, NULL, &b->a, NULL, NULL), OK);
	assert_true(call.state == CALL_PLANNED || call.result.n > 0);
	assert_true(utf_valid(call.result));
	return call;
}

static void a_snapshot_is_sorted_and_counted(void **state)
{
	SCOPED(bench_drop) struct bench b;

	bench_up(&b, NULL, NULL, 0);
	assert_int_equal(b.set.n, 4);
	assert_true(str_eq(b.set.v[0].name, S("a__safe")));
	assert_true(str_eq(b.set.v[3].name, S("z__plain")));
	assert_int_equal(toolset_tokens(&b.set), (7 + 6 + 8 + 8 + 8 + 2 + 2 + 2 + 2) / 4);
}

static const struct {
	str args, passed; /* "" refused */
} arguments[] = {
	{ S(""), S("{}") },
	{ { 0 }, S("{}") },
	{ S("null"), S("{}") },
	{ S(" null \n"), S("{}") },
	{ S("  "), S("{}") },
	{ S("{}"), S("{}") },
	{ S(" {\"a\": 1}\n"), S("{\"a\": 1}") },
	{ S("{\n\t\"a\":\r\n1}"), S("{ \t\"a\":  1}") },
	{ S("{\r\"a\":1}"), S("{ \"a\":1}") },
	{ S("{\n\"a\":1}"), S("{ \"a\":1}") },
	{ S("{\"n\":92233720368547758089.10}"), S("{\"n\":92233720368547758089.10}") },
	{ S("{\"a\":\"\xff\"}"), S("{\"a\":\"\xef\xbf\xbd\"}") },
	{ S("[]"), S("") },
	{ S("\"{}\""), S("") },
	{ S("1"), S("") },
	{ S("{\"a\":"), S("") },
	{ S("{}{}"), S("") },
	{ S("\x00\x01"), S("") },
};

static void arguments_are_an_object_or_an_answer_says_why_not(void **state)
{
	for (size_t i = 0; i < COUNT(arguments); i++) {
		SCOPED(bench_drop) struct bench b;
		bench_up(&b, NULL, NULL, 0);
		b.fake.result.text = S("ok");
		struct call call = through(&b, S("a__safe"), arguments[i].args);

		if (arguments[i].passed.n) {
			if (call.state != CALL_DONE ||
			    !str_eq(b.fake.args, arguments[i].passed))
				fail_msg("row %zu: \"%.*s\"", i, STRF(b.fake.args));
			assert_true(str_eq(call.decision, S("allow")));
			assert_true(call.safe);
			continue;
		}
		if (call.state != CALL_FAILED || b.fake.calls)
			fail_msg("row %zu ran", i);
		assert_true(str_has(call.result, S("a__safe must be one JSON object")));
		assert_true(str_eq(call.args, S("{}")));
		assert_true(str_eq(call.decision, S("invalid")));
	}
}

static void a_servers_schema_is_held_to_before_the_server_is_asked(void **state)
{
	const str schema =
		S("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"s\":{"
		  "\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},\"id\":{\"maximum\":"
		  "9007199254740993}},\"required\":[\"id\"],\"additionalProperties\":false}");
	const struct {
		str schema, args, passed, result;
	} rows[] = {
		{ schema, S("{\"id\":9007199254740993}"), S("{\"id\":9007199254740993}"),
		  S("") },
		{ schema, S("{\"id\":1, \"n\":null,\n\"s\":null}"), S("{\"id\":1, \"s\":null}"),
		  S("") },
		{ schema, S("{\"id\":9007199254740994}"), S(""),
		  S("error: arguments.id: must be at most 9007199254740993; a__safe was not "
		    "called: correct the arguments and call it again") },
		{ schema, S(""), S(""),
		  S("error: arguments: id is missing; a__safe was not called: correct the "
		    "arguments and call it again") },
		{ schema, S("{\"id\":1,\"n\":\"1\"}"), S(""),
		  S("error: arguments.n: must be an integer, not a string; a__safe was not "
		    "called: correct the arguments and call it again") },
		/* What cannot be held to is the server's business. */
		{ S("{\"$ref\":\"#\"}"), S("{\"n\":null}"), S("{\"n\":null}"), S("") },
		{ S("no schema"), S("{\"n\":null}"), S("{\"n\":null}"), S("") },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(bench_drop) struct bench b;
		bench_up(&b, NULL, NULL, 0);
		b.fake.result.text = S("ok");
		struct tool_spec v = b.set.v[0];
		v.schema = rows[i].schema;
		b.set = (struct toolset){ .v = &v, .n = 1 };
		struct call call = through(&b, S("a__safe"), rows[i].args);

		if (rows[i].passed.n) {
			assert_int_equal(call.state, CALL_DONE);
			assert_true(str_eq(b.fake.args, rows[i].passed));
			assert_true(str_eq(call.args, rows[i].passed));
			continue;
		}
		assert_int_equal(b.fake.calls, 0);
		assert_int_equal(call.state, CALL_FAILED);
		assert_true(str_eq(call.decision, S("invalid")));
		if (!str_eq(call.result, rows[i].result))
			fail_msg("row %zu: %.*s", i, STRF(call.result));
	}
}

static void nesting_without_end_is_an_answer_too(void **state)
{
	SCOPED(bench_drop) struct bench b;
	bench_up(&b, NULL, NULL, 0);
	char *p = arena_alloc(&b.a, 1, 200000);

	memset(p, '[', 200000);
	memcpy(p, "{\"a\":", 5);
	assert_int_equal(through(&b, S("a__safe"), (str){ p, 200000 }).state, CALL_FAILED);
}

static void an_unknown_name_is_answered_and_a_mistaken_one_repaired(void **state)
{
	SCOPED(bench_drop) struct bench b;
	bench_up(&b, NULL, NULL, 0);
	b.fake.result.text = S("ok");
	struct call call = through(&b, S("nothing"), S("[]"));

	assert_int_equal(call.state, CALL_FAILED);
	assert_int_equal(call.name.n, 0);
	assert_true(str_eq(call.decision, S("unknown")));
	assert_true(str_eq(call.args, S("{}")));
	assert_true(str_starts(call.result, S("error: there is no tool \"nothing\"")));
	call = through(&b, S("nothing"), S(" {\"a\":1} "));
	assert_true(str_eq(call.args, S("{\"a\":1}")));
	call = through(&b, S("A__Safe"), S(""));
	assert_int_equal(call.state, CALL_DONE);
	assert_true(str_eq(call.name, S("a__safe")));
	assert_true(str_eq(call.requested, S("A__Safe")));
}

static const struct policy_rule rules[] = {
	{ .tool = S("a__*"), .verdict = VERDICT_DENY },
	{ .tool = S("z__*"), .verdict = VERDICT_ASK },
};
static const struct policy_cfg policy = { rules, 2, .approval_timeout_ms = 90000 };

static void policy_decides_and_its_words_name_the_rule(void **state)
{
	SCOPED(bench_drop) struct bench b;
	bench_up(&b, &policy, NULL, 0);
	b.fake.result.text = S("ok");
	struct call call = through(&b, S("a__safe"), S("{}"));

	assert_int_equal(call.state, CALL_DENIED);
	assert_true(str_eq(call.decision, S("deny")));
	assert_true(str_eq(call.rule, S("a__*")));
	assert_true(str_eq(call.decider, S("policy")));
	assert_true(str_has(call.result, S("refused permanently by rule \"a__*\"")));
	call = through(&b, S("z__plain"), S("{}"));
	assert_int_equal(call.state, CALL_PLANNED);
	assert_true(str_eq(call.decision, S("ask")));
	call = through(&b, S("m__own"), S("{}"));
	assert_int_equal(call.state, CALL_DONE);
	assert_int_equal(b.fake.calls, 1);
	/* A name that had to be repaired is judged by the name it was repaired to. */
	assert_int_equal(through(&b, S("safe"), S("{}")).state, CALL_DENIED);
}

static void a_command_line_that_no_rule_speaks_of_is_asked_about(void **state)
{
	SCOPED(bench_drop) struct bench b;
	bench_up(&b, &policy, NULL, 0);
	struct call call = through(&b, S("s__shell"), S("{\"command\":\"true\"}"));

	assert_int_equal(call.state, CALL_PLANNED);
	assert_true(str_eq(call.decision, S("ask")));
}

struct scripted {
	struct approver base;
	int rc;
	bool yes;
	struct approval_ask seen;
	int asked;
};

static int scripted_ask(struct approver *self, const struct approval_ask *ask, bool *yes,
			const struct cancel *c, struct err *e)
{
	struct scripted *s = (struct scripted *)self;

	s->asked++;
	s->seen = *ask;
	*yes = s->yes;
	return s->rc == OK ? OK : err_set(e, s->rc, "nobody here");
}

static int ask(struct bench *b, str args, struct scripted *s, struct call *call,
	       const struct cancel *c)
{
	const struct tool_spec *spec;

	*call = asked(S("z__plain"), args);
	spec = tools_admit(b->tools, &b->set, call, &b->a);
	assert_non_null(spec);
	s->base = (struct approver){ .ask = scripted_ask, .decider = "test" };
	return tools_ask(b->tools, spec, call, &s->base, &b->a, c, NULL);
}

static const struct {
	int rc;
	bool yes;
	enum call_state state;
	str decision, says;
} answers[] = {
	{ OK, true, CALL_RUNNING, S("approved"), S("") },
	{ OK, false, CALL_DENIED, S("denied"), S("asked, and refused by the user (test)") },
	{ E_TIMEOUT, true, CALL_DENIED, S("expired"), S("nobody answered within 90 s") },
	{ E_DENIED, true, CALL_DENIED, S("unanswered"), S("nobody here") },
	{ E_IO, true, CALL_DENIED, S("unanswered"), S("nobody here") },
};

static void each_answer_of_an_approver_has_its_outcome(void **state)
{
	for (size_t i = 0; i < COUNT(answers); i++) {
		SCOPED(bench_drop) struct bench b;
		struct scripted s = { .rc = answers[i].rc, .yes = answers[i].yes };
		struct call call;

		bench_up(&b, &policy, NULL, 0);
		assert_int_equal(ask(&b, S("{\"k\":1}"), &s, &call, NULL), OK);
		if (call.state != answers[i].state ||
		    !str_eq(call.decision, answers[i].decision) ||
		    !str_has(call.result, answers[i].says))
			fail_msg("row %zu: %d %.*s %.*s", i, call.state, STRF(call.decision),
				 STRF(call.result));
		assert_true(str_eq(call.decider, S("test")));
		assert_true(str_eq(s.seen.tool, S("z__plain")));
		assert_true(str_eq(s.seen.display, S("{\"k\":1}")));
		assert_true(str_eq(s.seen.reason, S("rule \"z__*\" asks")));
		assert_int_equal(s.seen.timeout_ms, 90000);
	}
}

static void a_cancelled_question_decides_nothing(void **state)
{
	SCOPED(bench_drop) struct bench b;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };
	struct scripted s = { .rc = E_CANCELED };
	struct call call;

	bench_up(&b, &policy, NULL, 0);
	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(ask(&b, S("{}"), &s, &call, &c), E_CANCELED);
	assert_int_equal(call.state, CALL_PLANNED);
	/* Not even a yes that came too late. */
	s = (struct scripted){ .rc = OK, .yes = true };
	assert_int_equal(ask(&b, S("{}"), &s, &call, &c), E_CANCELED);
	assert_int_equal(call.state, CALL_PLANNED);
}

static void an_approver_sees_no_secret_and_nothing_invisible(void **state)
{
	SCOPED(bench_drop) struct bench b;
	const str secrets[] = { S("correct-horse-battery") };
	struct scripted s = { .yes = true };
	struct call call;

	bench_up(&b, &policy, secrets, 1);
	str args = S("{\"a\":\"correct-horse-battery\",\"b\":\"PASSWORD=hunter2 x\","
		     "\"c\":\"\xe2\x80\xae"
		     "\x7f\"}");
	assert_int_equal(ask(&b, args, &s, &call, NULL), OK);
	assert_false(str_has(s.seen.display, S("correct-horse")));
	assert_false(str_has(s.seen.display, S("hunter2")));
	assert_true(str_has(s.seen.display, S("\\u202E")) ||
		    str_has(s.seen.display, S("\\u202e")));
	assert_true(str_has(s.seen.display, S("\\x7F")) || str_has(s.seen.display, S("\\x7f")));
	/* What runs is what was sent. */
	assert_true(str_eq(call.args, args));
	/* A secret that came with a reload is one, too. */
	assert_int_equal(ask(&b, S("{\"a\":\"tr0ubadour\"}"), &s, &call, NULL), OK);
	assert_true(str_has(s.seen.display, S("tr0ubadour")));
	tools_hide(b.tools, (const str[]){ S("correct-horse-battery"), S("tr0ubadour") }, 2);
	assert_int_equal(ask(&b, S("{\"a\":\"tr0ubadour\"}"), &s, &call, NULL), OK);
	assert_false(str_has(s.seen.display, S("tr0ubadour")));
}

static void what_is_too_long_to_review_is_refused_unasked(void **state)
{
	SCOPED(bench_drop) struct bench b;
	struct scripted s = { .yes = true };
	struct call call;

	bench_up(&b, &policy, NULL, 0);
	char *p = arena_alloc(&b.a, 1, 3501);
	memset(p, ' ', 3501);
	p[0] = '{';
	p[3499] = '}';
	assert_int_equal(ask(&b, (str){ p, 3500 }, &s, &call, NULL), OK);
	assert_int_equal(call.state, CALL_RUNNING);
	p[3499] = ' ';
	p[3500] = '}';
	assert_int_equal(ask(&b, (str){ p, 3501 }, &s, &call, NULL), OK);
	assert_int_equal(call.state, CALL_DENIED);
	assert_int_equal(s.asked, 1);
	assert_true(str_has(call.result, S("too long to review")));
}

static const struct {
	int rc;
	struct tool_result result;
	const char *error;
	enum call_state state;
	str says;
} outcomes[] = {
	{ OK, { .text = S("fine") }, NULL, CALL_DONE, S("fine") },
	{ OK, { .text = S("") }, NULL, CALL_DONE, S("(no output)") },
	{ OK, { .text = S(" \n\t ") }, NULL, CALL_DONE, S("(no output)") },
	{ OK, { .text = S("a\xff") }, NULL, CALL_DONE, S("a\xef\xbf\xbd") },
	{ OK, { .text = S("it broke"), .failed = true }, NULL, CALL_FAILED, S("it broke") },
	{ E_IO,
	  { 0 },
	  "server died",
	  CALL_FAILED,
	  S("error: server died; it may or may not have had an effect") },
	{ E_IO,
	  { .not_run = true },
	  "server down",
	  CALL_FAILED,
	  S("error: server down; it had no effect") },
	{ E_TIMEOUT,
	  { 0 },
	  "no answer in 5 s",
	  CALL_FAILED,
	  S("error: no answer in 5 s; it may or may not have had an effect") },
	{ E_PROTO,
	  { 0 },
	  "bad \xff answer",
	  CALL_FAILED,
	  S("error: bad \xef\xbf\xbd answer; it may or may not have had an effect") },
};

static void every_outcome_has_a_text_for_the_model(void **state)
{
	for (size_t i = 0; i < COUNT(outcomes); i++) {
		SCOPED(bench_drop) struct bench b;

		bench_up(&b, NULL, NULL, 0);
		b.fake.rc = outcomes[i].rc;
		b.fake.result = outcomes[i].result;
		b.fake.error = outcomes[i].error;
		struct call call = through(&b, S("z__plain"), S("{}"));
		if (call.state != outcomes[i].state || !str_eq(call.result, outcomes[i].says))
			fail_msg("row %zu: %d %.*s", i, call.state, STRF(call.result));
		assert_in_range(call.duration_ms, 0, 600000);
		assert_false(call.truncated);
	}
}

static void a_long_result_is_cut_unless_the_tool_bounds_it(void **state)
{
	SCOPED(bench_drop) struct bench b;

	bench_up(&b, NULL, NULL, 0);
	char *p = arena_alloc(&b.a, 1, 5000);
	memset(p, 'x', 5000);
	b.fake.result.text = (str){ p, 5000 };
	struct call call = through(&b, S("z__plain"), S("{}"));
	assert_true(call.truncated);
	assert_true(utf_count(call.result) <= 200);
	call = through(&b, S("m__own"), S("{}"));
	assert_false(call.truncated);
	assert_int_equal(call.result.n, 5000);
}

static void without_a_limit_a_result_stays_whole(void **state)
{
	static const struct limits_cfg none = { 0 };

	for (int i = 0; i < 2; i++) {
		struct bench b = { 0 };
		struct tools_opt opt = { .limits = i ? &none : NULL, .mcp = &b.source };

		b.source = (struct tool_source){ .name = "fake",
						 .list = fake_list,
						 .call = fake_call };
		assert_int_equal(tools_open(&b.tools, &opt, NULL), OK);
		tools_snapshot(b.tools, &b.a, &b.set);
		char *p = arena_alloc(&b.a, 1, 5000);
		memset(p, 'x', 5000);
		b.fake.result.text = (str){ p, 5000 };
		struct call call = through(&b, S("z__plain"), S("{}"));
		assert_false(call.truncated);
		assert_int_equal(call.result.n, 5000);
		bench_drop(&b);
	}
}

static bool grant_plain(void *arg, str tool, str hash, bool *changed)
{
	return str_eq(tool, S("z__plain")) && hash.n > 0;
}

static void what_was_granted_for_good_is_not_asked_about_and_says_so(void **state)
{
	struct bench b = { 0 };
	struct tools_opt opt = {
		.policy = &policy, .limits = &limits, .mcp = &b.source, .granted = grant_plain
	};

	b.source = (struct tool_source){ .name = "fake", .list = fake_list, .call = fake_call };
	assert_int_equal(tools_open(&b.tools, &opt, NULL), OK);
	tools_snapshot(b.tools, &b.a, &b.set);
	struct call call = asked(S("z__plain"), S("{}"));
	assert_non_null(tools_admit(b.tools, &b.set, &call, &b.a));
	assert_int_equal(call.state, CALL_RUNNING);
	assert_true(str_eq(call.decision, S("granted")));
	assert_true(str_eq(call.decider, S("grant")));
	bench_drop(&b);
}

static void what_a_tool_cut_itself_or_a_small_limit_cuts_is_said_to_be_cut(void **state)
{
	static const struct limits_cfg one = { .tool_result_max_chars = 1 };
	struct bench b = { 0 };
	struct tools_opt opt = { .limits = &one, .mcp = &b.source };

	b.source = (struct tool_source){ .name = "fake", .list = fake_list, .call = fake_call };
	assert_int_equal(tools_open(&b.tools, &opt, NULL), OK);
	tools_snapshot(b.tools, &b.a, &b.set);
	b.fake.result = (struct tool_result){ .text = S("short"), .truncated = true };
	struct call call = through(&b, S("z__plain"), S("{}"));
	assert_true(call.truncated);
	assert_true(str_eq(call.result, S("short")));
	char *p = arena_alloc(&b.a, 1, 5000);
	memset(p, 'x', 5000);
	b.fake.result = (struct tool_result){ .text = { p, 5000 } };
	call = through(&b, S("z__plain"), S("{}"));
	assert_true(call.truncated);
	assert_in_range(call.result.n, 1, 200);
	bench_drop(&b);
}

static void an_exit_status_is_kept(void **state)
{
	SCOPED(bench_drop) struct bench b;

	bench_up(&b, NULL, NULL, 0);
	b.fake.result =
		(struct tool_result){ .text = S("x"), .has_exit = true, .exit_code = 7 };
	struct call call = through(&b, S("z__plain"), S("{}"));
	assert_true(call.has_exit);
	assert_int_equal(call.exit_code, 7);
}

static int never(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	fail_msg("the effect of a call that failed");
	return OK;
}

static void a_call_that_failed_has_no_effect(void **state)
{
	SCOPED(bench_drop) struct bench b;

	bench_up(&b, NULL, NULL, 0);
	b.fake = (struct fake){ .rc = E_IO, .result.effect = never };
	struct call call = through(&b, S("z__plain"), S("{}"));
	assert_int_equal(call.state, CALL_FAILED);
	assert_true(str_has(call.result, S("no reason")));
}

static void an_effect_without_a_database_is_refused(void **state)
{
	SCOPED(bench_drop) struct bench b;

	bench_up(&b, NULL, NULL, 0);
	b.fake = (struct fake){ .result = { .text = S("done"), .effect = never } };
	struct call call = through(&b, S("z__plain"), S("{}"));
	assert_int_equal(call.state, CALL_FAILED);
	assert_true(
		str_eq(call.result, S("error: there is no database here; it had no effect")));
}

static void a_call_that_comes_back_for_input_is_planned_again(void **state)
{
	static const struct tool_ask one = { 0 };
	SCOPED(bench_drop) struct bench b;
	struct call call = asked(S("z__plain"), S("{}"));
	struct tool_result r;

	bench_up(&b, NULL, NULL, 0);
	b.source.arg = &b.fake;
	b.fake.result = (struct tool_result){ .asks = &one, .asks_n = 1 };
	const struct tool_spec *spec = tools_admit(b.tools, &b.set, &call, &b.a);
	assert_int_equal(call.state, CALL_RUNNING);
	assert_int_equal(tools_run_journaled(b.tools, spec, &call, NULL, &b.a, &r, NULL, NULL),
			 OK);
	assert_int_equal(call.state, CALL_PLANNED);
	assert_int_equal(call.result.n, 0);
}

static void what_was_decided_before_is_forgotten(void **state)
{
	SCOPED(bench_drop) struct bench b;
	struct call call = asked(S("no_such_tool"), S("{}"));

	bench_up(&b, &policy, NULL, 0);
	call.rule = S("an older rule");
	assert_null(tools_admit(b.tools, &b.set, &call, &b.a));
	assert_int_equal(call.rule.n, 0);
}

static void what_a_server_asks_of_the_model_passes_the_policy(void **state)
{
	static const struct policy_rule some[] = {
		{ .tool = S("a__sampling"), .verdict = VERDICT_DENY },
		{ .tool = S("z__sampling"), .verdict = VERDICT_ASK },
		{ .tool = S("y__sampling"), .verdict = VERDICT_ALLOW },
	};
	static const struct policy_cfg cfg = { .rules = some, .n = 3 };
	static const struct {
		str name;
		bool ask;
		enum call_state state;
		str decision, rule;
	} rows[] = {
		{ S("a__sampling"), false, CALL_DENIED, S("deny"), S("a__sampling") },
		{ S("a__sampling"), true, CALL_DENIED, S("deny"), S("a__sampling") },
		{ S("z__sampling"), false, CALL_PLANNED, S("ask"), S("z__sampling") },
		{ S("y__sampling"), false, CALL_RUNNING, S("allow"), S("y__sampling") },
		{ S("m__sampling"), true, CALL_PLANNED, S("ask"), S("") },
		{ S("m__sampling"), false, CALL_RUNNING, S("allow"), S("") },
	};
	SCOPED(bench_drop) struct bench b;

	bench_up(&b, &cfg, NULL, 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct call call = { .name = rows[i].name, .args = S("{}") };
		tools_admit_sampling(b.tools, rows[i].ask, &call, &b.a);
		if (call.state != rows[i].state || !str_eq(call.decision, rows[i].decision) ||
		    !str_eq(call.rule, rows[i].rule) || !str_eq(call.decider, S("policy")))
			fail_msg("row %zu: %d %.*s by \"%.*s\"", i, call.state,
				 STRF(call.decision), STRF(call.rule));
	}
}

/* Every shell whose language is read, and one that is not. */
static void a_rule_allows_nothing_where_the_shell_is_not_understood(void **state)
{
	static const struct {
		str shell;
		bool known;
	} rows[] = {
		{ S("sh"), true },
		{ S("/bin/bash"), true },
		{ S("/bin/dash"), true },
		{ S("ash"), true },
		{ S("/bin/ksh"), true },
		{ S("mksh"), true },
		{ S("/usr/bin/zsh"), true },
		{ S("busybox"), true },
		{ S(""), true },
		{ S("/usr/bin/fish"), false },
		{ S("csh"), false },
		{ S("nu"), false },
	};
	static const str all[] = { { ".", 1 } };
	const struct policy_cfg cfg = { .allow = { all, 1 } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct exec_cfg exec = { .shell = { &rows[i].shell, rows[i].shell.n > 0 } };
		struct bench b = { 0 };
		struct tools_opt opt = {
			.policy = &cfg, .limits = &limits, .exec = &exec, .mcp = &b.source
		};
		b.source = (struct tool_source){ .name = "fake", .list = fake_list };
		assert_int_equal(tools_open(&b.tools, &opt, NULL), OK);
		tools_snapshot(b.tools, &b.a, &b.set);
		struct call call = asked(S("s__shell"), S("{\"command\":\"true\"}"));
		(void)tools_admit(b.tools, &b.set, &call, &b.a);
		if (!str_eq(call.decision, rows[i].known ? S("allow") : S("ask")))
			fail_msg("%.*s: %.*s", STRF(rows[i].shell), STRF(call.decision));
		bench_drop(&b);
	}
}

/* The roots of the file tools, else the workspace, also where that is everything. */
static void a_command_line_may_write_where_the_file_tools_may(void **state)
{
	static const struct {
		str workspace, root, line;
		bool allowed;
	} rows[] = {
		{ S("/ws"), S(""), S("{\"command\":\"ls >/ws/x\"}"), true },
		{ S("/ws"), S(""), S("{\"command\":\"ls >/top/x\"}"), false },
		{ S("/"), S(""), S("{\"command\":\"ls >/top/x\"}"), true },
		{ S("/ws"), S("/top"), S("{\"command\":\"ls >/top/x\"}"), true },
		{ S("/ws"), S("/top"), S("{\"command\":\"ls >/ws/x\"}"), false },
	};
	static const str all[] = { { ".", 1 } };
	const struct policy_cfg cfg = { .allow = { all, 1 } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct fs_cfg fs = { .roots = { &rows[i].root, rows[i].root.n > 0 } };
		struct bench b = { 0 };
		struct tools_opt opt = { .policy = &cfg,
					 .limits = &limits,
					 .fs = &fs,
					 .workspace = rows[i].workspace,
					 .mcp = &b.source };

		b.source = (struct tool_source){ .name = "fake", .list = fake_list };
		assert_int_equal(tools_open(&b.tools, &opt, NULL), OK);
		tools_snapshot(b.tools, &b.a, &b.set);
		struct call call = asked(S("s__shell"), rows[i].line);
		(void)tools_admit(b.tools, &b.set, &call, &b.a);
		if (!str_eq(call.decision, rows[i].allowed ? S("allow") : S("ask")))
			fail_msg("row %zu: %.*s", i, STRF(call.decision));
		bench_drop(&b);
	}
}

static void a_cancel_says_whether_it_may_have_happened(void **state)
{
	static const struct {
		str tool;
		bool not_run;
		str says;
	} rows[] = {
		{ S("z__plain"), false,
		  S("error: interrupted before it was finished; it may or "
		    "may not have had an effect") },
		{ S("z__plain"), true,
		  S("error: interrupted before it was finished; it had no "
		    "effect") },
		{ S("a__safe"), false,
		  S("error: interrupted before it was finished; it had no "
		    "effect") },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(bench_drop) struct bench b;
		SCOPED(cancel_done) struct cancel c = { .fd = -1 };
		struct call call = asked(rows[i].tool, S("{}"));

		bench_up(&b, NULL, NULL, 0);
		assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
		b.source.arg = &b.fake;
		b.fake = (struct fake){ .rc = E_CANCELED, .fire = &c };
		b.fake.result.not_run = rows[i].not_run;
		const struct tool_spec *spec = tools_admit(b.tools, &b.set, &call, &b.a);
		assert_int_equal(tools_run(b.tools, spec, &call, NULL, &b.a, &c, NULL),
				 E_CANCELED);
		assert_int_equal(call.state, CALL_CANCELED);
		if (!str_eq(call.result, rows[i].says))
			fail_msg("row %zu: %.*s", i, STRF(call.result));
	}
}

static void a_tool_that_finished_keeps_its_result_although_cancelled(void **state)
{
	SCOPED(bench_drop) struct bench b;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };
	struct call call = asked(S("z__plain"), S("{}"));

	bench_up(&b, NULL, NULL, 0);
	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	b.source.arg = &b.fake;
	b.fake = (struct fake){ .fire = &c, .result.text = S("done it") };
	const struct tool_spec *spec = tools_admit(b.tools, &b.set, &call, &b.a);
	assert_int_equal(tools_run(b.tools, spec, &call, NULL, &b.a, &c, NULL), OK);
	assert_int_equal(call.state, CALL_DONE);
	assert_true(str_eq(call.result, S("done it")));
}

static void the_turns_deadline_is_told_apart_from_the_tools(void **state)
{
	SCOPED(bench_drop) struct bench b;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };
	struct call call = asked(S("z__plain"), S("{}"));

	bench_up(&b, NULL, NULL, 0);
	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	cancel_fire(&c, CANCEL_DEADLINE);
	b.source.arg = &b.fake;
	b.fake.rc = E_TIMEOUT;
	const struct tool_spec *spec = tools_admit(b.tools, &b.set, &call, &b.a);
	assert_int_equal(tools_run(b.tools, spec, &call, NULL, &b.a, &c, NULL), E_TIMEOUT);
	assert_int_equal(call.state, CALL_CANCELED);
	assert_true(str_has(call.result, S("the turn ran out of time")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_snapshot_is_sorted_and_counted),
		cmocka_unit_test(arguments_are_an_object_or_an_answer_says_why_not),
		cmocka_unit_test(a_servers_schema_is_held_to_before_the_server_is_asked),
		cmocka_unit_test(nesting_without_end_is_an_answer_too),
		cmocka_unit_test(an_unknown_name_is_answered_and_a_mistaken_one_repaired),
		cmocka_unit_test(policy_decides_and_its_words_name_the_rule),
		cmocka_unit_test(a_command_line_that_no_rule_speaks_of_is_asked_about),
		cmocka_unit_test(each_answer_of_an_approver_has_its_outcome),
		cmocka_unit_test(a_cancelled_question_decides_nothing),
		cmocka_unit_test(an_approver_sees_no_secret_and_nothing_invisible),
		cmocka_unit_test(what_is_too_long_to_review_is_refused_unasked),
		cmocka_unit_test(every_outcome_has_a_text_for_the_model),
		cmocka_unit_test(a_long_result_is_cut_unless_the_tool_bounds_it),
		cmocka_unit_test(without_a_limit_a_result_stays_whole),
		cmocka_unit_test(what_was_granted_for_good_is_not_asked_about_and_says_so),
		cmocka_unit_test(
			what_a_tool_cut_itself_or_a_small_limit_cuts_is_said_to_be_cut),
		cmocka_unit_test(an_exit_status_is_kept),
		cmocka_unit_test(a_call_that_failed_has_no_effect),
		cmocka_unit_test(an_effect_without_a_database_is_refused),
		cmocka_unit_test(a_call_that_comes_back_for_input_is_planned_again),
		cmocka_unit_test(what_was_decided_before_is_forgotten),
		cmocka_unit_test(what_a_server_asks_of_the_model_passes_the_policy),
		cmocka_unit_test(a_rule_allows_nothing_where_the_shell_is_not_understood),
		cmocka_unit_test(a_command_line_may_write_where_the_file_tools_may),
		cmocka_unit_test(a_cancel_says_whether_it_may_have_happened),
		cmocka_unit_test(a_tool_that_finished_keeps_its_result_although_cancelled),
		cmocka_unit_test(the_turns_deadline_is_told_apart_from_the_tools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

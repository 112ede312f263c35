/*
 * Printed tool calls: what is taken for one, and what is left alone.
 */
#include "agent/salvage.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct tool_spec specs[] = { { .name = { "read_file", 9 } } };
static const struct toolset set = { .v = specs, .n = 1 };

static void a_printed_call_is_recognised_in_every_form(void **state)
{
	static const char *const forms[] = {
		"{\"name\":\"demo__go\",\"parameters\":{\"a\":1}}",
		"  {\"name\":\"demo__go\",\"arguments\":{\"a\":1}}\n",
		"{\"tool\":\"demo__go\",\"args\":{\"a\":1}}",
		"{\"tool_name\":\"demo__go\",\"input\":{\"a\":1}}",
		"{\"name\":\"demo__go\",\"arguments\":\"{\\\"a\\\":1}\"}",
		"```json\n{\"name\":\"demo__go\",\"arguments\":{\"a\":1}}\n```",
		"```\n{\"name\":\"demo__go\",\"arguments\":{\"a\":1}}\n```",
		"<tool_call>\n{\"name\":\"demo__go\",\"arguments\":{\"a\":1}}\n</tool_call>",
		"<function_call>{\"name\":\"demo__go\",\"arguments\":{\"a\":1}}</"
		"function_call>",
		"{\"type\":\"function\",\"function\":{\"name\":\"demo__go\",\"arguments\":{"
		"\"a\":1}}}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str name, args;
		if (!salvage_call(str_of(forms[i]), &set, &a, &name, &args))
			fail_msg("not recognised: %s", forms[i]);
		assert_true(str_eq(name, S("demo__go")));
		assert_true(str_eq(args, S("{\"a\":1}")));
	}
}

static void a_published_name_needs_no_prefix_and_no_arguments(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str name, args;

	(void)state;
	assert_true(salvage_call(S("{\"name\":\"read_file\"}"), &set, &a, &name, &args));
	assert_true(str_eq(args, S("{}")));
}

static void an_answer_stays_an_answer(void **state)
{
	static const char *const answers[] = {
		"",
		"prose",
		"{\"protein\":180,\"fat\":70}",
		"{\"name\":\"tuesday\"}",
		"{\"name\":\"\",\"arguments\":{}}",
		"{\"name\":\"__go\",\"arguments\":{}}",
		"{\"nickname\":\"demo__go\"}",
		"{\"name\":\"demo__go\",\"arguments\":{}",
		"{\"name\":\"demo__go\",\"arguments\":[1]}",
		"{\"name\":\"demo__go\",\"arguments\":\"not json\"}",
		"I will call demo__go now: {\"a\":1}",
		"{\"name\":\"demo__go\"} and then some",
		"```json\n{\"a\":1}\n```",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(answers); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str name, args;
		if (salvage_call(str_of(answers[i]), &set, &a, &name, &args))
			fail_msg("taken for a call: %s", answers[i]);
	}
}

static void what_may_become_a_call_is_held_back_while_it_streams(void **state)
{
	(void)state;
	assert_true(salvage_hold(S("{")));
	assert_true(salvage_hold(S("{\"name\"")));
	assert_true(salvage_hold(S(" <tool")));
	assert_true(salvage_hold(S("``")));
	assert_false(salvage_hold(S("Hello")));
	assert_false(salvage_hold(S("")));
	assert_false(salvage_hold(S("<b>")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_printed_call_is_recognised_in_every_form),
		cmocka_unit_test(a_published_name_needs_no_prefix_and_no_arguments),
		cmocka_unit_test(an_answer_stays_an_answer),
		cmocka_unit_test(what_may_become_a_call_is_held_back_while_it_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

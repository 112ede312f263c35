/*
 * Results of calls by their type: texts, questions that were offered and those that were not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "mcp/outcome.h"

static const struct mcp_offer form = { .form = true };
static const struct mcp_offer none;

static struct mcp_result read_result(struct arena *a, const char *text,
				     const struct mcp_offer *offer)
{
	struct arena line = { 0 };
	struct mcp_result r = { 0 };
	struct json *v;

	assert_int_equal(json_read(&v, &line, str_of(text), NULL), OK);
	mcp_outcome_read(&r, v, NULL, S("srv"), offer, a);
	arena_free(&line); /* nothing of it is kept */
	return r;
}

static void what_is_complete_is_text(void **state)
{
	static const char *const results[] = {
		"{\"content\":[{\"type\":\"text\",\"text\":\"t\"}]}",
		"{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"t\"}]"
		"}",
	};
	SCOPED(arena_free) struct arena a = { 0 };

	for (size_t i = 0; i < COUNT(results); i++) {
		struct mcp_result r = read_result(&a, results[i], &none);

		assert_string_equal(r.text.p, "t");
		assert_false(r.failed || r.needs_input);
	}
	/* A server with a handshake knows of no types. */
	struct mcp_result r =
		read_result(&a,
			    "{\"resultType\":\"input_required\",\"requestState\":"
			    "\"s\",\"content\":[{\"type\":\"text\",\"text\":\"t\"}]}",
			    NULL);

	assert_string_equal(r.text.p, "t");
	assert_false(r.needs_input);
}

static void questions_come_with_their_keys_and_the_state(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_result r = read_result(
		&a,
		"{\"resultType\":\"input_required\",\"requestState\":\"st\\u00e4te\","
		"\"inputRequests\":"
		"{\"one\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}},"
		"\"two\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\"}}}}",
		&form);

	assert_true(r.needs_input);
	assert_false(r.failed);
	assert_int_equal(r.questions_n, 2);
	assert_true(str_is(r.questions[0].key, "one"));
	assert_int_equal(r.questions[0].kind, MCP_ELICIT);
	assert_true(str_is(json_str(r.questions[0].params, "message"), "m"));
	assert_true(str_is(r.questions[1].key, "two"));
	assert_true(str_is(r.questions[1].server, "srv"));
	assert_true(str_is(r.state, "st\xC3\xA4te"));
	assert_int_equal(r.text.n, 0);
	r = read_result(
		&a,
		"{\"resultType\":\"input_required\",\"inputRequests\":{\"s\":{\"method\":"
		"\"sampling/createMessage\",\"params\":{\"maxTokens\":7}}}}",
		&(struct mcp_offer){ .sampling = true });
	assert_true(r.needs_input);
	assert_int_equal(r.questions[0].kind, MCP_SAMPLE);
	assert_int_equal(json_i64(r.questions[0].params, "maxTokens", 0), 7);
	/* Only to be made again. */
	r = read_result(&a, "{\"resultType\":\"input_required\",\"requestState\":\"x\"}",
			&none);
	assert_true(r.needs_input);
	assert_int_equal(r.questions_n, 0);
}

static void what_was_not_offered_or_is_not_known_fails_the_call(void **state)
{
	static const struct {
		const char *result, *why;
	} rows[] = {
		{ "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":"
		  "\"sampling/createMessage\",\"params\":{}}}}",
		  "tool error: the server asks for sampling/createMessage, which was not "
		  "offered "
		  "to it" },
		{ "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":{\"method\":"
		  "\"elicitation/create\",\"params\":{\"mode\":\"url\"}}}}",
		  "tool error: the server asks for elicitation/create, which was not offered "
		  "to "
		  "it" },
		{ "{\"resultType\":\"input_required\",\"inputRequests\":{\"k\":7}}",
		  "tool error: the server asks for , which was not offered to it" },
		{ "{\"resultType\":\"input_required\",\"inputRequests\":[]}",
		  "tool error: what the server asks for is no object" },
		{ "{\"resultType\":\"input_required\"}",
		  "tool error: the server asks for input, but not for which" },
		{ "{\"resultType\":\"input_required\",\"inputRequests\":{},\"requestState\":7}",
		  "tool error: the server asks for input, but not for which" },
		{ "{\"resultType\":\"promise\"}", "tool error: the server answered with a "
						  "result of type \"promise\", which is not "
						  "known here" },
	};
	SCOPED(arena_free) struct arena a = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct mcp_result r = read_result(&a, rows[i].result, &form);

		assert_true(r.failed);
		assert_false(r.needs_input);
		assert_string_equal(r.text.p, rows[i].why);
	}
}

static void too_many_questions_are_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 100000);
	struct mcp_result r;

	buf_add(&b, S("{\"resultType\":\"input_required\",\"inputRequests\":{"));
	for (int i = 0; i < 17; i++)
		buf_fmt(&b, "%s\"k%d\":{\"method\":\"elicitation/create\"}", i ? "," : "", i);
	buf_add(&b, S("}}"));
	r = read_result(&a, buf_str(&b).p, &form);
	assert_true(r.failed);
	assert_string_equal(r.text.p,
			    "tool error: the server asks for more than 16 things at once");
}

static void a_key_of_a_question_may_have_256_bytes(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char key[258] = { 0 };

	memset(key, 'k', 257);
	for (int skip = 0; skip < 2; skip++) {
		struct mcp_result r = read_result(
			&a,
			arena_fmt(&a,
				  "{\"resultType\":\"input_required\",\"inputRequests\":{"
				  "\"%s\":{\"method\":\"elicitation/create\"}}}",
				  key + skip)
				.p,
			&form);

		assert_int_equal(r.needs_input, skip);
		assert_int_equal(r.failed, !skip);
		if (!skip)
			assert_string_equal(r.text.p,
					    "tool error: a key of what the server asks for has "
					    "more than 256 bytes");
	}
}

static const struct json *read_json(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(json_read(&v, a, str_of(text), NULL), OK);
	return v;
}

static void an_answer_that_names_a_task_is_one(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_result r = { 0 };

	assert_true(mcp_outcome_task(&r, read_json(&a, "{\"task\":{\"taskId\":\"x\"}}"), 9,
				     &form, &a));
	assert_true(str_is(json_str(r.task, "taskId"), "x") && r.offer.form);
	assert_int_equal(r.token, 9);
	/* A server may answer plainly nevertheless. */
	assert_false(mcp_outcome_task(&r, read_json(&a, "{\"content\":[]}"), 9, &form, &a));
	assert_false(mcp_outcome_task(&r, read_json(&a, "{\"task\":{}}"), 9, &form, &a));
}

static void links_that_have_to_be_opened_first_are_questions_or_told_to_the_model(void **state)
{
	static const char error[] =
		"{\"code\":-32042,\"message\":\"not "
		"yet\",\"data\":{\"elicitations\":[{\"mode\":\"url\","
		"\"message\":\"Sign "
		"in\",\"url\":\"https://a.example/\",\"elicitationId\":\"e1\"}]}}";
	static const char *const others[] = {
		"{\"code\":-32000,\"data\":{\"elicitations\":[{\"url\":\"https://a/\"}]}}",
		"{\"code\":-32042,\"data\":{\"elicitations\":[]}}",
		"{\"code\":-32042,\"data\":{\"elicitations\":[{\"message\":\"m\"}]}}",
		"{\"code\":-32042,\"data\":{\"elicitations\":[{\"url\":\"u\"},{\"url\":\"u\"},{"
		"\"url\":"
		"\"u\"},{\"url\":\"u\"},{\"url\":\"u\"},{\"url\":\"u\"},{\"url\":\"u\"},{"
		"\"url\":\"u\"},{"
		"\"url\":\"u\"}]}}",
		"{\"code\":-32042,\"message\":\"m\"}",
	};
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_question *v;
	struct mcp_result r = { 0 };

	assert_int_equal(mcp_outcome_links(read_json(&a, error), &a, &v), 1);
	assert_int_equal(v[0].kind, MCP_ELICIT);
	assert_true(str_is(json_str(v[0].params, "mode"), "url"));
	assert_true(str_is(json_str(v[0].params, "url"), "https://a.example/"));
	assert_true(str_is(json_str(v[0].params, "elicitationId"), "e1"));
	assert_true(
		str_starts(json_str(v[0].params, "message"), S("Sign in\n(The call is made")));
	mcp_outcome_read(&r, NULL, read_json(&a, error), S("srv"), NULL, &a);
	assert_true(r.failed && str_has(r.text, S("not yet")));
	assert_true(str_ends(r.text, S("has to open:\nSign in: https://a.example/")));
	for (size_t i = 0; i < COUNT(others); i++) {
		assert_int_equal(mcp_outcome_links(read_json(&a, others[i]), &a, &v), 0);
		r = (struct mcp_result){ 0 };
		mcp_outcome_read(&r, NULL, read_json(&a, others[i]), S("srv"), NULL, &a);
		assert_false(str_has(r.text, S("has to open")));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_complete_is_text),
		cmocka_unit_test(questions_come_with_their_keys_and_the_state),
		cmocka_unit_test(what_was_not_offered_or_is_not_known_fails_the_call),
		cmocka_unit_test(too_many_questions_are_refused),
		cmocka_unit_test(a_key_of_a_question_may_have_256_bytes),
		cmocka_unit_test(an_answer_that_names_a_task_is_one),
		cmocka_unit_test(
			links_that_have_to_be_opened_first_are_questions_or_told_to_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

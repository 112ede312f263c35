/*
 * A server's request for a completion, read and answered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/sampling_wire.h"

static const struct mcp_sampling_cfg plain = { .policy = S("allow"), .max_tokens = 1000 };
static const struct mcp_sampling_cfg with_tools = { .policy = S("allow"),
						    .max_tokens = 1000,
						    .tools = true };

static int take(struct arena *a, const struct mcp_sampling_cfg *cfg, const char *text,
		struct sampling_req *out, struct err *e)
{
	struct json *v;

	assert_int_equal(json_read(&v, a, str_of(text), NULL), OK);
	return sampling_read(out, v, cfg, 500, a, e);
}

#define HELLO "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hello\"}}"

static void a_plain_request_is_passed_as_it_is(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct sampling_req s;

	(void)state;
	assert_int_equal(
		take(&a, &plain,
		     "{\"systemPrompt\":\"Be brief.\",\"maxTokens\":20,\"temperature\":0.5,"
		     "\"stopSequences\":[\"END\"],\"includeContext\":\"allServers\","
		     "\"messages\":[" HELLO ",{\"role\":\"assistant\",\"content\":"
		     "[{\"type\":\"text\",\"text\":\"yes\"}]}," HELLO "]}",
		     &s, NULL),
		OK);
	assert_true(str_is(s.req.system, "Be brief."));
	assert_int_equal(s.req.max_tokens, 20);
	assert_true(*s.req.temperature > 0.4 && *s.req.temperature < 0.6);
	assert_int_equal(s.req.stop.n, 1);
	assert_true(str_is(s.req.stop.v[0], "END"));
	assert_int_equal(s.req.msgs_n, 3);
	assert_true(str_is(s.req.msgs[1].role, "assistant"));
	assert_true(str_has(s.req.msgs[0].wire, S("\"hello\"")));
	assert_true(str_is(s.last, "hello"));
	assert_int_equal(s.req.tools_n, 0);
}

static void an_answer_is_never_longer_than_any_limit(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct sampling_req s;

	(void)state;
	assert_int_equal(
		take(&a, &plain, "{\"maxTokens\":900000,\"messages\":[" HELLO "]}", &s, NULL),
		OK);
	assert_int_equal(s.req.max_tokens, 500);
	/* A temperature that a provider would refuse is not sent. */
	assert_int_equal(take(&a, &plain,
			      "{\"maxTokens\":1,\"temperature\":99,\"messages\":[" HELLO "]}",
			      &s, NULL),
			 OK);
	assert_true(*s.req.temperature <= 2);
}

static void what_cannot_be_passed_on_is_refused(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"messages\":[],\"maxTokens\":1}",
		"{\"messages\":[" HELLO "]}",
		"{\"messages\":[" HELLO "],\"maxTokens\":-1}",
		"{\"messages\":[1],\"maxTokens\":1}",
		"{\"messages\":[{\"role\":\"system\",\"content\":{\"type\":\"text\",\"text\":"
		"\"x\"}}],\"maxTokens\":1}",
		"{\"messages\":[{\"role\":\"user\",\"content\":\"text\"}],\"maxTokens\":1}",
		"{\"messages\":[{\"role\":\"user\",\"content\":[]}],\"maxTokens\":1}",
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"audio\",\"data\":"
		"\"AA==\",\"mimeType\":\"audio/wav\"}}],\"maxTokens\":1}",
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":"
		"\"A\\\"A\",\"mimeType\":\"image/png\"}}],\"maxTokens\":1}",
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":"
		"\"AAAA\",\"mimeType\":\"image/svg+xml\"}}],\"maxTokens\":1}",
		"{\"messages\":[" HELLO "],\"maxTokens\":1,\"tools\":[]}",
		"{\"messages\":[" HELLO
		"],\"maxTokens\":1,\"stopSequences\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}",
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"tool_result\","
		"\"toolUseId\":\"a\",\"content\":[]}}],\"maxTokens\":1}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct sampling_req s;
		struct err e = { 0 };

		if (take(&a, &plain, rows[i], &s, &e) == OK)
			fail_msg("taken: %s", rows[i]);
		assert_true(e.msg[0]);
	}
}

static void more_text_than_the_limit_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, (size_t)1 << 20);
	struct sampling_req s;
	struct err e = { 0 };

	(void)state;
	buf_add(&b, S("{\"maxTokens\":1,\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
		      "\"text\",\"text\":\""));
	for (int i = 0; i < 300000; i++)
		buf_addc(&b, 'x');
	buf_add(&b, S("\"}}]}"));
	assert_int_equal(take(&a, &plain, buf_str(&b).p, &s, &e), E_LIMIT);
}

static void pictures_and_tools_are_passed_where_they_are_granted(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct sampling_req s;

	(void)state;
	assert_int_equal(
		take(&a, &with_tools,
		     "{\"maxTokens\":9,\"toolChoice\":{\"mode\":\"required\"},\"tools\":[{"
		     "\"name\":\"look\",\"inputSchema\":{\"type\":\"object\"}}],\"messages\":["
		     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},{"
		     "\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"}]},"
		     "{\"role\":\"assistant\",\"content\":{\"type\":\"tool_use\",\"id\":\"t1\","
		     "\"name\":\"look\",\"input\":{\"at\":1}}},"
		     "{\"role\":\"user\",\"content\":{\"type\":\"tool_result\",\"toolUseId\":"
		     "\"t1\",\"content\":[{\"type\":\"text\",\"text\":\"a cat\"}]}}]}",
		     &s, NULL),
		OK);
	assert_int_equal(s.images, 1);
	assert_int_equal(s.req.tools_n, 1);
	assert_true(str_is(s.req.tool_choice, "required"));
	assert_int_equal(s.req.msgs_n, 3);
	assert_true(str_has(s.req.msgs[0].wire, S("data:image/png;base64,AAAA")));
	assert_true(str_has(s.req.msgs[1].wire, S("tool_calls")));
	assert_true(str_is(s.req.msgs[2].role, "tool"));
	assert_true(str_has(s.req.msgs[2].wire, S("a cat")));
}

static void the_answer_says_text_model_and_why_it_ended(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct model_call c = { .id = S("c1"),
				      .name = S("look"),
				      .args = S("{\"at\":2}") };
	struct model_reply r = { .text = S("fine \"yes\""), .finish = MODEL_LENGTH };

	(void)state;
	assert_string_equal(sampling_result(&r, S("m1"), false, &a).p,
			    "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":"
			    "\"fine \\\"yes\\\"\"},\"model\":\"m1\",\"stopReason\":"
			    "\"maxTokens\"}");
	r = (struct model_reply){ .calls = &c, .calls_n = 1, .finish = MODEL_TOOLS };
	assert_string_equal(
		sampling_result(&r, S("m1"), true, &a).p,
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
		"\"c1\",\"name\":\"look\",\"input\":{\"at\":2}}],\"model\":\"m1\","
		"\"stopReason\":\"toolUse\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_request_is_passed_as_it_is),
		cmocka_unit_test(an_answer_is_never_longer_than_any_limit),
		cmocka_unit_test(what_cannot_be_passed_on_is_refused),
		cmocka_unit_test(more_text_than_the_limit_is_refused),
		cmocka_unit_test(pictures_and_tools_are_passed_where_they_are_granted),
		cmocka_unit_test(the_answer_says_text_model_and_why_it_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What is learnt from which refusal, and that it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/quirks.h"

#define ALL 0xffffu

static const struct row {
	uint32_t sent, known;
	const char *error; /* the inside of the error object */
	uint32_t learnt; /* 0: nothing */
} rows[] = {
	{ SENT_TEMPERATURE | SENT_MAX_TOKENS, 0,
	  "\"message\":\"Unsupported value: 'temperature' does not support 0.7 with this "
	  "model. "
	  "Only the default (1) value is "
	  "supported.\",\"type\":\"invalid_request_error\",\"param\":"
	  "\"temperature\",\"code\":\"unsupported_value\"",
	  QUIRK_NO_TEMPERATURE },
	{ SENT_MAX_TOKENS, 0,
	  "\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. "
	  "Use "
	  "'max_completion_tokens' instead.\",\"type\":\"invalid_request_error\",\"param\":"
	  "\"max_tokens\",\"code\":\"unsupported_parameter\"",
	  QUIRK_MAX_COMPLETION },
	{ SENT_MAX_COMPLETION, QUIRK_MAX_COMPLETION,
	  "\"message\":\"Unrecognized request argument supplied: max_completion_tokens\"",
	  QUIRK_MAX_COMPLETION | QUIRK_NO_MAX_TOKENS },
	{ SENT_MAX_TOKENS, 0,
	  "\"message\":\"max_tokens is too large: 99999. This model supports at most 16384\"",
	  QUIRK_NO_MAX_TOKENS },
	{ SENT_MAX_TOKENS, 0,
	  "\"message\":\"Invalid max_tokens value, the valid range of max_tokens is [1, "
	  "8192]\"",
	  QUIRK_NO_MAX_TOKENS },
	{ SENT_STREAM | SENT_STREAM_OPTIONS, 0,
	  "\"message\":\"Unrecognized request argument supplied: stream_options\"",
	  QUIRK_NO_STREAM_OPTIONS },
	{ SENT_STREAM | SENT_STREAM_OPTIONS, 0,
	  "\"message\":\"[{'loc': ('body', 'stream_options'), 'msg': 'extra fields not "
	  "permitted'}]\"",
	  QUIRK_NO_STREAM_OPTIONS },
	{ SENT_STREAM, 0,
	  "\"message\":\"Your organization must be verified to stream this model.\",\"param\":"
	  "\"stream\",\"code\":\"unsupported_value\"",
	  QUIRK_NO_STREAM },
	{ SENT_EFFORT | SENT_OPAQUE, 0,
	  "\"message\":\"Unknown name \\\"reasoning_effort\\\": Cannot find field.\"",
	  QUIRK_NO_EFFORT },
	{ SENT_TOOLS | SENT_STREAM, 0,
	  "\"message\":\"registry.ollama.ai/library/gemma:2b does not support tools\"",
	  QUIRK_NO_TOOLS },
	{ SENT_TOOLS, 0, "\"message\":\"No endpoints found that support tool use.\"",
	  QUIRK_NO_TOOLS },
	{ SENT_SYSTEM, 0, "\"message\":\"System role not supported\"", QUIRK_NO_SYSTEM },
	{ SENT_SYSTEM, 0,
	  "\"message\":\"Developer instruction is not enabled for models/gemma-3-27b-it\"",
	  QUIRK_NO_SYSTEM },
	{ SENT_CALLS, 0,
	  "\"message\":\"Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of "
	  "9.\"",
	  QUIRK_SHORT_IDS },
	{ SENT_CALLS, 0,
	  "\"message\":\"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a "
	  "string "
	  "with maximum length 40\"",
	  QUIRK_SHORT_IDS },
	{ SENT_CALLS | SENT_BARE_CALLS, 0,
	  "\"message\":\"Missing `reasoning_content` field in the assistant message\"",
	  QUIRK_EMPTY_REASONING },
	{ SENT_OPAQUE | SENT_CALLS, 0,
	  "\"message\":\"Extra inputs are not permitted: messages.1.reasoning_content\"",
	  QUIRK_NO_OPAQUE },
	{ SENT_OPAQUE | SENT_CALLS | SENT_TOOLS, 0,
	  "\"message\":\"Unrecognized request argument\"", QUIRK_NO_OPAQUE },
	{ SENT_CALLS | SENT_TOOLS, 0, "\"message\":\"Unrecognized request argument\"", 0 },
	{ SENT_BARE_CALLS | SENT_CALLS, 0,
	  "\"message\":\"String should have at least 1 character: messages.1.content\"",
	  QUIRK_CONTENT_EMPTY },
	{ SENT_BARE_CALLS | SENT_CALLS, QUIRK_CONTENT_EMPTY,
	  "\"message\":\"String should have at least 1 character: messages.1.content\"",
	  0 /* left out */ },
	{ SENT_BARE_CALLS | SENT_CALLS, QUIRK_CONTENT_NULL,
	  "\"message\":\"invalid message content type: <nil>\"", 0 /* left out */ },
	{ SENT_TOOLS, 0,
	  "\"message\":\"Invalid JSON payload received. Unknown name \\\"$schema\\\" at "
	  "'tools[0].function_declarations[0].parameters': Cannot find field.\"",
	  QUIRK_PLAIN_SCHEMA },
	{ SENT_TOOLS, QUIRK_PLAIN_SCHEMA,
	  "\"message\":\"* GenerateContentRequest.tools[0].function_declarations[0].parameters."
	  "properties[b].any_of: only allowed\"",
	  QUIRK_PLAIN_SCHEMA | QUIRK_BARE_SCHEMA },
	{ SENT_TOOLS, QUIRK_PLAIN_SCHEMA | QUIRK_BARE_SCHEMA,
	  "\"message\":\"Invalid schema for function\"",
	  QUIRK_PLAIN_SCHEMA | QUIRK_BARE_SCHEMA },
	/* What was not sent cannot be to blame, and some refusals teach nothing. */
	{ 0, 0, "\"message\":\"temperature is not supported\",\"param\":\"temperature\"", 0 },
	{ ALL, 0, "\"message\":\"model not found\"", 0 },
	{ ALL, 0, "\"message\":\"maximum context length is 8192, reduce max_tokens\"", 0 },
	{ ALL, 0, "\"message\":\"unknown variant `image_url`, expected `text`\"", 0 },
	{ ALL, 0, "\"message\":\"the moon is in the wrong phase\"", 0 },
};

static void each_refusal_teaches_its_lesson(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct model_quirks q = { .flags = rows[i].known };
		struct lesson l = { .sent = rows[i].sent };
		struct refusal r;
		bool learnt;

		refusal_read(&r, &a, 400, arena_fmt(&a, "{\"error\":{%s}}", rows[i].error),
			     NULL, 0);
		learnt = quirks_learn(&q, &r, &l);
		if (q.flags != rows[i].learnt || learnt != (q.flags != rows[i].known))
			fail_msg("%s: flags %x", rows[i].error, q.flags);
	}
}

static void other_kinds_teach_nothing(void **state)
{
	static const int statuses[] = { 401, 403, 429, 500, 503, 408 };

	for (size_t i = 0; i < COUNT(statuses); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct model_quirks q = { 0 };
		struct lesson l = { .sent = ALL };
		struct refusal r;

		refusal_read(&r, &a, statuses[i],
			     S("{\"error\":\"temperature is unsupported\"}"), NULL, 0);
		assert_false(quirks_learn(&q, &r, &l));
		assert_int_equal(q.flags, 0);
	}
}

/* Whoever refuses content in every shape gets each shape once. */
static void shapes_of_content_are_tried_once_each(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_quirks q = { .flags = QUIRK_CONTENT_EMPTY };
	struct lesson l = { .sent = SENT_BARE_CALLS };
	struct refusal r;

	refusal_read(&r, &a, 400, S("{\"error\":\"content must be a string\"}"), NULL, 0);
	assert_true(quirks_learn(&q, &r, &l));
	assert_int_equal(q.flags, 0);
	assert_true(quirks_learn(&q, &r, &l));
	assert_int_equal(q.flags, QUIRK_CONTENT_NULL);
	assert_false(quirks_learn(&q, &r, &l));
}

static void every_quirk_has_a_word(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str none = quirks_words(&a, 0);

	assert_true(str_eq(none, S("none")));
	for (uint32_t flag = 1; flag <= QUIRK_NO_SYSTEM; flag <<= 1)
		assert_false(str_eq(quirks_words(&a, flag), none));
	assert_true(str_eq(quirks_words(&a, QUIRK_MAX_COMPLETION | QUIRK_NO_TOOLS),
			   S("max_completion_tokens no_tools")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_refusal_teaches_its_lesson),
		cmocka_unit_test(other_kinds_teach_nothing),
		cmocka_unit_test(shapes_of_content_are_tried_once_each),
		cmocka_unit_test(every_quirk_has_a_word),
	};

	return cmocka_run_group_tests_name("model/quirks", tests, NULL, NULL);
}

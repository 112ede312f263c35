/*
 * The body of a request: what is in it, what is not, and what each quirk changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/request.h"
#include "text/json.h"

#define US S("http://x/v1|m")
#define CALL_WIRE                                                                              \
	"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\","    \
	"\"function\":{\"name\":\"now\",\"arguments\":\"{}\"}}]}"
#define SIGNED_WIRE                                                                            \
	"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\","    \
	"\"function\":{\"name\":\"now\",\"arguments\":\"{}\"},\"extra_content\":{\"google\":"  \
	"{\"thought_signature\":\"c2ln\"}}}],\"reasoning_content\":\"plan\"}"
#define TALK_WIRE "{\"role\":\"assistant\",\"content\":\"say \\\"reasoning\\\": no\"}"
#define RESULT_WIRE "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"12:00\"}"
#define USER_WIRE "{\"role\":\"user\",\"content\":\"hi\"}"
#define PHOTO_WIRE                                                                             \
	"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},{\"type\":"      \
	"\"image_url\",\"image_url\":{\"url\":\"data:x\"}}]}"

static const struct model_cfg plain_cfg = { .base_url = { "http://x/v1", 11 },
					    .name = { "m", 1 } };

static struct request write(struct arena *a, const struct model_cfg *cfg, bool gemini,
			    const struct model_req *req, uint32_t flags)
{
	struct model_quirks q = { .flags = flags };
	struct request out = { 0 };
	struct err e = { 0 };

	if (request_write(&out, a, cfg, US, gemini, req, &q, &e) < 0)
		fail_msg("%s", e.msg);
	return out;
}

static void assert_body(struct request r, const char *want)
{
	if (!str_eq(r.body, str_of(want)))
		fail_msg("got  %.*s\nwant %s", STRF(r.body), want);
}

static void smallest_request_has_nothing_else(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_msg msgs[] = { { S("user"), S(USER_WIRE), S("") } };
	struct model_req req = { .msgs = msgs, .msgs_n = 1 };

	assert_body(write(&a, &plain_cfg, false, &req, 0),
		    "{\"model\":\"m\",\"messages\":[" USER_WIRE "]}");
}

static void everything_set_is_sent(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_msg msgs[] = { { S("user"), S(USER_WIRE), S("") },
				    { S("assistant"), S(SIGNED_WIRE), US },
				    { S("tool"), S(RESULT_WIRE), S("") } };
	struct model_tool tools[] = {
		{ S("now"), S("The \"time\""), S("{\"type\":\"object\",\"$schema\":\"x\"}") },
		{ S("bare"), S(""), S("") },
	};
	struct model_cfg cfg = plain_cfg;
	struct model_req req = { .system = S("Be brief."),
				 .msgs = msgs,
				 .msgs_n = 3,
				 .tools = tools,
				 .tools_n = 2,
				 .stream = true };
	struct request r;

	cfg.max_tokens = 256;
	cfg.has_temperature = true;
	cfg.temperature = 0.7;
	cfg.reasoning_effort = S("low");
	r = write(&a, &cfg, false, &req, 0);
	assert_body(
		r,
		"{\"model\":\"m\",\"max_tokens\":256,"
		"\"temperature\":0.7,\"reasoning_effort\":\"low\",\"stream\":true,"
		"\"stream_options\":{\"include_usage\":true},"
		"\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"now\","
		"\"description\":\"The \\\"time\\\"\",\"parameters\":{\"type\":\"object\","
		"\"$schema\":\"x\"}}},{\"type\":\"function\",\"function\":{\"name\":\"bare\","
		"\"parameters\":{\"type\":\"object\",\"properties\":{}}}}],"
		"\"messages\":[{\"role\":\"system\",\"content\":\"Be "
		"brief.\"}," USER_WIRE "," SIGNED_WIRE "," RESULT_WIRE "]}");
	assert_true(r.stream);
	assert_int_equal(r.sent, SENT_MAX_TOKENS | SENT_TEMPERATURE | SENT_EFFORT |
					 SENT_STREAM | SENT_STREAM_OPTIONS | SENT_BARE_CALLS |
					 SENT_CALLS | SENT_OPAQUE | SENT_TOOLS | SENT_SYSTEM);
}

static void quirks_of_parameters_take_them_out(void **state)
{
	static const struct {
		uint32_t flags;
		const char *middle;
	} rows[] = {
		{ QUIRK_MAX_COMPLETION, ",\"max_completion_tokens\":9,\"temperature\":0,"
					"\"reasoning_effort\":\"low\",\"stream\":true,"
					"\"stream_options\":{\"include_usage\":true}" },
		{ QUIRK_MAX_COMPLETION | QUIRK_NO_MAX_TOKENS | QUIRK_NO_STREAM_OPTIONS,
		  ",\"temperature\":0,\"reasoning_effort\":\"low\",\"stream\":true" },
		{ QUIRK_NO_TEMPERATURE | QUIRK_NO_STREAM,
		  ",\"max_tokens\":9,\"reasoning_effort\":\"low\"" },
		{ QUIRK_NO_EFFORT | QUIRK_NO_STREAM, ",\"max_tokens\":9,\"temperature\":0" },
		{ QUIRK_NO_TOOLS | QUIRK_NO_EFFORT | QUIRK_NO_STREAM | QUIRK_NO_TEMPERATURE |
			  QUIRK_NO_MAX_TOKENS,
		  "" },
	};
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_msg msgs[] = { { S("user"), S(USER_WIRE), S("") } };
	struct model_tool tool = { S("now"), S(""), S("") };
	struct model_cfg cfg = plain_cfg;
	struct model_req req = { .msgs = msgs, .msgs_n = 1, .stream = true };

	cfg.max_tokens = 9;
	cfg.has_temperature = true;
	cfg.reasoning_effort = S("low");
	for (size_t i = 0; i < COUNT(rows); i++) {
		req.tools = &tool;
		req.tools_n = rows[i].flags & QUIRK_NO_TOOLS ? 1 : 0;
		assert_body(write(&a, &cfg, false, &req, rows[i].flags),
			    arena_fmt(&a, "{\"model\":\"m\"%s,\"messages\":[" USER_WIRE "]}",
				      rows[i].middle)
				    .p);
	}
}

/* One assistant message and how it goes out. */
static void messages_change_only_where_they_must(void **state)
{
#define SHAPED(content)                                                                        \
	"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\","    \
	"\"function\":{\"name\":\"now\",\"arguments\":\"{}\"}}]" content "}"
	static const char token[] =
		"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
		"\"function\","
		"\"function\":{\"name\":\"now\",\"arguments\":\"{}\"},\"extra_content\":"
		"{\"google\":{\"thought_signature\":\"skip_thought_signature_validator\"}}}]}";
	static const struct {
		const char *wire, *issuer;
		uint32_t flags;
		bool gemini;
		const char *out;
	} rows[] = {
		/* ours: byte for byte, whatever else is known */
		{ CALL_WIRE, "http://x/v1|m", 0, false, CALL_WIRE },
		{ SIGNED_WIRE, "http://x/v1|m", 0, false, SIGNED_WIRE },
		{ SIGNED_WIRE, "http://x/v1|m", QUIRK_CONTENT_EMPTY >> 1, false, SIGNED_WIRE },
		{ TALK_WIRE, "other", QUIRK_CONTENT_NULL | QUIRK_NO_OPAQUE, true, TALK_WIRE },
		/* opaque fields stay with their issuer, and only if it takes them */
		{ SIGNED_WIRE, "http://x/v1|other", 0, false, CALL_WIRE },
		{ SIGNED_WIRE, "", 0, false, CALL_WIRE },
		{ SIGNED_WIRE, "http://x/v1|m", QUIRK_NO_OPAQUE, false, CALL_WIRE },
		/* content of a message that only calls */
		{ CALL_WIRE, "http://x/v1|m", QUIRK_CONTENT_EMPTY, false,
		  SHAPED(",\"content\":\"\"") },
		{ CALL_WIRE, "http://x/v1|m", QUIRK_CONTENT_NULL, false,
		  SHAPED(",\"content\":null") },
		{ "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[]}", "x",
		  QUIRK_CONTENT_EMPTY, false,
		  "{\"role\":\"assistant\",\"tool_calls\":[],\"content\":\"\"}" },
		/* reasoning that somebody wants to see */
		{ CALL_WIRE, "x", QUIRK_EMPTY_REASONING, false,
		  SHAPED(",\"reasoning_content\":\"\"") },
		{ SIGNED_WIRE, "http://x/v1|m", QUIRK_EMPTY_REASONING, false, SIGNED_WIRE },
		{ CALL_WIRE, "x", QUIRK_EMPTY_REASONING | QUIRK_NO_OPAQUE, false, CALL_WIRE },
		/* Google wants a signature on calls */
		{ CALL_WIRE, "http://x/v1|m", 0, true, token },
		{ SIGNED_WIRE, "http://x/v1|m", 0, true, SIGNED_WIRE },
		{ SIGNED_WIRE, "other", 0, true, token },
		{ SIGNED_WIRE, "other", QUIRK_NO_OPAQUE, true, CALL_WIRE },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct model_msg msgs[] = {
			{ S("user"), S(USER_WIRE), S("") },
			{ S("assistant"), str_of(rows[i].wire), str_of(rows[i].issuer) },
		};
		struct model_req req = { .msgs = msgs, .msgs_n = 2 };

		assert_body(write(&a, &plain_cfg, rows[i].gemini, &req, rows[i].flags),
			    arena_fmt(&a, "{\"model\":\"m\",\"messages\":[" USER_WIRE ",%s]}",
				      rows[i].out)
				    .p);
	}
}

static void short_ids_are_the_same_in_call_and_result(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_msg msgs[] = { { S("user"), S(USER_WIRE), S("") },
				    { S("assistant"), S(CALL_WIRE), S("x") },
				    { S("tool"), S(RESULT_WIRE), S("") } };
	struct model_req req = { .msgs = msgs, .msgs_n = 3 };
	struct request r = write(&a, &plain_cfg, false, &req, QUIRK_SHORT_IDS);
	struct json *v;
	const struct json *list;
	str call, result;

	assert_int_equal(json_read(&v, &a, r.body, NULL), OK);
	list = json_get(v, "messages");
	call = json_str(json_at(json_get(json_at(list, 1), "tool_calls"), 0), "id");
	result = json_str(json_at(list, 2), "tool_call_id");
	assert_true(str_eq(call, result));
	assert_int_equal(call.n, 9);
	assert_false(str_has(r.body, S("call_1")));
	assert_true(str_has(r.body, S("12:00")));
}

static void system_text_may_ride_on_the_first_user_message(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_msg msgs[] = { { S("user"), S(USER_WIRE), S("") },
				    { S("assistant"), S(TALK_WIRE), S("") },
				    { S("user"), S(USER_WIRE), S("") } };
	struct model_msg photo[] = { { S("user"), S(PHOTO_WIRE), S("") } };
	struct model_req req = { .system = S("Be brief."), .msgs = msgs, .msgs_n = 3 };

	assert_body(write(&a, &plain_cfg, false, &req, QUIRK_NO_SYSTEM),
		    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Be "
		    "brief.\\n\\n"
		    "hi\"}," TALK_WIRE "," USER_WIRE "]}");
	req.msgs = photo;
	req.msgs_n = 1;
	assert_body(
		write(&a, &plain_cfg, false, &req, QUIRK_NO_SYSTEM),
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
		"\"text\","
		"\"text\":\"Be brief.\\n\\n\"},{\"type\":\"text\",\"text\":\"see\"},{\"type\":"
		"\"image_url\",\"image_url\":{\"url\":\"data:x\"}}]}]}");
}

static void schemas_are_plain_where_they_must_be(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_msg msgs[] = { { S("user"), S(USER_WIRE), S("") } };
	struct model_tool tools[] = {
		{ S("a"), S(""),
		  S("{\"type\":\"object\",\"$schema\":\"x\",\"properties\":{\"p\":"
		    "{\"type\":\"string\",\"minLength\":1}}}") },
		{ S("b"), S(""), S("not JSON") },
	};
	struct model_req req = { .msgs = msgs, .msgs_n = 1, .tools = tools, .tools_n = 2 };

	for (int i = 0; i < 3; i++) {
		static const uint32_t flags[] = { 0, QUIRK_PLAIN_SCHEMA,
						  QUIRK_PLAIN_SCHEMA | QUIRK_BARE_SCHEMA };
		struct request r = write(&a, &plain_cfg, i == 0, &req, flags[i]);
		struct json *v;
		assert_int_equal(json_read(&v, &a, r.body, NULL), OK);
		assert_false(str_has(r.body, S("$schema")));
		assert_int_equal(str_has(r.body, S("minLength")), i < 2);
		assert_true(str_has(r.body,
				    S("\"name\":\"b\",\"parameters\":{\"type\":\"object\"")));
	}
}

static void requests_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		const char *role, *wire;
		uint32_t flags;
		const char *says;
	} rows[] = {
		{ "nope", USER_WIRE, 0, "unknown role \"nope\"" },
		{ "system", USER_WIRE, 0, "unknown role" },
		{ "tool", "{\"role\":\"tool\",\"content\":\"x\"}", 0, "without tool_call_id" },
		{ "assistant", "{\"tool_calls\":", QUIRK_SHORT_IDS, "stored message" },
	};
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_quirks q = { 0 };
	struct model_req req = { 0 };
	struct request out;
	struct err e = { 0 };

	assert_int_equal(request_write(&out, &a, &plain_cfg, US, false, &req, &q, &e), E_INVAL);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct model_msg m = { str_of(rows[i].role), str_of(rows[i].wire), S("") };

		q.flags = rows[i].flags;
		req.msgs = &m;
		req.msgs_n = 1;
		assert_int_equal(request_write(&out, &a, &plain_cfg, US, false, &req, &q, &e),
				 E_INVAL);
		if (!strstr(e.msg, rows[i].says))
			fail_msg("%s", e.msg);
	}
}

static void wire_messages_of_our_own_are_sound(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct model_call calls[] = { { S("i"), S("n"), S("{\"a\":1}") },
				      { S("j"), S("m"), S("[]") } };

	assert_true(str_eq(model_user_wire(&a, S("a\"b")),
			   S("{\"role\":\"user\",\"content\":\"a\\\"b\"}")));
	assert_true(str_eq(model_assistant_wire(&a, S("x")),
			   S("{\"role\":\"assistant\",\"content\":\"x\"}")));
	assert_true(str_eq(model_tool_wire(&a, S("i"), S("r")),
			   S("{\"role\":\"tool\",\"tool_call_id\":\"i\",\"content\":\"r\"}")));
	assert_true(str_eq(
		model_calls_wire(&a, S("t"), calls, 2),
		S("{\"role\":\"assistant\",\"content\":\"t\",\"tool_calls\":[{\"id\":\"i\","
		  "\"type\":"
		  "\"function\",\"function\":{\"name\":\"n\",\"arguments\":\"{\\\"a\\\":1}\"}},"
		  "{\"id\":\"j\",\"type\":\"function\",\"function\":{\"name\":\"m\","
		  "\"arguments\":"
		  "\"{}\"}}]}")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smallest_request_has_nothing_else),
		cmocka_unit_test(everything_set_is_sent),
		cmocka_unit_test(quirks_of_parameters_take_them_out),
		cmocka_unit_test(messages_change_only_where_they_must),
		cmocka_unit_test(short_ids_are_the_same_in_call_and_result),
		cmocka_unit_test(system_text_may_ride_on_the_first_user_message),
		cmocka_unit_test(schemas_are_plain_where_they_must_be),
		cmocka_unit_test(requests_that_make_no_sense_are_refused),
		cmocka_unit_test(wire_messages_of_our_own_are_sound),
	};

	return cmocka_run_group_tests_name("model/request", tests, NULL, NULL);
}

/*
 * What endpoints say instead of an answer, and what it means.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "model/refusal.h"

static const struct row {
	int status;
	const char *body;
	enum model_kind kind;
	const char *message;
	int64_t window;
} rows[] = {
	/* shapes of the body */
	{ 404, "{\"error\":\"model not found\"}", MODEL_BAD_REQUEST, "model not found", 0 },
	{ 400, "{\"error\":{\"message\":\"No such thing.\",\"code\":\"x\"}}", MODEL_BAD_REQUEST,
	  "No such thing.", 0 },
	{ 400,
	  "[{\"error\":{\"code\":400,\"message\":\"Bad "
	  "field.\",\"status\":\"INVALID_ARGUMENT\"}}]",
	  MODEL_BAD_REQUEST, "Bad field.", 0 },
	{ 400, "{\"object\":\"error\",\"message\":\"Nope.\",\"code\":400}", MODEL_BAD_REQUEST,
	  "Nope.", 0 },
	{ 400, "{\"detail\":\"Not so.\"}", MODEL_BAD_REQUEST, "Not so.", 0 },
	{ 422,
	  "{\"detail\":[{\"loc\":[\"body\",\"stream_options\"],\"msg\":\"Extra inputs are not "
	  "permitted\",\"type\":\"extra_forbidden\"}]}",
	  MODEL_BAD_REQUEST, "Extra inputs are not permitted", 0 },
	{ 400, "{\"errors\":[{\"message\":\"AiError: bad input\",\"code\":8001}]}",
	  MODEL_BAD_REQUEST, "AiError: bad input", 0 },
	{ 400,
	  "{\"error\":{\"message\":\"Provider returned error\",\"code\":400,\"metadata\":"
	  "{\"raw\":\"the real reason\"}}}",
	  MODEL_BAD_REQUEST, "Provider returned error: the real reason", 0 },
	{ 400, "{\"error\":\"\",\"message\":\"said here\"}", MODEL_BAD_REQUEST, "said here",
	  0 },
	{ 400, "\"just a string\"", MODEL_BAD_REQUEST, "just a string", 0 },
	{ 400, "plain\n\ttext", MODEL_BAD_REQUEST, "plain text", 0 },
	{ 502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
	  MODEL_TRANSIENT, "502 Bad Gateway nginx", 0 },
	{ 500, "", MODEL_TRANSIENT, "HTTP status 500 without a reason", 0 },
	{ 400, "{}", MODEL_BAD_REQUEST, "HTTP status 400 without a reason", 0 },
	{ 400, "{\"error\":{\"message\":{\"deep\":1}}}", MODEL_BAD_REQUEST,
	  "HTTP status 400 without a reason", 0 },
	{ 400, "[]", MODEL_BAD_REQUEST, "HTTP status 400 without a reason", 0 },
	{ 400, "null", MODEL_BAD_REQUEST, "HTTP status 400 without a reason", 0 },
	{ 302, "<html>Found</html>", MODEL_BAD_REQUEST,
	  "the endpoint redirects elsewhere: is the base URL right?", 0 },
	/* kinds by status */
	{ 401, "{\"error\":\"no\"}", MODEL_AUTH, "no", 0 },
	{ 403, "{\"error\":\"no\"}", MODEL_AUTH, "no", 0 },
	{ 429, "{\"error\":\"no\"}", MODEL_RATE_LIMIT, "no", 0 },
	{ 413, "{\"error\":\"no\"}", MODEL_CONTEXT_LENGTH, "no", 0 },
	{ 402, "{\"error\":\"no\"}", MODEL_BAD_REQUEST, "no", 0 },
	{ 422, "{\"error\":\"no\"}", MODEL_BAD_REQUEST, "no", 0 },
	{ 408, "{\"error\":\"no\"}", MODEL_TRANSIENT, "no", 0 },
	{ 409, "{\"error\":\"no\"}", MODEL_TRANSIENT, "no", 0 },
	{ 425, "{\"error\":\"no\"}", MODEL_TRANSIENT, "no", 0 },
	{ 529, "{\"error\":\"no\"}", MODEL_TRANSIENT, "no", 0 },
	/* the context is too long, in many words */
	{ 400,
	  "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context "
	  "size, "
	  "try increasing "
	  "it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":124071,"
	  "\"n_ctx\":123904}}",
	  MODEL_CONTEXT_LENGTH,
	  "the request exceeds the available context size, try increasing it", 123904 },
	{ 400,
	  "{\"object\":\"error\",\"message\":\"This model's maximum context length is 8192 "
	  "tokens. "
	  "However, you requested 9000 tokens\",\"code\":400}",
	  MODEL_CONTEXT_LENGTH,
	  "This model's maximum context length is 8192 tokens. However, you requested 9000 "
	  "tokens",
	  8192 },
	{ 400,
	  "[{\"error\":{\"code\":400,\"message\":\"The input token count exceeds the maximum\","
	  "\"status\":\"INVALID_ARGUMENT\"}}]",
	  MODEL_CONTEXT_LENGTH, "The input token count exceeds the maximum", 0 },
	{ 400,
	  "[{\"error\":{\"message\":\"The input token count (1196265) exceeds the maximum "
	  "number of "
	  "tokens allowed (1048576).\"}}]",
	  MODEL_CONTEXT_LENGTH,
	  "The input token count (1196265) exceeds the maximum number of tokens allowed "
	  "(1048576).",
	  1048576 },
	{ 400,
	  "{\"error\":{\"message\":\"prompt is too long: 208310 tokens > 200000 maximum\"}}",
	  MODEL_CONTEXT_LENGTH, "prompt is too long: 208310 tokens > 200000 maximum", 200000 },
	{ 400, "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}",
	  MODEL_CONTEXT_LENGTH, "x", 0 },
	{ 400,
	  "{\"error\":{\"message\":\"Invalid request: Your request exceeded model token limit: "
	  "8192\"}}",
	  MODEL_CONTEXT_LENGTH,
	  "Invalid request: Your request exceeded model token limit: 8192", 8192 },
	{ 400,
	  "{\"error\":{\"message\":\"This endpoint's maximum context length is 1,048,576 "
	  "tokens.\"}}",
	  MODEL_CONTEXT_LENGTH, "This endpoint's maximum context length is 1,048,576 tokens.",
	  1048576 },
	{ 500, "{\"error\":{\"message\":\"input is larger than the context window\"}}",
	  MODEL_CONTEXT_LENGTH, "input is larger than the context window", 0 },
	{ 400, "{\"error\":{\"message\":\"maximum context length is many tokens\"}}",
	  MODEL_CONTEXT_LENGTH, "maximum context length is many tokens", 0 },
	{ 400, "{\"error\":{\"message\":\"maximum context length is 99999999999999999999\"}}",
	  MODEL_CONTEXT_LENGTH, "maximum context length is 99999999999999999999", 0 },
	/* and what only sounds like it */
	{ 429, "{\"error\":{\"message\":\"too many tokens per minute\"}}", MODEL_RATE_LIMIT,
	  "too many tokens per minute", 0 },
	{ 400,
	  "{\"error\":{\"message\":\"max_tokens is too large: 99999. This model supports at "
	  "most "
	  "16384 completion tokens\"}}",
	  MODEL_BAD_REQUEST,
	  "max_tokens is too large: 99999. This model supports at most 16384 completion tokens",
	  0 },
	/* errors inside an answer have no status but words */
	{ 0, "{\"error\":{\"code\":502,\"message\":\"gone\"}}", MODEL_TRANSIENT, "gone", 0 },
	{ 0, "{\"error\":{\"code\":\"429\",\"message\":\"slow\"}}", MODEL_RATE_LIMIT, "slow",
	  0 },
	{ 0, "{\"error\":{\"message\":\"x\",\"type\":\"rate_limit_error\"}}", MODEL_RATE_LIMIT,
	  "x", 0 },
	{ 0, "{\"error\":{\"message\":\"x\",\"code\":\"invalid_api_key\"}}", MODEL_AUTH, "x",
	  0 },
	{ 0, "{\"error\":{\"message\":\"x\",\"type\":\"invalid_request_error\"}}",
	  MODEL_BAD_REQUEST, "x", 0 },
	{ 0, "{\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"}}",
	  MODEL_TRANSIENT, "Overloaded", 0 },
	{ 0, "{\"error\":{\"code\":12,\"message\":\"odd\"}}", MODEL_TRANSIENT, "odd", 0 },
};

static void bodies_of_every_shape_are_understood(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct refusal r;

		refusal_read(&r, &a, rows[i].status, str_of(rows[i].body), NULL, 0);
		if (r.kind != rows[i].kind || !str_eq(r.message, str_of(rows[i].message)) ||
		    r.context_window != rows[i].window)
			fail_msg("%s: %s, \"%.*s\", window %lld", rows[i].body,
				 model_kind_word(r.kind), STRF(r.message),
				 (long long)r.context_window);
	}
}

static void secrets_and_length_do_not_pass(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const str key = { "hush-hush-key", 13 };
	struct buf body = buf_in(&a, 1 << 20);
	struct refusal r;

	buf_add(&body, S("{\"error\":{\"message\":\"Incorrect API key: hush-hush-key, also "
			 "Bearer sk-abcdefghijklmnopqrstuvwxyz123456 "));
	for (int i = 0; i < 1000; i++)
		buf_add(&body, S("on and on \\n"));
	buf_add(&body, S("\"}}"));
	refusal_read(&r, &a, 401, buf_str(&body), &key, 1);
	assert_false(str_has(r.message, key));
	assert_false(str_has(r.message, S("abcdefghijklmnop")));
	assert_true(str_has(r.message, S("Incorrect API key")));
	assert_true(r.message.n < 200);
	assert_false(str_has(r.message, S("\n")));
}

static void refused_pictures_are_recognised(void **state)
{
	static const char *const words[] = {
		"unknown variant `image_url`, expected `text`",
		"No endpoints found that support image input",
		"This model does not support images",
		"image input is not supported - hint: you may need to provide the mmproj",
	};

	for (size_t i = 0; i < COUNT(words); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct refusal r;

		refusal_read(&r, &a, i == 1 ? 404 : 400,
			     arena_fmt(&a, "{\"error\":{\"message\":\"%s\"}}", words[i]), NULL,
			     0);
		assert_true(r.no_images);
		refusal_read(&r, &a, 500, str_of(words[i]), NULL, 0);
		assert_false(r.no_images);
	}
}

static void a_wait_and_an_empty_purse_are_told_apart(void **state)
{
	static const struct {
		const char *body;
		int64_t wait;
		bool permanent;
	} all[] = {
		{ "[{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":"
		  "\"You "
		  "exceeded your current quota\",\"details\":[{\"@type\":\"x\"},{\"@type\":"
		  "\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"34.07s\"}]}}]",
		  34070, false },
		{ "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded your "
		  "current quota\"}}",
		  0, true },
		{ "{\"error\":{\"message\":\"slow down\"}}", 0, false },
	};

	for (size_t i = 0; i < COUNT(all); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct refusal r;

		refusal_read(&r, &a, 429, str_of(all[i].body), NULL, 0);
		assert_int_equal(r.kind, MODEL_RATE_LIMIT);
		assert_int_equal(r.retry_after_ms, all[i].wait);
		assert_int_equal(r.permanent, all[i].permanent);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_of_every_shape_are_understood),
		cmocka_unit_test(secrets_and_length_do_not_pass),
		cmocka_unit_test(refused_pictures_are_recognised),
		cmocka_unit_test(a_wait_and_an_empty_purse_are_told_apart),
	};

	return cmocka_run_group_tests_name("model/refusal", tests, NULL, NULL);
}

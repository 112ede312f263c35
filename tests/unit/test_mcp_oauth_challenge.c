/*
 * WWW-Authenticate as servers write it, and as they should not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/oauth_challenge.h"

static void what_a_server_wants_is_read_out_of_its_challenge(void **state)
{
	static const struct {
		const char *header;
		bool bearer, dpop;
		const char *error, *scope, *metadata;
	} rows[] = {
		{ "Bearer", true, false, "", "", "" },
		{ "bearer error=\"invalid_token\"", true, false, "invalid_token", "", "" },
		{ "Bearer realm=\"x, y=\\\"z\\\"\", scope=\"a b\", "
		  "resource_metadata=\"https://h/p?a=1,2\"",
		  true, false, "", "a b", "https://h/p?a=1,2" },
		{ "Bearer error = insufficient_scope ,scope=w", true, false,
		  "insufficient_scope", "w", "" },
		{ "Basic realm=\"x\", Bearer SCOPE=\"s\"", true, false, "", "s", "" },
		{ "Negotiate YWJj==, DPoP algs=\"ES256\", error=\"use_dpop_nonce\"", false,
		  true, "use_dpop_nonce", "", "" },
		{ "Basic scope=\"no\", error=\"no\"", false, false, "", "", "" },
		{ "Bearer scope=\"first\", Bearer scope=\"second\"", true, false, "", "first",
		  "" },
		{ "", false, false, "", "", "" },
		{ ",,, = \"", false, false, "", "", "" },
		{ "Bearer scope=\"never closed", true, false, "", "never closed", "" },
		{ "Bearer scope=\"ends in \\", true, false, "", "ends in \\", "" },
		{ "Bearer scope", true, false, "", "", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct http_header h[2] = { { S("date"), S("Bearer scope=no") },
					    { S("www-authenticate"), str_of(rows[i].header) } };
		struct oauth_challenge out;

		oauth_challenge_read(&out, &a,
				     &(struct http_resp){ .headers = h, .headers_n = 2 });
		assert_int_equal(out.bearer, rows[i].bearer);
		assert_int_equal(out.dpop, rows[i].dpop);
		assert_true(str_eq(out.error, str_of(rows[i].error)));
		assert_true(str_eq(out.scope, str_of(rows[i].scope)));
		assert_true(str_eq(out.metadata, str_of(rows[i].metadata)));
	}
}

static void several_headers_count_together(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct http_header h[2] = { { S("www-authenticate"), S("DPoP algs=\"ES256\"") },
				    { S("www-authenticate"), S("Bearer scope=\"s\"") } };
	struct oauth_challenge out;

	oauth_challenge_read(&out, &a, &(struct http_resp){ .headers = h, .headers_n = 2 });
	assert_true(out.bearer && out.dpop);
	assert_true(str_eq(out.scope, S("s")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_server_wants_is_read_out_of_its_challenge),
		cmocka_unit_test(several_headers_count_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

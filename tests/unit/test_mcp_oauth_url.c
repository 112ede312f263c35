/*
 * The addresses of signing in: where metadata is looked for, what is refused, what a pasted
 * address is, and the test vector of RFC 7636.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/oauth_url.h"

#define REDIRECT "http://127.0.0.1:33418/callback"

static struct url parsed(struct arena *a, const char *text)
{
	struct url u;

	assert_int_equal(url_parse(&u, a, (str){ 0 }, str_of(text), NULL), OK);
	return u;
}

static void metadata_is_looked_for_behind_the_host_and_before_the_path(void **state)
{
	static const struct {
		const char *url, *resource[OAUTH_PLACES], *issuer[OAUTH_PLACES];
	} rows[] = {
		{ "https://h.example/mcp",
		  { "https://h.example/.well-known/oauth-protected-resource/mcp",
		    "https://h.example/.well-known/oauth-protected-resource" },
		  { "https://h.example/.well-known/oauth-authorization-server/mcp",
		    "https://h.example/.well-known/openid-configuration/mcp",
		    "https://h.example/mcp/.well-known/openid-configuration" } },
		{ "https://h.example:8443/",
		  { "https://h.example:8443/.well-known/oauth-protected-resource" },
		  { "https://h.example:8443/.well-known/oauth-authorization-server",
		    "https://h.example:8443/.well-known/openid-configuration" } },
		{ "https://H.example:443/a/b/?x=1",
		  { "https://h.example/.well-known/oauth-protected-resource/a/b",
		    "https://h.example/.well-known/oauth-protected-resource" },
		  { "https://h.example/.well-known/oauth-authorization-server/a/b",
		    "https://h.example/.well-known/openid-configuration/a/b",
		    "https://h.example/a/b/.well-known/openid-configuration" } },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct url u = parsed(&a, rows[i].url);
		str got[OAUTH_PLACES];
		size_t n = oauth_url_resource_places(&a, &u, got);

		for (size_t k = 0; k < n; k++)
			assert_string_equal(got[k].p, rows[i].resource[k]);
		assert_true(n == OAUTH_PLACES || !rows[i].resource[n]);
		n = oauth_url_issuer_places(&a, &u, got);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(got[k].p, rows[i].issuer[k]);
		assert_true(n == OAUTH_PLACES || !rows[i].issuer[n]);
	}
}

static void secrets_go_over_tls_or_stay_on_this_machine(void **state)
{
	static const struct {
		const char *url;
		int far, local; /* for a server elsewhere, and for one on loopback */
	} rows[] = {
		{ "https://as.example/x", OK, OK },
		{ "http://as.example/x", E_DENIED, E_DENIED },
		{ "http://127.0.0.1:1/", E_DENIED, OK },
		{ "http://127.9.9.9/", E_DENIED, OK },
		{ "http://localhost/", E_DENIED, OK },
		{ "http://[::1]:80/", E_DENIED, OK },
		{ "http://127.evil.example/", E_DENIED, E_DENIED },
		{ "http://127.0.0.1.evil.example/", E_DENIED, E_DENIED },
		{ "http://localhost.evil.example/", E_DENIED, E_DENIED },
		{ "https://u:p@as.example/", E_DENIED, E_DENIED },
		{ "javascript:alert(1)", E_INVAL, E_INVAL },
		{ "file:///etc/passwd", E_INVAL, E_INVAL },
		{ "", E_INVAL, E_INVAL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct url u;

		assert_int_equal(oauth_url_read(&u, &a, str_of(rows[i].url), false, "x", NULL),
				 rows[i].far);
		assert_int_equal(oauth_url_read(&u, &a, str_of(rows[i].url), true, "x", NULL),
				 rows[i].local);
	}
}

static void no_proxy_spares_whole_names_and_what_is_below_them(void **state)
{
	static const struct {
		const char *list, *host;
		bool spared;
	} rows[] = {
		{ "", "as.example", false },
		{ "as.example", "as.example", true },
		{ "a.b, AS.example", "as.example", true },
		{ "a.b as.example", "as.example", true },
		{ "example", "as.example", true },
		{ ".example", "as.example", true },
		{ "s.example", "as.example", false },
		{ "as.example.com", "as.example", false },
		{ ",, ,", "as.example", false },
		{ "*", "as.example", true },
		{ "127.0.0.1", "127.0.0.1", true },
		{ "::1", "[::1]", true },
		{ "[::1]", "[::1]", true },
		{ "10.0.0.0/8", "10.1.2.3", true },
		{ "10.0.0.0/8", "as.example", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (oauth_url_spared(str_of(rows[i].list), str_of(rows[i].host)) !=
		    rows[i].spared)
			fail_msg("\"%s\" and %s", rows[i].list, rows[i].host);
}

static void issuer_is_the_same_with_or_without_a_last_slash(void **state)
{
	(void)state;
	assert_true(oauth_url_same_issuer(S("https://a"), S("https://a/")));
	assert_false(oauth_url_same_issuer(S("https://a"), S("https://a.b")));
	assert_false(oauth_url_same_issuer(S(""), S("/")));
}

static void resource_covers_what_is_below_it_at_the_same_origin(void **state)
{
	static const struct {
		const char *resource, *server;
		bool covers;
	} rows[] = {
		{ "https://h.example/mcp", "https://h.example/mcp", true },
		{ "https://h.example", "https://h.example/mcp", true },
		{ "https://h.example/", "https://h.example/mcp", true },
		{ "https://h.example/mcp/", "https://h.example/mcp/a", true },
		{ "https://H.EXAMPLE:443/mcp", "https://h.example/mcp", true },
		{ "https://h.example/mc", "https://h.example/mcp", false },
		{ "https://h.example/mcp/a", "https://h.example/mcp", false },
		{ "https://evil.example/mcp", "https://h.example/mcp", false },
		{ "http://h.example/mcp", "https://h.example/mcp", false },
		{ "https://h.example:8443/mcp", "https://h.example/mcp", false },
		{ "https://x@h.example/mcp", "https://h.example/mcp", false },
		{ "", "https://h.example/mcp", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct url u = parsed(&a, rows[i].server);

		assert_int_equal(oauth_url_covers(&a, str_of(rows[i].resource), &u),
				 rows[i].covers);
	}
}

static void resource_is_named_without_a_lone_slash(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct url u = parsed(&a, "HTTPS://Mcp.Example/#f");

	assert_string_equal(oauth_url_resource(&a, &u).p, "https://mcp.example");
	u = parsed(&a, "https://mcp.example:8443/a?t=1");
	assert_string_equal(oauth_url_resource(&a, &u).p, "https://mcp.example:8443/a?t=1");
}

static void challenge_is_that_of_the_standard(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_string_equal(
		oauth_url_challenge(&a, S("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")).p,
		"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

static void paste_is_an_address_a_query_or_a_code(void **state)
{
	static const struct {
		const char *text, *code, *state, *iss, *error;
		bool has_state, has_iss;
	} rows[] = {
		{ " " REDIRECT "?code=c%2F1&state=s&iss=https%3A%2F%2Fas \n", "c/1", "s",
		  "https://as", "", true, true },
		{ REDIRECT "?error=access_denied&state=s#x", "", "s", "", "access_denied", true,
		  false },
		{ REDIRECT "?code=c&state=s#iss=nope", "c", "s", "", "", true, false },
		{ "?code=c&state=s", "c", "s", "", "", true, false },
		{ "code=c", "c", "", "", "", false, false },
		{ "abc123", "abc123", "", "", "", false, false },
		{ "abc#st", "abc", "st", "", "", true, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct oauth_paste p;

		assert_int_equal(
			oauth_paste_read(&p, &a, str_of(rows[i].text), S(REDIRECT), NULL), OK);
		assert_true(str_eq(p.code, str_of(rows[i].code)));
		assert_true(str_eq(p.state, str_of(rows[i].state)));
		assert_true(str_eq(p.iss, str_of(rows[i].iss)));
		assert_true(str_eq(p.error, str_of(rows[i].error)));
		assert_int_equal(p.has_state, rows[i].has_state);
		assert_int_equal(p.has_iss, rows[i].has_iss);
	}
}

static void other_pastes_are_refused_and_not_repeated(void **state)
{
	static const char *const rows[] = {
		"",
		"two words",
		"\x01",
		"https://evil.example/?code=SECRET",
		REDIRECT,
		REDIRECT "/x?code=SECRET",
		REDIRECT "?state=SECRET",
		"http://127.0.0.1:33418/callbackx?code=SECRET",
		"code=",
		"\xC3\xBC",
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct oauth_paste p;
		struct err e = { 0 };

		assert_int_equal(oauth_paste_read(&p, &a, str_of(rows[i]), S(REDIRECT), &e),
				 E_INVAL);
		assert_null(strstr(e.msg, "SECRET"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metadata_is_looked_for_behind_the_host_and_before_the_path),
		cmocka_unit_test(secrets_go_over_tls_or_stay_on_this_machine),
		cmocka_unit_test(no_proxy_spares_whole_names_and_what_is_below_them),
		cmocka_unit_test(issuer_is_the_same_with_or_without_a_last_slash),
		cmocka_unit_test(resource_covers_what_is_below_it_at_the_same_origin),
		cmocka_unit_test(resource_is_named_without_a_lone_slash),
		cmocka_unit_test(challenge_is_that_of_the_standard),
		cmocka_unit_test(paste_is_an_address_a_query_or_a_code),
		cmocka_unit_test(other_pastes_are_refused_and_not_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

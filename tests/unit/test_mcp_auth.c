/*
 * What a server is shown: tokens from a variable and from a file, and what is said when there is
 * none or the server does not take it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loopback.h"
#include "mcp/auth.h"
#include "mcp/oauth_store.h"
#include "os/clock.h"
#include "os/file.h"

static const char *const vars[] = { "A_TOKEN= abc.def~123= ", "B_TOKEN=", "BAD=two words",
				    NULL };
static const struct env env = { vars };
static struct config config;
static char path[] = "/tmp/mcp-auth-XXXXXX", dir[] = "/tmp/mcp-auth-dir-XXXXXX";

static struct mcp_auth *made_at(str url, struct mcp_auth_cfg auth)
{
	struct mcp_server_cfg server = { .name = S("srv"), .http.url = url, .auth = auth };
	struct mcp_auth *au;

	assert_int_equal(
		mcp_auth_new(&au, &(struct mcp_auth_opt){ &server, &config, &env }, NULL), OK);
	return au;
}

static struct mcp_auth *made(struct mcp_auth_cfg auth)
{
	return made_at(S("https://srv.example/mcp"), auth);
}

static void shows(struct mcp_auth *au, const char *want)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct mcp_auth_show out;

	assert_int_equal(mcp_auth_show(au, "POST", &a, &out, NULL, &e), OK);
	assert_int_equal(out.n, want ? 1 : 0);
	if (want) {
		assert_string_equal(out.v[0].name.p, "Authorization");
		assert_string_equal(out.v[0].value.p, want);
	}
}

static void refuses(struct mcp_auth *au, const char *want)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct mcp_auth_show out;

	assert_int_equal(mcp_auth_show(au, "POST", &a, &out, NULL, &e), E_DENIED);
	assert_string_equal(e.msg, want);
}

/* The answer of the server to a request that had shown token ("" none). */
static int challenge(struct mcp_auth *au, int status, const char *token, struct err *e)
{
	struct mcp_auth_show used = { .v = { { S("Authorization"), str_of(token) } },
				      .n = *token ? 1 : 0 };

	return mcp_auth_challenge(au, &(struct http_resp){ .status = status }, &used, NULL, e);
}

static void token_comes_from_the_variable_that_is_named(void **state)
{
	struct mcp_auth *au = made((struct mcp_auth_cfg){ .bearer_env = S("A_TOKEN") });

	shows(au, "Bearer abc.def~123=");
	mcp_auth_free(au);
	mcp_auth_free(NULL);
}

static void missing_or_broken_token_is_said_with_the_variable_but_not_its_value(void **state)
{
	struct mcp_auth *au = made((struct mcp_auth_cfg){ .bearer_env = S("B_TOKEN") });

	refuses(au,
		"server srv: the variable B_TOKEN is not there or empty; put the token into "
		"it");
	mcp_auth_free(au);
	au = made((struct mcp_auth_cfg){ .bearer_env = S("BAD") });
	refuses(au, "server srv: the variable BAD holds no token: it has blanks or control "
		    "characters");
	mcp_auth_free(au);
}

static void without_a_token_there_is_no_header(void **state)
{
	struct err e = { 0 };
	struct mcp_auth *au = made((struct mcp_auth_cfg){ 0 });

	shows(au, NULL);
	assert_int_equal(challenge(au, 401, "", &e), E_DENIED);
	assert_non_null(strstr(
		e.msg,
		"server srv: it wants to know who you are; sign in with: gantry auth srv"));
	mcp_auth_free(au);
}

static void token_in_a_file_may_be_exchanged_at_any_time(void **state)
{
	struct err e = { 0 };
	struct mcp_auth *au = made((struct mcp_auth_cfg){ .bearer_file = str_of(path) });

	assert_int_equal(file_write_atomic(path, S("one\n"), 0600, &e), OK);
	shows(au, "Bearer one");
	assert_int_equal(challenge(au, 401, "Bearer one", &e), E_DENIED);
	assert_non_null(strstr(e.msg, "does not take the token in /tmp/"));
	assert_null(strstr(e.msg, "one;"));
	assert_int_equal(challenge(au, 403, "Bearer one", &e), E_DENIED);
	assert_non_null(strstr(e.msg, "does not let in"));
	assert_int_equal(file_write_atomic(path, S("two\n"), 0600, &e), OK);
	assert_int_equal(challenge(au, 401, "Bearer one", &e), OK);
	shows(au, "Bearer two");
	(void)unlink(path);
	{
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_auth_show out;

		assert_int_equal(mcp_auth_show(au, "GET", &a, &out, NULL, &e), E_DENIED);
		assert_non_null(strstr(e.msg, "server srv: auth.bearer_file"));
	}
	mcp_auth_free(au);
}

/* The file that a sign-in leaves. */
static void keep_at(str url, struct oauth_state s)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str below = arena_cat(&a, str_of(dir), S("/auth"));

	s.server = url;
	assert_int_equal(dir_make(below.p, 0700, NULL), OK);
	assert_int_equal(
		oauth_store_write(&s, oauth_store_path(&a, below, S("srv"), url), NULL), OK);
}

static void keep(struct oauth_state s)
{
	keep_at(S("https://srv.example/mcp"), s);
}

static void token_of_another_issuer_or_client_is_not_shown(void **state)
{
	static const struct {
		struct mcp_auth_cfg cfg;
		bool shown;
	} rows[] = {
		{ { .issuer = { "https://as.example/", 19 } }, true },
		{ { .issuer = { "https://evil.example", 20 } }, false },
		{ { .client_id = { "me", 2 } }, true },
		{ { .client_id = { "you", 3 } }, false },
	};

	keep((struct oauth_state){ .issuer = S("https://as.example"),
				   .client_id = S("me"),
				   .access = S("token"),
				   .type = S("Bearer") });
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct mcp_auth *au = made(rows[i].cfg);

		shows(au, rows[i].shown ? "Bearer token" : NULL);
		mcp_auth_free(au);
	}
}

static void address_belongs_to_the_sign_in_whose_state_it_has(void **state)
{
	static const struct {
		const char *paste;
		enum mcp_auth_fit fit;
	} rows[] = {
		{ "http://127.0.0.1:33418/callback?code=x&state=ours", MCP_AUTH_OURS },
		{ "http://127.0.0.1:33418/callback?error=no&state=ours", MCP_AUTH_OURS },
		{ "http://127.0.0.1:33418/callback?code=x&state=theirs", MCP_AUTH_ALIKE },
		{ "http://127.0.0.1:33418/callback?code=x", MCP_AUTH_ALIKE },
		{ "http://127.0.0.1:33418/callback?code=%00&state=ours", MCP_AUTH_ALIKE },
		{ "http://127.0.0.1:33418/callback?state=ours", MCP_AUTH_ELSEWHERE },
		{ "http://127.0.0.1:33418/callbacks?code=x&state=ours", MCP_AUTH_ELSEWHERE },
	};
	struct mcp_auth *au = made((struct mcp_auth_cfg){ 0 });

	keep((struct oauth_state){ .client_redirect = S("http://127.0.0.1:33418/callback"),
				   .pending_state = S("ours") });
	for (size_t i = 0; i < COUNT(rows); i++)
		if (mcp_auth_expects(au, str_of(rows[i].paste)) != rows[i].fit)
			fail_msg("%s", rows[i].paste);
	mcp_auth_free(au);
}

static void refusal_of_a_token_that_has_just_come_keeps_the_sign_in(void **state)
{
	struct mcp_auth *au = made((struct mcp_auth_cfg){ 0 });
	struct mcp_auth_status st;
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };

	keep((struct oauth_state){ .access = S("token"),
				   .type = S("Bearer"),
				   .refresh = S("next"),
				   .renewed_ms = clock_now_ms() });
	assert_int_equal(challenge(au, 401, "Bearer token", &e), E_DENIED);
	assert_non_null(strstr(e.msg, "it does not take a token that has just come"));
	mcp_auth_status(au, &a, &st);
	assert_true(st.renewable);
	shows(au, "Bearer token");
	mcp_auth_free(au);
}

static void nonce_that_another_call_has_kept_is_as_good_as_a_new_one(void **state)
{
	static const struct http_header heads[] = {
		{ { "www-authenticate", 16 }, { "DPoP error=\"use_dpop_nonce\"", 27 } },
		{ { "dpop-nonce", 10 }, { "n1", 2 } },
	};
	struct mcp_auth *au = made((struct mcp_auth_cfg){ 0 });
	struct mcp_auth_show used = { .v = { { S("Authorization"), S("DPoP token") } },
				      .n = 1 };
	struct http_resp resp = { .status = 401, .headers = heads, .headers_n = COUNT(heads) };

	keep((struct oauth_state){ .access = S("token"), .type = S("DPoP") });
	for (int i = 0; i < 2; i++)
		assert_int_equal(mcp_auth_challenge(au, &resp, &used, NULL, NULL), OK);
	resp.headers_n = 1;
	assert_int_equal(mcp_auth_challenge(au, &resp, &used, NULL, NULL), E_DENIED);
	mcp_auth_free(au);
}

#define NEXT "{\"access_token\":\"two\",\"token_type\":\"Bearer\",\"refresh_token\":\"r2\"}"

static void renewal_that_is_stopped_in_the_middle_is_kept(void **state)
{
	static const struct lb_step steps[] = {
		{ LB_READ, NULL, 0 },
		{ LB_FIRE, NULL, 0 },
		{ LB_PAUSE, NULL, 0 },
		{ LB_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n" NEXT, 0 },
		{ LB_END, NULL, 0 },
	};
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_auth_show out;
	struct cancel c, brief;
	struct loopback s;
	struct mcp_auth *au;
	str url;

	assert_int_equal(strlen(NEXT), 65);
	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	assert_int_equal(cancel_init(&brief, NULL, 1000, NULL), OK);
	lb_start(&s, steps, &c);
	url = lb_url(&s, &a, "/mcp");
	keep_at(url, (struct oauth_state){ .access = S("one"),
					   .type = S("Bearer"),
					   .refresh = S("r1"),
					   .until_ms = clock_now_ms() + 20000,
					   .token_endpoint = lb_url(&s, &a, "/token") });
	au = made_at(url, (struct mcp_auth_cfg){ 0 });
	/* Who has a second only goes on with what there is. */
	assert_int_equal(mcp_auth_show(au, "DELETE", &a, &out, &brief, NULL), OK);
	assert_string_equal(out.v[0].value.p, "Bearer one");
	assert_int_equal(s.requests, 0);
	assert_int_equal(mcp_auth_show(au, "POST", &a, &out, &c, NULL), OK);
	assert_int_equal(cancel_reason(&c), CANCEL_USER);
	shows(au, "Bearer two");
	lb_stop(&s);
	assert_non_null(strstr(s.request[0], "refresh_token=r1"));
	lb_free(&s);
	mcp_auth_free(au);
	cancel_done(&brief);
	cancel_done(&c);
}

static void clear(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *names, below = arena_cat(&a, str_of(dir), S("/auth"));
	size_t n = 0;

	if (dir_list(&names, &n, &a, below.p, 100, NULL) == OK)
		for (size_t i = 0; i < n; i++)
			(void)unlink(arena_fmt(&a, "%.*s/%.*s", STRF(below), STRF(names[i])).p);
	(void)rmdir(below.p);
	(void)rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(token_comes_from_the_variable_that_is_named),
		cmocka_unit_test(
			missing_or_broken_token_is_said_with_the_variable_but_not_its_value),
		cmocka_unit_test(without_a_token_there_is_no_header),
		cmocka_unit_test(token_of_another_issuer_or_client_is_not_shown),
		cmocka_unit_test(renewal_that_is_stopped_in_the_middle_is_kept),
		cmocka_unit_test(address_belongs_to_the_sign_in_whose_state_it_has),
		cmocka_unit_test(refusal_of_a_token_that_has_just_come_keeps_the_sign_in),
		cmocka_unit_test(nonce_that_another_call_has_kept_is_as_good_as_a_new_one),
		cmocka_unit_test(token_in_a_file_may_be_exchanged_at_any_time),
	};

	int failed;

	close(mkstemp(path));
	config.store.data_dir = str_of(mkdtemp(dir));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (!failed)
		clear();
	return failed;
}

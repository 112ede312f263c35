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
#include <unistd.h>

#include "mcp/auth.h"
#include "os/file.h"

static const char *const vars[] = { "A_TOKEN= abc.def~123= ", "B_TOKEN=", "BAD=two words",
				    NULL };
static const struct env env = { vars };
static struct config config;
static char path[] = "/tmp/mcp-auth-XXXXXX", dir[] = "/tmp/mcp-auth-dir-XXXXXX";

static struct mcp_auth *made(struct mcp_auth_cfg auth)
{
	struct mcp_server_cfg server = { .name = S("srv"),
					 .http.url = S("https://srv.example/mcp"),
					 .auth = auth };
	struct mcp_auth *au;

	assert_int_equal(
		mcp_auth_new(&au, &(struct mcp_auth_opt){ &server, &config, &env }, NULL), OK);
	return au;
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

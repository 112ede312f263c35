/*
 * What a child finds in its environment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "config/load.h"

static const char *const block[] = {
	"PATH=/bin",
	"HOME=/home/me",
	"LANG=C.UTF-8",
	"TZ=Europe/Berlin",
	"TMPDIR=/tmp",
	"GARMIN_TOKEN=theirs",
	"EMPTY=",
	"=odd",
	"noequals",
	"LLM_API_KEY=sk-own-key",
	"LLM_BASE_URL=http://h",
	"GEMINI_API_KEY=sk-own-key",
	"PROXY_NOTE=see sk-own-key there",
	"TELEGRAM_BOT_TOKEN=1:tok",
	"TELEGRAM_ALLOWED_USERS=1",
	"GANTRY_ANYTHING=x",
	"MTCLAW_CONFIG=x",
	"DATA_DIR=/data",
	"LOG_LEVEL=info",
	"SHORT=abc",
	"SHORTER=abcd",
	"https_proxy=http://u:proxypass@up",
	"SSL_CERT_FILE=/ca.pem",
	NULL,
};

static const str secrets[] = {
	{ "sk-own-key", 10 }, { "1:tok", 5 }, { "abc", 3 }, { "proxypass", 9 }
};
static const struct config config = { .secrets = secrets, .secrets_n = COUNT(secrets) };
static const struct env env = { block };

/* All of it on one line. */
static const char *child(struct arena *a, bool inherit, const str *extra, size_t n)
{
	struct buf b = buf_in(a, 1 << 16);

	for (const char *const *v = config_child_env(a, &config, &env, inherit, extra, n); *v;
	     v++)
		buf_fmt(&b, "%s%s", b.n ? "|" : "", *v);
	return buf_str(&b).p;
}

static void by_default_only_the_necessary_is_passed(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_string_equal(
		child(&a, false, NULL, 0),
		"PATH=/bin|HOME=/home/me|LANG=C.UTF-8|TZ=Europe/Berlin|TMPDIR=/tmp");
}

static void inheriting_passes_all_but_our_own_and_every_secret(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_string_equal(child(&a, true, NULL, 0),
			    "PATH=/bin|HOME=/home/me|LANG=C.UTF-8|TZ=Europe/Berlin|TMPDIR=/tmp|"
			    "GARMIN_TOKEN=theirs|EMPTY=|SHORTER=abcd|"
			    "https_proxy=http://u:proxypass@up|SSL_CERT_FILE=/ca.pem");
}

static void what_is_declared_is_there_and_wins(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const str extra[] = { { "HOME=/srv", 9 },
				     { "LLM_API_KEY=given on purpose", 28 },
				     { "X=1", 3 },
				     { "X=2", 3 } };

	assert_string_equal(child(&a, false, extra, COUNT(extra)),
			    "PATH=/bin|LANG=C.UTF-8|TZ=Europe/Berlin|TMPDIR=/tmp|HOME=/srv|"
			    "LLM_API_KEY=given on purpose|X=2");
}

static void there_is_always_a_path(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *const none[] = { NULL };
	const char *const *v =
		config_child_env(&a, &config, &(struct env){ none }, true, NULL, 0);

	assert_int_equal(strncmp(v[0], "PATH=/", 6), 0);
	assert_null(v[1]);
	v = config_child_env(&a, &config, &(struct env){ none }, true, &S("PATH=/x"), 1);
	assert_string_equal(v[0], "PATH=/x");
	assert_null(v[1]);
}

static void variables_in_a_text_are_those_of_the_child(void **state)
{
	static const char *const has[] = { "A=one", "LONG_2=two words", "EMPTY=", "AB=", NULL };
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "$A", "one" },
		{ "${A}", "one" },
		{ "x$A.y${LONG_2}z", "xone.ytwo wordsz" },
		{ "$A$A", "oneone" },
		{ "$LONG_2", "two words" },
		{ "$UNSET|${UNSET}|$EMPTY", "||" },
		{ "$AB", "" }, /* the longest name */
		{ "${A", "${A" },
		{ "${}", "${}" },
		{ "${A B}", "${A B}" },
		{ "$", "$" },
		{ "cost $5, $$A", "cost $5, $one" },
		{ "${A}}", "one}" },
	};
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(config_child_expand(&a, has, str_of(rows[i].text)).p,
				    rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_default_only_the_necessary_is_passed),
		cmocka_unit_test(inheriting_passes_all_but_our_own_and_every_secret),
		cmocka_unit_test(what_is_declared_is_there_and_wins),
		cmocka_unit_test(there_is_always_a_path),
		cmocka_unit_test(variables_in_a_text_are_those_of_the_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

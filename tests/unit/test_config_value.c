/*
 * Scalars as people write them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "config/value.h"

static const struct {
	const char *in;
	int is; /* -1: refused */
} bools[] = {
	{ "true", 1 }, { "false", 0 },  { "False", 0 },  { "0", 0 },      { "off", 0 },
	{ "No ", 0 },  { "yes", 1 },    { "ON", 1 },     { "1", 1 },      { "t", 1 },
	{ "F", 0 },    { "y", 1 },      { " n\n", 0 },   { "maybe", -1 }, { "", -1 },
	{ "2", -1 },   { "truee", -1 }, { "tr ue", -1 },
};

static void booleans_have_the_usual_spellings(void **state)
{
	for (size_t i = 0; i < COUNT(bools); i++) {
		bool is = bools[i].is != 1;
		const char *why = value_bool(str_of(bools[i].in), &is);

		if ((why != NULL) != (bools[i].is < 0) || (!why && is != bools[i].is))
			fail_msg("%s: %s", bools[i].in, why ? why : "taken");
	}
}

static const struct {
	const char *in;
	int64_t min, max, out; /* out -77: refused */
} ints[] = {
	{ "10", 0, 100, 10 },
	{ "10 ", 0, 100, 10 },
	{ " -1", -5, 100, -1 },
	{ "1e3", 0, 9999, -77 },
	{ "-1", 0, 100, -77 },
	{ "9999999999", 0, 100, -77 },
	{ "0x10", 0, 100, -77 },
	{ "1.0", 0, 100, -77 },
	{ "", 0, 100, -77 },
	{ "+5", 0, 100, -77 },
	{ "5 5", 0, 100, -77 },
	{ "101", 0, 100, -77 },
	{ "100", 0, 100, 100 },
	{ "010", 0, 100, 10 },
	{ "99999999999999999999", 0, INT64_MAX, -77 },
	{ "9223372036854775807", 0, INT64_MAX, INT64_MAX },
};

static void integers_are_strict(void **state)
{
	for (size_t i = 0; i < COUNT(ints); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int64_t v = -77;
		const char *why =
			value_int(&a, str_of(ints[i].in), ints[i].min, ints[i].max, &v);

		if ((why == NULL) == (ints[i].out == -77) || v != ints[i].out)
			fail_msg("%s: %lld, %s", ints[i].in, (long long)v, why ? why : "taken");
		if (why)
			assert_non_null(strstr(why, "must be a whole number"));
	}
}

static const struct {
	const char *in;
	double out; /* < 0: refused */
} reals[] = {
	{ "0", 0 },     { "0.7", 0.7 }, { " 2 ", 2 },  { "2.01", -1 },
	{ "-0.1", -1 }, { "nan", -1 },  { "inf", -1 }, { "0x1", -1 },
	{ "", -1 },     { "1,5", -1 },  { "1e0", 1 },  { "1 1", -1 },
};

static void real_numbers_have_a_range(void **state)
{
	for (size_t i = 0; i < COUNT(reals); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		double v = -1;
		const char *why = value_real(&a, str_of(reals[i].in), 0, 2, &v);

		if ((why == NULL) != (reals[i].out >= 0) || v != reals[i].out)
			fail_msg("%s: %s", reals[i].in, why ? why : "taken");
	}
}

static const struct {
	const char *in;
	int64_t ms; /* < 0: refused */
	const char *text;
} durations[] = {
	{ "30s", 30000, "30s" },
	{ "5m", 300000, "5m" },
	{ "1h30m", 5400000, "90m" },
	{ "250ms", 250, "250ms" },
	{ "1.5h", 5400000, "90m" },
	{ "0", 0, "0s" },
	{ "0s", 0, "0s" },
	{ "+2s", 2000, "2s" },
	{ "24h", 86400000, "24h" },
	{ "1m0.5s", 60500, "60500ms" },
	{ "1500us", 2, "2ms" },
	{ " 1s ", 1000, "1s" },
	{ "1\xc2\xb5s", 0, "0s" },
	{ "2000\xce\xbcs", 2, "2ms" }, /* the Greek letter, not the micro sign */
	{ ".5s", 500, "500ms" },
	{ "30", -1, NULL },
	{ "s", -1, NULL },
	{ "", -1, NULL },
	{ "-5s", -1, NULL },
	{ "5 m", -1, NULL },
	{ "5d", -1, NULL },
	{ "1h 30m", -1, NULL },
	{ "1e3s", -1, NULL },
	{ ".s", -1, NULL },
	{ "25h", -1, NULL }, /* over the maximum */
	{ "99999999999999999999h", -1, NULL },
};

static void durations_are_those_of_go(void **state)
{
	for (size_t i = 0; i < COUNT(durations); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int64_t v = -1, again;
		const char *why = value_ms(&a, str_of(durations[i].in), 0, 86400000, &v);

		if ((why == NULL) != (durations[i].ms >= 0) || v != durations[i].ms)
			fail_msg("%s: %lld, %s", durations[i].in, (long long)v,
				 why ? why : "taken");
		if (why)
			continue;
		assert_string_equal(value_ms_text(&a, v).p, durations[i].text);
		assert_null(value_ms(&a, value_ms_text(&a, v), 0, 86400000, &again));
		assert_int_equal(again, v);
	}
}

static void words_are_case_blind_and_have_aliases(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *words = "debug info warn warning=warn";
	str out;

	assert_null(value_word(&a, S(" DEBUG "), words, &out));
	assert_string_equal(out.p, "debug");
	assert_null(value_word(&a, S("Warning"), words, &out));
	assert_string_equal(out.p, "warn");
	assert_string_equal(value_word(&a, S("loud"), words, &out),
			    "must be one of: debug, info, warn");
	assert_non_null(value_word(&a, S(""), words, &out));
	assert_non_null(value_word(&a, S("debug info"), words, &out));
}

static const struct {
	const char *in, *out; /* NULL: refused */
} urls[] = {
	{ "https://api.openai.com/v1", "https://api.openai.com/v1" },
	{ " http://127.0.0.1:8080/v1/ ", "http://127.0.0.1:8080/v1" },
	{ "HTTPS://X", "HTTPS://X" },
	{ "http://[::1]:1/", "http://[::1]:1" },
	{ "http://user:pass%40word@h_1.example-x:8080/v1?a=b:c@d", "http://user:pass%40word@"
								   "h_1.example-x:8080/v1?a=b"
								   ":c@d" },
	{ "http://h:65535", "http://h:65535" },
	{ "http://münchen.example/", "http://münchen.example" },
	{ "http://h:65536", NULL },
	{ "http://h:0", NULL },
	{ "http://h:", NULL },
	{ "http://h:80x/v1", NULL },
	{ "http://h:+80", NULL },
	{ "http://h:8080:1", NULL },
	{ "http://h:99999999999999999999", NULL },
	{ "http://:8080", NULL },
	{ "http://user@", NULL },
	{ "http://user@:80", NULL },
	{ "http://a@b@c/", NULL },
	{ "http://a,b/", NULL },
	{ "http://a%20b/", NULL },
	{ "http://[::1", NULL },
	{ "http://[::1]x", NULL },
	{ "http://[]:80", NULL },
	{ "http://[host]/", NULL },
	{ "http://h\\@evil/", NULL },
	{ "http://h/v1#top", NULL },
	{ "ftp://x", NULL },
	{ "api.openai.com", NULL },
	{ "http://", NULL },
	{ "http:///v1", NULL },
	{ "https:/x", NULL },
	{ "not a url", NULL },
	{ "http://a b", NULL },
	{ "http://a\nb", NULL },
	{ "/v1", NULL },
	{ "", NULL },
};

static void urls_are_absolute(void **state)
{
	for (size_t i = 0; i < COUNT(urls); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str out = { 0 };
		const char *why = value_url(&a, str_of(urls[i].in), &out);

		if ((why == NULL) != (urls[i].out != NULL))
			fail_msg("%s", urls[i].in);
		if (!why)
			assert_string_equal(out.p, urls[i].out);
	}
}

static void scalars_are_quoted_where_needed(void **state)
{
	static const char *const rows[][2] = {
		{ "plain", "plain" },
		{ "/a/b-c_d.e", "/a/b-c_d.e" },
		{ "https://h/v1", "https://h/v1" },
		{ "", "\"\"" },
		{ "a: b", "\"a: b\"" },
		{ "-1", "\"-1\"" },
		{ "~/x", "\"~/x\"" },
		{ "null", "\"null\"" },
		{ "a b", "\"a b\"" },
		{ "q\"", "\"q\\\"\"" },
		{ "a#b", "\"a#b\"" },
		{ "a:", "\"a:\"" },
		{ "*", "\"*\"" },
		{ "[x]", "\"[x]\"" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(value_yaml(&a, str_of(rows[i][0])).p, rows[i][1]);
	}
}

static void distances_count_edits_and_swaps(void **state)
{
	static const struct {
		const char *a, *b;
		size_t d;
	} rows[] = {
		{ "", "", 0 },           { "abc", "abc", 0 },        { "abc", "", 3 },
		{ "model", "modle", 1 }, { "model", "mdel", 1 },     { "model", "modell", 1 },
		{ "model", "nodel", 1 }, { "kitten", "sitting", 3 }, { "ca", "abc", 3 },
	};
	SCOPED(arena_free) struct arena a = { 0 };
	char *x = arena_alloc(&a, 1, 200);

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(value_distance(str_of(rows[i].a), str_of(rows[i].b)),
				 rows[i].d);
		assert_int_equal(value_distance(str_of(rows[i].b), str_of(rows[i].a)),
				 rows[i].d);
	}
	memset(x, 'x', 200);
	assert_int_equal(value_distance((str){ x, 200 }, (str){ x, 200 }), 0);
	assert_true(value_distance((str){ x, 200 }, (str){ x, 199 }) > 3);
	assert_int_equal(value_distance((str){ x, 64 }, (str){ x, 63 }), 1);
}

static void names_of_variables_and_single_words_are_told_apart(void **state)
{
	(void)state;
	assert_true(value_variable(S("_A1")) && value_variable(S("a")));
	assert_false(value_variable(S("")) || value_variable(S("1A")) ||
		     value_variable(S("A-B")) || value_variable(S("123:AA")));
	assert_true(value_one_word(S("sk-1:x~")));
	assert_false(value_one_word(S("")) || value_one_word(S("a b")) ||
		     value_one_word(S("a\x7f")) || value_one_word(S("\xc3\xa4")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(booleans_have_the_usual_spellings),
		cmocka_unit_test(integers_are_strict),
		cmocka_unit_test(real_numbers_have_a_range),
		cmocka_unit_test(durations_are_those_of_go),
		cmocka_unit_test(words_are_case_blind_and_have_aliases),
		cmocka_unit_test(urls_are_absolute),
		cmocka_unit_test(scalars_are_quoted_where_needed),
		cmocka_unit_test(names_of_variables_and_single_words_are_told_apart),
		cmocka_unit_test(distances_count_edits_and_swaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

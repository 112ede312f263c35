/*
 * JSON: what is read, what is mended, what is refused, and what is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/json.h"

#define CASE_MAX (4u << 20)

static str file_bytes(struct arena *a, const char *dir, const char *name)
{
	str path = arena_fmt(a, "%s/%s", dir, name);
	char *p = arena_alloc(a, 1, CASE_MAX);
	FILE *f = fopen(path.p, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(p, 1, CASE_MAX, f);
	assert_true(n < CASE_MAX);
	(void)fclose(f);
	return (str){ p, n };
}

/* Every file of dir that begins with prefix must be accepted or refused. */
static size_t walk(const char *dir, const char *prefix, bool accept)
{
	DIR *d = opendir(dir);
	size_t n = 0, wrong = 0;

	if (!d)
		fail_msg("cannot open %s", dir);
	for (struct dirent *f; (f = readdir(d));) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct err e = { 0 };
		struct json *v = NULL;
		int rc;

		if (f->d_name[0] == '.' || strncmp(f->d_name, prefix, strlen(prefix)) != 0)
			continue;
		n++;
		rc = json_read(&v, &a, file_bytes(&a, dir, f->d_name), &e);
		if ((rc == OK) == accept && (accept ? v != NULL : e.msg[0] != 0))
			continue;
		wrong++;
		print_error("%s: %s\n", f->d_name, rc == OK ? "accepted" : e.msg);
	}
	(void)closedir(d);
	assert_int_equal(wrong, 0);
	return n;
}

static void own_cases_are_accepted_or_refused_as_their_folder_says(void **state)
{
	assert_true(walk("tests/cases/json/accept", "", true) >= 25);
	assert_true(walk("tests/cases/json/reject", "", false) >= 30);
}

static void the_public_suite_is_accepted_and_refused_as_its_names_say(void **state)
{
	const char *dir = getenv("GANTRY_JSONTESTSUITE");

	if (!dir || !*dir) {
		print_message("GANTRY_JSONTESTSUITE is not set: JSONTestSuite left out\n");
		skip();
	}
	assert_true(walk(dir, "y_", true) >= 90);
	assert_true(walk(dir, "n_", false) >= 180);
}

static const struct {
	const char *name;
	str in, out;
} round_trips[] = {
	{ "plain", S("{\"a\":1,\"b\":[true,false,null,\"x\"]}"),
	  S("{\"a\":1,\"b\":[true,false,null,\"x\"]}") },
	{ "white space", S(" \t\r\n[ 1 , 2 ] \n"), S("[1,2]") },
	{ "byte order mark", S("\xef\xbb\xbf[1]"), S("[1]") },
	{ "order of keys", S("{\"z\":1,\"a\":2,\"m\":3}"), S("{\"z\":1,\"a\":2,\"m\":3}") },
	{ "the last of a repeated key", S("{\"a\":1,\"b\":2,\"a\":3}"),
	  S("{\"a\":3,\"b\":2}") },
	{ "largest integers", S("[9223372036854775807,-9223372036854775808]"),
	  S("[9223372036854775807,-9223372036854775808]") },
	{ "beyond 64 bits beside an exact one", S("[9223372036854775808,9007199254740993]"),
	  S("[9.223372036854776e+18,9007199254740993]") },
	{ "below 64 bits", S("{\"n\":-9223372036854775809}"),
	  S("{\"n\":-9.223372036854776e+18}") },
	{ "digits that are text", S("[\"92233720368547758089\"]"),
	  S("[\"92233720368547758089\"]") },
	{ "long fraction", S("[0.12345678901234567890123]"), S("[0.12345678901234568]") },
	{ "real", S("[1.5,1e3,-0.0,1E-2]"), S("[1.5,1000.0,-0.0,0.01]") },
	{ "escapes", S("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"]"),
	  S("[\"\\\"\\\\/\\b\\f\\n\\r\\tA\"]") },
	{ "NUL in a string", S("[\"a\\u0000b\"]"), S("[\"a\\u0000b\"]") },
	{ "NUL in a key", S("{\"a\\u0000b\" : 1}"),
	  S("{\"a\xef\xbf\xbd"
	    "b\":1}") },
	{ "NUL in a value and in a key", S("{\"k\\u0000\":\"v\\u0000\"}"),
	  S("{\"k\xef\xbf\xbd\":\"v\\u0000\"}") },
	{ "surrogate pair", S("[\"\\ud83d\\ude00\"]"), S("[\"\xf0\x9f\x98\x80\"]") },
	{ "lone high surrogate", S("[\"x\\ud83dy\"]"), S("[\"x\xef\xbf\xbdy\"]") },
	{ "lone low surrogate", S("[\"\\uDE00\"]"), S("[\"\xef\xbf\xbd\"]") },
	{ "two high ones, then a pair", S("[\"\\ud83d\\ud83d\\ude00\"]"),
	  S("[\"\xef\xbf\xbd\xf0\x9f\x98\x80\"]") },
	{ "high one before another escape", S("[\"\\ud83d\\n\"]"), S("[\"\xef\xbf\xbd\\n\"]") },
	{ "an escaped backslash before u", S("[\"\\\\ud83d\"]"), S("[\"\\\\ud83d\"]") },
	{ "lone surrogate in a key", S("{\"\\ud83d\":1}"), S("{\"\xef\xbf\xbd\":1}") },
	{ "bad UTF-8",
	  S("[\"a\xff"
	    "b\xc3\"]"),
	  S("[\"a\xef\xbf\xbd"
	    "b\xef\xbf\xbd\"]") },
	{ "encoded surrogate", S("[\"\xed\xa0\x80\"]"),
	  S("[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]") },
	{ "line separator stays", S("[\"\xe2\x80\xa8\"]"), S("[\"\xe2\x80\xa8\"]") },
	{ "control characters", S("[\"\\u0001\\u001f\\u007f\"]"),
	  S("[\"\\u0001\\u001f\x7f\"]") },
	{ "a bare value", S("\"x\""), S("\"x\"") },
	{ "empty containers", S("{\"\":{},\"l\":[]}"), S("{\"\":{},\"l\":[]}") },
};

static void text_survives_reading_and_writing(void **state)
{
	for (size_t i = 0; i < COUNT(round_trips); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 1 << 20);
		struct err e = { 0 };
		struct json *v;

		if (json_read(&v, &a, round_trips[i].in, &e) < 0)
			fail_msg("%s: %s", round_trips[i].name, e.msg);
		json_write(&b, v);
		if (!str_eq(buf_str(&b), round_trips[i].out))
			fail_msg("%s: wrote %s", round_trips[i].name, buf_str(&b).p);
	}
}

static str nested(struct arena *a, size_t depth)
{
	struct buf b = buf_in(a, 1 << 20);

	for (size_t i = 0; i < depth; i++)
		buf_add(&b, i % 2 ? S("{\"a\":") : S("["));
	buf_addc(&b, '1');
	for (size_t i = depth; i-- > 0;)
		buf_addc(&b, i % 2 ? '}' : ']');
	return buf_str(&b);
}

static void nesting_has_a_limit(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf brackets = buf_in(&a, 1 << 20);
	struct err e = { 0 };
	struct json *v;

	assert_int_equal(json_read(&v, &a, nested(&a, 512), &e), OK);
	assert_int_equal(json_read(&v, &a, nested(&a, 513), &e), E_LIMIT);
	for (size_t i = 0; i < 1000; i++)
		buf_add(&brackets, S("\"[[[[\","));
	assert_int_equal(json_read(&v, &a, arena_fmt(&a, "[%s1]", buf_str(&brackets).p), &e),
			 OK);
}

static void an_error_has_line_and_column_and_no_text(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct json *v = NULL;

	assert_int_equal(json_read(&v, &a, S("{\n  \"key\": hunter2\n}"), &e), E_PROTO);
	assert_null(v);
	assert_non_null(strstr(e.msg, "JSON line 2 column"));
	assert_null(strstr(e.msg, "hunter2"));
	assert_int_equal(json_read(&v, &a, S(""), &e), E_PROTO);
	assert_int_equal(json_read(&v, &a, (str){ 0 }, NULL), E_PROTO);
}

static void looking_up_absent_things_gives_the_default(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json *v;

	assert_int_equal(json_read(&v, &a,
				   S("{\"s\":\"x\",\"i\":-7,\"r\":3.0,\"h\":1.5,\"big\":1e300,"
				     "\"t\":true,\"f\":false,\"l\":[1,[2]],\"n\":null}"),
				   NULL),
			 OK);
	assert_true(str_eq(json_str(v, "s"), S("x")));
	assert_int_equal(json_str(v, "s").p[1], 0);
	assert_int_equal(json_str(v, "i").n, 0);
	assert_int_equal(json_i64(v, "i", 1), -7);
	assert_int_equal(json_i64(v, "r", 1), 3);
	assert_int_equal(json_i64(v, "h", 1), 1);
	assert_int_equal(json_i64(v, "big", 1), 1);
	assert_int_equal(json_i64(v, "s", 1), 1);
	assert_true(json_bool(v, "t", false));
	assert_false(json_bool(v, "f", true));
	assert_true(json_bool(v, "n", true));
	assert_int_equal(json_at(json_at(json_get(v, "l"), 1), 0)->i, 2);
	assert_null(json_at(json_get(v, "l"), 2));
	assert_int_equal(json_get(v, "l")->n, 2);
	assert_null(json_get(NULL, "x"));
	assert_null(json_get(json_get(v, "l"), "x"));
	assert_null(json_at(NULL, 0));
	assert_false(json_is(NULL, JSON_NULL));
	assert_true(json_is(json_get(v, "n"), JSON_NULL));
	assert_int_equal(json_i64(NULL, "x", 5), 5);
}

static void strings_are_written_valid_whatever_they_hold(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 10);

	buf_json(&b, S("\xff\x00\xe2\x82\"\\\x1b"));
	assert_string_equal(buf_str(&b).p,
			    "\"\xef\xbf\xbd\\u0000\xef\xbf\xbd\\\"\\\\\\u001b\"");
}

static void members_get_their_commas(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 10);

	buf_addc(&b, '{');
	buf_json_member(&b, "a", S("1"));
	buf_json_member_i64(&b, "b", -2);
	buf_json_key(&b, "c");
	buf_addc(&b, '{');
	buf_json_member(&b, "d", S("{"));
	buf_json_member(&b, "e", S(""));
	buf_add(&b, S("}}"));
	assert_string_equal(buf_str(&b).p,
			    "{\"a\":\"1\",\"b\":-2,\"c\":{\"d\":\"{\",\"e\":\"\"}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_cases_are_accepted_or_refused_as_their_folder_says),
		cmocka_unit_test(the_public_suite_is_accepted_and_refused_as_its_names_say),
		cmocka_unit_test(text_survives_reading_and_writing),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(an_error_has_line_and_column_and_no_text),
		cmocka_unit_test(looking_up_absent_things_gives_the_default),
		cmocka_unit_test(strings_are_written_valid_whatever_they_hold),
		cmocka_unit_test(members_get_their_commas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Results as text: each tests/cases/mcp/result-*.json is an answer of a server, and
 * the .text beside it what the model reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "mcp/result.h"
#include "os/file.h"

static str text_of(struct arena *a, str answer, bool *failed)
{
	struct err e = { 0 };
	struct json *v;

	*failed = true;
	if (json_read(&v, a, answer, &e) < 0)
		fail_msg("%s", e.msg);
	return json_get(v, "error") ? mcp_result_error(a, json_get(v, "error"))
				    : mcp_result_text(a, json_get(v, "result"), failed);
}

static void each_answer_is_read_as_the_text_beside_it(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	size_t n, cases = 0, wrong = 0;
	str *names;

	assert_int_equal(dir_list(&names, &n, &a, "tests/cases/mcp", 1000, &e), OK);
	for (size_t i = 0; i < n; i++) {
		str name = names[i], answer, want, got;
		bool failed;

		if (!str_starts(name, S("result-")) || !str_ends(name, S(".json")))
			continue;
		cases++;
		str path = arena_fmt(&a, "tests/cases/mcp/%.*s", (int)name.n - 5, name.p);

		assert_int_equal(
			file_read(&answer, &a, arena_fmt(&a, "%s.json", path.p).p, 1 << 20, &e),
			OK);
		if (file_read(&want, &a, arena_fmt(&a, "%s.text", path.p).p, 1 << 20, &e) < 0)
			want = S("nothing");
		got = text_of(&a, answer, &failed);
		assert_int_equal(failed, str_starts(got, S("tool error: ")));
		assert_true(got.n && utf_valid(got));
		if (str_eq(arena_cat(&a, got, S("\n")), want))
			continue;
		wrong++;
		print_error("%s reads as\n%.*s\n", path.p, STRF(got));
	}
	assert_int_equal(wrong, 0);
	assert_true(cases >= 30);
}

static void structured_content_is_held_to_what_was_promised(void **state)
{
	static const char schema[] =
		"{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{"
		"\"n\":{\"type\":\"integer\"}}}";
	static const struct {
		const char *schema, *result, *why;
	} rows[] = {
		{ schema, "{\"content\":[],\"structuredContent\":{\"n\":1}}", "" },
		{ schema, "{\"content\":[],\"structuredContent\":{\"n\":\"1\"}}",
		  "structuredContent.n: must be an integer, not a string" },
		{ schema, "{\"content\":[],\"structuredContent\":{}}",
		  "structuredContent: n is missing" },
		{ schema, "{\"content\":[]}", "structuredContent is missing" },
		{ schema, "{\"content\":[],\"isError\":true}", "" },
		{ "", "{\"content\":[]}", "" },
		{ "{", "{\"content\":[],\"structuredContent\":3}", "" },
		{ "{\"$ref\":\"#\"}", "{\"content\":[],\"structuredContent\":{}}", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct json *v;
		assert_int_equal(json_read(&v, &a, str_of(rows[i].result), NULL), OK);
		str why = mcp_result_mismatch(&a, str_of(rows[i].schema), v);
		if (!str_eq(why, str_of(rows[i].why)))
			fail_msg("row %zu: %.*s", i, STRF(why));
	}
}

static void a_big_object_is_compared_in_reasonable_time(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf data = buf_in(&a, 16 << 20), twisted = buf_in(&a, 16 << 20);
	struct buf b = buf_in(&a, 64 << 20);
	bool failed;
	str text;

	buf_add(&data, S("{"));
	buf_add(&twisted, S("{"));
	for (int i = 0; i < 100000; i++) {
		buf_fmt(&data, "%s\"k%d\":%d", i ? "," : "", i, i);
		buf_fmt(&twisted, "%s\"k%d\":%d", i ? "," : "", 99999 - i, 99999 - i);
	}
	buf_add(&data, S("}"));
	buf_add(&twisted, S("}"));
	buf_add(&b, S("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":"));
	buf_json(&b, buf_str(&twisted));
	buf_add(&b, S("}],\"structuredContent\":"));
	buf_add(&b, buf_str(&data));
	buf_add(&b, S("}}"));
	text = text_of(&a, buf_str(&b), &failed);
	assert_false(failed);
	assert_int_equal(text.n, data.n + 1 + twisted.n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer_is_read_as_the_text_beside_it),
		cmocka_unit_test(structured_content_is_held_to_what_was_promised),
		cmocka_unit_test(a_big_object_is_compared_in_reasonable_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

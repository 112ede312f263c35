/* Parameters that are shown as headers: which are, which tools are refused, and how values look. */
#include "mcp/http_marks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define P(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"

static const struct {
	const char *schema, *args, *want;
} cases[] = {
	{ P("\"a\":{\"type\":\"string\"}"), "{\"a\":\"x\"}", "" },
	{ P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}"), "{\"a\":\"us west\"}",
	  "Mcp-Param-Region=us west\n" },
	{ P("\"a\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"
	    "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"},"
	    "\"c\":{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"C\"}"),
	  "{\"a\":-7,\"b\":false,\"c\":\"\"}",
	  "Mcp-Param-N=-7\nMcp-Param-B=false\nMcp-Param-C=\n" },
	/* What is null, absent or of another type is not shown. */
	{ P("\"a\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"},"
	    "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"},"
	    "\"c\":{\"type\":\"string\",\"x-mcp-header\":\"C\"}"),
	  "{\"a\":null,\"c\":[1]}", "" },
	{ P("\"a\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"}"), "{\"a\":42.0}",
	  "Mcp-Param-N=42\n" },
	{ P("\"o\":" P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"Deep\"}")),
	  "{\"o\":{\"a\":\"x\"},\"a\":\"y\"}", "Mcp-Param-Deep=x\n" },
	{ P("\"o\":" P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"Deep\"}")), "{\"o\":3}",
	  "" },
};

static void marked_parameters_become_headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 4096);
		struct http_header v[8];
		struct mcp_mark *marks;
		struct json *args;

		assert_int_equal(mcp_marks_read(&marks, &a, str_of(cases[i].schema), NULL), OK);
		assert_int_equal(json_read(&args, &a, str_of(cases[i].args), NULL), OK);
		size_t n = mcp_marks_headers(mcp_marks_copy(&a, marks), &a, args, v, COUNT(v));
		for (size_t k = 0; k < n; k++)
			buf_fmt(&b, "%.*s=%.*s\n", STRF(v[k].name), STRF(v[k].value));
		assert_string_equal(buf_str(&b).p, cases[i].want);
	}
}

static void a_tool_whose_marks_are_not_allowed_is_refused(void **state)
{
	static const char *const bad[] = {
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}"),
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":7}"),
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"My Region\"}"),
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A:b\"}"),
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"R\xc3\xa9gion\"}"),
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\\t1\"}"),
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\\r\\nX: y\"}"),
		P("\"a\":{\"type\":\"object\",\"x-mcp-header\":\"A\"}"),
		P("\"a\":{\"type\":\"array\",\"x-mcp-header\":\"A\"}"),
		P("\"a\":{\"type\":\"null\",\"x-mcp-header\":\"A\"}"),
		P("\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}"),
		P("\"a\":{\"x-mcp-header\":\"A\"}"),
		P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},"
		  "\"b\":{\"type\":\"string\",\"x-mcp-header\":\"a\"}"),
		P("\"o\":" P("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}")),
	};
	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_mark *marks;
		struct err e = { 0 };

		if (mcp_marks_read(&marks, &a, str_of(bad[i]), &e) != E_PROTO)
			fail_msg("taken: %s", bad[i]);
		assert_true(e.msg[0]);
		assert_null(marks);
	}
}

static void values_that_would_not_survive_are_encoded(void **state)
{
	static const struct {
		str s;
		const char *want;
	} rows[] = {
		{ { "us-west1", 8 }, "us-west1" },
		{ { "a b", 3 }, "a b" },
		{ { "", 0 }, "" },
		{ { "Hello, \xe4\xb8\x96\xe7\x95\x8c", 13 },
		  "=?base64?SGVsbG8sIOS4lueVjA==?=" },
		{ { " padded ", 8 }, "=?base64?IHBhZGRlZCA=?=" },
		{ { "line1\nline2", 11 }, "=?base64?bGluZTEKbGluZTI=?=" },
		{ { "a\tb", 3 }, "=?base64?YQli?=" },
		{ { "=?base64?literal?=", 18 }, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=" },
		{ { "=?base64?open", 13 }, "=?base64?open" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(arena_cstr(&a, mcp_marks_value(&a, rows[i].s)),
				    rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marked_parameters_become_headers),
		cmocka_unit_test(a_tool_whose_marks_are_not_allowed_is_refused),
		cmocka_unit_test(values_that_would_not_survive_are_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

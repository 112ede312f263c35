/*
 * Lists and the catalogue: what a server leaves out, what is filtered, how it is sorted, and
 * that a listing survives being kept as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/catalog.h"

static void read_list(struct mcp_listing *l, const char *text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct json *v;

	*l = (struct mcp_listing){ 0 };
	if (json_read(&v, &a, str_of(text), &e) < 0 || mcp_listing_add(l, v, &e) < 0)
		fail_msg("%s", e.msg);
}

static const char full[] =
	"{\"tools\":[{\"name\":\"z\",\"title\":\"Zed\",\"description\":\"Does \\\"z\\\".\","
	"\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}},"
	"\"annotations\":{\"readOnlyHint\":true,\"idempotentHint\":true}},"
	"{\"name\":\"a\",\"annotations\":{\"title\":\"Ay\",\"destructiveHint\":false}},"
	"{\"name\":\"m\",\"inputSchema\":7},{\"name\":\"\"},{\"name\":\"a\"},{\"x\":1},5]}";

static void what_is_left_out_gets_its_default(void **state)
{
	SCOPED(mcp_listing_done) struct mcp_listing l;

	read_list(&l, full);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.dropped, 4);
	assert_string_equal(l.tools[0].title.p, "Zed");
	assert_string_equal(
		l.tools[0].schema.p,
		"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}");
	assert_true(l.tools[0].read_only && l.tools[0].idempotent && !l.tools[0].destructive);
	assert_string_equal(l.tools[1].title.p, "Ay");
	assert_string_equal(l.tools[1].schema.p, "{\"type\":\"object\",\"properties\":{}}");
	assert_true(!l.tools[1].read_only && !l.tools[1].destructive && !l.tools[1].idempotent);
	assert_string_equal(l.tools[2].schema.p, "{\"type\":\"object\",\"properties\":{}}");
	assert_true(l.tools[2].destructive);
}

static void a_listing_survives_being_kept_as_text(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(mcp_listing_done) struct mcp_listing l;
	SCOPED(mcp_listing_done) struct mcp_listing again;
	str text;

	read_list(&l, full);
	text = mcp_listing_text(&l, &a);
	read_list(&again, text.p);
	assert_int_equal(again.dropped, 0);
	assert_true(str_eq(text, mcp_listing_text(&again, &a)));
	assert_int_equal(again.n, l.n);
	assert_true(again.tools[0].read_only && !again.tools[1].destructive);
}

static void only_a_tool_that_has_to_be_a_task_is_to_be_called_as_one(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(mcp_listing_done) struct mcp_listing l;
	SCOPED(mcp_listing_done) struct mcp_listing again;

	read_list(&l,
		  "{\"tools\":[{\"name\":\"r\",\"execution\":{\"taskSupport\":\"required\"}},"
		  "{\"name\":\"o\",\"execution\":{\"taskSupport\":\"optional\"}},"
		  "{\"name\":\"f\",\"execution\":{\"taskSupport\":\"forbidden\"}},{\"name\":"
		  "\"n\"}]}");
	read_list(&again, mcp_listing_text(&l, &a).p);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(l.tools[i].as_task + again.tools[i].as_task, i ? 0 : 2);
}

static void a_print_changes_with_all_that_is_said_of_a_tool_and_with_nothing_else(void **state)
{
	static const char *const rows[] = {
		"{\"tools\":[{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":{\"a\":1}}]"
		"}",
		"{\"tools\":[{\"name\":\"u\",\"description\":\"d\",\"inputSchema\":{\"a\":1}}]"
		"}",
		"{\"tools\":[{\"name\":\"t\",\"description\":\"e\",\"inputSchema\":{\"a\":1}}]"
		"}",
		"{\"tools\":[{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":{\"a\":2}}]"
		"}",
		"{\"tools\":[{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":{\"a\":1},"
		"\"outputSchema\":{}}]}",
		"{\"tools\":[{\"name\":\"t\",\"title\":\"T\",\"description\":\"d\","
		"\"inputSchema\":"
		"{\"a\":1}}]}",
		"{\"tools\":[{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":{\"a\":1},"
		"\"annotations\":{\"readOnlyHint\":true}}]}",
	};
	SCOPED(arena_free) struct arena a = { 0 };
	str prints[COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(mcp_listing_done) struct mcp_listing l;
		SCOPED(mcp_listing_done) struct mcp_listing kept;
		read_list(&l, rows[i]);
		read_list(&kept, mcp_listing_text(&l, &a).p);
		assert_true(str_eq(l.tools[0].print, kept.tools[0].print));
		assert_true(str_eq(l.tools[0].output, kept.tools[0].output));
		assert_int_equal(l.tools[0].print.n, 32);
		prints[i] = arena_dup(&a, l.tools[0].print);
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(prints[k], prints[i]));
	}
}

static void the_catalogue_is_filtered_sorted_and_has_a_revision_of_its_content(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(mcp_listing_done) struct mcp_listing l;
	static const str not_m[] = { { "m", 1 } };
	struct mcp_server_cfg one = { .name = S("one"),
				      .exclude = { not_m, 1 },
				      .trusted = true };
	struct mcp_server_cfg two = { .name = S("two"), .tools_prefix = S("alpha") };
	struct mcp_source v[2], w[2];
	struct mcp_catalog c, d, copy;

	read_list(&l, full);
	v[0] = w[1] = (struct mcp_source){ .cfg = &one, .listing = &l };
	v[1] = w[0] = (struct mcp_source){ .cfg = &two, .listing = &l };
	mcp_catalog_build(&a, v, 2, &c);
	assert_int_equal(c.n, 5);
	assert_string_equal(c.tools[0].name.p, "alpha__a");
	assert_string_equal(c.tools[0].server.p, "two");
	assert_string_equal(c.tools[4].name.p, "one__z");
	assert_true(c.tools[4].trusted && !c.tools[0].trusted);
	assert_int_equal(v[0].published, 2);
	assert_int_equal(v[1].published, 3);
	assert_int_equal(v[0].tokens, (strlen("one__z"
					      "Does \"z\"."
					      "one__a") +
				       l.tools[0].schema.n + l.tools[1].schema.n) /
					      4);
	mcp_catalog_build(&a, w, 2, &d);
	assert_true(c.rev == d.rev);
	mcp_catalog_copy(&a, &c, &copy);
	assert_true(copy.rev == c.rev && copy.n == c.n && copy.tools != c.tools);
	assert_string_equal(copy.tools[2].schema.p, c.tools[2].schema.p);
	one.trusted = false;
	mcp_catalog_build(&a, w, 2, &d);
	assert_false(c.rev == d.rev);
}

static void no_server_is_an_empty_catalogue(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_catalog c = { .n = 3 };

	mcp_catalog_build(&a, NULL, 0, &c);
	assert_int_equal(c.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out_gets_its_default),
		cmocka_unit_test(a_listing_survives_being_kept_as_text),
		cmocka_unit_test(only_a_tool_that_has_to_be_a_task_is_to_be_called_as_one),
		cmocka_unit_test(
			a_print_changes_with_all_that_is_said_of_a_tool_and_with_nothing_else),
		cmocka_unit_test(
			the_catalogue_is_filtered_sorted_and_has_a_revision_of_its_content),
		cmocka_unit_test(no_server_is_an_empty_catalogue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

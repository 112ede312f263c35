/*
 * Names of tools: what they look like, that they are distinct, and that they stay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/names.h"

static const struct row {
	const char *prefix, *tool, *name;
} rows[] = {
	{ "google-workspace", "gmail.search", "google-workspace__gmail_search" },
	{ "garm", "sleep_get", "garm__sleep_get" },
	{ "srv", "a.b", "srv__a_b_2ddd19ac" },
	{ "srv", "a_b", "srv__a_b" },
	{ "srv", "a b", "srv__a_b_55db8612" },
	{ "srv", "123go", "srv__123go" },
	{ "srv", "na\xC3\xAFve tool", "srv__na_ve_tool" },
	{ "srv", "  padded ", "srv__padded" },
	{ "1st", "x", "_1st__x" },
	{ "-x", "y", "_-x__y" },
	{ "_x", "y", "_x__y" },
	{ "\xE5\xA4\xA9\xE6\xB0\x97", "\xE6\x99\xB4",
	  "____"
	  "_" },
	{ "customer-database-management",
	  "synchronize_all_customer_data_across_multiple_regional_systems_v1",
	  "customer-database-management__synchronize_all_customer__e069f458" },
	{ "customer-database-management",
	  "synchronize_all_customer_data_across_multiple_regional_systems_v2",
	  "customer-database-management__synchronize_all_customer__e0699c8f" },
	{ "a-server-whose-name-alone-is-longer-than-what-is-fine", "tool-number-1",
	  "a-server-whose-name-alone-is-longer-than__tool-number-1_272c7e8e" },
	{ "a__b", "c", "a__b__c_bf0c9497" },
	{ "a", "b__c", "a__b__c_99ba5a3d" },
	{ "two", "same", "two__same" },
	{ "one", "same", "one__same" },
};

static void fill(struct mcp_named *v, const size_t *order)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *r = &rows[order ? order[i] : i];

		v[i] = (struct mcp_named){ .server = str_of(r->prefix),
					   .prefix = str_of(r->prefix),
					   .tool = str_of(r->tool) };
	}
}

static void check_form(str name)
{
	assert_true(name.n > 0 && name.n <= MCP_NAME_MAX);
	assert_null(strchr("0123456789-", name.p[0]));
	for (size_t i = 0; i < name.n; i++)
		assert_non_null(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789_-",
				       name.p[i]));
}

static void each_tool_gets_a_valid_name_of_its_own(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_named v[COUNT(rows)];
	size_t wrong = 0;

	fill(v, NULL);
	mcp_names(&a, v, COUNT(v));
	for (size_t i = 0; i < COUNT(v); i++) {
		check_form(v[i].name);
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(v[i].name, v[k].name));
		if (!str_eq(v[i].name, str_of(rows[i].name))) {
			print_error("%s, %s: %.*s\n", rows[i].prefix, rows[i].tool,
				    STRF(v[i].name));
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static void names_do_not_depend_on_the_order(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_named v[COUNT(rows)];
	size_t order[COUNT(rows)];

	for (size_t shift = 0; shift < COUNT(rows); shift++) {
		for (size_t i = 0; i < COUNT(rows); i++)
			order[i] = (COUNT(rows) * 2 - 1 - i + shift) % COUNT(rows);
		fill(v, order);
		mcp_names(&a, v, COUNT(v));
		for (size_t i = 0; i < COUNT(v); i++)
			assert_true(str_eq(v[i].name, str_of(rows[order[i]].name)));
	}
}

static void two_servers_with_one_prefix_do_not_clash(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_named v[] = {
		{ .server = S("a"), .prefix = S("p"), .tool = S("t") },
		{ .server = S("b"), .prefix = S("p"), .tool = S("t") },
		{ .server = S("c"), .prefix = S("p"), .tool = S("u") },
	};

	mcp_names(&a, v, COUNT(v));
	assert_false(str_eq(v[0].name, v[1].name));
	assert_true(str_starts(v[0].name, S("p__t_")));
	assert_true(str_starts(v[1].name, S("p__t_")));
	assert_true(str_eq(v[2].name, S("p__u")));
}

/* A tool that is called as another one's hashed name would be keeps its name. */
static void a_plain_name_wins_over_a_hashed_one(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_named v[] = {
		{ .server = S("srv"), .prefix = S("srv"), .tool = S("a.b") },
		{ .server = S("srv"), .prefix = S("srv"), .tool = S("a_b") },
		{ .server = S("srv"), .prefix = S("srv"), .tool = S("a_b_2ddd19ac") },
	};

	mcp_names(&a, v, COUNT(v));
	assert_true(str_eq(v[1].name, S("srv__a_b")));
	assert_true(str_eq(v[2].name, S("srv__a_b_2ddd19ac")));
	assert_true(str_starts(v[0].name, S("srv__a_b_")));
	assert_false(str_eq(v[0].name, v[2].name));
}

static void filters_allow_exactly_and_exclude_by_glob(void **state)
{
	static const str allow_v[] = { { "get_sleep", 9 }, { "raw_dump", 8 }, { "get_*", 5 } };
	static const str deny_v[] = { { "raw_*", 5 }, { "x[1]", 4 } };
	struct str_list allow = { allow_v, 3 }, deny = { deny_v, 2 }, none = { 0 };

	assert_true(mcp_names_pass(&none, &none, S("anything")));
	assert_true(mcp_names_pass(&allow, &deny, S("get_sleep")));
	assert_false(mcp_names_pass(&allow, &deny, S("get_weight")));
	assert_false(mcp_names_pass(&allow, &deny, S("raw_dump")));
	assert_true(mcp_names_pass(&allow, &none, S("raw_dump")));
	assert_false(mcp_names_pass(&none, &deny, S("raw_")));
	assert_false(mcp_names_pass(&none, &deny, S("x1")));
	assert_false(mcp_names_pass(&none, &deny, S("x[1]")));
	assert_true(mcp_names_pass(&none, &deny, S("x2")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_tool_gets_a_valid_name_of_its_own),
		cmocka_unit_test(names_do_not_depend_on_the_order),
		cmocka_unit_test(two_servers_with_one_prefix_do_not_clash),
		cmocka_unit_test(a_plain_name_wins_over_a_hashed_one),
		cmocka_unit_test(filters_allow_exactly_and_exclude_by_glob),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Prefixes of tools: what there is to switch on, and what a key matches.
 */
#include "tools/dynamic.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *name, *key;
	bool match;
} matches[] = {
	{ "google__calendar_list_events", "google", true },
	{ "google__calendar_list_events", "google__calendar", true },
	{ "google__calendar_list_events", "go", false },
	{ "google__calendar_list_events", "google__cal", false },
	{ "google__gmail_search", "google__calendar", false },
	{ "garmin__sleep_get", "garmin__sleep", true },
	{ "garmin__sleep", "garmin__sleep", true },
	{ "tools_enable", "tools", false },
	{ "tools_enable", "mcp", false },
	{ "google__calendar", "", false },
};

static void a_key_matches_whole_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(matches); i++) {
		str key = str_of(matches[i].key);
		if ((dynamic_held(str_of(matches[i].name), &key, 1).n > 0) != matches[i].match)
			fail_msg("%s and %s", matches[i].name, matches[i].key);
	}
}

static const struct tool_spec specs[] = {
	{ .name = { "flights__search", 15 } },      { .name = { "garmin__sleep_get", 17 } },
	{ .name = { "google__calendar_add", 20 } }, { .name = { "google__calendar_list", 21 } },
	{ .name = { "google__gmail_search", 20 } }, { .name = { "memory_store", 12 } },
	{ .name = { "tools_enable", 12 } },
};

static void servers_are_listed_and_families_where_there_are_several(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct toolset set = { .v = specs, .n = COUNT(specs) };

	(void)state;
	str index = dynamic_index(&set, &a);
	const char *want = "flights (1), garmin (1), google (3), google__calendar (2), "
			   "google__gmail (1).";
	if (!str_ends(index, str_of(want)))
		fail_msg("%s", index.p);
	assert_true(str_ends(dynamic_index(&(struct toolset){ 0 }, &a), S(" none.")));
}

static void what_has_a_prefix_is_off_until_a_key_holds_it(void **state)
{
	static const struct {
		const char *keys[2];
		const char *off; /* of the specs above */
	} rows[] = {
		{ { NULL }, "xxxxx.." },
		{ { "google" }, "xx....." },
		{ { "google__gmail", "flights" }, ".xxx..." },
		{ { "goo", "nope" }, "xxxxx.." },
	};
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct toolset set = { .v = specs, .n = COUNT(specs) };
		str keys[2];
		size_t n = 0;
		while (n < 2 && rows[i].keys[n]) {
			keys[n] = str_of(rows[i].keys[n]);
			n++;
		}
		dynamic_gate(&set, keys, n, &a);
		for (size_t k = 0; k < COUNT(specs); k++)
			if (set.off[k] != (rows[i].off[k] == 'x'))
				fail_msg("row %zu: %s", i, specs[k].name.p);
		if (i == 0)
			assert_int_equal(toolset_tokens(&set), (12 + 12) / 4);
	}
	const str two[] = { { "google", 6 }, { "google__calendar", 16 } };
	assert_true(str_eq(dynamic_held(specs[2].name, two, 2), two[1]));
	assert_true(str_eq(dynamic_held(specs[4].name, two, 2), two[0]));
	assert_int_equal(dynamic_held(specs[5].name, two, 2).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_matches_whole_words),
		cmocka_unit_test(servers_are_listed_and_families_where_there_are_several),
		cmocka_unit_test(what_has_a_prefix_is_off_until_a_key_holds_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tool names as models write them: what is repaired, and what a wrong name is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tools.h"

#define OURS(n)                                                                                \
	{                                                                                      \
		.name = S(n)                                                                   \
	}
#define MCP(s, t)                                                                              \
	{                                                                                      \
		.name = S(s "__" t), .server = S(s), .tool = S(t)                              \
	}

/* Sorted by name, as a snapshot is. */
static const struct tool_spec specs[] = {
	MCP("garmin", "activities_get"),
	MCP("garmin", "activities_list"),
	MCP("garmin", "hrv_get"),
	MCP("garmin", "sleep_get"),
	MCP("garmin", "wellness_get_body_battery"),
	MCP("google-search", "image_search"),
	MCP("google-search", "web_search"),
	OURS("list_dir"),
	OURS("read_file"),
	MCP("strava", "activities_get"),
	MCP("strava", "activities_one"),
	MCP("strava", "activities_two"),
	MCP("strava", "athlete_get"),
	MCP("strava", "event_six"),
	MCP("strava", "event_three"),
	MCP("strava", "event_two"),
	OURS("write_file"),
};
static const struct toolset set = { .v = specs, .n = COUNT(specs) };

static const struct {
	str asked, found;
} repaired[] = {
	{ S("garmin__hrv_get"), S("garmin__hrv_get") },
	{ S("google_search__web_search"), S("google-search__web_search") },
	{ S("mcp__hrv_get"), S("garmin__hrv_get") },
	{ S("sleep_get"), S("garmin__sleep_get") },
	{ S("GARMIN__hrv_get"), S("garmin__hrv_get") },
	{ S("Garmin__HRV-Get"), S("garmin__hrv_get") },
	{ S("garmin.hrv_get"), S("garmin__hrv_get") },
	{ S("garmin:hrv_get"), S("garmin__hrv_get") },
	{ S("garmin_hrv_get"), S("garmin__hrv_get") },
	{ S("garmin__hrv__get"), S("garmin__hrv_get") },
	{ S("mcp__garmin__activities_get"), S("garmin__activities_get") },
	{ S("functions.strava__activities_get"), S("strava__activities_get") },
	{ S("functions.read_file"), S("read_file") },
	{ S("default_api:read_file"), S("read_file") },
	{ S("fs__read_file"), S("read_file") },
	{ S("ReAd-FiLe"), S("read_file") },
	{ S(" read_file\n"), S("read_file") },
	{ S("read file"), S("read_file") },
};

static void an_unambiguous_mistake_finds_its_tool(void **state)
{
	for (size_t i = 0; i < COUNT(repaired); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str hint = S("unset");
		const struct tool_spec *t = toolset_find(&set, repaired[i].asked, &a, &hint);

		if (!t || !str_eq(t->name, repaired[i].found))
			fail_msg("%s: found %.*s, %.*s", repaired[i].asked.p,
				 STRF(t ? t->name : S("nothing")), STRF(hint));
	}
}

static const struct {
	str asked, says;
} refused[] = {
	/* two servers have it: both are named */
	{ S("mcp__activities_get"),
	  S("there is no tool \"mcp__activities_get\"; it could be one "
	    "of: garmin__activities_get, strava__activities_get") },
	{ S("activities_get"), S("there is no tool \"activities_get\"; it could be one of: "
				 "garmin__activities_get, strava__activities_get") },
	/* a real server is never left for another one */
	{ S("garmin__athlete_get"),
	  S("there is no tool \"garmin__athlete_get\"; did you mean one of: "
	    "garmin__activities_get, garmin__activities_list, garmin__hrv_get, "
	    "garmin__sleep_get, garmin__wellness_get_body_battery") },
	{ S("garmin__read_file"),
	  S("there is no tool \"garmin__read_file\"; did you mean one of: "
	    "garmin__activities_get, garmin__activities_list, "
	    "garmin__hrv_get, garmin__sleep_get, "
	    "garmin__wellness_get_body_battery") },
	{ S("google_search__google_search"),
	  S("there is no tool \"google_search__google_search\"; did you mean one of: "
	    "google-search__image_search, google-search__web_search") },
	/* the nearest by the words they share, best first */
	{ S("mcp__get_hrv_and_body_battery"),
	  S("there is no tool \"mcp__get_hrv_and_body_battery\"; did you mean one of: "
	    "garmin__wellness_get_body_battery, garmin__hrv_get") },
	/* at most five of them */
	{ S("strava__activities_get_event"),
	  S("there is no tool \"strava__activities_get_event\"; did you mean one of: "
	    "strava__activities_get, strava__activities_one, strava__activities_two, "
	    "strava__event_six, strava__event_three") },
	{ S("bogus__thing"), S("there is no tool \"bogus__thing\"; there are list_dir, "
			       "read_file, write_file; other names begin with garmin__, "
			       "google-search__, strava__") },
	{ S(""), S("there is no tool \"\"; there are list_dir, read_file, write_file; other "
		   "names begin with garmin__, google-search__, strava__") },
	{ S("get_the_data"), S("there is no tool \"get_the_data\"; there are list_dir, "
			       "read_file, write_file; other names begin with garmin__, "
			       "google-search__, strava__") },
};

static void any_other_name_is_told_the_nearest_tools(void **state)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str hint = S("unset");

		if (toolset_find(&set, refused[i].asked, &a, &hint))
			fail_msg("%s was found", refused[i].asked.p);
		if (!str_eq(hint, refused[i].says))
			fail_msg("%s: %.*s", refused[i].asked.p, STRF(hint));
	}
}

static void a_large_catalogue_is_listed_in_part(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct tool_spec *many = NEWN(&a, struct tool_spec, 300);
	struct toolset big = { .v = many, .n = 300 };
	str hint = { 0 };

	for (int i = 0; i < 300; i++) {
		many[i].server = i < 200 ? S("mail") : arena_fmt(&a, "s%03d", i);
		many[i].tool = arena_fmt(&a, "t%03d", i);
		many[i].name = arena_fmt(&a, "%.*s__t%03d", STRF(many[i].server), i);
	}
	assert_null(toolset_find(&big, S("mail__nothing"), &a, &hint));
	assert_true(str_has(hint, S("mail__t011 (+188 more)")));
	assert_false(str_has(hint, S("t012")));
	assert_null(toolset_find(&big, S("bogus__nothing"), &a, &hint));
	assert_true(str_has(hint, S("s210__ (+89 more)")));
	assert_true(hint.n < 400);
}

static void a_hostile_name_does_no_harm(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char *p = arena_alloc(&a, 1, 100000);
	const struct toolset none = { .v = NULL };
	str hint = { 0 };

	memset(p, '_', 100000);
	assert_null(toolset_find(&set, (str){ p, 100000 }, &a, &hint));
	assert_true(hint.n < 600);
	assert_null(toolset_find(&set, S("\xff\x00\x1b[31m__\xc3"), &a, &hint));
	assert_false(str_has(hint, S("\x1b")));
	assert_null(toolset_find(&set, S("__"), &a, &hint));
	assert_null(toolset_find(&set, S("a__"), &a, &hint));
	assert_null(toolset_find(&set, S("...::://"), &a, &hint));
	assert_null(toolset_find(&none, S("read_file"), &a, &hint));
	assert_true(str_has(hint, S("no tools are available")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unambiguous_mistake_finds_its_tool),
		cmocka_unit_test(any_other_name_is_told_the_nearest_tools),
		cmocka_unit_test(a_large_catalogue_is_listed_in_part),
		cmocka_unit_test(a_hostile_name_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

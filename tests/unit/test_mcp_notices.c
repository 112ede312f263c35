/*
 * Notices of change: which are kept, and that a burst is told once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/notices.h"

static void add(struct mcp_notices *l, const char *method, const char *uri, int64_t now)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json v = { .type = JSON_STRING, .key = S("uri"), .s = str_of(uri) };
	struct json o = { .type = JSON_OBJECT, .child = &v, .n = 1 };

	mcp_notices_add(l, arena_dup(&a, str_of(method)), uri ? &o : NULL, now);
}

static void a_burst_is_told_once_and_in_order(void **state)
{
	struct mcp_notices l = { 0 }, due;

	for (int64_t i = 0; i < 3; i++) {
		add(&l, "notifications/prompts/list_changed", NULL, 1000 + i);
		add(&l, "notifications/resources/updated", "file:///a", 1000 + i);
		add(&l, "notifications/resources/updated", "file:///b", 1000 + i);
		add(&l, "notifications/resources/list_changed", NULL, 1000 + i);
	}
	assert_int_equal(l.due_ms, 1100);
	assert_false(mcp_notices_take(&l, 1099, &due));
	assert_true(mcp_notices_take(&l, 1100, &due));
	assert_int_equal(due.n, 4);
	assert_true(str_is(due.first->method, "notifications/prompts/list_changed"));
	assert_null(due.first->params);
	assert_true(str_is(json_str(due.first->next->params, "uri"), "file:///a"));
	assert_true(str_is(json_str(due.first->next->next->params, "uri"), "file:///b"));
	mcp_notices_done(&due);
	assert_false(mcp_notices_take(&l, 9999, &due));
	add(&l, "notifications/prompts/list_changed", NULL, 2000);
	assert_int_equal(l.due_ms, 2100);
	mcp_notices_done(&l);
}

static void what_is_unknown_or_names_nothing_is_left_out(void **state)
{
	struct mcp_notices l = { 0 };

	add(&l, "notifications/tools/list_changed", NULL, 1);
	add(&l, "notifications/resources/updated", NULL, 1);
	add(&l, "notifications/resources/updated", "", 1);
	add(&l, "", NULL, 1);
	assert_int_equal(l.n, 0);
	assert_int_equal(l.due_ms, 0);
}

static void a_flood_of_updates_becomes_a_change_of_the_list(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_notices l = { 0 };
	const struct mcp_notice *last = NULL;

	for (int i = 0; i < 100000; i++)
		add(&l, "notifications/resources/updated", arena_fmt(&a, "x:%d", i).p, 1);
	assert_int_equal(l.n, 65);
	for (last = l.first; last->next;)
		last = last->next;
	assert_true(str_is(last->method, "notifications/resources/list_changed"));
	mcp_notices_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_told_once_and_in_order),
		cmocka_unit_test(what_is_unknown_or_names_nothing_is_left_out),
		cmocka_unit_test(a_flood_of_updates_becomes_a_change_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

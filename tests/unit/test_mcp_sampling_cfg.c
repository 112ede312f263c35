/*
 * The manifest's key "sampling", and the count of a minute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mcp/sampling_cfg.h"

static int take(struct arena *a, const char *text, struct mcp_sampling_cfg *out, struct err *e)
{
	struct toml *root;

	assert_int_equal(toml_read(&root, a, str_of(text), NULL), OK);
	return mcp_sampling_cfg_read(out, a, toml_get(root, "sampling"), e);
}

static void a_word_has_the_default_limits(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_sampling_cfg c = { 0 };

	(void)state;
	assert_false(mcp_sampling_cfg_on(&c));
	assert_int_equal(take(&a, "sampling = \"allow\"", &c, NULL), OK);
	assert_true(mcp_sampling_cfg_on(&c) && str_is(c.policy, "allow"));
	assert_true(c.per_minute > 0 && c.per_call > 0 && c.max_tokens > 0 && !c.tools);
	assert_int_equal(take(&a, "sampling = \"off\"", &c, NULL), OK);
	assert_false(mcp_sampling_cfg_on(&c));
}

static void a_table_sets_limits_and_asks_by_default(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_sampling_cfg c, d;

	(void)state;
	assert_int_equal(take(&a,
			      "sampling = { per_minute = 3, max_tokens = 77, tools = true }",
			      &c, NULL),
			 OK);
	assert_true(str_is(c.policy, "ask") && c.tools);
	assert_int_equal(c.per_minute, 3);
	assert_int_equal(c.max_tokens, 77);
	d = c;
	assert_true(mcp_sampling_cfg_same(&c, &d));
	d.per_call++;
	assert_false(mcp_sampling_cfg_same(&c, &d));
}

static void what_could_be_a_limit_is_never_read_over(void **state)
{
	static const char *const rows[] = {
		"sampling = true",
		"sampling = \"sometimes\"",
		"sampling = { policy = 3 }",
		"sampling = { per_minute = 0 }",
		"sampling = { per_call = 1000000 }",
		"sampling = { max_tokens = \"many\" }",
		"sampling = { tools = \"yes\" }",
		"sampling = { budget = 3 }",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_sampling_cfg c;
		struct err e = { 0 };

		if (take(&a, rows[i], &c, &e) == OK)
			fail_msg("taken: %s", rows[i]);
		assert_non_null(strstr(e.msg, "sampling"));
	}
}

static void a_minute_has_so_many_requests_and_then_begins_anew(void **state)
{
	const struct mcp_sampling_cfg c = { .per_minute = 2, .per_call = 3 };
	struct mcp_sampled s = { 0 };

	(void)state;
	assert_true(mcp_sampled_add(&s, &c, 0, 1000));
	assert_true(mcp_sampled_add(&s, &c, 2, 30000));
	assert_false(mcp_sampled_add(&s, &c, 0, 60000));
	assert_false(mcp_sampled_add(&s, &c, 3, 61000));
	assert_true(mcp_sampled_add(&s, &c, 0, 61000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_has_the_default_limits),
		cmocka_unit_test(a_table_sets_limits_and_asks_by_default),
		cmocka_unit_test(what_could_be_a_limit_is_never_read_over),
		cmocka_unit_test(a_minute_has_so_many_requests_and_then_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The set of watched resources: what is in it, its bounds, and when it rings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "mcp/watches.h"
#include "os/clock.h"

static bool rang(const struct mcp_watches *w)
{
	bool ready =
		wait_fd(mcp_watches_bell(w)->fd, POLLIN, clock_mono_ms() + 1, NULL, NULL) == OK;

	bell_hear(mcp_watches_bell(w));
	return ready;
}

static void each_resource_is_in_once_and_changes_ring(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_watches *w;
	str *uris;

	assert_int_equal(mcp_watches_new(&w, NULL), OK);
	assert_false(rang(w));
	assert_int_equal(mcp_watches_add(w, S("x:a"), NULL), OK);
	assert_true(rang(w));
	assert_int_equal(mcp_watches_add(w, S("x:a"), NULL), OK);
	assert_false(rang(w));
	assert_int_equal(mcp_watches_add(w, S("x:b"), NULL), OK);
	assert_int_equal(mcp_watches_copy(w, &a, &uris), 2);
	assert_string_equal(uris[0].p, "x:a");
	assert_string_equal(uris[1].p, "x:b");
	(void)rang(w);
	mcp_watches_remove(w, S("x:c"));
	assert_false(rang(w));
	mcp_watches_remove(w, S("x:a"));
	assert_true(rang(w));
	assert_int_equal(mcp_watches_copy(w, &a, &uris), 1);
	assert_string_equal(uris[0].p, "x:b");
	mcp_watches_free(w);
}

static void there_is_a_bound_to_their_number_and_length(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_watches *w;
	struct buf b = buf_in(&a, 5000);
	struct err e = { 0 };

	assert_int_equal(mcp_watches_new(&w, NULL), OK);
	for (int i = 0; i < MCP_WATCHES_MAX; i++)
		assert_int_equal(mcp_watches_add(w, arena_fmt(&a, "x:%d", i), NULL), OK);
	assert_int_equal(mcp_watches_add(w, S("x:0"), NULL), OK);
	assert_int_equal(mcp_watches_add(w, S("x:more"), &e), E_LIMIT);
	assert_string_equal(e.msg, "more than 256 resources of one server are watched");
	mcp_watches_remove(w, S("x:0"));
	for (int i = 0; i < 4097; i++)
		buf_addc(&b, 'x');
	assert_int_equal(mcp_watches_add(w, buf_str(&b), NULL), E_LIMIT);
	assert_int_equal(mcp_watches_add(w, S(""), NULL), E_LIMIT);
	assert_int_equal(mcp_watches_add(w, S("x:more"), NULL), OK);
	mcp_watches_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_resource_is_in_once_and_changes_ring),
		cmocka_unit_test(there_is_a_bound_to_their_number_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

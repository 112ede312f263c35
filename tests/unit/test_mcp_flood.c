/*
 * How fast a server is read: what answers is free, what comes unasked is paid for with time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/flood.h"

static void a_few_messages_are_read_at_once(void **state)
{
	struct mcp_flood f = { 0 };

	(void)state;
	for (int i = 0; i < 5000; i++)
		mcp_flood_note(&f, MCP_FLOOD_UNASKED, 100, 1000);
	assert_false(mcp_flood_over(&f, 1000));
}

static void a_flood_is_read_slowly_and_then_again(void **state)
{
	struct mcp_flood f = { 0 };
	int64_t read = 0, now = 1000;

	(void)state;
	for (; now < 61000; now++) {
		/* As much as can be sent. */
		for (int i = 0; i < 100 && !mcp_flood_over(&f, now); i++) {
			mcp_flood_note(&f, MCP_FLOOD_UNASKED, 100, now);
			read++;
		}
	}
	assert_in_range(read, 200000, 300000);
}

static void answers_of_many_mebibytes_are_read_at_once(void **state)
{
	struct mcp_flood f = { 0 };

	(void)state;
	for (int i = 0; i < 16 * 16; i++)
		mcp_flood_note(&f, MCP_FLOOD_BYTES, 65536, 1000);
	assert_false(mcp_flood_over(&f, 1000));
}

static void a_message_that_is_huge_and_unasked_is_waited_for(void **state)
{
	struct mcp_flood f = { 0 };

	(void)state;
	mcp_flood_note(&f, MCP_FLOOD_UNASKED, (size_t)16 << 20, 1000);
	assert_true(mcp_flood_over(&f, 1000));
	assert_true(mcp_flood_over(&f, 2000));
	assert_false(mcp_flood_over(&f, 1000 + 16384 / 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_messages_are_read_at_once),
		cmocka_unit_test(a_flood_is_read_slowly_and_then_again),
		cmocka_unit_test(answers_of_many_mebibytes_are_read_at_once),
		cmocka_unit_test(a_message_that_is_huge_and_unasked_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

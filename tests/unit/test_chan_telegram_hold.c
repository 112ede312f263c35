/*
 * Which chats wait, and when it is the whole bot that does.
 */
#include "chan/telegram_hold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void the_longest_wait_of_a_chat_counts(void **state)
{
	struct telegram_holds h = { 0 };

	telegram_holds_add(&h, 5, 1000, 61000);
	telegram_holds_add(&h, 5, 1000, 2000);
	assert_int_equal(telegram_holds_until(&h, 5), 61000);
	assert_int_equal(telegram_holds_until(&h, 6), 0);
	/* More chats than places: those that wait longest are kept. */
	for (int64_t chat = 100; chat < 200; chat++)
		telegram_holds_add(&h, chat, 3000, 4000);
	assert_int_equal(telegram_holds_until(&h, 5), 61000);
}

static void several_chats_that_must_wait_hold_the_whole_bot(void **state)
{
	struct telegram_holds h = { 0 };

	telegram_holds_add(&h, 1, 1000, 50000);
	telegram_holds_add(&h, 2, 1000, 40000);
	telegram_holds_add(&h, 2, 1000, 40000);
	assert_int_equal(telegram_holds_until(&h, 9), 0);
	telegram_holds_add(&h, 3, 1000, 30000);
	/* Until the first of them may be tried again. */
	assert_int_equal(telegram_holds_until(&h, 9), 30000);
	assert_int_equal(h.all_until_ms, 30000);
	assert_int_equal(telegram_holds_until(&h, 1), 50000);
	/* One that is over does not count. */
	telegram_holds_add(&h, 4, 45000, 47000);
	assert_int_equal(h.all_until_ms, 30000);
}

static void the_bot_is_not_held_for_hours(void **state)
{
	struct telegram_holds h = { 0 };

	for (int64_t chat = 1; chat <= 3; chat++)
		telegram_holds_add(&h, chat, 1000, 9000000);
	assert_int_equal(h.all_until_ms, 61000);
	assert_int_equal(telegram_holds_until(&h, 1), 9000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_wait_of_a_chat_counts),
		cmocka_unit_test(several_chats_that_must_wait_hold_the_whole_bot),
		cmocka_unit_test(the_bot_is_not_held_for_hours),
	};

	return cmocka_run_group_tests_name("chan/telegram_hold", tests, NULL, NULL);
}

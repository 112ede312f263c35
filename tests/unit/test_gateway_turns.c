/*
 * The registry of running turns: who is fired, who is counted, what was lost.
 */
#include "gateway/turns.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define A "00000000000000000000a"
#define B "00000000000000000000b"

static struct turns t;
static struct cancel one, two;

static int setup(void **state)
{
	(void)state;
	turns_init(&t);
	assert_int_equal(cancel_init(&one, NULL, 0, NULL), OK);
	return cancel_init(&two, NULL, 0, NULL);
}

static int teardown(void **state)
{
	(void)state;
	cancel_done(&one);
	cancel_done(&two);
	turns_done(&t);
	return 0;
}

static void a_turn_is_fired_by_its_id_only(void **state)
{
	(void)state;
	assert_true(turns_enter(&t, S(A), &one));
	assert_true(turns_enter(&t, S(B), &two));
	assert_int_equal(turns_running(&t), 2);
	assert_false(turns_fire(&t, S(""), CANCEL_USER));
	assert_false(turns_fire(&t, S("00000000000000000000c"), CANCEL_USER));
	assert_true(turns_fire(&t, S(B), CANCEL_SHUTDOWN));
	assert_int_equal(cancel_reason(&one), CANCEL_NONE);
	assert_int_equal(cancel_reason(&two), CANCEL_SHUTDOWN);
}

static void a_turn_that_has_left_is_not_fired(void **state)
{
	(void)state;
	assert_true(turns_enter(&t, S(A), &one));
	turns_leave(&t, S(A));
	turns_leave(&t, S(A)); /* again is fine */
	assert_int_equal(turns_running(&t), 0);
	assert_false(turns_fire(&t, S(A), CANCEL_USER));
	turns_fire_all(&t, CANCEL_USER);
	assert_int_equal(cancel_reason(&one), CANCEL_NONE);
}

static void all_can_be_fired_at_once(void **state)
{
	(void)state;
	assert_true(turns_enter(&t, S(A), &one));
	assert_true(turns_enter(&t, S(B), &two));
	turns_fire_all(&t, CANCEL_USER);
	assert_int_equal(cancel_reason(&one), CANCEL_USER);
	assert_int_equal(cancel_reason(&two), CANCEL_USER);
}

static void slots_are_limited_and_used_again(void **state)
{
	char id[ID_LEN + 1];

	(void)state;
	for (int i = 0; i < TURNS_MAX; i++) {
		id_new(id);
		assert_true(turns_enter(&t, str_of(id), &one));
	}
	assert_false(turns_enter(&t, S(A), &one));
	turns_leave(&t, str_of(id));
	assert_true(turns_enter(&t, S(A), &one));
	assert_int_equal(turns_running(&t), TURNS_MAX);
	turns_leave(&t, S(A));
	/* No id is too long for its slot. */
	assert_false(turns_enter(&t, S(A A), &one));
}

static void a_lost_turn_runs_no_more_and_is_taken_once(void **state)
{
	char id[ID_LEN + 1];

	(void)state;
	assert_true(turns_enter(&t, S(A), &one));
	turns_lose(&t, S(A));
	turns_lose(&t, S(B)); /* it never got a slot */
	assert_int_equal(turns_running(&t), 0);
	assert_false(turns_fire(&t, S(A), CANCEL_USER));
	/* Its slot is not given to another meanwhile. */
	assert_true(turns_enter(&t, S("00000000000000000000c"), &two));
	assert_true(turns_take_lost(&t, id));
	assert_string_equal(id, A);
	assert_true(turns_take_lost(&t, id));
	assert_string_equal(id, B);
	assert_false(turns_take_lost(&t, id));
	assert_int_equal(turns_running(&t), 1);
}

static void only_a_request_under_way_is_steered(void **state)
{
	(void)state;
	assert_true(turns_enter(&t, S(A), &one));
	turns_steer(&t, S(A)); /* it makes none */
	turns_request(&t, S(A), &two);
	turns_steer(&t, S(""));
	turns_steer(&t, S(B));
	assert_int_equal(cancel_reason(&two), CANCEL_NONE);
	turns_request(&t, S(A), NULL);
	turns_steer(&t, S(A));
	assert_int_equal(cancel_reason(&two), CANCEL_NONE);
	turns_request(&t, S(A), &two);
	turns_steer(&t, S(A));
	assert_int_equal(cancel_reason(&two), CANCEL_USER);
	assert_int_equal(cancel_reason(&one), CANCEL_NONE);
}

static void a_turn_has_no_request_of_the_one_before_it(void **state)
{
	(void)state;
	assert_true(turns_enter(&t, S(A), &one));
	turns_request(&t, S(A), &two);
	turns_leave(&t, S(A));
	assert_true(turns_enter(&t, S(A), &one));
	turns_steer(&t, S(A));
	assert_int_equal(cancel_reason(&two), CANCEL_NONE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_turn_is_fired_by_its_id_only),
		TEST(a_turn_that_has_left_is_not_fired),
		TEST(all_can_be_fired_at_once),
		TEST(slots_are_limited_and_used_again),
		TEST(only_a_request_under_way_is_steered),
		TEST(a_turn_has_no_request_of_the_one_before_it),
		TEST(a_lost_turn_runs_no_more_and_is_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

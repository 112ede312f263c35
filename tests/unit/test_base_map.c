/*
 * Maps from text to pointers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"

static void an_empty_map_has_nothing(void **state)
{
	struct map m = { 0 };

	assert_null(map_get(&m, S("")));
	assert_null(map_get(&m, S("a")));
}

static void a_value_is_found_and_replaced(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct map m = { 0 };
	int one, two, empty;

	assert_null(map_set(&m, &a, S("key"), &one));
	assert_null(map_set(&m, &a, S(""), &empty));
	assert_ptr_equal(map_get(&m, S("key")), &one);
	assert_ptr_equal(map_set(&m, &a, S("key"), &two), &one);
	assert_ptr_equal(map_get(&m, S("key")), &two);
	assert_ptr_equal(map_get(&m, S("")), &empty);
	assert_null(map_get(&m, S("ke")));
	assert_null(map_get(&m, S("keys")));
	assert_int_equal(m.n, 2);
}

static void a_key_may_hold_any_bytes(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct map m = { 0 };
	int one, two;

	(void)map_set(&m, &a, S("a\0b"), &one);
	(void)map_set(&m, &a, S("a\0c"), &two);
	assert_ptr_equal(map_get(&m, S("a\0b")), &one);
	assert_ptr_equal(map_get(&m, S("a\0c")), &two);
	assert_null(map_get(&m, S("a")));
}

static void many_keys_survive_the_growth(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct map m = { 0 };
	int values[5000];

	for (int i = 0; i < 5000; i++)
		assert_null(map_set(&m, &a, arena_fmt(&a, "key %d", i), &values[i]));
	assert_int_equal(m.n, 5000);
	for (int i = 0; i < 5000; i++)
		assert_ptr_equal(map_get(&m, arena_fmt(&a, "key %d", i)), &values[i]);
	assert_null(map_get(&m, S("key 5000")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(a_value_is_found_and_replaced),
		cmocka_unit_test(a_key_may_hold_any_bytes),
		cmocka_unit_test(many_keys_survive_the_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Lists of texts: copied whole, and told apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str_list.h"

static void a_copy_is_equal_and_stands_for_itself(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char one[] = "one";
	const str v[] = { { one, 3 }, S(""), S("three") };
	struct str_list copy = str_list_copy(&a, (struct str_list){ v, 3 });

	(void)state;
	assert_true(str_list_eq(copy, (struct str_list){ v, 3 }));
	one[0] = 'O';
	assert_true(str_eq(copy.v[0], S("one")));
	assert_int_equal(str_list_copy(&a, (struct str_list){ 0 }).n, 0);
}

static void lists_differ_by_length_order_and_text(void **state)
{
	const str ab[] = { S("a"), S("b") }, ba[] = { S("b"), S("a") },
		  ac[] = { S("a"), S("c") };

	(void)state;
	assert_true(str_list_eq((struct str_list){ ab, 2 }, (struct str_list){ ab, 2 }));
	assert_true(str_list_eq((struct str_list){ ab, 0 }, (struct str_list){ 0 }));
	assert_false(str_list_eq((struct str_list){ ab, 2 }, (struct str_list){ ab, 1 }));
	assert_false(str_list_eq((struct str_list){ ab, 2 }, (struct str_list){ ba, 2 }));
	assert_false(str_list_eq((struct str_list){ ab, 2 }, (struct str_list){ ac, 2 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_equal_and_stands_for_itself),
		cmocka_unit_test(lists_differ_by_length_order_and_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

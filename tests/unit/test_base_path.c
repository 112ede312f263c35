/*
 * Names of files as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/path.h"

static const struct {
	str path, want; /* "" refused */
} names[] = {
	{ S("a"), S("/ws/a") },
	{ S("."), S("/ws") },
	{ S("./a//b/"), S("/ws/a/b") },
	{ S("a/../b"), S("/ws/b") },
	{ S(".."), S("/") },
	{ S("../../../x"), S("/x") },
	{ S("/"), S("/") },
	{ S("//"), S("/") },
	{ S("/.."), S("/") },
	{ S("/a/./b/.."), S("/a") },
	{ S("/a/..."), S("/a/...") },
	{ S("..a"), S("/ws/..a") },
	{ S("~"), S("/home/me") },
	{ S("~/x"), S("/home/me/x") },
	{ S("~/../x"), S("/home/x") },
	{ S("a/~"), S("/ws/a/~") },
	{ S(" "), S("/ws/ ") },
	{ S("~root/x"), S("") },
	{ S(""), S("") },
	{ S("a\0b"), S("") },
};

static void a_path_becomes_absolute_and_clean_or_is_refused(void **state)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct err e = { 0 };
		str got = { 0 };
		int rc = path_absolute(&got, &a, names[i].path, S("/home/me"), S("/ws/"), &e);

		if (rc != (names[i].want.n ? OK : E_INVAL) || !str_eq(got, names[i].want))
			fail_msg("\"%s\" became \"%.*s\" (%s)", names[i].path.p, STRF(got),
				 e.msg);
		if (rc == OK)
			assert_int_equal(got.p[got.n], 0);
	}
}

static void length_is_limited_and_home_may_be_missing(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char *p = arena_alloc(&a, 1, 20000);
	str got;

	memset(p, 'x', 20000);
	assert_int_equal(path_absolute(&got, &a, (str){ p, 4092 }, S(""), S("/w"), NULL), OK);
	assert_int_equal(got.n, 4095);
	assert_int_equal(path_absolute(&got, &a, (str){ p, 4093 }, S(""), S("/w"), NULL),
			 E_INVAL);
	assert_int_equal(path_absolute(&got, &a, (str){ p, 20000 }, S(""), S("/w"), NULL),
			 E_INVAL);
	assert_int_equal(path_absolute(&got, &a, S("~/x"), S(""), S("/w"), NULL), E_INVAL);
}

static const struct {
	str root, path, rel;
	bool below;
} pairs[] = {
	{ S("/ws"), S("/ws"), S("."), true },      { S("/ws"), S("/ws/a/b"), S("a/b"), true },
	{ S("/ws"), S("/ws2"), S(""), false },     { S("/ws"), S("/w"), S(""), false },
	{ S("/ws/a"), S("/ws"), S(""), false },    { S("/"), S("/"), S("."), true },
	{ S("/"), S("/etc/x"), S("etc/x"), true }, { S(""), S("/etc"), S(""), false },
};

static void below_is_by_component_and_not_by_prefix(void **state)
{
	for (size_t i = 0; i < COUNT(pairs); i++) {
		str rel = { 0 };
		if (path_below(pairs[i].root, pairs[i].path, &rel) != pairs[i].below ||
		    !str_eq(rel, pairs[i].rel))
			fail_msg("%s below %s: \"%.*s\"", pairs[i].path.p, pairs[i].root.p,
				 STRF(rel));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_becomes_absolute_and_clean_or_is_refused),
		cmocka_unit_test(length_is_limited_and_home_may_be_missing),
		cmocka_unit_test(below_is_by_component_and_not_by_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

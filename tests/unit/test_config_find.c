/*
 * Which file is read.  What is in it is the business of test_config_load.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/find.h"

static const struct {
	const char *flag, *vars[4];
	const char *path, *source;
	bool mtclaw;
} rows[] = {
	{ "/f.yaml", { "GANTRY_CONFIG=/g" }, "/f.yaml", "flag", false },
	{ "rel.yaml", { NULL }, "rel.yaml", "flag", false },
	{ NULL, { "GANTRY_CONFIG=/g", "MTCLAW_CONFIG=/m" }, "/g", "env:GANTRY_CONFIG", false },
	{ NULL, { "GANTRY_CONFIG= ", "MTCLAW_CONFIG=/m" }, "/m", "env:MTCLAW_CONFIG", true },
	{ NULL, { "HOME=/nowhere" }, "", "", false },
	{ NULL, { NULL }, "", "", false },
	{ "/h/.mtclaw/x.yaml", { "HOME=/h" }, "/h/.mtclaw/x.yaml", "flag", true },
	{ "/h/.mtclaws/x.yaml", { "HOME=/h" }, "/h/.mtclaws/x.yaml", "flag", false },
};

static void a_named_file_is_taken_whether_it_is_there_or_not(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct env env = { rows[i].vars };
		struct config_place place;

		config_find(&place, &a, rows[i].flag, &env);
		assert_true(str_eq(place.path, str_of(rows[i].path)));
		assert_true(str_eq(place.source, str_of(rows[i].source)));
		assert_int_equal(place.mtclaw, rows[i].mtclaw);
	}
}

static void xdg_directories_must_be_absolute(void **state)
{
	static const struct {
		const char *vars[3], *dir;
	} xdg[] = {
		{ { "XDG_CONFIG_HOME=/x", "HOME=/h" }, "/x" },
		{ { "XDG_CONFIG_HOME=x", "HOME=/h" }, "/h/.config" },
		{ { "XDG_CONFIG_HOME=", "HOME=/h" }, "/h/.config" },
		{ { "HOME=h" }, "" },
		{ { NULL }, "" },
	};

	for (size_t i = 0; i < COUNT(xdg); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct env env = { xdg[i].vars };

		assert_true(str_eq(config_xdg(&a, &env, "XDG_CONFIG_HOME", ".config"),
				   str_of(xdg[i].dir)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_named_file_is_taken_whether_it_is_there_or_not),
		cmocka_unit_test(xdg_directories_must_be_absolute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

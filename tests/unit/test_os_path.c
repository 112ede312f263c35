/*
 * Looking at paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/path.h"

static void kinds_and_modes_are_told(void **state)
{
	char dir[] = "/tmp/gantry-path-XXXXXX", file[64], link[64];
	unsigned mode = 0;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(file, sizeof(file), "%s/f", dir);
	(void)snprintf(link, sizeof(link), "%s/l", dir);
	assert_non_null(f = fopen(file, "w"));
	(void)fclose(f);
	assert_int_equal(chmod(file, 0604), 0);
	assert_int_equal(symlink(dir, link), 0);
	assert_int_equal(path_kind(file, &mode), PATH_FILE);
	assert_int_equal(mode, 0604);
	assert_int_equal(path_kind(dir, NULL), PATH_DIR);
	assert_int_equal(path_kind(link, NULL), PATH_DIR);
	assert_int_equal(path_kind("/dev/null", NULL), PATH_OTHER);
	assert_true(path_taken(link) && path_taken(file) && !path_taken("/no/such"));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(path_kind(file, NULL), PATH_NONE);
	assert_true(path_exists(dir) && !path_exists(file));
	assert_int_equal(rmdir(dir), 0);
	assert_false(path_exists("/dev/null/below"));
}

static void what_cannot_be_looked_at_is_taken_to_be_there(void **state)
{
	char name[300];

	memset(name, 'x', sizeof name);
	memcpy(name, "/tmp/", 5);
	name[sizeof name - 1] = 0;
	assert_true(path_exists(name));
	assert_int_equal(path_kind(name, NULL), PATH_NONE);
}

static void the_directory_part_is_found(void **state)
{
	static const char *const rows[][2] = {
		{ "/a/b", "/a" }, { "/a", "/" },     { "/", "/" },      { "a", "." },
		{ "a/b", "a" },   { "/a/b/", "/a" }, { "/a//b", "/a" }, { "", "." },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(path_dir(&a, str_of(rows[i][0])).p, rows[i][1]);
	}
}

static void the_nearest_existing_parent_is_found(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_string_equal(path_existing(&a, S("/tmp")).p, "/tmp");
	assert_string_equal(path_existing(&a, S("/tmp/gantry-not/here/at/all")).p, "/tmp");
	assert_string_equal(path_existing(&a, S("/dev/null/x")).p, "/dev/null");
	assert_string_equal(path_existing(&a, S("/gantry-not-here")).p, "/");
}

static void the_working_directory_is_absolute(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_int_equal(path_cwd(&a).p[0], '/');
	assert_int_equal(path_kind(path_cwd(&a).p, NULL), PATH_DIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_and_modes_are_told),
		cmocka_unit_test(what_cannot_be_looked_at_is_taken_to_be_there),
		cmocka_unit_test(the_directory_part_is_found),
		cmocka_unit_test(the_nearest_existing_parent_is_found),
		cmocka_unit_test(the_working_directory_is_absolute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tool schemas in the words that the pickiest endpoints know: tests/cases/model/schema,
 * NAME.json in, NAME.plain and NAME.bare out.  What NAME.fits lists fits both.
 *
 * With CASES_WRITE set in the environment the results are written instead of compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/schema.h"
#include "text/schema.h"

#define DIR_CASES "tests/cases/model/schema"

static str file_bytes(struct arena *a, str path)
{
	char *p = arena_alloc(a, 1, 1 << 18);
	FILE *f = fopen(path.p, "rb");
	size_t n;

	if (!f)
		fail_msg("cannot open %s", path.p);
	n = fread(p, 1, 1 << 18, f);
	(void)fclose(f);
	return str_trim((str){ p, n });
}

/* What Google refuses, wherever it stands as a keyword. */
static void check(const struct json *s, bool bare)
{
	static const char *const fine[] = { "type",       "description", "nullable",
					    "format",     "enum",        "items",
					    "properties", "required",    "minimum",
					    "maximum",    "minLength",   "maxLength",
					    "minItems",   "maxItems",    "anyOf" };
	const struct json *p = json_get(s, "properties"), *any = json_get(s, "anyOf");

	assert_true(json_is(s, JSON_OBJECT));
	for (const struct json *m = s->child; m; m = m->next) {
		bool known = false;
		for (size_t i = 0; i < (bare ? 2 : COUNT(fine)); i++)
			known |= str_eq(m->key, str_of(fine[i]));
		for (size_t i = 4; i < 8; i++)
			known |= str_eq(m->key, str_of(fine[i]));
		if (!known)
			fail_msg("keyword %.*s", STRF(m->key));
	}
	if (any) { /* which then stands alone */
		assert_int_equal(s->n, 1);
		for (const struct json *m = any->child; m; m = m->next)
			check(m, bare);
		return;
	}
	assert_true(json_str(s, "type").n > 0);
	if (str_eq(json_str(s, "type"), S("array")))
		check(json_get(s, "items"), bare);
	for (const struct json *m = p ? p->child : NULL; m; m = m->next)
		check(m, bare);
}

static void compare(struct arena *a, str stem, const struct json *root, bool bare)
{
	str path = arena_fmt(a, "%.*s.%s", STRF(stem), bare ? "bare" : "plain");
	struct buf b = buf_in(a, 1 << 20);
	struct json *again;

	schema_write_plain(&b, root, bare);
	if (getenv("CASES_WRITE")) {
		FILE *f = fopen(path.p, "wb");
		assert_non_null(f);
		assert_true(fprintf(f, "%.*s\n", STRF(buf_str(&b))) > 0);
		assert_int_equal(fclose(f), 0);
	}
	assert_int_equal(json_read(&again, a, buf_str(&b), NULL), OK);
	check(again, bare);
	if (!str_eq(buf_str(&b), file_bytes(a, path)))
		fail_msg("%s: %.*s", path.p, STRF(buf_str(&b)));
}

/* What a model may say by the whole schema it must be able to say by the mapped one. */
static size_t fits(struct arena *a, str stem, const struct json *root)
{
	str path = arena_fmt(a, "%.*s.fits", STRF(stem));
	struct buf b = buf_in(a, 1 << 20);
	struct json *values, *plain;
	struct err e = { 0 };

	if (access(path.p, F_OK) < 0)
		return 0;
	schema_write_plain(&b, root, false);
	assert_int_equal(json_read(&plain, a, buf_str(&b), NULL), OK);
	assert_int_equal(json_read(&values, a, file_bytes(a, path), NULL), OK);
	for (const struct json *v = values->child; v; v = v->next)
		if (schema_check(root, v, &e) < 0 || schema_check(plain, v, &e) < 0)
			fail_msg("%s: %s", path.p, e.msg);
	return values->n;
}

static void schemas_of_the_cases_lose_what_is_refused(void **state)
{
	DIR *d = opendir(DIR_CASES);
	size_t n = 0, fit = 0;

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct json *root = NULL;
		str name = str_of(f->d_name);
		str stem = arena_fmt(&a, DIR_CASES "/%.*s", STRF(str_sub(name, 0, name.n - 5)));

		if (!str_ends(name, S(".json")))
			continue;
		assert_int_equal(
			json_read(&root, &a,
				  file_bytes(&a, arena_fmt(&a, "%.*s.json", STRF(stem))), NULL),
			OK);
		compare(&a, stem, root, false);
		compare(&a, stem, root, true);
		fit += fits(&a, stem, root);
		n++;
	}
	(void)closedir(d);
	assert_true(n >= 14 && fit >= 25);
}

static void schemas_that_branch_without_end_stay_small(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf in = buf_in(&a, 1 << 20), out = buf_in(&a, 4 << 20);
	struct json *root;

	buf_add(&in, S("{\"$defs\":{\"n\":{\"properties\":{"));
	for (int i = 0; i < 40; i++)
		buf_fmt(&in, "%s\"p%d\":{\"$ref\":\"#/$defs/n\"}", i ? "," : "", i);
	buf_add(&in, S("}}},\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"}}}"));
	assert_int_equal(json_read(&root, &a, buf_str(&in), NULL), OK);
	schema_write_plain(&out, root, false);
	assert_false(out.full);
	assert_true(out.n < 64 << 10);
	assert_int_equal(json_read(&root, &a, buf_str(&out), NULL), OK);
	check(root, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schemas_of_the_cases_lose_what_is_refused),
		cmocka_unit_test(schemas_that_branch_without_end_stay_small),
	};

	return cmocka_run_group_tests_name("model/schema", tests, NULL, NULL);
}

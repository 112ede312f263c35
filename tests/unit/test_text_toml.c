/*
 * TOML: own cases as files (value trees in toml-test's tagged JSON, or the exact error), and
 * the public toml-test suite for 1.0.0 when GANTRY_CORPORA names the folder that holds it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "text/json.h"
#include "text/toml.h"

#define CASE_MAX ((size_t)1 << 20)

static bool file_bytes(struct arena *a, const char *path, str *out)
{
	FILE *f = fopen(path, "rb");
	char *p = arena_alloc(a, 1, CASE_MAX);

	if (!f)
		return false;
	*out = (str){ p, fread(p, 1, CASE_MAX, f) };
	assert_true(out->n < CASE_MAX);
	(void)fclose(f);
	return true;
}

/* A date with its fraction cut to what is significant, so that ".6" and ".600" are one. */
static str plain_date(struct arena *a, str s)
{
	size_t dot = str_find(s, S(".")), end = dot + 1, last = dot;

	if (dot == SIZE_MAX)
		return s;
	for (; end < s.n && s.p[end] >= '0' && s.p[end] <= '9'; end++)
		if (s.p[end] != '0')
			last = end + 1;
	return arena_cat(a, str_sub(s, 0, last), str_sub(s, end, s.n));
}

static const char *tag_of(enum toml_type t)
{
	static const char *const tags[] = {
		[TOML_STRING] = "string",         [TOML_INT] = "integer",
		[TOML_FLOAT] = "float",           [TOML_BOOL] = "bool",
		[TOML_DATETIME] = "datetime",     [TOML_DATETIME_LOCAL] = "datetime-local",
		[TOML_DATE_LOCAL] = "date-local", [TOML_TIME_LOCAL] = "time-local",
	};

	return t < TOML_ARRAY ? tags[t] : "";
}

static bool same_scalar(struct arena *a, const struct toml *v, const struct json *want)
{
	str value = json_str(want, "value");
	double d;

	if (!str_eq(json_str(want, "type"), str_of(tag_of(v->type))))
		return false;
	switch (v->type) {
	case TOML_STRING:
		return str_eq(v->s, value);
	case TOML_INT:
		return str_eq(arena_fmt(a, "%lld", (long long)v->i), value);
	case TOML_FLOAT:
		d = strtod(value.p, NULL);
		return isnan(d) ? isnan(v->d) : d == v->d;
	case TOML_BOOL:
		return str_eq(v->b ? S("true") : S("false"), value);
	default:
		return str_eq(plain_date(a, v->s), plain_date(a, value));
	}
}

/* The JSON reader makes U+FFFD of a NUL in a key. */
static bool same_key(str got, str want)
{
	return str_eq(got, want) || (str_eq(got, S("\0")) && str_eq(want, S("\xEF\xBF\xBD")));
}

static bool same(struct arena *a, const struct toml *v, const struct json *want)
{
	const struct toml *x = v->child;

	if (v->type == TOML_ARRAY) {
		const struct json *w = json_is(want, JSON_ARRAY) ? want->child : NULL;

		if (!json_is(want, JSON_ARRAY) || want->n != v->n)
			return false;
		for (; x && w; x = x->next, w = w->next)
			if (!same(a, x, w))
				return false;
		return !x && !w;
	}
	if (v->type != TOML_TABLE)
		return same_scalar(a, v, want);
	if (!json_is(want, JSON_OBJECT) || want->n != v->n)
		return false;
	for (const struct json *w = want->child; w; w = w->next) {
		for (x = v->child; x && !same_key(x->key, w->key);)
			x = x->next;
		if (!x || !same(a, x, w))
			return false;
	}
	return true;
}

/* NULL, or what went wrong with the case. */
static const char *check(struct arena *a, str text, const char *json_path, const str *error)
{
	struct toml *v = NULL;
	struct json *want;
	struct err e = { 0 };
	int rc = toml_read(&v, a, text, &e);
	str expected;

	if (error && (rc == OK || v))
		return "accepted";
	if (error)
		return error->n && !str_eq(str_trim(*error), str_of(e.msg))
			       ? arena_fmt(a, "says \"%s\"", e.msg).p
		       : !str_starts(str_of(e.msg), S("line ")) ? "names no line"
								: NULL;
	if (rc != OK)
		return arena_fmt(a, "refused: %s", e.msg).p;
	if (!file_bytes(a, json_path, &expected) || json_read(&want, a, expected, &e) != OK)
		return arena_fmt(a, "no expectation in %s: %s", json_path, e.msg).p;
	return same(a, v, want) ? NULL : "another value";
}

static void own_cases_give_the_tree_or_the_error_beside_them(void **state)
{
	DIR *d = opendir("tests/cases/toml");
	size_t n = 0, wrong = 0;

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));) {
		SCOPED(arena_free) struct arena a = { 0 };
		str name = str_of(f->d_name), text, error;
		const char *base, *why;

		if (!str_ends(name, S(".toml")))
			continue;
		n++;
		base = arena_fmt(&a, "tests/cases/toml/%.*s", (int)name.n - 5, name.p).p;
		assert_true(file_bytes(&a, arena_fmt(&a, "%s.toml", base).p, &text));
		why = check(&a, text, arena_fmt(&a, "%s.json", base).p,
			    file_bytes(&a, arena_fmt(&a, "%s.error", base).p, &error) ? &error
										      : NULL);
		if (why)
			print_error("%s: %s\n", f->d_name, why);
		wrong += why != NULL;
	}
	(void)closedir(d);
	assert_int_equal(wrong, 0);
	assert_true(n >= 20);
}

static void the_public_suite_for_1_0_0_passes_whole(void **state)
{
	SCOPED(arena_free) struct arena names = { 0 };
	const char *corpora = getenv("GANTRY_CORPORA");
	size_t valid = 0, invalid = 0, wrong = 0;
	str list, rest;

	if (!corpora || !*corpora) {
		if (getenv("GANTRY_CORPORA_REQUIRED"))
			fail_msg("GANTRY_CORPORA is not set, and it is required");
		print_message("GANTRY_CORPORA is not set: toml-test left out\n");
		skip();
	}
	str dir = arena_fmt(&names, "%s/toml-test/tests", corpora);

	if (!file_bytes(&names, arena_fmt(&names, "%s/files-toml-1.0.0", dir.p).p, &list))
		fail_msg("no toml-test in %s", corpora);
	for (rest = list; rest.n;) {
		SCOPED(arena_free) struct arena a = { 0 };
		str name = str_cut(&rest, '\n'), text, any = { 0 };
		bool bad = str_starts(name, S("invalid/"));
		const char *path = arena_fmt(&a, "%s/%.*s", dir.p, (int)name.n - 5, name.p).p;
		const char *why;

		if (!str_ends(name, S(".toml")))
			continue;
		bad ? invalid++ : valid++;
		if (!file_bytes(&a, arena_fmt(&a, "%s.toml", path).p, &text))
			fail_msg("%s is missing", path);
		why = check(&a, text, arena_fmt(&a, "%s.json", path).p, bad ? &any : NULL);
		if (why)
			print_error("%.*s: %s\n", STRF(name), why);
		wrong += why != NULL;
	}
	print_message("toml-test: %zu valid, %zu invalid, %zu wrong\n", valid, invalid, wrong);
	assert_int_equal(wrong, 0);
	assert_true(valid >= 200);
	assert_true(invalid >= 480);
}

static void keys_keep_their_order_and_values_know_their_line(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct toml *v;

	assert_int_equal(
		toml_read(&v, &a, S("z = 1\na.b = 2\n\n[m]\nk = 3\n[[s]]\n[[s]]\n"), &e), OK);
	assert_string_equal(v->child->key.p, "z");
	assert_string_equal(v->child->next->key.p, "a");
	assert_string_equal(v->child->next->next->key.p, "m");
	assert_int_equal(toml_get(v, "z")->line, 1);
	assert_int_equal(toml_get(toml_get(v, "a"), "b")->line, 2);
	assert_int_equal(toml_get(v, "m")->line, 4);
	assert_int_equal(toml_get(v, "s")->child->next->line, 7);
	assert_null(toml_get(v, "nothing"));
	assert_null(toml_get(toml_get(v, "z"), "x"));
	assert_null(toml_get(NULL, "x"));
}

static void depth_and_key_parts_are_bounded(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf deep = buf_in(&a, 1 << 20), parts = buf_in(&a, 1 << 20);
	struct err e = { 0 };
	struct toml *v = NULL;

	buf_add(&deep, S("a = "));
	for (int i = 0; i < 100000; i++)
		buf_addc(&deep, '[');
	assert_int_equal(toml_read(&v, &a, buf_str(&deep), &e), E_INVAL);
	assert_string_equal(e.msg, "line 1, column 69: nested deeper than 64");
	for (int i = 0; i < 100; i++)
		buf_add(&parts, S("a."));
	buf_add(&parts, S("b = 1"));
	assert_int_equal(toml_read(&v, &a, buf_str(&parts), &e), E_INVAL);
	assert_string_equal(e.msg, "line 1, column 129: more than 64 parts in a key");
	assert_null(v);
}

static void a_text_over_the_limit_is_refused_unread(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct toml *v = NULL;
	size_t n = ((size_t)16 << 20) + 1;
	char *p = arena_alloc(&a, 1, n);

	memset(p, '#', n);
	assert_int_equal(toml_read(&v, &a, (str){ p, n }, &e), E_LIMIT);
	assert_null(v);
}

static void a_table_of_many_keys_is_read_in_reasonable_time(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 8 << 20);
	struct err e = { 0 };
	struct toml *v;

	for (int i = 0; i < 200000; i++)
		buf_fmt(&b, "k%d=%d\n", i, i);
	assert_int_equal(toml_read(&v, &a, buf_str(&b), &e), OK);
	assert_int_equal(v->n, 200000);
	assert_int_equal(toml_get(v, "k199999")->i, 199999);
	assert_int_equal(toml_get(v, "k199999")->line, 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_cases_give_the_tree_or_the_error_beside_them),
		cmocka_unit_test(the_public_suite_for_1_0_0_passes_whole),
		cmocka_unit_test(keys_keep_their_order_and_values_know_their_line),
		cmocka_unit_test(depth_and_key_parts_are_bounded),
		cmocka_unit_test(a_text_over_the_limit_is_refused_unread),
		cmocka_unit_test(a_table_of_many_keys_is_read_in_reasonable_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

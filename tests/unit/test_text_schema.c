/*
 * JSON Schemas against values: tests/cases/schema, each file like one of the public
 * JSON-Schema-Test-Suite (a list of schemas with their tests), with "message" where the words
 * matter and "formats" where those are held to.
 *
 * GANTRY_SCHEMASUITE may name a folder of that suite (tests/draft7): its files are walked too.
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
#include <sys/resource.h>

#include "text/schema.h"

#define DIR_CASES "tests/cases/schema"

static str file_bytes(struct arena *a, str path)
{
	const size_t max = 4 << 20;
	char *p = arena_alloc(a, 1, max);
	FILE *f = fopen(path.p, "rb");

	if (!f)
		fail_msg("cannot open %s", path.p);
	size_t n = fread(p, 1, max, f);
	(void)fclose(f);
	return (str){ p, n };
}

static struct json *read_json(struct arena *a, str text)
{
	struct json *v;
	struct err e = { 0 };

	if (json_read(&v, a, text, &e) < 0)
		fail_msg("%.*s: %s", STRF(text), e.msg);
	return v;
}

struct count {
	int good, bad;
	bool formats, quiet;
};

static void run_file(struct arena *a, str name, const struct json *groups, struct count *n)
{
	for (const struct json *g = groups->child; g; g = g->next)
		for (const struct json *t = json_get(g, "tests")->child; t; t = t->next) {
			struct schema_opt opt = { .name = "arguments",
						  .formats = n->formats ||
							     json_bool(g, "formats", false) };
			struct err e = { 0 };
			bool valid = json_bool(t, "valid", false);
			str message = json_str(t, "message");
			int rc = schema_check_as(&opt, json_get(g, "schema"),
						 json_get(t, "data"), &e);
			bool good = rc == (valid ? OK : E_INVAL) && strlen(e.msg) < 255 &&
				    (valid || e.msg[0]) &&
				    (!message.n || str_eq(message, str_of(e.msg)));
			n->good += good;
			n->bad += !good;
			if (!good)
				print_message("%.*s: %.*s: %.*s: %d %s\n", STRF(name),
					      STRF(json_str(g, "description")),
					      STRF(json_str(t, "description")), rc, e.msg);
		}
}

static void walk(const char *dir, struct count *n)
{
	DIR *d = opendir(dir);

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));) {
		SCOPED(arena_free) struct arena a = { 0 };
		str name = str_of(f->d_name);
		if (!str_ends(name, S(".json")))
			continue;
		str text = file_bytes(&a, arena_fmt(&a, "%s/%s", dir, f->d_name));
		run_file(&a, name, read_json(&a, text), n);
	}
	(void)closedir(d);
}

static void every_case_fits_or_is_refused_with_its_words(void **state)
{
	struct count n = { 0 };

	walk(DIR_CASES, &n);
	assert_true(n.good > 60);
	assert_int_equal(n.bad, 0);
}

static void the_public_suite_is_judged_as_it_says(void **state)
{
	const char *dir = getenv("GANTRY_SCHEMASUITE");
	struct count n = { .formats = getenv("GANTRY_SCHEMASUITE_FORMATS") != NULL };

	if (!dir) {
		print_message("GANTRY_SCHEMASUITE is not set: the public suite is skipped\n");
		skip();
	}
	walk(dir, &n);
	print_message("%d as the suite says, %d not\n", n.good, n.bad);
	assert_int_equal(n.bad, 0);
}

/* ---- work --------------------------------------------------------------------------- */

static int check_text(str schema, str value)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	int rc = schema_check(read_json(&a, schema), read_json(&a, value), &e);

	return rc;
}

static int check(const char *schema, str value)
{
	return check_text(str_of(schema), value);
}

static str repeated(struct arena *a, const char *open, const char *item, size_t n,
		    const char *end)
{
	struct buf b = buf_in(a, 16 << 20);

	buf_add(&b, str_of(open));
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s%s", i ? "," : "", item);
	buf_add(&b, str_of(end));
	return buf_str(&b);
}

static void no_schema_takes_long(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const char *const rows[] = {
		/* for ever */
		"{\"$ref\":\"#\"}",
		"{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}",
		"{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}},"
		"\"$ref\":\"#/$defs/a\"}",
		"{\"anyOf\":[{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]},{\"$ref\":\"#\"}]"
		"}",
		/* at every element */
		"{\"items\":{\"pattern\":\"^(a+)+$\"}}",
		"{\"items\":{\"anyOf\":[{\"pattern\":\"(a*)*b\"},{\"pattern\":\"(a|aa)+$\"}]}}",
		"{\"patternProperties\":{\"(x+x+)+y\":{}},\"items\":{\"$ref\":\"#/items\"}}",
	};
	str value =
		repeated(&a, "[", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", 20000, "]");

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(check(rows[i], value), E_LIMIT);
}

static void large_values_are_judged_all_the_same(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4 << 20);

	assert_int_equal(
		check("{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":"
		      "[\"id\"],\"properties\":{\"id\":{\"type\":\"integer\"}}}}",
		      repeated(&a, "[", "{\"id\":7}", 5000, ",{}]")),
		E_INVAL);
	buf_add(&b, S("["));
	for (int i = 0; i < 20000; i++)
		buf_fmt(&b, "%s\"name %d\"", i ? "," : "", i);
	buf_add(&b, S("]"));
	assert_int_equal(check("{\"uniqueItems\":true}", buf_str(&b)), OK);
}

static void deep_values_end_somewhere(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4 << 20);

	for (int i = 0; i < 500; i++)
		buf_add(&b, S("["));
	for (int i = 0; i < 500; i++)
		buf_add(&b, S("]"));
	assert_int_equal(check("{\"items\":{\"$ref\":\"#\"}}", buf_str(&b)), E_LIMIT);
	assert_int_equal(check("{\"type\":\"array\"}", buf_str(&b)), OK);
}

/* MiB that the process has had at most. */
static long peak(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return u.ru_maxrss / 1024;
}

static void a_fault_that_nobody_hears_of_takes_no_memory(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	long before = peak();

	assert_int_equal(check("{\"properties\":{\"x\":{\"items\":{\"not\":{"
			       "\"propertyNames\":false}}}}}",
			       repeated(&a, "{\"x\":[", "{\"a\":0}", 20000, "]}")),
			 OK);
	assert_int_equal(
		check_text(repeated(&a, "{\"allOf\":[", "{\"not\":{\"propertyNames\":false}}",
				    30000, "]}"),
			   S("{\"a\":0}")),
		OK);
	/* Those of its alternatives are heard of, and one after the other are kept. */
	assert_int_equal(check_text(repeated(&a, "{\"anyOf\":[", "{\"propertyNames\":false}",
					     15000, "]}"),
				    S("{\"a\":0}")),
			 E_INVAL);
	assert_true(peak() - before < 400);
}

static void long_references_count_by_their_length(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	long before = peak();
	str tail = repeated(&a, "", "AAAAAAAAAAAAAAA", 65536, "");
	str zeros = repeated(&a, "[", "0", 2000, "]");

	assert_int_equal(
		check_text(arena_fmt(&a, "{\"items\":{\"$ref\":\"#/%.*s\"}}", STRF(tail)),
			   zeros),
		E_LIMIT);
	/* Also where memory would do. */
	assert_int_equal(check_text(arena_fmt(&a, "{\"items\":{\"$ref\":\"#/%.*s\"}}",
					      STRF(str_sub(tail, 0, 8000))),
				    repeated(&a, "[", "0", 1500, "]")),
			 E_LIMIT);
	str ids = repeated(&a, "[", "{\"$id\":\"x\"}", 200, "]");
	assert_int_equal(check_text(arena_fmt(&a,
					      "{\"$id\":\"http://%.*s/\",\"allOf\":%.*s,"
					      "\"items\":{\"$ref\":\"y\"}}",
					      STRF(tail), STRF(ids)),
				    zeros),
			 E_LIMIT);
	assert_true(peak() - before < 400);
}

/* An object of n members. */
static str members(struct arena *a, const char *value, int n)
{
	struct buf b = buf_in(a, 4 << 20);

	for (int i = 0; i < n; i++)
		buf_fmt(&b, "%s\"k%d\":%s", i ? "," : "{", i, value);
	buf_addc(&b, '}');
	return buf_str(&b);
}

static void what_a_schema_has_counts_as_work_even_where_it_decides_nothing(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str zeros = repeated(&a, "[", "0", 2000, "]");
	str objects = repeated(&a, "[", "{}", 2000, "]");
	str unknown = members(&a, "0", 20000), arrays = members(&a, "[]", 20000);
	const struct {
		str schema, value;
	} rows[] = {
		{ arena_fmt(&a, "{\"items\":%.*s}", STRF(unknown)), zeros },
		{ arena_fmt(&a, "{\"items\":{\"dependentSchemas\":%.*s}}", STRF(arrays)),
		  objects },
		{ repeated(&a, "{\"items\":{\"not\":{\"type\":[", "\"null\"", 20000, "]}}}"),
		  zeros },
		{ repeated(&a, "{\"allOf\":[", "{\"not\":{\"contains\":false}}", 20000, "]}"),
		  zeros },
		{ repeated(&a, "{\"allOf\":[", "{\"properties\":1}", 20000, "]}"),
		  members(&a, "0", 2000) },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (check_text(rows[i].schema, rows[i].value) != E_LIMIT)
			fail_msg("row %zu", i);
}

static void patterns_count_by_what_they_are_held_against(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str text = repeated(&a, "\"", "aaaaaaaaaaaaaaaaaaa", 110000, "\"");
	str refs = repeated(&a, "[", "{\"$ref\":\"#/$defs/a\"}", 5000, "]");
	struct buf b = buf_in(&a, 1 << 20);

	assert_int_equal(
		check_text(arena_fmt(&a,
				     "{\"$defs\":{\"a\":{\"pattern\":\"^a\"}},\"allOf\":%.*s}",
				     STRF(refs)),
			   text),
		E_LIMIT);
	assert_int_equal(check("{\"pattern\":\"^a\"}", text), OK);
	/* A few bytes of a pattern can be a large program. */
	buf_add(&b, S("{\"allOf\":["));
	for (int i = 0; i < 1000; i++)
		buf_fmt(&b, "%s{\"pattern\":\"((a{1,50}){1,9}){0,9}(%d)?\"}", i ? "," : "", i);
	buf_add(&b, S("]}"));
	assert_int_equal(check_text(buf_str(&b), S("\"\"")), E_LIMIT);
}

/* ---- nulls -------------------------------------------------------------------------- */

static void nulls_of_optional_parameters_are_left_out(void **state)
{
	static const char schema[] =
		"{\"type\":\"object\",\"required\":[\"r\"],\"$defs\":{\"s\":{\"type\":"
		"\"string\"},\"n\":{\"type\":[\"string\",\"null\"]}},\"properties\":{"
		"\"a\":{\"type\":\"string\"},\"b\":{\"$ref\":\"#/$defs/s\"},"
		"\"r\":{\"type\":\"integer\"},\"n\":{\"$ref\":\"#/$defs/n\"},\"any\":{},"
		"\"o\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},"
		"\"k\":{\"type\":\"null\"}}}}}";
	static const char *const rows[][2] = {
		{ "{\"a\":null}", "{}" },
		{ "{ \"a\" : null , \"r\":1}", "{  \"r\":1}" },
		{ "{\"r\":1,\"a\":null}", "{\"r\":1}" },
		{ "{\"r\":1,\"a\":null,\"b\":null,\"any\":2}", "{\"r\":1,\"any\":2}" },
		{ "{\"a\":null,\"b\":null}", "{}" },
		{ "{\"r\":null}", "{\"r\":null}" },
		{ "{\"n\":null,\"any\":null,\"x\":null}",
		  "{\"n\":null,\"any\":null,\"x\":null}" },
		{ "{\"r\":123456789012345678901234567890,\"a\":null,\"any\":1.10}",
		  "{\"r\":123456789012345678901234567890,\"any\":1.10}" },
		{ "{\"o\":{\"a\":null,\"k\":null},\"a\":null}", "{\"o\":{\"k\":null}}" },
		{ "{\"o\":{\"a\":null}}", "{\"o\":{}}" },
		{ "{\"any\":\"null\",\"\\u0061\":null}", "{\"any\":\"null\"}" },
		{ "{\"any\":[null,{\"a\":null}],\"b\":null}", "{\"any\":[null,{\"a\":null}]}" },
		{ "{\"any\":\"}\\\",null\",\"b\":null}", "{\"any\":\"}\\\",null\"}" },
		{ "null", "null" },
		{ "[null]", "[null]" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str got = schema_drop_nulls(read_json(&a, str_of(schema)), str_of(rows[i][0]),
					    &a);
		(void)read_json(&a, got);
		if (!str_eq(got, str_of(rows[i][1])))
			fail_msg("%s: %.*s", rows[i][0], STRF(got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_fits_or_is_refused_with_its_words),
		cmocka_unit_test(the_public_suite_is_judged_as_it_says),
		cmocka_unit_test(no_schema_takes_long),
		cmocka_unit_test(large_values_are_judged_all_the_same),
		cmocka_unit_test(deep_values_end_somewhere),
		cmocka_unit_test(a_fault_that_nobody_hears_of_takes_no_memory),
		cmocka_unit_test(long_references_count_by_their_length),
		cmocka_unit_test(
			what_a_schema_has_counts_as_work_even_where_it_decides_nothing),
		cmocka_unit_test(patterns_count_by_what_they_are_held_against),
		cmocka_unit_test(nulls_of_optional_parameters_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

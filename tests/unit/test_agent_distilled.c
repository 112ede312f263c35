/*
 * What a model gives for a list, and what is taken of it.
 */
#include "agent/distilled.h"

#include "base/buf.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

static const struct row {
	const char *answer;
	const char *taken; /* "kind|subject|content|ids|contradicts;"; NULL: no list */
} rows[] = {
	{ "[]", "" },
	{ "nothing", NULL },
	{ "", NULL },
	{ "{\"kind\":\"fact\"}", NULL },
	{ "[{\"kind\":\"Preference \",\"subject\":\" chris \",\"content\":\"coaching tone\"}]",
	  "preference|chris|coaching tone||;" },
	{ "```json\n[{\"subject\":\"s\",\"content\":\"c\"}]\n```", "fact|s|c||;" },
	{ "Sure [as asked]:\n[{\"subject\":\"s\",\"content\":\"c\"}] I hope [it] helps",
	  "fact|s|c||;" },
	{ "Sure [as asked]:\n[{\"subject\":\"s\",\"content\":\"c\"}]\nAnything else?",
	  "fact|s|c||;" },
	{ "[{\"subject\":\"s\",\"content\":\"c\",\"supersedes\":[1,\"3\",7,1,null,\"x\",2.5]}]",
	  "fact|s|c|1,3|;" }, /* 7 was not shown */
	{ "[{\"subject\":\"s\",\"content\":\"c\",\"supersedes\":\"3\"}]", "fact|s|c|3|;" },
	{ "[{\"subject\":\"s\",\"content\":\"c\",\"contradicts\":\"Be brief.\"}]",
	  "fact|s|c||Be brief.;" },
	{ "[{\"x\":1},1,\"x\",null,{},{\"subject\":\"s\"},{\"content\":\"c\"},"
	  "{\"kind\":\"episode\",\"subject\":\"s\",\"content\":\"c\"},"
	  "{\"kind\":\"mood\",\"subject\":\"s\",\"content\":\"c\"},"
	  "{\"kind\":\"insight\",\"subject\":\"s\",\"content\":\"two\\nlines\"}]",
	  "insight|s|two lines||;" },
};

static void one_bad_item_costs_no_other(void **state)
{
	static const int64_t shown[] = { 1, 2, 3 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 65536);
		struct distilled *v;
		struct err e = { 0 };
		size_t n = 0;
		int rc = distilled_read(str_of(rows[i].answer), shown, COUNT(shown), &a, &v, &n,
					&e);
		if (rc != (rows[i].taken ? OK : E_PROTO))
			fail_msg("%s: %s", rows[i].answer, err_word(rc));
		for (size_t k = 0; k < n; k++) {
			buf_fmt(&b, "%.*s|%.*s|%.*s|", STRF(v[k].kind), STRF(v[k].subject),
				STRF(v[k].content));
			for (size_t j = 0; j < v[k].replaces_n; j++)
				buf_fmt(&b, "%s%lld", j ? "," : "",
					(long long)v[k].replaces[j]);
			buf_fmt(&b, "|%.*s;", STRF(v[k].contradicts));
		}
		if (rows[i].taken)
			assert_string_equal(buf_str(&b).p ? buf_str(&b).p : "", rows[i].taken);
	}
}

static void there_is_an_end_to_what_is_taken(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);
	struct distilled *v;
	size_t n;

	(void)state;
	buf_add(&b, S("[{\"subject\":\"s\",\"content\":\""));
	for (int i = 0; i < 2001; i++)
		buf_addc(&b, 'x');
	buf_add(&b, S("\"}"));
	for (int i = 0; i < 100; i++)
		buf_add(&b, S(",{\"subject\":\"s\",\"content\":\"c\"}"));
	buf_addc(&b, ']');
	assert_int_equal(distilled_read(buf_str(&b), NULL, 0, &a, &v, &n, NULL), OK);
	assert_int_equal(n, DISTILLED_MAX);
	assert_string_equal(v[0].content.p, "c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_bad_item_costs_no_other),
		cmocka_unit_test(there_is_an_end_to_what_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Forms and queries: what is written is read back, whatever the bytes, and broken escapes stand
 * for themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/query.h"

static void every_byte_survives_the_way_there_and_back(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4096);
	char all[256];
	str value;

	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	query_add(&b, "x", S("first"));
	query_add(&b, "b\xC3\xBC&=", (str){ all, sizeof(all) });
	assert_true(str_starts(buf_str(&b), S("x=first&b%C3%BC%26%3D=%00%01")));
	assert_true(query_get(&a, buf_str(&b), "b\xC3\xBC&=", &value));
	assert_int_equal(value.n, 256);
	assert_memory_equal(value.p, all, 256);
}

static void unreserved_characters_stay_and_a_query_goes_on(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4096);

	buf_add(&b, S("https://h/p?"));
	query_add(&b, "a", S("AZaz09-._~"));
	query_add(&b, "b", S(" +/"));
	assert_string_equal(buf_str(&b).p, "https://h/p?a=AZaz09-._~&b=%20%2B%2F");
}

static void reading_takes_the_first_and_bears_what_is_broken(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: there is none */
	} rows[] = {
		{ "code=1&code=2", "1" }, { "xcode=1", NULL },         { "", NULL },
		{ "&&code", "" },         { "code=a+b%20c", "a b c" }, { "code=%", "%" },
		{ "code=%4", "%4" },      { "code=%zz", "%zz" },       { "code=%41", "A" },
		{ "c%6Fde=x=y", "x=y" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str value;
		bool found = query_get(&a, str_of(rows[i].text), "code", &value);

		assert_int_equal(found, rows[i].want != NULL);
		if (found)
			assert_true(str_eq(value, str_of(rows[i].want)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_survives_the_way_there_and_back),
		cmocka_unit_test(unreserved_characters_stay_and_a_query_goes_on),
		cmocka_unit_test(reading_takes_the_first_and_bears_what_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

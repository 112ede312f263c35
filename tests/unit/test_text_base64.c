/* Base64 against the vectors of RFC 4648, and bytes of every value. */
#include "text/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct {
	str bytes;
	const char *text;
} cases[] = {
	{ { "", 0 }, "" },
	{ { "f", 1 }, "Zg==" },
	{ { "fo", 2 }, "Zm8=" },
	{ { "foo", 3 }, "Zm9v" },
	{ { "foob", 4 }, "Zm9vYg==" },
	{ { "fooba", 5 }, "Zm9vYmE=" },
	{ { "foobar", 6 }, "Zm9vYmFy" },
	{ { "\0\377\276\373\357\277", 6 }, "AP+++++/" },
	{ { "\377\377\377", 3 }, "////" },
};

static void bytes_become_the_text_of_the_standard(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		assert_string_equal(base64_of(&a, cases[i].bytes).p, cases[i].text);
	}
}

static void form_for_urls_has_other_digits_and_no_padding(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_string_equal(base64url_of(&a, S("f")).p, "Zg");
	assert_string_equal(base64url_of(&a, S("fo")).p, "Zm8");
	assert_string_equal(base64url_of(&a, S("")).p, "");
	assert_string_equal(base64url_of(&a, (str){ "\0\377\276\373\357\277", 6 }).p,
			    "AP-----_");
}

static void a_text_becomes_its_bytes_again(void **state)
{
	static const str odd[] = { S("Zg"), S("Zg==") };
	static const char *const bad[] = { "Z", "Zg==Zg", "Zm9v!", "Zm9vZ" };
	str out;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		assert_true(base64_read(&a, str_of(cases[i].text), &out));
		assert_true(str_eq(out, cases[i].bytes));
	}
	SCOPED(arena_free) struct arena a = { 0 };
	for (size_t i = 0; i < 2; i++) {
		assert_true(base64_read(&a, odd[i], &out));
		assert_true(str_eq(out, S("f")));
	}
	assert_true(base64_read(&a, S("Zm 9v\nYg==\n"), &out));
	assert_true(str_eq(out, S("foob")));
	assert_true(base64_read(&a, S("-_-_"), &out));
	assert_true(str_eq(out, S("\373\377\277")));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(base64_read(&a, str_of(bad[i]), &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_become_the_text_of_the_standard),
		cmocka_unit_test(form_for_urls_has_other_digits_and_no_padding),
		cmocka_unit_test(a_text_becomes_its_bytes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

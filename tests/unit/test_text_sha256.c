/* SHA-256 against the vectors of the standard, and at the edges of its blocks. */
#include "text/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *unit;
	size_t times;
	const char *hash;
} cases[] = {
	{ "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318" },
	{ "a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a" },
	{ "a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb" },
	{ "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
};

static void known_texts_have_known_hashes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		size_t n = strlen(cases[i].unit);
		char *p = arena_alloc(&a, 1, n * cases[i].times + 1);
		for (size_t j = 0; j < cases[i].times; j++)
			memcpy(p + j * n, cases[i].unit, n);
		str hash = sha256_hex(&a, (str){ p, n * cases[i].times });
		assert_string_equal(hash.p, cases[i].hash);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts_have_known_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

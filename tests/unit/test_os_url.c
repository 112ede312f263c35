/*
 * URLs as the connecting side understands them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/url.h"

static const struct {
	const char *base, *ref;
	const char *text, *host; /* NULL: no URL */
	int64_t port;
	bool tls, user;
} rows[] = {
	{ "", "http://Example.COM", "http://Example.COM/", "example.com", 80, false, false },
	{ "", "https://example.com:8443/a?b#c", "https://example.com:8443/a?b", "example.com",
	  8443, true, false },
	{ "", "HTTP://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80, false, false },
	{ "", "http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1", 80, false, false },
	{ "", "http://[::1]:80/x", NULL, "[::1]", 80, false, false },
	{ "", "http://user:pw@example.com/", NULL, "example.com", 80, false, true },
	{ "", "http://user@example.com/", NULL, "example.com", 80, false, true },
	{ "http://a.example/x/y?q", "z", "http://a.example/x/z", "a.example", 80, false,
	  false },
	{ "http://a.example/x/y", "/z", "http://a.example/z", "a.example", 80, false, false },
	{ "https://a.example/x", "//b.example/z", "https://b.example/z", "b.example", 443, true,
	  false },
	{ "http://a.example/x", "https://b.example/", "https://b.example/", "b.example", 443,
	  true, false },
	{ "http://a.example/x", "a b", "http://a.example/a%20b", "a.example", 80, false,
	  false },
	{ "", "ftp://example.com/", NULL, NULL, 0, false, false },
	{ "", "file:///etc/passwd", NULL, NULL, 0, false, false },
	{ "", "gopher://x", NULL, NULL, 0, false, false },
	{ "", "javascript:alert(1)", NULL, NULL, 0, false, false },
	{ "http://a.example/x", "file:///etc/passwd", NULL, NULL, 0, false, false },
	{ "", "", NULL, NULL, 0, false, false },
	{ "", "/relative", NULL, NULL, 0, false, false },
	{ "", "http://", NULL, NULL, 0, false, false },
};

static void urls_are_taken_apart_and_joined(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct url u;
		struct err e = { 0 };
		int rc = url_parse(&u, &a, str_of(rows[i].base), str_of(rows[i].ref), &e);

		if (!rows[i].host) {
			assert_int_equal(rc, E_INVAL);
			continue;
		}
		if (rc < 0)
			fail_msg("%s: %s", rows[i].ref, e.msg);
		assert_string_equal(u.host.p, rows[i].host);
		if (rows[i].text)
			assert_string_equal(u.text.p, rows[i].text);
		assert_int_equal(u.port, rows[i].port);
		assert_int_equal(u.tls, rows[i].tls);
		assert_int_equal(u.user, rows[i].user);
	}
}

static void a_scheme_that_is_not_ours_is_named(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct url u;
	struct err e = { 0 };

	assert_int_equal(url_parse(&u, &a, S(""), S("ftp://example.com/"), &e), E_INVAL);
	assert_string_equal(e.msg, "not an http or https URL: unsupported scheme \"ftp\"");
	assert_int_equal(url_parse(&u, &a, S(""), S("http://a\0b/"), &e), E_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_are_taken_apart_and_joined),
		cmocka_unit_test(a_scheme_that_is_not_ours_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

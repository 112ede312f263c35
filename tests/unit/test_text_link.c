/*
 * Links as a person has to see them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "text/link.h"

static const struct {
	const char *in, *url, *host;
	bool named, plain, login;
} good[] = {
	{ "https://example.org/a?b=c#d", "https://example.org/a?b=c#d", "example.org", false,
	  false, false },
	{ "HTTP://Example.ORG:8080", "http://example.org:8080", "example.org", false, true,
	  false },
	{ "https://b\xc3\xbc"
	  "cher.example/\xc3\xbc",
	  "https://xn--bcher-kva.example/%C3%BC", "xn--bcher-kva.example", true, false, false },
	/* Cyrillic a in the place of the first letter. */
	{ "https://\xd0\xb0pple.com/", "https://xn--pple-43d.com/", "xn--pple-43d.com", true,
	  false, false },
	{ "https://\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88\xe4\xb8\x8d"
	  "\xe8\xaf\xb4\xe4\xb8\xad\xe6\x96\x87.example",
	  "https://xn--ihqwcrb4cv8a8dqg056pqjye.example",
	  "xn--ihqwcrb4cv8a8dqg056pqjye.example", true, false, false },
	{ "https://bank.example@evil.example/", "https://bank.example@evil.example/",
	  "evil.example", false, false, true },
	{ "https://[2001:db8::1]:443/x", "https://[2001:db8::1]:443/x", "[2001:db8::1]", false,
	  false, false },
};

static void a_link_is_shown_as_what_is_looked_up(void **state)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct link_seen s = { 0 };
		assert_int_equal(link_read(&s, str_of(good[i].in), &a, NULL), OK);
		assert_string_equal(arena_dup(&a, s.url).p, good[i].url);
		assert_string_equal(arena_dup(&a, s.host).p, good[i].host);
		assert_int_equal(s.named, good[i].named);
		assert_int_equal(s.plain, good[i].plain);
		assert_int_equal(s.login, good[i].login);
	}
	(void)state;
}

static void what_is_no_link_to_a_host_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"example.org",
		"javascript:alert(1)",
		"file:///etc/passwd",
		"https://",
		"https:///x",
		"https://a b/",
		"https://a\nb/",
		"https://\\",
		"ftp://example.org/",
		"https://\xff/",
		"data:text/html,x",
		"https://[]/",
		"https://[bank.example]/",
		"https://[\xd0\xb0::1]/",
		"https://[::1/",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct link_seen s = { 0 };
		struct err e = { 0 };
		assert_int_equal(link_read(&s, str_of(bad[i]), &a, &e), E_INVAL);
		assert_true(e.msg[0]);
	}
	(void)state;
}

static void a_long_link_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char *p = arena_alloc(&a, 1, LINK_MAX + 2);
	struct link_seen s = { 0 };

	memset(p, 'a', LINK_MAX + 1);
	memcpy(p, "https://", 8);
	assert_int_equal(link_read(&s, str_of(p), &a, NULL), E_LIMIT);
	/* One that is too long only when it is shown. */
	memcpy(p, "https://x.example/", 18);
	memset(p + 18, '\xc3', LINK_MAX - 18);
	for (size_t i = 19; i < LINK_MAX; i += 2)
		p[i] = '\xa4';
	assert_int_equal(link_read(&s, (str){ p, LINK_MAX }, &a, NULL), E_LIMIT);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_shown_as_what_is_looked_up),
		cmocka_unit_test(what_is_no_link_to_a_host_is_refused),
		cmocka_unit_test(a_long_link_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

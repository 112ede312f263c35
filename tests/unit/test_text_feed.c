/*
 * Feeds of many shapes, and what of them is new.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "text/feed.h"

static const struct {
	const char *text, *ids; /* NULL: refused, and ids is part of why */
	bool good;
} feeds[] = {
	{ "{\"items\":[{\"id\":\"a\"},{\"id\":\"b\"}]}", "a b", true },
	{ "[{\"guid\":\"g\"},{\"link\":\"http://x/1\"}]", "g http://x/1", true },
	{ "{\"entries\":[{\"id\":1},{\"ID\":-2}]}", "1 -2", true },
	{ "{\"tweets\":[{\"id\":\"9007199254740993\",\"text\":\"hi\"}]}", "9007199254740993",
	  true },
	{ "{\"data\":[{\"url\":\"u\"},{\"title\":\"no id\"},{\"href\":\"h\"}]}", "u h", true },
	{ "[]", "", true },
	{ "", "", true },
	{ "  \n", "", true },
	{ "[1, \"x\", null, {\"id\":\"\"}, {\"id\":\"a\\nb\"}]", "a b", true },
	{ "{\"items\":\"nope\"}", "no list", false },
	{ "{\"foo\":1}", "no list", false },
	{ "not json", "not JSON", false },
	{ "[{\"id\":\"a\"},{\"id\":\"b", "truncated", false },
};

static void items_are_found_in_the_usual_shapes(void **state)
{
	for (size_t i = 0; i < COUNT(feeds); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct feed_item *items;
		struct err e = { 0 };
		size_t n;
		str ids = S("");
		int rc = feed_read(&items, &n, &a, str_of(feeds[i].text), &e);

		if (!feeds[i].good) {
			if (rc != E_PROTO || !strstr(e.msg, feeds[i].ids))
				fail_msg("%s: %d %s", feeds[i].text, rc, e.msg);
			continue;
		}
		assert_int_equal(rc, OK);
		for (size_t k = 0; k < n; k++)
			ids = arena_fmt(&a, "%.*s%s%.*s", STRF(ids), k ? " " : "",
					STRF(items[k].id));
		if (!str_eq(ids, str_of(feeds[i].ids)))
			fail_msg("%s: %.*s", feeds[i].text, STRF(ids));
	}
}

static const struct {
	const char *seen, *now; /* ids by blanks */
	size_t max;
	const char *fresh, *merged;
} merges[] = {
	{ "", "a b", 10, "a b", "a b" },
	{ "a", "a b", 10, "b", "a b" },
	{ "a b", "a b", 10, "", "a b" },
	{ "a b c", "c d", 10, "d", "a b c d" },
	{ "a b c", "b", 10, "", "a c b" },
	{ "a", "b b b", 10, "b", "a b" },
	/* Bounded: what left the feed goes first. */
	{ "a b c d", "d e", 3, "e", "c d e" },
	{ "a b", "c d e", 2, "c d e", "d e" },
	{ "a b", "", 10, "", "a b" },
};

static str lines(struct arena *a, const char *ids)
{
	struct buf b = buf_in(a, 4096);

	for (str rest = str_of(ids); rest.n;) {
		buf_add(&b, str_cut(&rest, ' '));
		buf_addc(&b, '\n');
	}
	return buf_str(&b);
}

static void what_is_known_is_bounded_and_what_is_new_is_told_once(void **state)
{
	for (size_t i = 0; i < COUNT(merges); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct feed_item items[16] = { 0 };
		const struct feed_item *fresh[16];
		size_t n = 0;
		str merged;

		for (str rest = str_of(merges[i].now); rest.n;)
			items[n++].id = str_cut(&rest, ' ');
		size_t got = feed_merge(&merged, fresh, &a, lines(&a, merges[i].seen), items, n,
					merges[i].max);
		str names = S("");
		for (size_t k = 0; k < got; k++)
			names = arena_fmt(&a, "%.*s%.*s\n", STRF(names), STRF(fresh[k]->id));
		if (!str_eq(names, lines(&a, merges[i].fresh)) ||
		    !str_eq(merged, lines(&a, merges[i].merged)))
			fail_msg("row %zu: fresh %.*s merged %.*s", i, STRF(names),
				 STRF(merged));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_found_in_the_usual_shapes),
		cmocka_unit_test(what_is_known_is_bounded_and_what_is_new_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

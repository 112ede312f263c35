/*
 * Pages as text: cases as files, and what a hostile page can try.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>

#include "base/utf.h"
#include "text/html.h"

#define CASES "tests/cases/html"
#define BASE "https://site.example/dir/page.html?q#f"

static str read_case(struct arena *a, const char *path)
{
	FILE *f = fopen(path, "rb");
	char *p = arena_alloc(a, 1, 1 << 20);

	if (!f)
		fail_msg("%s is missing", path);
	str s = { p, fread(p, 1, (1 << 20) - 1, f) };
	(void)fclose(f);
	return s;
}

static void pages_become_text(void **state)
{
	DIR *d = opendir(CASES);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *f; (f = readdir(d));) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct html_text t;
		str name = str_of(f->d_name);
		if (!str_ends(name, S(".html")))
			continue;
		str path = arena_fmt(&a, CASES "/%.*s", STRF(str_sub(name, 0, name.n - 5)));
		html_text(&t, &a, read_case(&a, arena_fmt(&a, "%s.html", path.p).p), S(BASE));
		str got = arena_fmt(&a, "title: %.*s\n%.*s\n", STRF(t.title), STRF(t.text));
		if (!str_eq(got, read_case(&a, arena_fmt(&a, "%s.txt", path.p).p)))
			fail_msg("%s: got\n%s", f->d_name, got.p);
		assert_false(t.cut);
		n++;
	}
	closedir(d);
	assert_true(n >= 4);
}

static const struct {
	const char *base, *ref, *out;
} links[] = {
	{ "http://a.example/x/y?q#f", "z", "http://a.example/x/z" },
	{ "http://a.example/x/y/", "../z?k=v#w", "http://a.example/x/z?k=v#w" },
	{ "http://a.example/x/y", "../../../z", "http://a.example/z" },
	{ "http://a.example/x/y", "./.", "http://a.example/x/" },
	{ "http://a.example/x/y", "/z/./w", "http://a.example/z/w" },
	{ "http://a.example/x/y?q", "?r", "http://a.example/x/y?r" },
	{ "http://a.example", "z", "http://a.example/z" },
	{ "http://a.example?q", "z", "http://a.example/z" },
	{ "https://a.example/x", "//b.example/z", "https://b.example/z" },
	{ "http://a.example/", "HTTPS://b.example/z", "HTTPS://b.example/z" },
	{ "http://a.example/", "mailto:x@y.example", "mailto:x@y.example" },
	{ "http://a.example/", " a b)\n(c ", "http://a.example/a%20b%29%0A%28c" },
	{ "http://a.example/", "", "" },
	{ "http://a.example/", "#here", "" },
	{ "http://a.example/", "javascript:alert(1)", "" },
	{ "http://a.example/", " data:text/html,x", "" },
	{ "http://a.example/", "file:///etc/passwd", "" },
	{ "", "z", "" },
	{ "", "http://b.example/", "http://b.example/" },
};

static void links_are_made_absolute(void **state)
{
	for (size_t i = 0; i < COUNT(links); i++) {
		SCOPED(arena_free) struct arena a = { 0 };

		assert_string_equal(
			html_link(&a, str_of(links[i].base), str_of(links[i].ref)).p,
			links[i].out);
	}
}

/* Each pattern again and again, up to a megabyte: never closed, never matching, nested. */
static const char *const bombs[] = {
	"<div>",
	"<p>",
	"<b>",
	"<table>",
	"<table><tr><td>",
	"<a href=x>",
	"<ul><li>",
	"<li>",
	"<blockquote>",
	"<p><b id=1></p>",
	"<div><table></div>",
	"<i><p>",
	"<h1>",
	"</div>",
	"</p>",
	"<br>",
	"<",
	"<!--",
	"<!-- -->",
	"<x y='",
	"<svg>",
	"<template>",
	"<select>",
	"<script>",
	"<object>",
	"&",
	"&amp;",
	"<td>",
	"<option>",
	"<dd><p>",
	"<pre>a\n",
	"<a><table><a>",
	"<form><table>",
	"<table><div>",
	"<title>",
	"<textarea>",
	"<blockquote>x<br>",
	"<table><p>",
	"<div hidden><table>",
	"<ol start=9223372036854775807><li>x",
};

static void no_pattern_makes_a_page_deep_or_large(void **state)
{
	for (size_t i = 0; i < COUNT(bombs); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 1 << 20);
		struct html_text t;

		while (!b.full)
			buf_add(&b, str_of(bombs[i]));
		html_text(&t, &a, buf_str(&b), S(BASE));
		assert_true(utf_valid(t.text));
		assert_true(t.text.n <= (size_t)8 << 20);
	}
}

static void what_is_beyond_the_limits_is_said_to_be_missing(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 16 << 20);
	struct html_text t;

	for (int i = 0; i <= HTML_TAGS_MAX; i++)
		buf_add(&b, S("<br>x"));
	html_text(&t, &a, buf_str(&b), S(BASE));
	assert_true(t.cut);
	assert_true(str_ends(t.text, S("x\nxx"))); /* the text stays */

	buf_reset(&b);
	for (int i = 0; i <= HTML_DEPTH_MAX; i++)
		buf_add(&b, S("<div>"));
	buf_add(&b, S("deep</div>down"));
	html_text(&t, &a, buf_str(&b), S(BASE));
	assert_true(t.cut);
	assert_string_equal(t.text.p, "deepdown");

	buf_reset(&b);
	while (b.n <= HTML_BYTES_MAX)
		buf_add(&b, S("word \xe2\x82\xac "));
	html_text(&t, &a, buf_str(&b), S(BASE));
	assert_true(t.cut);
	assert_true(t.text.n > HTML_BYTES_MAX - 8192 && utf_valid(t.text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_become_text),
		cmocka_unit_test(links_are_made_absolute),
		cmocka_unit_test(no_pattern_makes_a_page_deep_or_large),
		cmocka_unit_test(what_is_beyond_the_limits_is_said_to_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

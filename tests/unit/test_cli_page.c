/* The frame of a page: escaping, and colours that can be told apart and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/page.h"

/* WCAG 2: relative luminance of "#rrggbb". */
static double luminance(const char *hex)
{
	unsigned rgb[3];
	double part[3];

	assert_int_equal(sscanf(hex, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]), 3);
	for (int i = 0; i < 3; i++) {
		double c = rgb[i] / 255.0;
		part[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
	}
	return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

static double contrast(const char *x, const char *y)
{
	double p = luminance(x) + 0.05, q = luminance(y) + 0.05;

	return p > q ? p / q : q / p;
}

/* A colour as the page defines it: light first, then dark. */
static const char *colour(str page, const char *name, bool dark)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static char out[2][16][8];
	static size_t n;
	const char *word = arena_fmt(&a, "--%s:#", name).p, *p = strstr(page.p, word);

	if (p && dark)
		p = strstr(p + 1, word);
	if (!p)
		fail_msg("no colour %s", name);
	char *to = out[dark][n++ % 16];
	(void)snprintf(to, 8, "%s", p + strlen(word) - 1);
	return to;
}

static void contrast_is_reckoned_as_wcag_says(void **state)
{
	assert_true(fabs(contrast("#000000", "#ffffff") - 21) < 0.001);
	assert_true(fabs(contrast("#777777", "#ffffff") - 4.478) < 0.001);
	(void)state;
}

static void texts_and_marks_stand_out_in_light_and_dark(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const struct {
		const char *name;
		double least;
	} rows[] = {
		{ "text", 4.5 }, { "quiet", 4.5 }, { "c0", 3 }, { "c1", 3 },
		{ "c2", 3 },     { "c3", 3 },      { "c4", 3 }, { "c5", 3 },
	};
	static const char *const surfaces[] = { "page", "card" };
	struct buf b = buf_in(&a, 65536);

	page_begin(&b, S("t"));
	for (size_t i = 0; i < COUNT(rows) * 4; i++) {
		bool dark = i % 2;
		const char *under = surfaces[i / 2 % 2], *name = rows[i / 4].name;
		double is = contrast(colour(buf_str(&b), name, dark),
				     colour(buf_str(&b), under, dark));
		if (is < rows[i / 4].least)
			fail_msg("%s on %s, %s: %.2f", name, under, dark ? "dark" : "light",
				 is);
	}
	assert_true(luminance(colour(buf_str(&b), "page", false)) > 0.8);
	assert_true(luminance(colour(buf_str(&b), "page", true)) < 0.1);
	(void)state;
}

static void any_text_is_escaped_and_made_visible(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4096);

	page_text(&b, &a, S("<script>a&b\"'</script>\x1b[1m\xe2\x80\xae\xff\n"));
	assert_string_equal(buf_str(&b).p, "&lt;script&gt;a&amp;b&quot;&#39;&lt;/script&gt;"
					   "\\x1b[1m\\u202e\\xff\\n");
	(void)state;
}

static void a_table_has_heads_and_all_its_cells(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const str heads[] = { S("Day"), S("<n>") };
	static const str cells[] = { S("a"), S("1"), S("b"), S("2") };
	struct buf b = buf_in(&a, 4096);

	page_table(&b, &a, heads, 2, cells, 2);
	str text = buf_str(&b);
	assert_true(str_has(text, S("<th scope=\"col\">&lt;n&gt;</th>")));
	assert_true(str_has(text, S("<tr><td><bdi>b</bdi></td><td>2</td></tr>")));
	(void)state;
}

static void a_page_forbids_everything_from_outside(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 65536);

	page_begin(&b, S("t"));
	page_end(&b);
	str text = buf_str(&b);
	assert_true(str_has(text, S("default-src 'none'")));
	assert_true(str_has(text, S("prefers-color-scheme: dark")));
	assert_false(str_has(text, S("url(")));
	assert_false(str_has(text, S("@import")));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contrast_is_reckoned_as_wcag_says),
		cmocka_unit_test(texts_and_marks_stand_out_in_light_and_dark),
		cmocka_unit_test(any_text_is_escaped_and_made_visible),
		cmocka_unit_test(a_table_has_heads_and_all_its_cells),
		cmocka_unit_test(a_page_forbids_everything_from_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

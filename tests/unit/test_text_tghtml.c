/*
 * Markdown as Telegram messages: rows, cases as files, the examples of CommonMark, and texts
 * made at random, all before a judge of what Telegram takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "os/file.h"
#include "text/json.h"
#include "text/tghtml_doc.h"
#include "unit/tg_judge.h"

#define CASES "tests/cases/tghtml"
#define EMOJI "\U0001F600"
#define FLAG "\U0001F1E9\U0001F1EA"

struct row {
	const char *markdown, *want;
};

static const struct tg_piece *render(struct arena *a, str markdown, size_t text, size_t caption,
				     size_t *n)
{
	const struct tg_limits limits = { text, caption };
	struct tg_piece *pieces = NULL;
	struct err e;

	/* 0: Telegram's. */
	assert_int_equal(text ? tg_render_within(a, markdown, limits, &pieces, n, &e)
			      : tg_render(a, markdown, &pieces, n, &e),
			 OK);
	return pieces;
}

/* The pieces as the case files have them. */
static str shown(struct arena *a, str markdown, size_t text, size_t caption)
{
	struct buf b = buf_in(a, 1 << 22);
	size_t n;
	const struct tg_piece *p = render(a, markdown, text, caption, &n);

	for (size_t i = 0; i < n; i++) {
		str s;
		const char *fault = tg_fault(a, p[i].html, &s);
		if (fault)
			fail_msg("%s: %s", fault, arena_cstr(a, p[i].html));
		if (p[i].kind == TG_PHOTO)
			buf_fmt(&b, "[%.*s]", STRF(p[i].url));
		else if (i)
			buf_add(&b, S("[]"));
		if (b.n && p[i].html.n)
			buf_addc(&b, '\n');
		buf_add(&b, p[i].html);
		if (i + 1 < n)
			buf_addc(&b, '\n');
	}
	return buf_str(&b);
}

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str got = shown(&a, str_of(rows[i].markdown), 0, 0);
		if (!str_eq(got, str_of(rows[i].want)))
			fail_msg("%s: %s", rows[i].markdown, got.p);
	}
}

/* --- rendering ----------------------------------------------------------------------- */

static void spans_become_tags(void **state)
{
	static const struct row rows[] = {
		{ "", "" },
		{ "plain text", "plain text" },
		{ "**b** __B__ *i* _i_ ~~s~~ `c`",
		  "<b>b</b> <b>B</b> <i>i</i> <i>i</i> <s>s</s> <code>c</code>" },
		{ "***both***", "<b><i>both</i></b>" },
		{ "**a *b* c**", "<b>a <i>b</i> c</b>" },
		{ "**a `c` b**", "<b>a </b><code>c</code><b> b</b>" },
		{ "`` a`b ``", "<code>a`b</code>" },
		{ "**two\nlines**", "<b>two\nlines</b>" },
		{ "hard  \nbreak", "hard\nbreak" },
		{ "`a < b && c`", "<code>a &lt; b &amp;&amp; c</code>" },
		{ "a ****", "a ****" },
		{ "**bold**not italic*", "<b>bold</b>not italic*" },
		{ "**open", "**open" },
		{ "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;" },
		{ "<b>raw</b>\n\n<div>\n\nx", "&lt;b&gt;raw&lt;/b&gt;\n\n&lt;div&gt;\n\nx" },
		{ "&lt;b&gt; &amp;amp; &copy; &#65; &#0; &#10;x &bogus;",
		  "&lt;b&gt; &amp;amp; \u00A9 A &amp;#0;  x &amp;bogus;" },
		{ "17.5% of 240 is 42.", "17.5% of 240 is 42." },
		{ "\\*not\\* \\_it\\_", "*not* _it_" },
		{ "\u8FD9\u662F**\u7C97\u4F53**\u5B57",
		  "\u8FD9\u662F<b>\u7C97\u4F53</b>\u5B57" },
	};

	check_rows(rows, COUNT(rows));
}

static void emphasis_needs_no_spaces_where_the_script_has_none(void **state)
{
	static const struct row rows[] = {
		{ "**\u6CE8\u610F\uFF1A**\u8BF7\u770B **\u201C\u4E00\u201D**\u4E8C",
		  "<b>\u6CE8\u610F\uFF1A</b>\u8BF7\u770B <b>\u201C\u4E00\u201D</b>\u4E8C" },
		{ "\uC774**'\uB2E8\uC5B4'**\uB294 **x",
		  "\uC774<b>'\uB2E8\uC5B4'</b>\uB294 **x" },
		{ "\u4E00 ** \u4E8C ** \u4E09", "\u4E00 ** \u4E8C ** \u4E09" },
		{ "\\*\\*\u4E00\uFF1A\\*\\*\u4E8C", "**\u4E00\uFF1A**\u4E8C" },
		{ "2**(a)**b", "2**(a)**b" },
		{ "2**3)**\u4E00", "2**3)**\u4E00" },
		{ "\u4E00****\u4E8C", "\u4E00****\u4E8C" },
	};

	check_rows(rows, COUNT(rows));
}

static void identifiers_and_products_keep_their_characters(void **state)
{
	static const struct row rows[] = {
		{ "MAX_RETRY_COUNT user_id_field MAX_READ_BYTES",
		  "MAX_RETRY_COUNT user_id_field MAX_READ_BYTES" },
		{ "2 * 3 * 4", "2 * 3 * 4" },
		{ "2*3*4 2*pi*5 2**3**4 (a+b)*c*(d)", "2*3*4 2*pi*5 2**3**4 (a+b)*c*(d)" },
		{ "2***3***4", "2***3***4" },
		{ "a*b *c* d", "a*b <i>c</i> d" },
		{ "__init__.py and obj.__class__", "__init__.py and obj.__class__" },
		{ "__two words__ __Note__", "<b>two words</b> <b>Note</b>" },
		{ "~/bin:~ and ~5~ ~~6~~", "~/bin:~ and ~5~ <s>6</s>" },
		{ "f(**kwargs, *args)", "f(**kwargs, *args)" },
		{ "#nohash", "#nohash" },
		{ "**From:** Pat Doe <pat@example.com> & co </b> #include <iostream> &lt;",
		  "<b>From:</b> Pat Doe &lt;pat@example.com&gt; &amp; co &lt;/b&gt; #include "
		  "&lt;iostream&gt; &lt;" },
		{ "**see [docs](https://ex.com/a_b_c/d_(e)_f?x=1&y=2) now** MAX_RETRY_COUNT "
		  "user_id_field 2 * 3 * 4 ~~*x*~~",
		  "<b>see <a href=\"https://ex.com/a_b_c/d_(e)_f?x=1&amp;y=2\">docs</a> "
		  "now</b> MAX_RETRY_COUNT user_id_field 2 * 3 * 4 <i><s>x</s></i>" },
	};

	check_rows(rows, COUNT(rows));
}

static void links_lead_only_where_telegram_lets_them(void **state)
{
	static const struct row rows[] = {
		{ "[x](http://a.b)", "<a href=\"http://a.b\">x</a>" },
		{ "[x](HTTPS://a.b \"title\")", "<a href=\"HTTPS://a.b\">x</a>" },
		{ "[x](tg://user?id=1) [y](mailto:a@b.c)",
		  "<a href=\"tg://user?id=1\">x</a> <a href=\"mailto:a@b.c\">y</a>" },
		{ "[x](javascript:alert(1)) [y](data:text/html,1) [z](file:///etc) [w](a/b.md)",
		  "x y z w" },
		{ "[**b** i](http://a.b)", "<a href=\"http://a.b\"><b>b</b> i</a>" },
		{ "**[b](http://a.b)**", "<b><a href=\"http://a.b\">b</a></b>" },
		{ "[`code`](http://a.b)", "<a href=\"http://a.b\">code</a>" },
		{ "[r]\n\n[r]: http://a.b", "<a href=\"http://a.b\">r</a>" },
		{ "[a](<http://x/\"><b>>)",
		  "[a](<a href=\"http://x/&quot;\">http://x/&quot;</a>&lt;b&gt;&gt;)" },
		{ "[a](http://x/\"&quot;)", "<a href=\"http://x/&quot;&quot;\">a</a>" },
		{ "[a](<http://x/a b&#10;c>)", "<a href=\"http://x/a%20b%20c\">a</a>" },
		{ "[](http://a.b/c)", "<a href=\"http://a.b/c\">http://a.b/c</a>" },
		{ "<https://a.b/c?d&e>",
		  "<a href=\"https://a.b/c?d&amp;e\">https://a.b/c?d&amp;e</a>" },
		{ "https://a.b/c_d_e, ok", "https://a.b/c_d_e, ok" },
		{ "**https://a.b/_c_/__d__** https://a.b/~e~/*f*",
		  "<b>https://a.b/_c_/__d__</b> https://a.b/~e~/*f*" },
		{ "[a](http**s://x) b** c\n\nd", "a b** c\n\nd" },
		{ "**a [b](http://x**s) c\n\nd",
		  "<b>a <a href=\"http://x**s\">b</a> c</b>\n\nd" },
		{ "[over\ntwo](http://a.b)", "<a href=\"http://a.b\">over\ntwo</a>" },
	};

	check_rows(rows, COUNT(rows));
}

static void blocks_keep_their_shape(void **state)
{
	static const struct row rows[] = {
		{ "# Title\n\nBody", "<b>Title</b>\n\nBody" },
		{ "# Title\nBody", "<b>Title</b>\nBody" },
		{ "## a `c` **b**", "<b>a </b><code>c</code><b> b</b>" },
		{ "a\n\n\n\nb", "a\n\nb" },
		{ "- a\n- b\n  - c\n    1. d\n- e",
		  "\u2022 a\n\u2022 b\n  \u2022 c\n    1. d\n\u2022 e" },
		{ "3. a\n4. b\n   more", "3. a\n4. b\n   more" },
		{ "- a\n\n  second\n\n- b", "\u2022 a\n\n  second\n\n\u2022 b" },
		{ "Intro:\n- a\n\nEnd", "Intro:\n\u2022 a\n\nEnd" },
		{ "- [x] done\n- [ ] open\n1. [X] one",
		  "\u2705 done\n\u2610 open\n1. \u2705 one" },
		{ "-\n- b", "\u2022 \n\u2022 b" },
		{ "| a | **b** |\n|---|---|\n| 1 | [l](http://a.b) |\n| 2 |",
		  "<b>a | b</b>\n1 | <a href=\"http://a.b\">l</a>\n2 |" },
		{ "> a\n> b\n\nc", "<blockquote>a\nb</blockquote>\n\nc" },
		{ "> a\n>> b\n>\n> c", "<blockquote>a\nb\n\nc</blockquote>" },
		{ "> a\n\n<!-- -->\n\n> b", "<blockquote>a</blockquote>\n\n&lt;!-- "
					    "--&gt;\n\n<blockquote>b</blockquote>" },
		{ "- a\n  > q\n- b", "\u2022 a\n<blockquote>q</blockquote>\n\u2022 b" },
		{ "> - a\n>   - b", "<blockquote>\u2022 a\n  \u2022 b</blockquote>" },
		{ "a\n\n---\n\nb", "a\n\n\u2014\u2014\u2014\n\nb" },
	};

	check_rows(rows, COUNT(rows));
}

static void fences_hold_whatever_is_in_them(void **state)
{
	static const struct row rows[] = {
		{ "```\na\n```", "<pre>a</pre>" },
		{ "```c++\na < b\n\n  c\n```",
		  "<pre><code class=\"language-c++\">a &lt; b\n\n  c</code></pre>" },
		{ "````markdown\n```python\nx=1\n```\n````\n",
		  "<pre><code class=\"language-markdown\">```python\nx=1\n```</code></pre>" },
		{ "```c\"><b>x\nint a;\n", "<pre>int a;</pre>" },
		{ "1. Foo:\n\n   ```\n   Bar\n   ```", "1. Foo:\n\n<pre>Bar</pre>" },
		{ "- ```sh\n  ls\n  ```\n- b",
		  "\u2022 \n<pre><code class=\"language-sh\">ls</code></pre>\n\u2022 b" },
		{ "> ```\n> x\n> ```", "<blockquote><pre>x</pre></blockquote>" },
		{ "a\n\n```\n```\n\nb", "a\n\nb" },
		{ "```\n\n  \n```", "" },
		{ "    indented\n      more", "<pre>indented\n  more</pre>" },
		{ "```\n**no** [l](http://a.b) https://a.b/c.png\n```",
		  "<pre>**no** [l](http://a.b) https://a.b/c.png</pre>" },
	};

	check_rows(rows, COUNT(rows));
}

/* --- images -------------------------------------------------------------------------- */

static void images_become_photos_and_text_keeps_its_place(void **state)
{
	static const struct row rows[] = {
		{ "Here you go ![shot](https://cdn.example.com/a.png) and "
		  "https://cdn.example.com/b.jpg more text",
		  "[https://cdn.example.com/a.png]\nHere you go and more text\n"
		  "[https://cdn.example.com/b.jpg]" },
		{ "see https://example.com/docs for help",
		  "see https://example.com/docs for help" },
		{ "![alone](https://a.b/c)", "[https://a.b/c]\nalone" },
		{ "https://a.b/p.JPEG?w=1", "[https://a.b/p.JPEG?w=1]" },
		{ "(see https://x/a.png). Then", "[https://x/a.png]\n(see ). Then" },
		{ "\"http://h:8080/a.webp\" x", "[http://h:8080/a.webp]\n&quot;&quot; x" },
		{ "**https://x/1.png** *https://x/2.png*, <https://x/3.png>",
		  "[https://x/1.png]\n,\n[https://x/2.png]\n[https://x/3.png]" },
		{ "`https://x/y.png` [l](https://x/y.png)",
		  "<code>https://x/y.png</code> <a href=\"https://x/y.png\">l</a>" },
		{ "[![logo](https://x/y.png)](https://x.y) nice",
		  "<a href=\"https://x.y\">logo</a> nice" },
		{ "[https://x.y/y.png](https://x.y/y.png)",
		  "<a href=\"https://x.y/y.png\">https://x.y/y.png</a>" },
		{ "![a](https://x/1.png) ![b](https://x/1.png) https://x/1.png t",
		  "[https://x/1.png]\nt" },
		{ "![a](https://x/1.png)![b](https://x/1.png)", "[https://x/1.png]\na" },
		{ "![v](https://x/1.svg?a) ![r](a/b.png) ![d](data:image/png;base64,AA)",
		  "<a href=\"https://x/1.svg?a\">v</a> r d" },
		{ "![](data:image/png;base64,AA) ![](b.png) t", "b.png t" },
		{ "- ![a](https://x/1.png)\n- ![b](https://x/2.png)",
		  "[https://x/1.png]\na\n[https://x/2.png]\nb" },
		{ "One:\n\n![1](https://x/1.png)\n\nTwo:\n\n![2](https://x/2.png)\n\nEnd.",
		  "[https://x/1.png]\nOne:\n[https://x/2.png]\nTwo:\n[]\nEnd." },
		{ "| a |\n|---|\n| ![x](https://x/1.png) |\n\nt",
		  "[https://x/1.png]\n<b>a</b>\n\nt" },
		{ "**![x *y* ![z](q)](https://x/1.png)**", "[https://x/1.png]\nx y z" },
	};

	check_rows(rows, COUNT(rows));
}

static void text_too_long_for_a_caption_goes_as_messages(void **state)
{
	static const struct row rows[] = {
		{ "This is more than thirty-two units, all "
		  "told.\n\n![alt](https://x/1.png)\n\nb",
		  "This is more than thirty-two units, all "
		  "told.\n[https://x/1.png]\nalt\n[]\nb" },
		{ "![alt](https://x/1.png)\n\nThis is more than thirty-two units, all told.",
		  "[https://x/1.png]\nalt\n[]\nThis is more than thirty-two units, all told." },
		{ "short\n\n![alt](https://x/1.png)\n\nThis is more than thirty-two units.",
		  "[https://x/1.png]\nshort\n[]\nThis is more than thirty-two units." },
		{ "![An alternative text can be too long as well](https://x/1.png)",
		  "[https://x/1.png]\nAn alternative text can be too" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str got = shown(&a, str_of(rows[i].markdown), 100, 32);
		if (!str_eq(got, str_of(rows[i].want)))
			fail_msg("%s: %s", rows[i].markdown, got.p);
	}
}

static void images_beyond_ten_are_links(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4096);
	size_t n, photos = 0;

	for (int i = 0; i < 12; i++)
		buf_fmt(&b, "![n%d](https://x/%d.png)\n", i, i);
	const struct tg_piece *p = render(&a, buf_str(&b), 0, 0, &n);
	for (size_t i = 0; i < n; i++)
		photos += p[i].kind == TG_PHOTO;
	assert_int_equal(photos, 10);
	assert_true(str_has(p[0].html, S("<a href=\"https://x/11.png\">n11</a>")));
}

/* --- splitting ----------------------------------------------------------------------- */

static str many(struct arena *a, const char *what, size_t n)
{
	struct buf b = buf_in(a, 1 << 20);

	while (n-- > 0)
		buf_add(&b, str_of(what));
	return buf_str(&b);
}

static void long_texts_are_cut_where_it_hurts_least(void **state)
{
	static const struct {
		const char *parts[3];
		size_t times[3], limit, want[4]; /* units of each piece */
	} rows[] = {
		{ { "" }, { 1 }, 0, { 0 } },
		{ { "a" }, { 4096 }, 0, { 4096 } },
		{ { "a" }, { 4097 }, 0, { 4096, 1 } },
		{ { EMOJI }, { 2048 }, 0, { 4096 } },
		{ { EMOJI }, { 4097 }, 0, { 4096, 4096, 2 } },
		{ { "&" }, { 3000 }, 0, { 3000 } },
		{ { "&" }, { 4097 }, 0, { 4096, 1 } },
		{ { "&amp;" }, { 4097 }, 0, { 4096, 1 } },
		{ { "\u00E9" }, { 5000 }, 0, { 4096, 904 } },
		{ { "a", FLAG }, { 4094, 1 }, 0, { 4094, 4 } },
		{ { "a", "e\u0301" }, { 4095, 1 }, 0, { 4095, 2 } },
		{ { "a", "\U0001F468\u200D\U0001F469\u200D\U0001F467" },
		  { 4090, 1 },
		  0,
		  { 4090, 8 } },
		{ { "a", "\n\n", "b" }, { 3000, 1, 3000 }, 0, { 3000, 3000 } },
		{ { "a", "\n", "b" }, { 3000, 1, 3000 }, 0, { 3000, 3000 } },
		{ { "a", ". ", "b" }, { 3000, 1, 3000 }, 0, { 3001, 3000 } },
		{ { "a", " ", "b" }, { 100, 1, 4000 }, 0, { 100, 4000 } },
		{ { "a", "\n", "b" }, { 20, 1, 20 }, 32, { 20, 20 } },
		{ { "x" }, { 100 }, 40, { 40, 40, 20 } },
		{ { "a", "\n", "b c " }, { 3000, 1, 400 }, 0, { 3000, 1599 } },
		{ { "- ", "x" }, { 1, 60 }, 32, { 32, 30 } },
		{ { "x", " \u200D" EMOJI, "y" }, { 4095, 1, 3 }, 0, { 4095, 6 } },
		{ { "x", " \n \n ", "y" }, { 4096, 1, 3 }, 0, { 4096, 3 } },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str text = S("");
		size_t n, k = 0;
		for (size_t j = 0; j < 3 && rows[i].parts[j]; j++)
			text = arena_cat(&a, text,
					 many(&a, rows[i].parts[j], rows[i].times[j]));
		const struct tg_piece *p = render(&a, text, rows[i].limit, 64, &n);
		for (; k < n; k++)
			if (k > 3 || tg_length(p[k].html) != rows[i].want[k])
				fail_msg("row %zu: piece %zu has %zu", i, k,
					 tg_length(p[k].html));
		assert_true(k > 3 || rows[i].want[k] == 0);
	}
}

static void formatting_is_no_more_than_telegram_takes(void **state)
{
	static const char *const parts[] = {
		"**a** ",
		"`c` *d*\n",
		"[a](http://example.com/?b&c) ",
		"> a\n\nb\n\n",
		"**a *b* [c](tg://d)** ",
		"a[b](http://example.com/"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)",
	};

	for (size_t i = 0; i < COUNT(parts); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str text = many(&a, parts[i], 300), shows;
		assert_null(tg_pieces_fault(&a, text, 4096)); /* the judge counts */
		assert_null(tg_fault(&a, tg_live(&a, text), &shows));
	}
}

static void long_targets_are_no_links(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str url = arena_cat(&a, S("http://a.b/"), many(&a, "c", 2000)), text;
	size_t n, total = 0;
	const struct tg_piece *p;

	text = arena_fmt(&a, "[x](%s) [y](%sddddddddddddddddddddddddddddddddddddddd)", url.p,
			 url.p);
	p = render(&a, text, 0, 0, &n);
	assert_true(n == 1 && str_ends(p[0].html, S("\">x</a> y")));
	/* A definition is written once and may be used thousands of times. */
	text = arena_fmt(&a, "[r]: %s\n\n%s", url.p, many(&a, "[r] ", 3000).p);
	p = render(&a, text, 0, 0, &n);
	for (size_t i = 0; i < n; i++)
		total += p[i].html.n;
	assert_in_range(total, 12000, text.n * 12);
}

/* What is nothing but a repeated cluster is never cut inside of one. */
static void characters_stay_whole_wherever_the_cut_is(void **state)
{
	static const char *const clusters[] = {
		"a",
		"\u00E9",
		"\u6F22",
		EMOJI,
		FLAG,
		"e\u0301\u0302",
		"\U0001F44D\U0001F3FD",
		"\u2764\uFE0F",
		"\U0001F468\u200D\U0001F469\u200D\U0001F467",
		"<",
		"&amp;",
	};

	for (size_t i = 0; i < COUNT(clusters); i++)
		for (size_t limit = 32; limit < 48; limit++) {
			SCOPED(arena_free) struct arena a = { 0 };
			str one, all;
			size_t n;
			assert_null(tg_fault(&a, shown(&a, str_of(clusters[i]), 0, 0), &one));
			const struct tg_piece *p =
				render(&a, many(&a, clusters[i], 50), limit, 64, &n);
			for (size_t k = 0; k < n; k++) {
				assert_null(tg_fault(&a, p[k].html, &all));
				assert_true(all.n % one.n == 0 && utf_valid(all));
				assert_true(k + 1 == n || tg_length(p[k].html) + one.n > limit);
			}
		}
}

static str case_text(struct arena *a, str name)
{
	str text;

	assert_int_equal(
		file_read(&text, a, arena_fmt(a, CASES "/%.*s", STRF(name)).p, 1 << 20, NULL),
		OK);
	return text;
}

/* NAME.md is cut at 4096, NAME-40.md at 40. */
static void each_case_is_sent_as_its_file_says(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *names;
	size_t n, seen = 0, wrong = 0;

	assert_int_equal(dir_list(&names, &n, &a, CASES, 1000, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		if (!str_ends(names[i], S(".md")))
			continue;
		str stem = str_sub(names[i], 0, names[i].n - 3), rest = stem;
		size_t limit = 0;
		while (rest.n)
			limit = strtoul(str_cut(&rest, '-').p, NULL, 10);
		str got = shown(&a, case_text(&a, names[i]), limit, limit);
		str want = case_text(&a, arena_cat(&a, stem, S(".html")));
		seen++;
		if (str_eq(str_trim(want), str_trim(got)))
			continue;
		wrong++;
		print_error("%.*s:\n%.*s\n", STRF(names[i]), STRF(got));
	}
	assert_true(seen >= 8);
	assert_int_equal(wrong, 0);
}

static void a_text_of_absurd_length_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct tg_piece *pieces;
	struct err e = { 0 };
	size_t n;
	str text = { arena_alloc(&a, 1, (16 << 20) + 1), (16 << 20) + 1 };

	assert_int_equal(tg_render(&a, text, &pieces, &n, &e), E_LIMIT);
	assert_true(str_has(str_of(e.msg), S("16777217 bytes")));
	assert_int_equal(tg_live(&a, text).n, 0);
}

/* --- the plain form ------------------------------------------------------------------ */

static void the_plain_form_is_the_source(void **state)
{
	static const struct row rows[] = {
		{ "# A **b** `c`", "# A **b** `c`" },
		{ "[l](http://a.b) &lt; 2\\*3", "[l](http://a.b) &lt; 2\\*3" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n## bbbbbbbbbbbbbbbbbb\n- "
		  "ccc\n- "
		  "**ddd**\n\n"
		  "```c\neee(12345678901234567890123);\n```\n",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|## bbbbbbbbbbbbbbbbbb\n- "
		  "ccc\n- **ddd**|"
		  "```c\neee(12345678901234567890123);\n```" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa **bbbbbbbbbbbb cc**",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|**bbbbbbbbbbbb cc**" },
		{ "> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n> b\n\n> cccccccc\n",
		  "> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n> b|> cccccccc" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n```c\neee(1234567890);\n```"
		  "\n",
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|```c\neee(1234567890);\n``"
		  "`" },
		{ "```c\naaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n```\n\n```"
		  "py\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n```\n",
		  "```c\naaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n```|```"
		  "py\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n```" },
		{ "[long](http://example.com/a/target/longer/than/the/limit) a", "long a" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 1 << 16);
		size_t n;
		const struct tg_piece *p = render(&a, str_of(rows[i].markdown), 56, 56, &n);
		for (size_t k = 0; k < n; k++) {
			if (k)
				buf_addc(&b, '|');
			buf_add(&b, p[k].plain);
		}
		assert_string_equal(buf_str(&b).p, rows[i].want);
	}
}

/* --- any text ------------------------------------------------------------------------ */

static void check_any(struct arena *a, str markdown)
{
	static const size_t limits[] = { 32, 40, 100, 4096 };

	for (size_t i = 0; i < COUNT(limits); i++) {
		const char *fault = tg_pieces_fault(a, markdown, limits[i]);
		if (fault)
			fail_msg("at %zu: %s:\n%s", limits[i], fault, arena_cstr(a, markdown));
	}
}

static void every_example_of_commonmark_is_valid(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *path = getenv("GANTRY_COMMONMARK");
	struct json *all;
	size_t n = 0;
	str text;

	if (!path) {
		print_message("GANTRY_COMMONMARK is unset: no examples of CommonMark\n");
		skip();
	}
	assert_int_equal(file_read(&text, &a, path, 1 << 24, NULL), OK);
	assert_int_equal(json_read(&all, &a, text, NULL), OK);
	for (const struct json *e = all->child; e; e = e->next, n++) {
		SCOPED(arena_free) struct arena b = { 0 };
		struct buf markdown = buf_in(&b, 1 << 16);
		str s = json_str(e, "markdown");
		while (s.n) { /* the specification shows tabs as arrows */
			size_t at = str_find(s, S("\u2192"));
			buf_add(&markdown, str_sub(s, 0, at));
			if (at != SIZE_MAX)
				buf_addc(&markdown, '\t');
			s = at == SIZE_MAX ? S("") : str_sub(s, at + 3, s.n);
		}
		check_any(&b, buf_str(&markdown));
	}
	assert_true(n > 600);
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Words that are counted, between markup. */
static str random_markdown(struct arena *a, uint32_t seed, unsigned *words)
{
	static const char *const marks[] = {
		" ",
		" ",
		"\n",
		"\n\n",
		" **",
		"** ",
		" *",
		"* ",
		"`",
		"\n- ",
		"\n  - ",
		"\n1. ",
		"\n> ",
		"\n# ",
		"\n\n---\n\n",
		"~~",
		"\n```c\n",
		"\n```\n",
		". ",
		" [",
		"](http://a.b/c) ",
		" ![",
		"](https://x/y.png) ",
		"](q) ",
		" | ",
		"\n|--|--|\n",
		"\n| ",
		" |\n",
		"<b>",
		"&amp;",
		"\\",
		"    ",
		EMOJI,
		FLAG,
		"\u00E9",
		" https://x.y/z.jpg ",
		" <a@b.c> ",
		"_",
	};
	struct buf b = buf_in(a, 1 << 20);
	unsigned n = next(&seed) % 200, w = 0;

	while (n-- > 0) {
		if (next(&seed) % 3)
			buf_fmt(&b, "W%uw", w++);
		else
			buf_add(&b, str_of(marks[next(&seed) % COUNT(marks)]));
		if (next(&seed) % 2)
			buf_addc(&b, ' ');
	}
	*words = w;
	return buf_str(&b);
}

static void random_texts_are_valid_whole_and_in_order(void **state)
{
	for (uint32_t seed = 0; seed < 300; seed++) {
		SCOPED(arena_free) struct arena a = { 0 };
		unsigned words;
		check_any(&a, random_markdown(&a, seed, &words));
	}
}

/* Without images each word is there once, in order; nothing of ours says what the text is. */
static void no_word_is_lost_or_doubled(void **state)
{
	unsigned checked = 0;

	for (uint32_t seed = 1000; seed < 1400; seed++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 1 << 20);
		unsigned words;
		str markdown = random_markdown(&a, seed, &words), text;
		size_t n, at = 0;
		if (str_has(markdown, S("http")) || str_has(markdown, S("```")))
			continue;
		const struct tg_piece *p = render(&a, markdown, 40 + seed % 100, 64, &n);
		for (size_t i = 0; i < n; i++) {
			assert_null(tg_fault(&a, p[i].html, &text));
			buf_add(&b, text);
		}
		text = tg_solid(&a, buf_str(&b));
		for (unsigned w = 0; w < words; w++) {
			str word = arena_fmt(&a, "W%uw", w), rest = str_sub(text, at, text.n);
			size_t k = str_find(rest, word);
			if (k == SIZE_MAX || str_has(str_sub(rest, k + word.n, rest.n), word))
				fail_msg("seed %u: %s in\n%s", seed, word.p, markdown.p);
			at += k + word.n;
		}
		checked += words > 0;
	}
	assert_true(checked > 30);
}

static void all_plain_forms_together_are_the_source(void **state)
{
	unsigned checked = 0;

	for (uint32_t seed = 0; seed < 300; seed++) {
		SCOPED(arena_free) struct arena a = { 0 };
		unsigned words;
		size_t n;
		str markdown = random_markdown(&a, seed, &words);
		const struct tg_piece *p = render(&a, markdown, 300, 64, &n);
		if (n < 2)
			continue;
		str left = tg_solid(&a, markdown), text;
		bool bare = false, whole = true;
		for (size_t i = 0; i < n && whole; i++) {
			str plain = tg_solid(&a, p[i].plain);
			assert_null(tg_fault(&a, p[i].html, &text));
			bare |= str_eq(text, p[i].plain); /* maybe its source is too long */
			whole = str_starts(left, plain);
			left = str_sub(left, plain.n, left.n);
		}
		if (!bare && (!whole || left.n))
			fail_msg("seed %u: %s left of\n%s", seed, left.p, markdown.p);
		checked += !bare;
	}
	assert_true(checked > 30);
}

/* --- live, length, judge ------------------------------------------------------------- */

static void an_unfinished_text_is_one_valid_message(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str whole = S("# A\n\n- **b** `c` [d](http://e.f) ![g](https://h/i.png)\n\n```c\nint "
		      "x;\n```\n" EMOJI),
	    text;

	for (size_t n = 0; n <= whole.n; n++) {
		str html = tg_live(&a, str_sub(whole, 0, n));
		assert_null(tg_fault(&a, html, &text));
		assert_false(str_has(html, S("\uFFFD")));
	}
	assert_string_equal(
		tg_live(&a, whole).p,
		"<b>A</b>\n\n\u2022 <b>b</b> <code>c</code> <a href=\"http://e.f\">d</a> "
		"<a href=\"https://h/i.png\">g</a>\n\n"
		"<pre><code class=\"language-c\">int x;</code></pre>\n" EMOJI);
	assert_int_equal(tg_live(&a, S(" \n```\n")).n, 0);
}

static void an_unfinished_text_over_the_limit_shows_its_head(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str html = tg_live(&a, arena_cat(&a, S("**"), many(&a, EMOJI, 4000))), text;

	html = tg_live(&a, arena_cat(&a, S("```\n"), many(&a, EMOJI, 4000)));
	assert_null(tg_fault(&a, html, &text));
	assert_int_equal(tg_length(html), 4095);
	assert_true(str_ends(html, S("</pre>\u2026")));
	assert_int_equal(tg_length(tg_live(&a, many(&a, "a", 4096))), 4096);
	html = tg_live(&a, many(&a, "a", 4097));
	assert_int_equal(tg_length(html), 4096);
	assert_true(str_ends(html, S("a\u2026")));
}

static void length_counts_as_telegram_does(void **state)
{
	static const struct {
		const char *html;
		size_t want;
	} rows[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "<b>a</b>", 1 },
		{ "&lt;&gt;&amp;&quot;", 4 },
		{ "&#65;&#x41;&#128512;&#x1F600;", 6 },
		{ "\u00E9\u6F22" EMOJI, 4 },
		{ "<a href=\"http://a.b/?c&amp;d\">x</a>", 1 },
		{ "a & b &foo; &#xZZ;", 18 },
		{ "a < b", 5 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (tg_length(str_of(rows[i].html)) != rows[i].want)
			fail_msg("%s: %zu", rows[i].html, tg_length(str_of(rows[i].html)));
}

static void the_judge_refuses_what_telegram_would(void **state)
{
	static const char *const bad[] = {
		"<b>a",
		"a</b>",
		"<b><i>a</b></i>",
		"<b></b>",
		"<br>a",
		"<p>a</p>",
		"<b class=\"x\">a</b>",
		"a & b",
		"a > b",
		"&nbsp;",
		"<code><b>a</b></code>",
		"<b><code>a</code></b>",
		"<a>a</a>",
		"<a href=\"javascript:a\">a</a>",
		"<a href=\"http://a.b\"><a href=\"http://a.b\">a</a></a>",
		"<blockquote><blockquote>a</blockquote></blockquote>",
		"<b><b>a</b></b>",
		"<code class=\"language-c\">a</code>",
		"<pre>a<code class=\"language-c\">a</code></pre>",
		"<pre><code class=\"c\">a</code></pre>",
		"\x01",
		"\xff",
	};
	static const char *const good[] = {
		"a &lt;&gt;&amp;&quot; b",
		"<b>a <i>b <a href=\"tg://x\">c</a></i></b>",
		"<blockquote>a <code>b</code> <pre>c</pre></blockquote>",
		"<pre><code class=\"language-c++\">a</code></pre>",
	};
	SCOPED(arena_free) struct arena a = { 0 };
	str text;

	for (size_t i = 0; i < COUNT(bad); i++)
		if (!tg_fault(&a, str_of(bad[i]), &text))
			fail_msg("%s", bad[i]);
	for (size_t i = 0; i < COUNT(good); i++)
		assert_null(tg_fault(&a, str_of(good[i]), &text));
}

static void hostile_texts_end_in_time(void **state)
{
	static const char *const parts[] = {
		"*",         "*a ",     "[",
		"![",        "> ",      "- ",
		"`",         "http://", "https://x.png",
		"h-",        "__a",     "~",
		"&amp;",     "\n\n",    " ",
		"|",         "**a*b",   "[a][b]\n",
		"\u0301",    "\u200D",  FLAG,
		"\n- a\n> ", "<a@b>",   "_a_",
	};

	for (size_t i = 0; i < COUNT(parts); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const char *fault = tg_pieces_fault(&a, many(&a, parts[i], 20000), 4096);
		if (fault)
			fail_msg("%s: %s", parts[i], fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_judge_refuses_what_telegram_would),
		cmocka_unit_test(length_counts_as_telegram_does),
		cmocka_unit_test(spans_become_tags),
		cmocka_unit_test(emphasis_needs_no_spaces_where_the_script_has_none),
		cmocka_unit_test(identifiers_and_products_keep_their_characters),
		cmocka_unit_test(links_lead_only_where_telegram_lets_them),
		cmocka_unit_test(blocks_keep_their_shape),
		cmocka_unit_test(fences_hold_whatever_is_in_them),
		cmocka_unit_test(images_become_photos_and_text_keeps_its_place),
		cmocka_unit_test(text_too_long_for_a_caption_goes_as_messages),
		cmocka_unit_test(images_beyond_ten_are_links),
		cmocka_unit_test(long_texts_are_cut_where_it_hurts_least),
		cmocka_unit_test(formatting_is_no_more_than_telegram_takes),
		cmocka_unit_test(long_targets_are_no_links),
		cmocka_unit_test(characters_stay_whole_wherever_the_cut_is),
		cmocka_unit_test(a_text_of_absurd_length_is_refused),
		cmocka_unit_test(each_case_is_sent_as_its_file_says),
		cmocka_unit_test(the_plain_form_is_the_source),
		cmocka_unit_test(every_example_of_commonmark_is_valid),
		cmocka_unit_test(random_texts_are_valid_whole_and_in_order),
		cmocka_unit_test(no_word_is_lost_or_doubled),
		cmocka_unit_test(all_plain_forms_together_are_the_source),
		cmocka_unit_test(an_unfinished_text_is_one_valid_message),
		cmocka_unit_test(an_unfinished_text_over_the_limit_shows_its_head),
		cmocka_unit_test(hostile_texts_end_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

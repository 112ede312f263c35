/*
 * Markdown for a terminal: the cases, the stream on a small terminal of our own, and that no
 * escape sequence gets through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "os/file.h"
#include "text/ansi.h"
#include "text/entity.h"

#define CASES "tests/cases/ansi"
#define COLUMNS 40

/* ESC as ^[, so that expectations can be read. */
static str readable(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n * 2);

	for (size_t i = 0; i < s.n; i++)
		buf_add(&b, s.p[i] == '\x1b' ? S("^[") : str_sub(s, i, i + 1));
	return buf_str(&b);
}

static str case_text(struct arena *a, str name)
{
	str text;

	assert_int_equal(
		file_read(&text, a, arena_fmt(a, CASES "/%.*s", STRF(name)).p, 1 << 20, NULL),
		OK);
	return text;
}

/* Every *.md of the cases. */
static size_t cases(struct arena *a, str **out)
{
	str *names;
	size_t n, k = 0;

	assert_int_equal(dir_list(&names, &n, a, CASES, 1000, NULL), OK);
	*out = names;
	for (size_t i = 0; i < n; i++)
		if (str_ends(names[i], S(".md")))
			names[k++] = names[i];
	assert_true(k >= 8);
	return k;
}

static void each_case_looks_as_its_file_says(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *names;
	size_t n = cases(&a, &names), wrong = 0;

	for (size_t i = 0; i < n; i++) {
		str stem = str_sub(names[i], 0, names[i].n - 3);
		str want = case_text(&a, arena_cat(&a, stem, S(".out")));
		str got = readable(&a, text_ansi(&a, case_text(&a, names[i]), COLUMNS));
		if (str_eq(want, got))
			continue;
		wrong++;
		print_error("%.*s:\n%.*s", STRF(names[i]), STRF(got));
	}
	assert_int_equal(wrong, 0);
}

/* Are all escape sequences colours, or (in a stream) going back over the last line? */
static bool only_ours(str s, bool stream)
{
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < 0x20 && !strchr("\n\t\r\x1b", s.p[i]))
			return false;
		if (s.p[i] == '\r' && !stream)
			return false;
		if (s.p[i] != '\x1b')
			continue;
		size_t k = i + 2;
		while (k < s.n && (s.p[k] == ';' || (s.p[k] >= '0' && s.p[k] <= '9')))
			k++;
		if (i + 1 >= s.n || s.p[i + 1] != '[' || k >= s.n)
			return false;
		if (s.p[k] != 'm' && !(stream && (s.p[k] == 'A' || s.p[k] == 'J')))
			return false;
	}
	return true;
}

static void no_escape_sequence_comes_from_the_text(void **state)
{
	static const str texts[] = {
		S("\x1b[31mred"),
		S("&#27;[31m"),
		S("&#x1b;[2J &#x1B;"),
		S("&#155;31m"),
		S("[a](http://x/\x1b[2J)"),
		S("[a](<http://x/&#27;[2J>)"),
		S("![a\x1b[2J](b\x9b)"),
		S("```\x1b[2J\n\x1b[2J\n```"),
		S("`\x1b[2J`"),
		S("| \x1b[2J |\n|--|\n| \x07 |"),
		S("\r\x08 back"),
		S("\x01\x41 mark"),
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct ansi_stream s = { .columns = 10 };
		str half = str_sub(texts[i], 0, texts[i].n / 2);
		if (!only_ours(text_ansi(&a, texts[i], 0), false) ||
		    !only_ours(ansi_stream_feed(&s, &a, half), true) ||
		    !only_ours(ansi_stream_end(&s, &a, texts[i]), true))
			fail_msg("row %zu: %s", i, readable(&a, text_ansi(&a, texts[i], 0)).p);
	}
	assert_false(only_ours(S("\x1b[2J"), false));
}

/* A terminal that knows what the stream uses. */
struct screen {
	char rows[200][COLUMNS * 8]; /* text only */
	size_t len[200], width[200], row, rows_n;
};

static void down(struct screen *t)
{
	if (++t->row >= t->rows_n)
		t->rows_n = t->row + 1;
	assert_true(t->rows_n < COUNT(t->rows));
}

/* Sequences: only those that only_ours() lets through. */
static size_t sequence(struct screen *t, str s, bool *home)
{
	size_t k = 2, n = 0;

	for (; s.p[k] == ';' || (s.p[k] >= '0' && s.p[k] <= '9'); k++)
		n = s.p[k] == ';' ? n : n * 10 + (size_t)(s.p[k] - '0');
	if (s.p[k] == 'A') {
		assert_true(*home && n <= t->row);
		t->row -= n;
	} else if (s.p[k] == 'J') {
		assert_true(*home);
		for (size_t i = t->row; i < t->rows_n; i++)
			t->len[i] = t->width[i] = 0;
		t->rows_n = t->row + 1;
		*home = false;
	}
	return k + 1;
}

static void show(struct screen *t, str s)
{
	bool home = false;

	assert_true(only_ours(s, true));
	t->rows_n = t->rows_n ? t->rows_n : 1;
	for (size_t i = 0, len; i < s.n; i += len) {
		len = 1;
		if (s.p[i] == '\x1b') {
			len = sequence(t, str_sub(s, i, s.n), &home);
		} else if (s.p[i] == '\r') {
			home = true;
		} else if (s.p[i] == '\n') {
			down(t);
		} else {
			size_t w = (size_t)utf_width(utf_next(str_sub(s, i, s.n), &len));
			assert_false(home);
			if (t->width[t->row] + w > COLUMNS)
				down(t);
			memcpy(t->rows[t->row] + t->len[t->row], s.p + i, len);
			t->len[t->row] += len;
			t->width[t->row] += w;
		}
	}
}

static str screen_text(struct arena *a, const struct screen *t)
{
	struct buf b = buf_in(a, 1 << 20);

	for (size_t i = 0; i < t->rows_n; i++) {
		buf_add(&b, (str){ t->rows[i], t->len[i] });
		buf_addc(&b, '\n');
	}
	return buf_str(&b);
}

static str streamed(struct arena *a, str text, size_t piece)
{
	struct screen *t = NEW(a, struct screen);
	struct ansi_stream s = { .columns = COLUMNS };

	for (size_t n = 0; n < text.n; n += piece)
		show(t, ansi_stream_feed(&s, a, str_sub(text, 0, n)));
	show(t, ansi_stream_end(&s, a, text));
	return screen_text(a, t);
}

static void a_stream_ends_the_same_whatever_its_pieces(void **state)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 50 };
	SCOPED(arena_free) struct arena a = { 0 };
	str *names;
	size_t n = cases(&a, &names);

	for (size_t i = 0; i < n; i++) {
		str text = case_text(&a, names[i]);
		str whole = streamed(&a, text, text.n + 1);
		for (size_t k = 0; k < COUNT(pieces); k++) {
			str got = streamed(&a, text, pieces[k]);
			if (!str_eq(got, whole))
				fail_msg("%.*s by %zu:\n%.*s\nand not\n%.*s", STRF(names[i]),
					 pieces[k], STRF(got), STRF(whole));
		}
	}
}

static void a_stream_styles_line_by_line(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct ansi_stream s = { .columns = COLUMNS };

	assert_string_equal(ansi_stream_feed(&s, &a, S("some **bo")).p, "some **bo");
	assert_string_equal(ansi_stream_feed(&s, &a, S("some **bold**")).p, "ld**");
	assert_string_equal(readable(&a, ansi_stream_feed(&s, &a, S("some **bold**\n```"))).p,
			    "\r^[[Jsome ^[[0;1mbold^[[0m\n```");
	assert_string_equal(
		readable(&a, ansi_stream_feed(&s, &a, S("some **bold**\n```\n**no**\n"))).p,
		"\r^[[J^[[0;2m```^[[0m\n^[[0;36m**no**^[[0m\n");
	assert_string_equal(
		readable(&a, ansi_stream_end(&s, &a, S("some **bold**\n```\n**no**\n```\n*i*")))
			.p,
		"^[[0;2m```^[[0m\n^[[0;3mi^[[0m\n");
}

static void without_columns_a_stream_shows_complete_lines_only(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct ansi_stream s = { 0 };

	assert_int_equal(ansi_stream_feed(&s, &a, S("half")).n, 0);
	assert_string_equal(ansi_stream_feed(&s, &a, S("half a line\nnext")).p,
			    "half a line\n");
	assert_string_equal(ansi_stream_end(&s, &a, S("half a line\nnext one")).p,
			    "next one\n");
	assert_int_equal(ansi_stream_end(&s, &a, S("half a line\nnext one")).n, 0);
}

static void a_character_in_two_pieces_is_shown_whole(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct ansi_stream s = { .columns = COLUMNS };

	assert_string_equal(ansi_stream_feed(&s, &a, S("a\xe2\x82")).p, "a");
	assert_string_equal(ansi_stream_feed(&s, &a, S("a\xe2\x82\xac")).p, "\xe2\x82\xac");
}

static void entities_become_what_they_stand_for(void **state)
{
	static const struct {
		str in, out;
	} rows[] = {
		{ S("&amp;"), S("&") },
		{ S("&hellip;"), S("\xe2\x80\xa6") },
		{ S("&#65;"), S("A") },
		{ S("&#x20AC;"), S("\xe2\x82\xac") },
		{ S("&#X20ac;"), S("\xe2\x82\xac") },
		{ S("&#0;"), S("&#0;") },
		{ S("&#xD800;"), S("&#xD800;") },
		{ S("&#1114112;"), S("&#1114112;") },
		{ S("&#99999999999999999999;"), S("&#99999999999999999999;") },
		{ S("&nosuch;"), S("&nosuch;") },
		{ S("&;"), S("&;") },
		{ S("&#;"), S("&#;") },
		{ S("&#x;"), S("&#x;") },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		if (!str_eq(text_entity(&a, rows[i].in), rows[i].out))
			fail_msg("%s", rows[i].in.p);
	}
}

static void deep_nesting_and_size_do_no_harm(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);

	for (int i = 0; i < 200; i++)
		buf_add(&b, S("> "));
	buf_add(&b, S("deep\n\n"));
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < i; k++)
			buf_add(&b, S("  "));
		buf_add(&b, S("- x\n"));
	}
	for (int i = 0; i < 20000; i++)
		buf_add(&b, S("**_`["));
	str got = text_ansi(&a, buf_str(&b), 20);
	assert_true(got.n > 0 && only_ours(got, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case_looks_as_its_file_says),
		cmocka_unit_test(no_escape_sequence_comes_from_the_text),
		cmocka_unit_test(a_stream_ends_the_same_whatever_its_pieces),
		cmocka_unit_test(a_stream_styles_line_by_line),
		cmocka_unit_test(without_columns_a_stream_shows_complete_lines_only),
		cmocka_unit_test(a_character_in_two_pieces_is_shown_whole),
		cmocka_unit_test(entities_become_what_they_stand_for),
		cmocka_unit_test(deep_nesting_and_size_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

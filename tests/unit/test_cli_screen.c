/*
 * Drawing a text that is being edited, on a terminal of our own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf.h"
#include "cli/screen.h"

#define COLUMNS 10
#define ROWS 5

/* Cells hold code points; 0 is empty, 1 the second half of a wide one. */
struct term {
	uint32_t cell[ROWS][COLUMNS];
	size_t row, column;
	size_t scrolled;
};

static void erase_below(struct term *t)
{
	for (size_t r = t->row; r < ROWS; r++)
		for (size_t c = r == t->row ? t->column : 0; c < COLUMNS; c++)
			t->cell[r][c] = 0;
}

static void line_feed(struct term *t)
{
	if (t->row + 1 < ROWS) {
		t->row++;
		return;
	}
	memmove(t->cell[0], t->cell[1], sizeof t->cell - sizeof t->cell[0]);
	memset(t->cell[ROWS - 1], 0, sizeof t->cell[0]);
	t->scrolled++;
}

static size_t sequence(struct term *t, str s)
{
	size_t k = 2, n = 0;

	for (; s.p[k] >= '0' && s.p[k] <= '9'; k++)
		n = n * 10 + (size_t)(s.p[k] - '0');
	if (s.p[k] == 'A') {
		assert_true(n <= t->row);
		t->row -= n;
	} else if (s.p[k] == 'C') {
		t->column += n;
		assert_true(t->column < COLUMNS);
	} else {
		assert_int_equal(s.p[k], 'J');
		erase_below(t);
	}
	return k + 1;
}

static void feed(struct term *t, str s)
{
	for (size_t i = 0, len; i < s.n; i += len) {
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);
		size_t w = (size_t)utf_width(cp);
		if (cp == '\x1b')
			len = sequence(t, str_sub(s, i, s.n));
		else if (cp == '\r')
			t->column = 0;
		else if (cp == '\n')
			line_feed(t);
		else if (w > 0) {
			/* Nothing is left to the terminal's own idea of its edge. */
			assert_true(t->column + w <= COLUMNS);
			t->cell[t->row][t->column] = cp;
			if (w == 2)
				t->cell[t->row][t->column + 1] = 1;
			t->column += w;
		}
	}
}

/* Rows with a / behind each, the cursor as |. */
static str seen(struct arena *a, const struct term *t)
{
	struct buf b = buf_in(a, 1000);

	for (size_t r = 0; r < ROWS; r++) {
		size_t last = 0;
		for (size_t c = 0; c < COLUMNS; c++)
			last = t->cell[r][c] ? c + 1 : last;
		for (size_t c = 0; c <= COLUMNS; c++) {
			char p[4];
			if (r == t->row && c == t->column)
				buf_addc(&b, '|');
			if (c < last && t->cell[r][c] != 1)
				buf_add(&b, t->cell[r][c]
						    ? (str){ p, utf_put(p, t->cell[r][c]) }
						    : S(" "));
		}
		buf_addc(&b, '/');
	}
	return buf_str(&b);
}

static const struct {
	str text;
	size_t cursor;
	const char *want;
} rows[] = {
	{ S(""), 0, "> |/////" },
	{ S("abc"), 3, "> abc|/////" },
	{ S("abc"), 1, "> a|bc/////" },
	{ S("12345678"), 8, "> 12345678/|////" },
	{ S("12345678"), 7, "> 1234567|8/////" },
	{ S("123456789"), 9, "> 12345678/9|////" },
	{ S("123456789"), 8, "> 12345678/|9////" },
	{ S("a\nb"), 3, "> a/b|////" },
	{ S("a\nb"), 1, "> a|/b////" },
	{ S("a\n"), 2, "> a/|////" },
	{ S("1234567\xe6\x97\xa5"), 10, "> 1234567/\xe6\x97\xa5|////" },
	{ S("\xe6\x97\xa5\xe6\x97\xa5"), 3, "> \xe6\x97\xa5|\xe6\x97\xa5/////" },
	{ S("e\xcc\x81x"), 3, "> e|x/////" },
	{ S("a\tb"), 3, "> a    b|/////" },
	/* more rows than there are: those that end at the cursor, or begin the text */
	{ S("1\n2\n3\n4\n5\n6\n7"), 13, "3/4/5/6/7|/" },
	{ S("1\n2\n3\n4\n5\n6\n7"), 0, "> |1/2/3/4/5/" },
	{ S("1\n2\n3\n4\n5\n6\n7"), 10, "2/3/4/5/|6/" },
};

static void the_text_stands_there_with_its_cursor(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct screen s = { .columns = COLUMNS, .rows = ROWS };
		struct term t = { 0 };
		const char *want = rows[i].want;
		feed(&t, screen_draw(&s, &a, S("> "), rows[i].text, rows[i].cursor));
		if (!str_eq(seen(&a, &t), str_of(want)))
			fail_msg("row %zu: %s", i, seen(&a, &t).p);
	}
}

static void drawing_again_leaves_no_trace_of_before(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t k = 0; k < COUNT(rows); k++) {
			SCOPED(arena_free) struct arena a = { 0 };
			struct screen s = { .columns = COLUMNS, .rows = ROWS };
			struct term once = { 0 }, twice = { 0 };
			struct screen fresh = s;
			feed(&twice,
			     screen_draw(&s, &a, S("> "), rows[i].text, rows[i].cursor));
			feed(&twice,
			     screen_draw(&s, &a, S("> "), rows[k].text, rows[k].cursor));
			feed(&once,
			     screen_draw(&fresh, &a, S("> "), rows[k].text, rows[k].cursor));
			if (!str_eq(seen(&a, &once), seen(&a, &twice)))
				fail_msg("%zu then %zu: %s", i, k, seen(&a, &twice).p);
			assert_int_equal(twice.scrolled, 0);
		}
}

static void leaving_goes_below_the_whole_text(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct screen s = { .columns = COLUMNS, .rows = ROWS };
	struct term t = { 0 };

	feed(&t, screen_draw(&s, &a, S("> "), S("a\nb\nc"), 0));
	feed(&t, screen_leave(&s, &a, S("> "), S("a\nb\nc")));
	assert_string_equal(seen(&a, &t).p, "> a/b/c/|//");
	feed(&t, screen_draw(&s, &a, S("> "), S("x"), 1));
	assert_string_equal(seen(&a, &t).p, "> a/b/c/> x|//");
}

static void a_resized_terminal_is_drawn_from_the_row_it_has_now(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct screen s = { .columns = 40, .rows = ROWS };

	(void)screen_draw(&s, &a, S("> "), S("1234567890123456789"), 19);
	assert_int_equal(s.cursor_row, 0);
	s.columns = COLUMNS;
	screen_resized(&s, S("> "), S("1234567890123456789"), 19);
	assert_int_equal(s.cursor_row, 2);
	s.rows = 2;
	screen_resized(&s, S("> "), S("1234567890123456789"), 19);
	assert_int_equal(s.cursor_row, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_stands_there_with_its_cursor),
		cmocka_unit_test(drawing_again_leaves_no_trace_of_before),
		cmocka_unit_test(leaving_goes_below_the_whole_text),
		cmocka_unit_test(a_resized_terminal_is_drawn_from_the_row_it_has_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

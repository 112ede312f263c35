/*
 * Drawing a text that is being edited.  Every row is ended by us, so that what terminals do
 * at their right edge does not matter.  Pure.
 */
#include "cli/screen.h"

#include "base/buf.h"
#include "base/utf.h"

#define TAB S("    ")

struct place {
	size_t row, column;
};

/* Rows and columns, and (when out is there) the bytes of the rows from first to last. */
struct layout {
	const struct screen *s;
	struct place at;
	struct buf *out;
	size_t first, last;
};

static void add(struct layout *l, str bytes)
{
	if (l->out && l->at.row >= l->first && l->at.row <= l->last)
		buf_add(l->out, bytes);
}

static void new_row(struct layout *l)
{
	if (l->at.row < l->last)
		add(l, S("\r\n"));
	l->at.row++;
	l->at.column = 0;
}

/* The cursor sits in front of a character: at the edge that is the start of the next row. */
static void make_room(struct layout *l, size_t width)
{
	if (l->at.column + width > l->s->columns)
		new_row(l);
}

static void lay(struct layout *l, str s)
{
	for (size_t i = 0, len; i < s.n; i += len) {
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);
		str bytes = cp == '\t' ? TAB : str_sub(s, i, i + len);
		size_t width = cp == '\t' ? TAB.n : (size_t)utf_width(cp);
		if (cp == '\n') {
			new_row(l);
			continue;
		}
		make_room(l, width);
		add(l, bytes);
		l->at.column += width;
	}
}

/* Lay out everything; where the cursor is. */
static struct place lay_all(struct layout *l, str prompt, str text, size_t cursor)
{
	lay(l, prompt);
	lay(l, str_sub(text, 0, cursor));
	struct layout before = *l;
	before.out = NULL;
	make_room(&before, 1);
	/* At the very end the row of the cursor has to be there. */
	if (cursor == text.n)
		make_room(l, 1);
	lay(l, str_sub(text, cursor, text.n));
	return before.at;
}

static void move_up(struct buf *b, size_t rows)
{
	if (rows)
		buf_fmt(b, "\x1b[%zuA", rows);
}

str screen_draw(struct screen *s, struct arena *a, str prompt, str text, size_t cursor)
{
	struct buf b = buf_in(a, (prompt.n + text.n) * 4 + s->columns * 4 + 1024);
	struct layout dry = { .s = s };
	struct place at = lay_all(&dry, prompt, text, cursor);
	size_t rows = s->rows ? s->rows : 1;
	size_t first = at.row >= rows ? at.row - rows + 1 : 0;
	struct layout l = { .s = s, .out = &b, .first = first, .last = first + rows - 1 };

	move_up(&b, s->cursor_row);
	buf_add(&b, S("\r\x1b[J"));
	(void)lay_all(&l, prompt, text, cursor);
	size_t bottom = l.at.row < l.last ? l.at.row : l.last;
	move_up(&b, bottom - at.row);
	buf_addc(&b, '\r');
	if (at.column)
		buf_fmt(&b, "\x1b[%zuC", at.column);
	s->cursor_row = at.row - first;
	return buf_str(&b);
}

str screen_leave(struct screen *s, struct arena *a, str prompt, str text)
{
	str drawn = screen_draw(s, a, prompt, text, text.n);

	s->cursor_row = 0;
	return arena_cat(a, drawn, S("\r\n"));
}

void screen_resized(struct screen *s, str prompt, str text, size_t cursor)
{
	struct layout l = { .s = s };
	size_t row = lay_all(&l, prompt, text, cursor).row, rows = s->rows ? s->rows : 1;

	s->cursor_row = row < rows ? row : rows - 1;
}

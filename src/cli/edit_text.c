/*
 * Editing a text in memory.  Pure.
 */
#include "cli/edit_text.h"

#include "base/buf.h"
#include "base/utf.h"

#include <string.h>

str edit_text_str(const struct edit_text *t)
{
	return (str){ t->p, t->n };
}

static bool reserve(struct edit_text *t, size_t n)
{
	if (n > t->max)
		return false;
	if (n <= t->cap)
		return true;
	size_t cap = t->cap ? t->cap : 256;
	while (cap < n)
		cap *= 2;
	t->p = arena_grow(t->a, t->p, t->cap, cap);
	t->cap = cap;
	return true;
}

/* Without what a terminal would obey. */
static str plain(struct arena *a, str text)
{
	struct buf b = buf_in(a, text.n * 3);

	for (size_t i = 0, len; i < text.n; i += len) {
		uint32_t cp = utf_next(str_sub(text, i, text.n), &len);
		bool after_cr = i > 0 && text.p[i - 1] == '\r';
		if (cp == '\r' || (cp == '\n' && !after_cr))
			buf_addc(&b, '\n');
		else if (cp == '\t' || (cp >= 0x20 && cp != 0x7f && !(cp >= 0x80 && cp < 0xa0)))
			buf_add(&b, str_sub(text, i, i + len));
	}
	return utf_repair(a, buf_str(&b));
}

bool edit_text_insert(struct edit_text *t, str text)
{
	text = plain(t->a, text);
	if (!reserve(t, t->n + text.n))
		return false;
	if (text.n == 0)
		return true;
	memmove(t->p + t->cursor + text.n, t->p + t->cursor, t->n - t->cursor);
	memcpy(t->p + t->cursor, text.p, text.n);
	t->n += text.n;
	t->cursor += text.n;
	return true;
}

void edit_text_set(struct edit_text *t, str text)
{
	t->n = t->cursor = 0;
	(void)edit_text_insert(t, text);
}

/* The length of the character at i, 0 at the end; *cp is what it is. */
static size_t char_at(const struct edit_text *t, size_t i, uint32_t *cp)
{
	size_t len = 0;

	if (i < t->n)
		*cp = utf_next((str){ t->p + i, t->n - i }, &len);
	return len;
}

/* Marks without a width of their own go with the character before them. */
static bool is_mark(uint32_t cp)
{
	return cp >= 0x20 && utf_width(cp) == 0;
}

static size_t right_of(const struct edit_text *t, size_t i)
{
	uint32_t cp = 0;

	i += char_at(t, i, &cp);
	for (size_t len; (len = char_at(t, i, &cp)) > 0 && is_mark(cp);)
		i += len;
	return i;
}

static size_t left_of(const struct edit_text *t, size_t i)
{
	uint32_t cp = 0;

	while (i > 0) {
		do
			i--;
		while (i > 0 && ((unsigned char)t->p[i] & 0xC0) == 0x80);
		(void)char_at(t, i, &cp);
		if (!is_mark(cp))
			break;
	}
	return i;
}

static bool blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t';
}

static size_t word_left(const struct edit_text *t, size_t i)
{
	while (i > 0 && blank(t->p[i - 1]))
		i--;
	while (i > 0 && !blank(t->p[i - 1]))
		i--;
	return i;
}

static size_t word_right(const struct edit_text *t, size_t i)
{
	while (i < t->n && blank(t->p[i]))
		i++;
	while (i < t->n && !blank(t->p[i]))
		i++;
	return i;
}

static size_t line_start(const struct edit_text *t, size_t i)
{
	while (i > 0 && t->p[i - 1] != '\n')
		i--;
	return i;
}

static size_t line_end(const struct edit_text *t, size_t i)
{
	while (i < t->n && t->p[i] != '\n')
		i++;
	return i;
}

static bool move(struct edit_text *t, size_t to)
{
	bool moved = to != t->cursor;

	t->cursor = to;
	return moved;
}

static bool erase(struct edit_text *t, size_t from, size_t to, bool keep)
{
	if (from == to)
		return false;
	if (keep)
		t->killed = arena_dup(t->a, str_sub(edit_text_str(t), from, to));
	memmove(t->p + from, t->p + to, t->n - to);
	t->n -= to - from;
	t->cursor = from;
	return true;
}

bool edit_text_key(struct edit_text *t, enum key key)
{
	size_t at = t->cursor, end;

	switch (key) {
	case KEY_LEFT:
		return move(t, left_of(t, at));
	case KEY_RIGHT:
		return move(t, right_of(t, at));
	case KEY_HOME:
		return move(t, line_start(t, at));
	case KEY_END:
		return move(t, line_end(t, at));
	case KEY_WORD_LEFT:
		return move(t, word_left(t, at));
	case KEY_WORD_RIGHT:
		return move(t, word_right(t, at));
	case KEY_BACKSPACE:
		return erase(t, left_of(t, at), at, false);
	case KEY_DELETE:
	case KEY_DELETE_OR_END:
		return erase(t, at, right_of(t, at), false);
	case KEY_KILL_TO_END:
		end = line_end(t, at);
		/* At the end of a line it takes the newline, as editors do. */
		return erase(t, at, end == at && end < t->n ? end + 1 : end, true);
	case KEY_KILL_TO_START:
		return erase(t, line_start(t, at), at, true);
	case KEY_KILL_WORD:
		return erase(t, word_left(t, at), at, true);
	case KEY_KILL_WORD_RIGHT:
		return erase(t, at, word_right(t, at), true);
	case KEY_YANK:
		return t->killed.n && edit_text_insert(t, t->killed);
	case KEY_NEWLINE:
		return edit_text_insert(t, S("\n"));
	default:
		return false;
	}
}

bool edit_text_line(struct edit_text *t, int by)
{
	size_t start = line_start(t, t->cursor);
	str before = str_sub(edit_text_str(t), start, t->cursor);
	size_t column = utf_count(before), to;

	if (by < 0) {
		if (start == 0)
			return false;
		to = line_start(t, start - 1);
	} else {
		to = line_end(t, t->cursor);
		if (to == t->n)
			return false;
		to++;
	}
	size_t end = line_end(t, to);
	uint32_t cp = 0;
	while (column-- > 0 && to < end)
		to += char_at(t, to, &cp);
	t->cursor = to;
	return true;
}

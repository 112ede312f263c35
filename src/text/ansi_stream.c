/*
 * Markdown that is being written: line by line, so that what stands on the terminal is
 * never changed but for the last, unfinished line.
 */
#include "text/ansi.h"

#include "base/utf.h"
#include "text/text.h"

#define ROWS_MAX 16 /* a longer line is not drawn again: its start may have scrolled away */
#define TAB_COLUMNS 4

static size_t leading(str s, char c)
{
	size_t n = 0;

	while (n < s.n && s.p[n] == c)
		n++;
	return n;
}

/* Does the line open or close a code fence? */
static bool is_fence(struct ansi_stream *s, str line)
{
	str text = str_trim(line);
	char mark = text.n ? text.p[0] : 0;
	size_t n = leading(text, mark);

	if (s->fence) {
		if (mark != s->fence || n < s->fence_n || n != text.n)
			return false;
		s->fence = 0;
		return true;
	}
	if ((mark != '`' && mark != '~') || n < 3 ||
	    (mark == '`' && str_has(str_sub(text, n, text.n), S("`"))))
		return false;
	s->fence = mark;
	s->fence_n = n;
	return true;
}

static str untab(struct arena *a, str line)
{
	struct buf b = buf_in(a, line.n * TAB_COLUMNS);

	for (size_t i = 0; i < line.n; i++)
		buf_add(&b, line.p[i] == '\t' ? S("    ") : str_sub(line, i, i + 1));
	return buf_str(&b);
}

/* One complete line, safe already, with its newline. */
static str styled(struct ansi_stream *s, struct arena *a, str line)
{
	bool inside = s->fence != 0;

	if (is_fence(s, line))
		return arena_fmt(a, "\x1b[0;2m%.*s\x1b[0m\n", STRF(line));
	if (inside)
		return line.n ? arena_fmt(a, "\x1b[0;36m%.*s\x1b[0m\n", STRF(line)) : S("\n");
	str text = str_trim(line);
	if (text.n == 0)
		return S("\n");
	/* Tables want all of their lines to be told; alone they are lines with bars. */
	if (text.p[0] == '|')
		return arena_cat(a, line, S("\n"));
	size_t indent = leading(line, ' ');
	size_t room = s->columns > indent ? s->columns - indent : 0;
	str all = text_ansi(a, text, room);
	/* What means nothing alone, such as the target of a later link, stays as it is. */
	if (all.n == 0)
		return arena_cat(a, line, S("\n"));
	struct buf b = buf_in(a, all.n + (indent + 1) * (all.n + 1));
	while (all.n) {
		str row = str_cut(&all, '\n');
		for (size_t i = 0; i < indent; i++)
			buf_addc(&b, ' ');
		buf_add(&b, row);
		buf_addc(&b, '\n');
	}
	return buf_str(&b);
}

/* How many rows below its first one a raw line ends. */
static size_t rows_of(str s, size_t columns)
{
	size_t rows = 0, at = 0, len;

	for (size_t i = 0; i < s.n && columns; i += len) {
		size_t width = (size_t)utf_width(utf_next(str_sub(s, i, s.n), &len));
		if (at + width > columns) {
			rows++;
			at = 0;
		}
		at += width;
	}
	return rows;
}

static str safe(struct arena *a, str line)
{
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return untab(a, text_visible(a, line, false));
}

/* The line that ends here, in place of its raw beginning. */
static void finish_line(struct ansi_stream *s, struct arena *a, str line, struct buf *b)
{
	str raw = safe(a, str_sub(line, 0, s->shown)), whole = safe(a, line);
	size_t rows = rows_of(raw, s->columns);

	if (s->shown && rows > ROWS_MAX) {
		(void)is_fence(s, whole);
		buf_add(b, str_sub(whole, raw.n, whole.n));
		buf_addc(b, '\n');
	} else {
		if (s->shown)
			buf_addc(b, '\r');
		if (s->shown && rows)
			buf_fmt(b, "\x1b[%zuA", rows);
		if (s->shown)
			buf_add(b, S("\x1b[J"));
		buf_add(b, styled(s, a, whole));
	}
	s->shown = 0;
}

static void feed(struct ansi_stream *s, struct arena *a, str all, bool end, struct buf *b)
{
	while (s->done < all.n) {
		str rest = str_sub(all, s->done, all.n), line = rest, after = rest;
		line = str_cut(&after, '\n');
		bool whole = line.n < rest.n;
		if (whole || end) {
			finish_line(s, a, line, b);
			s->done += line.n + whole;
			continue;
		}
		line = utf_whole(line);
		/* A CR at the end may be half of a line's end. */
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		/* Only what is new is looked at: a line may be long and come in small pieces. */
		if (s->columns && line.n > s->shown) {
			buf_add(b, safe(a, str_sub(line, s->shown, line.n)));
			s->shown = line.n;
		}
		return;
	}
}

static struct buf room_for(struct arena *a, str all)
{
	return buf_in(a, (size_t)64 * 1024 + all.n * 128);
}

str ansi_stream_feed(struct ansi_stream *s, struct arena *a, str so_far)
{
	struct buf b = room_for(a, str_sub(so_far, s->done, so_far.n));

	feed(s, a, so_far, false, &b);
	return buf_str(&b);
}

str ansi_stream_end(struct ansi_stream *s, struct arena *a, str whole)
{
	struct buf b = room_for(a, str_sub(whole, s->done, whole.n));

	feed(s, a, whole, true, &b);
	return buf_str(&b);
}

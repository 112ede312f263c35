/*
 * Cutting input into lines.  Pure.
 */
#include "chan/lines.h"

#include "base/utf.h"

bool lines_quits(str line)
{
	return str_ieq(line, S("/quit")) || str_ieq(line, S("/exit")) || str_ieq(line, S("/q"));
}

struct lines lines_in(struct arena *a, size_t max, size_t step)
{
	return (struct lines){ .b = buf_in(a, max + step), .max = max };
}

void lines_add(struct lines *l, str bytes)
{
	buf_add(&l->b, bytes);
}

void lines_end(struct lines *l)
{
	l->ended = true;
}

static str clean(struct arena *a, str line)
{
	char *p = arena_alloc(a, 1, line.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] != '\0')
			p[n++] = line.p[i];
	return str_trim(utf_repair(a, (str){ p, n }));
}

/* What stands before the first newline, taken out; false when there is none (yet). */
static bool take(struct lines *l, str *line)
{
	str all = buf_str(&l->b), left = str_sub(all, l->from, all.n), rest = left;

	*line = str_cut(&rest, '\n');
	bool whole = line->n < left.n;
	if (!whole && !(l->ended && left.n))
		return false;
	l->from += line->n + whole;
	return true;
}

enum line_kind lines_next(struct lines *l, struct arena *a, str *out)
{
	str line;

	while (take(l, &line)) {
		bool rest_of_long = l->skipping;
		l->skipping = false;
		if (rest_of_long)
			continue;
		if (line.n > l->max)
			return LINE_LONG;
		line = clean(a, line);
		if (lines_quits(line))
			return LINE_QUIT;
		if (line.n) {
			*out = line;
			return LINE_TEXT;
		}
	}
	buf_drop(&l->b, l->from);
	l->from = 0;
	if (l->b.n <= l->max)
		return LINE_NONE;
	buf_reset(&l->b);
	bool told = l->skipping;
	l->skipping = true;
	return told ? LINE_NONE : LINE_LONG;
}

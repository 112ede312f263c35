/*
 * The places of the changes are known, so nothing is searched for: each stretch is widened
 * to whole lines, those that touch become one change, and those that are near share a hunk.
 */
#include "text/diff.h"

#define AROUND 3 /* lines */

/* Whole lines of the old text, and what stands there afterwards. */
struct change {
	size_t from, to;
	str now;
};

static size_t line_begin(str s, size_t i)
{
	while (i > 0 && s.p[i - 1] != '\n')
		i--;
	return i;
}

static size_t line_end(str s, size_t i)
{
	while (i < s.n && s.p[i] != '\n')
		i++;
	return i < s.n ? i + 1 : i;
}

static size_t lines(str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '\n';
	return n + (s.n && s.p[s.n - 1] != '\n');
}

str diff_apply(struct arena *a, str text, const struct stretch *v, size_t n, str with)
{
	size_t room = text.n, done = 0;

	for (size_t i = 0; i < n; i++)
		room += with.n;
	struct buf b = buf_in(a, room);
	for (size_t i = 0; i < n; i++) {
		buf_add(&b, str_sub(text, done, v[i].from));
		buf_add(&b, with);
		done = v[i].to;
	}
	buf_add(&b, str_sub(text, done, text.n));
	return buf_str(&b);
}

/* The change that begins with the stretch v; *used is how many of the n it takes in. */
static struct change change_at(struct arena *a, str text, const struct stretch *v, size_t n,
			       str with, size_t *used)
{
	struct change c = { line_begin(text, v->from), 0, { 0 } };
	size_t k = 0;

	do {
		size_t end = v[k].to;
		/* A line end that goes takes the next line along, unless one comes. */
		bool whole = end > c.from && text.p[end - 1] == '\n' &&
			     (str_ends(with, S("\n")) ||
			      (!with.n && v[k].from == line_begin(text, v[k].from)));
		c.to = whole ? end : line_end(text, end);
		k++;
	} while (k < n && v[k].from < c.to);
	struct stretch *own = NEWN(a, struct stretch, k);
	for (size_t i = 0; i < k; i++)
		own[i] = (struct stretch){ v[i].from - c.from, v[i].to - c.from };
	c.now = diff_apply(a, str_sub(text, c.from, c.to), own, k, with);
	*used = k;
	return c;
}

/* Lines that are the same at both ends are no change. */
static void trim(str text, struct change *c)
{
	str was = str_sub(text, c->from, c->to);

	for (;;) {
		size_t n = line_end(was, 0);
		if (n == 0 ||
		    !str_eq(str_sub(was, 0, n), str_sub(c->now, 0, line_end(c->now, 0))))
			break;
		was = str_sub(was, n, was.n);
		c->now = str_sub(c->now, n, c->now.n);
		c->from += n;
	}
	while (was.n && c->now.n) {
		size_t x = line_begin(was, was.n - 1), y = line_begin(c->now, c->now.n - 1);
		if (!str_eq(str_sub(was, x, was.n), str_sub(c->now, y, c->now.n)))
			break;
		was.n = x;
		c->now.n = y;
	}
	c->to = c->from + was.n;
}

static void put_lines(struct buf *b, char mark, str s, bool exact)
{
	bool open = s.n && s.p[s.n - 1] != '\n';

	while (s.n) {
		str line = str_cut(&s, '\n');
		if (!exact && str_ends(line, S("\r")))
			line.n--;
		buf_addc(b, mark);
		buf_add(b, line);
		buf_addc(b, '\n');
	}
	if (open && exact)
		buf_add(b, S("\\ No newline at end of file\n"));
}

/* The lines before i, at most n; where they begin. */
static size_t back(str text, size_t i, int n)
{
	for (; n > 0 && i > 0; n--)
		i = line_begin(text, i - 1);
	return i;
}

static size_t ahead(str text, size_t i, int n)
{
	for (; n > 0 && i < text.n; n--)
		i = line_end(text, i);
	return i;
}

/* One hunk of n changes. */
static void hunk(struct buf *b, str text, const struct change *c, size_t n, int64_t shift,
		 bool exact)
{
	size_t from = back(text, c[0].from, AROUND), to = ahead(text, c[n - 1].to, AROUND);
	size_t was = lines(str_sub(text, from, to)), now = was;
	size_t first = lines(str_sub(text, 0, from)) + 1;

	for (size_t i = 0; i < n; i++)
		now = now - lines(str_sub(text, c[i].from, c[i].to)) + lines(c[i].now);
	buf_fmt(b, "@@ -%zu,%zu +%lld,%zu @@\n", first, was, (long long)first + shift, now);
	for (size_t i = 0; i < n; i++) {
		put_lines(b, ' ', str_sub(text, from, c[i].from), exact);
		put_lines(b, '-', str_sub(text, c[i].from, c[i].to), exact);
		put_lines(b, '+', c[i].now, exact);
		from = c[i].to;
	}
	put_lines(b, ' ', str_sub(text, from, to), exact);
}

str diff_show(struct arena *a, str text, const struct stretch *v, size_t n, str with,
	      bool exact, size_t max, bool *cut)
{
	struct change *c = NEWN(a, struct change, n ? n : 1);
	struct buf b = buf_in(a, max);
	size_t changes = 0, used;
	int64_t shift = 0;

	for (size_t i = 0; i < n; i += used) {
		c[changes] = change_at(a, text, v + i, n - i, with, &used);
		trim(text, &c[changes++]);
	}
	for (size_t i = 0, k; i < changes && !b.full; i = k) {
		for (k = i + 1;
		     k < changes && ahead(text, c[k - 1].to, 2 * AROUND) >= c[k].from;)
			k++;
		hunk(&b, text, c + i, k - i, shift, exact);
		for (size_t m = i; m < k; m++)
			shift += (int64_t)lines(c[m].now) -
				 (int64_t)lines(str_sub(text, c[m].from, c[m].to));
	}
	*cut = b.full;
	return buf_str(&b);
}

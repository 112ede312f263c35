/*
 * Head and tail of a stream.  Cuts are made between characters, also when what was cut is then
 * made visible and becomes longer.
 */
#include "tools/output.h"

#include "base/buf.h"
#include "base/utf.h"
#include "text/text.h"

#include <string.h>

#define MARKER_MAX 64 /* room for the line that says what was left out */
#define MARKER_LEAST 160 /* below this much in all there is none */

static size_t room(size_t max)
{
	return max >= MARKER_LEAST ? max - MARKER_MAX : max;
}

void output_init(struct output *o, struct arena *a, size_t max)
{
	/* The end matters more: that is where the error stands. */
	*o = (struct output){ .head_max = max >= MARKER_LEAST ? max / 2 : 0 };
	o->tail_max = max - o->head_max;
	o->head = arena_alloc(a, 1, o->head_max + 1);
	o->tail = arena_alloc(a, 1, o->tail_max + 1);
}

static void add_tail(struct output *o, str s)
{
	/* Only the last of it can stay. */
	s = str_sub(s, s.n > o->tail_max ? s.n - o->tail_max : 0, s.n);
	while (s.n) {
		size_t n = o->tail_max - o->tail_at;
		n = n < s.n ? n : s.n;
		memcpy(o->tail + o->tail_at, s.p, n);
		o->tail_at = (o->tail_at + n) % o->tail_max;
		o->tail_n = o->tail_n + n < o->tail_max ? o->tail_n + n : o->tail_max;
		s = str_sub(s, n, s.n);
	}
}

void output_add(struct output *o, str bytes)
{
	size_t n = o->head_max - o->head_n;

	o->total += bytes.n;
	n = n < bytes.n ? n : bytes.n;
	if (n)
		memcpy(o->head + o->head_n, bytes.p, n);
	o->head_n += n;
	add_tail(o, str_sub(bytes, n, bytes.n));
}

/* A character whose beginning was cut off. */
static str without_rest(str s)
{
	for (int i = 0; i < 3 && s.n && ((unsigned char)s.p[0] & 0xC0) == 0x80; i++)
		s = str_sub(s, 1, s.n);
	return s;
}

/* At most max bytes: head, a line, tail. */
static str join(struct arena *a, str head, str tail, uint64_t total, size_t max)
{
	struct buf b = buf_in(a, max + 1);

	if (max < MARKER_LEAST)
		return utf_tail(tail, max);
	head = utf_head(head, room(max) / 2);
	tail = utf_tail(tail, room(max) - room(max) / 2);
	buf_add(&b, head);
	buf_fmt(&b, "\n[... %llu bytes left out ...]\n",
		(unsigned long long)(total - head.n - tail.n));
	buf_add(&b, tail);
	return buf_str(&b);
}

static str harmless(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n + 1);

	while (s.n) {
		size_t at = str_find(s, S("\r\n"));
		buf_add(&b, str_sub(s, 0, at));
		s = str_sub(s, at == SIZE_MAX ? s.n : at + 1, s.n);
	}
	return text_visible(a, buf_str(&b), false);
}

str output_text(const struct output *o, struct arena *a, bool *cut)
{
	size_t max = o->head_max + o->tail_max;
	size_t first = o->tail_n < o->tail_max ? 0 : o->tail_at;
	str head = { o->head, o->head_n };
	str tail = arena_cat(a, (str){ o->tail + first, o->tail_n - first },
			     (str){ o->tail, first });
	str text;

	*cut = o->total > o->head_n + o->tail_n;
	if (*cut) {
		head = harmless(a, utf_whole(head));
		tail = harmless(a, without_rest(tail));
		return join(a, head, tail, o->total, max);
	}
	text = harmless(a, arena_cat(a, head, tail));
	*cut = text.n > max;
	return !*cut ? text : join(a, text, text, text.n, max);
}

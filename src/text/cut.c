/*
 * How long a text is for a model, and how it is made shorter.  All lengths are in
 * characters, so that nothing is ever cut inside one.
 */
#include "text/text.h"

#include "base/utf.h"

/* Below this a note about what was left out would be most of the result. */
#define NOTE_MIN 64

/* Scripts in which a character is about a token. */
static bool one_a_token(uint32_t cp)
{
	return (cp >= 0x1100 && cp <= 0x11ff) || (cp >= 0x2e80 && cp <= 0x9fff) ||
	       (cp >= 0xa960 && cp <= 0xa97f) || (cp >= 0xac00 && cp <= 0xd7ff) ||
	       (cp >= 0xf900 && cp <= 0xfaff) || (cp >= 0xff00 && cp <= 0xffef) ||
	       (cp >= 0x20000 && cp <= 0x3ffff);
}

int64_t text_tokens(str s)
{
	int64_t quarters = 0;

	for (size_t i = 0, len; i < s.n; i += len) {
		len = 1;
		if ((unsigned char)s.p[i] < 0x80) {
			quarters++;
			continue;
		}
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);
		quarters += one_a_token(cp) ? 4 : 2 * (int64_t)len;
	}
	return (quarters + 3) / 4;
}

/* Where the n-th character of s begins. */
static size_t offset_of(str s, size_t n)
{
	size_t i = 0, len;

	for (; n && i < s.n; n--, i += len)
		(void)utf_next(str_sub(s, i, s.n), &len);
	return i;
}

static str note(struct arena *a, size_t left_out)
{
	return arena_fmt(a, "\n[... %zu characters left out ...]\n", left_out);
}

str text_cut(struct arena *a, str s, size_t max)
{
	size_t total, room, tail, from, to;
	struct buf b;

	if (max == 0 || s.n <= max || (total = utf_count(s)) <= max)
		return s;
	if (max < NOTE_MIN)
		return arena_dup(a, str_sub(s, 0, offset_of(s, max)));
	room = max - note(a, total).n;
	tail = room / 3;
	to = offset_of(s, room - tail);
	from = offset_of(s, total - tail);
	b = buf_in(a, s.n + max);
	buf_add(&b, str_sub(s, 0, to));
	buf_add(&b, note(a, total - room));
	buf_add(&b, str_sub(s, from, s.n));
	return buf_str(&b);
}

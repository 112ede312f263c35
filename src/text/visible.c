/*
 * Making foreign text safe to show: what would move the cursor, change the colours or turn
 * the direction of reading is spelt out instead.
 */
#include "text/text.h"

#include "base/utf.h"

/* Directional marks, embeddings, overrides and isolates. */
static bool turns_direction(uint32_t cp)
{
	return cp == 0x61c || cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
	       (cp >= 0x2066 && cp <= 0x2069);
}

static bool controls(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
}

/* Append the character c, len bytes that were read as cp. */
static void add_visible(struct buf *b, str c, uint32_t cp, bool one_line)
{
	if (!one_line && (cp == '\n' || cp == '\t'))
		buf_add(b, c);
	else if (cp == '\n')
		buf_add(b, S("\\n"));
	else if (cp == '\t')
		buf_add(b, S("\\t"));
	else if (controls(cp))
		buf_fmt(b, "\\x%02x", (unsigned)cp);
	else if (turns_direction(cp))
		buf_fmt(b, "\\u%04x", (unsigned)cp);
	else if (cp == 0xfffd && !str_eq(c, S("\xef\xbf\xbd")))
		for (size_t i = 0; i < c.n; i++) /* not UTF-8: the bytes themselves */
			buf_fmt(b, "\\x%02x", (unsigned)(unsigned char)c.p[i]);
	else
		buf_add(b, c);
}

str text_visible(struct arena *a, str s, bool one_line)
{
	struct buf b = buf_in(a, s.n * 6);

	for (size_t i = 0, len; i < s.n; i += len) {
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);

		add_visible(&b, str_sub(s, i, i + len), cp, one_line);
	}
	return buf_str(&b);
}

static bool blank(uint32_t cp)
{
	return cp == ' ' || (cp >= '\t' && cp <= '\r') || cp == 0xa0 || cp == 0x2028 ||
	       cp == 0x2029;
}

/* White space folded to single spaces, none at the ends; no more characters than needed to
 * know that the line is too long. */
static str fold(struct arena *a, str s, size_t max)
{
	struct buf b = buf_in(a, s.n);
	size_t n = 0;
	bool gap = false;

	for (size_t i = 0, len; i < s.n && n <= max; i += len) {
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);

		if (blank(cp)) {
			gap = b.n > 0;
			continue;
		}
		if (gap)
			buf_addc(&b, ' ');
		n += gap ? 2 : 1;
		gap = false;
		buf_add(&b, str_sub(s, i, i + len));
	}
	return buf_str(&b);
}

str text_line(struct arena *a, str s, size_t max)
{
	str line = text_visible(a, fold(a, s, max), true);
	size_t keep = 0, n = 0, len;

	if (utf_count(line) <= max)
		return line;
	if (max == 0)
		return arena_dup(a, S(""));
	for (; n + 1 < max; n++, keep += len)
		(void)utf_next(str_sub(line, keep, line.n), &len);
	return arena_cat(a, str_trim(str_sub(line, 0, keep)), S("\xe2\x80\xa6"));
}

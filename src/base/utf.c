/*
 * UTF-8 decoding, repairing and cutting.  Pure.
 */
#include "base/utf.h"

#include <string.h>

#define REPLACEMENT 0xFFFDu

/* The allowed range of the second byte depends on the first; this is table 3-7 of the
 * Unicode standard. */
static size_t need(unsigned char c, unsigned char *lo, unsigned char *hi)
{
	*lo = 0x80;
	*hi = 0xBF;
	if (c >= 0xC2 && c <= 0xDF)
		return 1;
	if (c >= 0xE0 && c <= 0xEF) {
		if (c == 0xE0)
			*lo = 0xA0;
		if (c == 0xED)
			*hi = 0x9F;
		return 2;
	}
	if (c >= 0xF0 && c <= 0xF4) {
		if (c == 0xF0)
			*lo = 0x90;
		if (c == 0xF4)
			*hi = 0x8F;
		return 3;
	}
	return 0;
}

uint32_t utf_next(str s, size_t *len)
{
	unsigned char c = (unsigned char)s.p[0], lo, hi;

	*len = 1;
	if (c < 0x80)
		return c;
	size_t n = need(c, &lo, &hi);
	if (n == 0)
		return REPLACEMENT;
	uint32_t cp = c & (0x3Fu >> n);
	for (size_t i = 1; i <= n; i++) {
		unsigned char d = i < s.n ? (unsigned char)s.p[i] : 0;
		if (d < lo || d > hi)
			return REPLACEMENT;
		cp = cp << 6 | (d & 0x3Fu);
		*len = i + 1;
		lo = 0x80;
		hi = 0xBF;
	}
	return cp;
}

/* utf_next() cannot tell a written U+FFFD from a bad sequence; this can. */
static bool bad_at(str s, size_t *len)
{
	uint32_t cp = utf_next(s, len);

	return cp == REPLACEMENT && !(*len == 3 && memcmp(s.p, "\xEF\xBF\xBD", 3) == 0);
}

static size_t valid_prefix(str s)
{
	size_t i = 0, len;

	while (i < s.n) {
		if ((unsigned char)s.p[i] < 0x80) {
			i++;
			continue;
		}
		if (bad_at(str_sub(s, i, s.n), &len))
			break;
		i += len;
	}
	return i;
}

bool utf_valid(str s)
{
	return valid_prefix(s) == s.n;
}

str utf_repair(struct arena *a, str s)
{
	size_t good = valid_prefix(s), bad = 0, len;

	if (good == s.n)
		return s;
	for (size_t i = good; i < s.n; i += len)
		bad += bad_at(str_sub(s, i, s.n), &len);
	char *p = arena_alloc(a, 1, s.n + 3 * bad + 1);
	size_t n = good;
	if (good)
		memcpy(p, s.p, good);
	for (size_t i = good; i < s.n; i += len) {
		if (bad_at(str_sub(s, i, s.n), &len)) {
			memcpy(p + n, "\xEF\xBF\xBD", 3);
			n += 3;
		} else {
			memcpy(p + n, s.p + i, len);
			n += len;
		}
	}
	return (str){ p, n };
}

size_t utf_put(char out[4], uint32_t cp)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xC0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3F));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xE0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
		out[2] = (char)(0x80 | (cp & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
	out[3] = (char)(0x80 | (cp & 0x3F));
	return 4;
}

static bool continuation(char c)
{
	return ((unsigned char)c & 0xC0) == 0x80;
}

str utf_head(str s, size_t max)
{
	if (s.n <= max)
		return s;
	size_t n = max;
	for (int back = 0; n > 0 && back < 3 && continuation(s.p[n]); back++)
		n--;
	/* Four continuation bytes in a row are no character: cut where asked. */
	if (continuation(s.p[n]))
		n = max;
	return (str){ s.p, n };
}

str utf_tail(str s, size_t max)
{
	if (s.n <= max)
		return s;
	size_t from = s.n - max;
	for (int skip = 0; from < s.n && skip < 3 && continuation(s.p[from]); skip++)
		from++;
	return (str){ s.p + from, s.n - from };
}

str utf_whole(str s)
{
	unsigned char lo, hi;

	for (size_t back = 1; back <= 3 && back <= s.n; back++) {
		char c = s.p[s.n - back];
		if (continuation(c))
			continue;
		if (need((unsigned char)c, &lo, &hi) >= back)
			s.n -= back;
		break;
	}
	return s;
}

size_t utf_count(str s)
{
	size_t count = 0, len;

	for (size_t i = 0; i < s.n; i += len, count++)
		(void)utf_next(str_sub(s, i, s.n), &len);
	return count;
}

bool utf_within(const struct utf_range *r, size_t n, uint32_t cp)
{
	for (size_t i = 0; i < n; i++)
		if (cp >= r[i].from && cp <= r[i].to)
			return true;
	return false;
}

int utf_width(uint32_t cp)
{
	static const struct utf_range zero[] = {
		{ 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD },
		{ 0x0610, 0x061A }, { 0x064B, 0x065F }, { 0x0E31, 0x0E31 },
		{ 0x0E34, 0x0E3A }, { 0x0E47, 0x0E4E }, { 0x1AB0, 0x1AFF },
		{ 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x202A, 0x202E },
		{ 0x2060, 0x2064 }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F },
		{ 0xFE20, 0xFE2F }, { 0xFEFF, 0xFEFF }, { 0xE0100, 0xE01EF },
	};
	static const struct utf_range wide[] = {
		{ 0x1100, 0x115F },   { 0x2E80, 0x303E },   { 0x3041, 0x33FF },
		{ 0x3400, 0x4DBF },   { 0x4E00, 0x9FFF },   { 0xA000, 0xA4CF },
		{ 0xA960, 0xA97F },   { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },
		{ 0xFE30, 0xFE6F },   { 0xFF00, 0xFF60 },   { 0xFFE0, 0xFFE6 },
		{ 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F900, 0x1FAFF },
		{ 0x20000, 0x3FFFD },
	};

	if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || utf_within(zero, COUNT(zero), cp))
		return 0;
	return utf_within(wide, COUNT(wide), cp) ? 2 : 1;
}

/*
 * Views of bytes: comparing, finding, cutting.  Nothing here allocates.
 */
#include "base/str.h"

#include <string.h>

str str_of(const char *cstr)
{
	return (str){ cstr, cstr ? strlen(cstr) : 0 };
}

bool str_eq(str a, str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

bool str_ieq(str a, str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	return true;
}

int str_cmp(str a, str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c != 0)
		return c;
	return a.n < b.n ? -1 : a.n > b.n;
}

int str_by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const str *)a, *(const str *)b);
}

bool str_starts(str s, str prefix)
{
	return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool str_ends(str s, str suffix)
{
	return s.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

size_t str_find(str s, str needle)
{
	if (needle.n == 0)
		return 0;
	if (s.n < needle.n)
		return SIZE_MAX;
	const char *at = memmem(s.p, s.n, needle.p, needle.n);
	return at ? (size_t)(at - s.p) : SIZE_MAX;
}

bool str_has(str s, str needle)
{
	return str_find(s, needle) != SIZE_MAX;
}

str str_sub(str s, size_t from, size_t to)
{
	if (to > s.n)
		to = s.n;
	if (from >= to)
		return (str){ 0 };
	return (str){ s.p + from, to - from };
}

static bool space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

str str_trim(str s)
{
	while (s.n && space(s.p[0]))
		s = (str){ s.p + 1, s.n - 1 };
	while (s.n && space(s.p[s.n - 1]))
		s.n--;
	return s;
}

str str_cut(str *rest, char sep)
{
	str s = *rest;
	const char *at = s.n ? memchr(s.p, sep, s.n) : NULL;

	if (!at) {
		*rest = (str){ 0 };
		return s;
	}
	size_t n = (size_t)(at - s.p);
	*rest = (str){ at + 1, s.n - n - 1 };
	return (str){ s.p, n };
}

bool str_i64(str s, int64_t *out)
{
	bool minus = s.n && s.p[0] == '-';
	int64_t v = 0;

	if (s.n == (size_t)minus)
		return false;
	for (size_t i = minus; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		int d = s.p[i] - '0';
		/* Counted downwards, because the lowest value has no positive twin. */
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, d, &v))
			return false;
	}
	if (!minus && __builtin_sub_overflow((int64_t)0, v, &v))
		return false;
	*out = v;
	return true;
}

uint64_t str_hash(uint64_t h, str s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(1099511628211);
	return h;
}

/* Both halves of a product, mixed. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t str_digest(str s)
{
	uint64_t h = s.n ^ UINT64_C(0x9e3779b97f4a7c15), word;

	for (; s.n > 0; s = str_sub(s, sizeof word, s.n)) {
		word = 0;
		memcpy(&word, s.p, s.n < sizeof word ? s.n : sizeof word);
		h = mix(h ^ word, UINT64_C(0xd6e8feb86659fd93)) + UINT64_C(0xa0761d6478bd642f);
	}
	return mix(h, UINT64_C(0xe7037ed1a0b428db));
}

int str_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One bracket set at pat[0] == '['; its length in *len, 0 when it never closes. */
static bool in_set(str pat, char c, size_t *len)
{
	size_t i = 1;
	bool inverted = i < pat.n && (pat.p[i] == '!' || pat.p[i] == '^'), hit = false;

	i += inverted;
	for (size_t first = i; i < pat.n && (pat.p[i] != ']' || i == first); i++) {
		char lo = pat.p[i], hi = lo;
		if (i + 2 < pat.n && pat.p[i + 1] == '-' && pat.p[i + 2] != ']') {
			hi = pat.p[i + 2];
			i += 2;
		}
		if ((unsigned char)c >= (unsigned char)lo &&
		    (unsigned char)c <= (unsigned char)hi)
			hit = true;
	}
	*len = i < pat.n ? i + 1 : 0;
	return hit != inverted;
}

/* Does pat[0..] match the one byte c; how much of the pattern was used. */
static bool one(str pat, char c, size_t *used)
{
	*used = 1;
	if (pat.p[0] == '?')
		return true;
	if (pat.p[0] == '[') {
		bool hit = in_set(pat, c, used);
		if (*used)
			return hit;
		*used = 1;
	}
	if (pat.p[0] == '\\' && pat.n > 1) {
		*used = 2;
		return pat.p[1] == c;
	}
	return pat.p[0] == c;
}

bool str_glob(str pattern, str s)
{
	size_t p = 0, i = 0, star = SIZE_MAX, mark = 0, used;

	while (i < s.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			mark = i;
		} else if (p < pattern.n &&
			   one(str_sub(pattern, p, pattern.n), s.p[i], &used)) {
			p += used;
			i++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

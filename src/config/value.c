/*
 * Booleans, numbers, durations, words and URLs as people write them.
 */
#include "config/value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/json.h"

const char *value_bool(str s, bool *out)
{
	static const struct {
		str word;
		bool is;
	} words[] = {
		{ { "true", 4 }, true }, { { "false", 5 }, false }, { { "yes", 3 }, true },
		{ { "no", 2 }, false },  { { "on", 2 }, true },     { { "off", 3 }, false },
		{ { "1", 1 }, true },    { { "0", 1 }, false },     { { "t", 1 }, true },
		{ { "f", 1 }, false },   { { "y", 1 }, true },      { { "n", 1 }, false },
	};

	s = str_trim(s);
	for (size_t i = 0; i < COUNT(words); i++) {
		if (!str_ieq(s, words[i].word))
			continue;
		*out = words[i].is;
		return NULL;
	}
	return "must be true or false";
}

/* "must be a whole number from 1 to 64", "..., 1 or more". */
static const char *range_text(struct arena *a, const char *what, int64_t min, int64_t max)
{
	if (max == INT64_MAX)
		return arena_fmt(a, "must be %s, %lld or more", what, (long long)min).p;
	return arena_fmt(a, "must be %s from %lld to %lld", what, (long long)min,
			 (long long)max)
		.p;
}

const char *value_int(struct arena *a, str s, int64_t min, int64_t max, int64_t *out)
{
	int64_t v;

	if (!str_i64(str_trim(s), &v) || v < min || v > max)
		return range_text(a, "a whole number", min, max);
	*out = v;
	return NULL;
}

const char *value_real(struct arena *a, str s, int64_t min, int64_t max, double *out)
{
	const char *p = arena_cstr(a, str_trim(s));
	char *end;
	double v = strtod(p, &end);

	if (*p == 0 || *end || strspn(p, "0123456789.+-eE") != strlen(p) || !isfinite(v) ||
	    v < (double)min || v > (double)max)
		return range_text(a, "a number", min, max);
	*out = v;
	return NULL;
}

/* --- durations ---------------------------------------------------------------------- */

static const struct unit {
	str name;
	double ms;
} units[] = {
	{ { "h", 1 }, 3600e3 },       { { "m", 1 }, 60e3 },         { { "s", 1 }, 1e3 },
	{ { "ms", 2 }, 1 },           { { "us", 2 }, 1e-3 },        { { "ns", 2 }, 1e-6 },
	{ { "\xc2\xb5s", 3 }, 1e-3 }, { { "\xce\xbcs", 3 }, 1e-3 },
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* One "1.5h" off the front of *s, added to *ms. */
static bool take_term(str *s, double *ms)
{
	double number = 0, scale = 1;
	size_t i = 0, digits = 0, end;

	for (; i < s->n && digit(s->p[i]); i++, digits++)
		number = number * 10 + (s->p[i] - '0');
	if (i < s->n && s->p[i] == '.')
		for (i++; i < s->n && digit(s->p[i]); i++, digits++)
			number += (s->p[i] - '0') * (scale /= 10);
	for (end = i; end < s->n && !digit(s->p[end]) && s->p[end] != '.';)
		end++;
	for (size_t u = 0; digits && u < COUNT(units); u++) {
		if (!str_eq(str_sub(*s, i, end), units[u].name))
			continue;
		*ms += number * units[u].ms;
		*s = str_sub(*s, end, s->n);
		return true;
	}
	return false;
}

static bool read_ms(str s, int64_t *out)
{
	double ms = 0;

	s = str_trim(s);
	if (str_starts(s, S("+")))
		s = str_sub(s, 1, s.n);
	if (str_eq(s, S("0"))) {
		*out = 0;
		return true;
	}
	if (!s.n)
		return false;
	while (s.n)
		if (!take_term(&s, &ms))
			return false;
	if (ms > 9e15)
		return false;
	*out = (int64_t)llround(ms);
	return true;
}

str value_ms_text(struct arena *a, int64_t ms)
{
	int64_t s = ms / 1000;

	if (ms % 1000)
		return arena_fmt(a, "%lldms", (long long)ms);
	if (s >= 3600 && s % 3600 == 0)
		return arena_fmt(a, "%lldh", (long long)(s / 3600));
	if (s >= 60 && s % 60 == 0)
		return arena_fmt(a, "%lldm", (long long)(s / 60));
	return arena_fmt(a, "%llds", (long long)s);
}

const char *value_ms(struct arena *a, str s, int64_t min, int64_t max, int64_t *out)
{
	int64_t v;

	if (!read_ms(s, &v))
		return "must be a duration with its unit, as in 30s, 5m, 1h30m or 250ms";
	if (v < min || v > max)
		return arena_fmt(a, "must be a duration from %.*s to %.*s",
				 STRF(value_ms_text(a, min)), STRF(value_ms_text(a, max)))
			.p;
	*out = v;
	return NULL;
}

/* --- words and URLs ----------------------------------------------------------------- */

const char *value_word(struct arena *a, str s, const char *words, str *out)
{
	str rest = str_of(words);
	struct buf may = buf_in(a, 1024);

	s = str_trim(s);
	while (rest.n) {
		str to = str_cut(&rest, ' '), word = str_cut(&to, '=');

		if (str_ieq(s, word)) {
			*out = arena_dup(a, to.n ? to : word);
			return NULL;
		}
		if (to.n)
			continue;
		buf_fmt(&may, "%s%.*s", may.n ? ", " : "", STRF(word));
	}
	return arena_fmt(a, "must be one of: %s", buf_str(&may).p).p;
}

static bool host_char(unsigned char c, bool address)
{
	if (address)
		return digit((char)c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
		       c == ':' || c == '.';
	return digit((char)c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
	       c == '.' || c == '_' || c >= 0x80;
}

/* NULL when [user@]host[:port] is one; else what is wrong with it. */
static const char *bad_authority(str s)
{
	size_t at = str_find(s, S("@"));
	int64_t n = 1;
	str host;

	if (at != SIZE_MAX)
		s = str_sub(s, at + 1, s.n);
	bool address = str_starts(s, S("["));
	size_t end = str_find(s, address ? S("]") : S(":"));
	host = str_sub(s, address, end);
	if (address && end == SIZE_MAX)
		return "has a [ without ] in its host";
	s = str_sub(s, end == SIZE_MAX ? s.n : end + address, s.n);
	if (!host.n)
		return "has no host";
	for (size_t i = 0; i < host.n; i++)
		if (!host_char((unsigned char)host.p[i], address))
			return "has a character in its host that no host has";
	if (!s.n)
		return NULL;
	if (s.p[0] != ':')
		return "has something other than a port behind its host";
	s = str_sub(s, 1, s.n);
	for (size_t i = 0; i < s.n; i++)
		if (!digit(s.p[i]))
			n = 0;
	if (!n || s.n > 5 || !str_i64(s, &n) || n < 1 || n > 65535)
		return "has a port that is no number from 1 to 65535";
	return NULL;
}

const char *value_url(struct arena *a, str s, str *out)
{
	static const char rule[] = "must be an absolute http:// or https:// URL";
	const char *why;
	size_t end = 0;
	str rest;

	s = str_trim(s);
	if (str_ieq(str_sub(s, 0, 7), S("http://")))
		rest = str_sub(s, 7, s.n);
	else if (str_ieq(str_sub(s, 0, 8), S("https://")))
		rest = str_sub(s, 8, s.n);
	else
		return rule;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f || s.p[i] == '\\')
			return rule;
	if (str_has(rest, S("#")))
		return "must have no # part, which is never sent";
	while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?')
		end++;
	if ((why = bad_authority(str_sub(rest, 0, end))) != NULL)
		return why;
	while (str_ends(s, S("/")))
		s.n--;
	*out = arena_dup(a, s);
	return NULL;
}

bool value_variable(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && !(i && c >= '0' && c <= '9'))
			return false;
	}
	return s.n > 0;
}

bool value_one_word(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7f)
			return false;
	return s.n > 0;
}

/* --- writing -------------------------------------------------------------------- */

/* Can be written without quotes: nothing YAML or a reader could take for something else. */
static bool plain(str s)
{
	if (!s.n || s.p[0] == '-' || s.p[0] == '~' || str_ieq(s, S("null")))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') && (c == 0 || !strchr("._/+-@~", c)) &&
		    !(c == ':' && i + 1 < s.n && s.p[i + 1] == '/'))
			return false;
	}
	return true;
}

str value_yaml(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n * 6 + 16);

	if (plain(s))
		return arena_dup(a, s);
	buf_json(&b, s);
	return buf_str(&b);
}

/* --- near misses -------------------------------------------------------------------- */

#define WORD_MAX 64

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t value_distance(str a, str b)
{
	size_t rows[3][WORD_MAX + 1], *before = rows[0], *prev = rows[1], *now = rows[2];

	if (a.n > WORD_MAX || b.n > WORD_MAX)
		return str_eq(a, b) ? 0 : WORD_MAX;
	for (size_t j = 0; j <= b.n; j++)
		prev[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t *last = before;

		now[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			bool same = a.p[i - 1] == b.p[j - 1];

			now[j] = least(prev[j - 1] + !same, least(prev[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] &&
			    a.p[i - 2] == b.p[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = prev;
		prev = now;
		now = last;
	}
	return prev[b.n];
}

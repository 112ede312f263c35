/*
 * Integers in four bases, floats, and the four kinds of date and time.  The word has been
 * cut out already; here every byte of it must fit one grammar.
 */
#include "text/toml_number.h"

#include <math.h>
#include <stdlib.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits of a number, without the underscores, which stand between digits only; false
 * when there are none or something else. */
static bool digits_of(str w, int base, char *out, size_t *n)
{
	bool digit = false;

	*n = 0;
	for (size_t i = 0; i < w.n; i++) {
		char c = w.p[i];
		int value = str_hex(c);

		if (c == '_') {
			if (!digit || i + 1 == w.n)
				return false;
			digit = false;
			continue;
		}
		if (value < 0 || value >= base)
			return false;
		digit = true;
		out[(*n)++] = c;
	}
	return *n > 0;
}

/* Base 2, 8 or 16, without a sign. */
static const char *based(str w, int base, char *digits, struct toml *out)
{
	uint64_t v = 0;
	size_t n;

	if (!digits_of(w, base, digits, &n))
		return "bad digit in a number";
	for (size_t i = 0; i < n; i++) {
		if (v > (uint64_t)INT64_MAX / (uint64_t)base)
			return "integer over 64 bits";
		v = v * (uint64_t)base + (uint64_t)str_hex(digits[i]);
	}
	if (v > (uint64_t)INT64_MAX)
		return "integer over 64 bits";
	out->type = TOML_INT;
	out->i = (int64_t)v;
	return NULL;
}

static const char *decimal(str w, bool minus, char *digits, struct toml *out)
{
	size_t n;

	if (!digits_of(w, 10, digits + 1, &n))
		return "this is no value";
	if (n > 1 && digits[1] == '0')
		return "leading zeros are not allowed";
	digits[0] = '-';
	if (!str_i64(minus ? (str){ digits, n + 1 } : (str){ digits + 1, n }, &out->i))
		return "integer over 64 bits";
	out->type = TOML_INT;
	return NULL;
}

/* w has a dot or an exponent. */
static const char *real(str w, bool minus, char *digits, struct toml *out)
{
	size_t exp = 0, dot, n, at = 0;
	str whole, fraction = { 0 }, power = { 0 };

	while (exp < w.n && (w.p[exp] | 0x20) != 'e')
		exp++;
	whole = str_sub(w, 0, exp);
	dot = str_find(whole, S("."));
	if (dot != SIZE_MAX) {
		fraction = str_sub(whole, dot + 1, whole.n);
		whole = str_sub(whole, 0, dot);
	}
	if (!digits_of(whole, 10, digits, &n))
		return "a float needs digits before its dot";
	if (n > 1 && digits[0] == '0')
		return "leading zeros are not allowed";
	at = n;
	digits[at++] = '.';
	if (dot != SIZE_MAX && !digits_of(fraction, 10, digits + at, &n))
		return "a float needs digits behind its dot";
	if (dot != SIZE_MAX)
		at += n;
	if (exp < w.n) {
		digits[at++] = 'e';
		power = str_sub(w, exp + 1, w.n);
		if (power.n && (power.p[0] == '+' || power.p[0] == '-')) {
			digits[at++] = power.p[0];
			power = str_sub(power, 1, power.n);
		}
		if (!digits_of(power, 10, digits + at, &n))
			return "a float needs digits behind its e";
		at += n;
	}
	digits[at] = '\0';
	out->type = TOML_FLOAT;
	out->d = minus ? -strtod(digits, NULL) : strtod(digits, NULL);
	return NULL;
}

/* n digits at *at of w. */
static bool field(str w, size_t *at, size_t n, int *out)
{
	int v = 0;

	if (*at + n > w.n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(w.p[*at + i]))
			return false;
		v = v * 10 + (w.p[*at + i] - '0');
	}
	*at += n;
	*out = v;
	return true;
}

static bool sep(str w, size_t *at, char c)
{
	if (*at >= w.n || w.p[*at] != c)
		return false;
	(*at)++;
	return true;
}

static bool date_ok(str w, size_t *at)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int y, m, d;

	if (!field(w, at, 4, &y) || !sep(w, at, '-') || !field(w, at, 2, &m) ||
	    !sep(w, at, '-') || !field(w, at, 2, &d))
		return false;
	bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

	return m >= 1 && m <= 12 && d >= 1 && d <= days[m - 1] + (m == 2 && leap);
}

static bool time_ok(str w, size_t *at)
{
	int h, m, s;

	if (!field(w, at, 2, &h) || !sep(w, at, ':') || !field(w, at, 2, &m) ||
	    !sep(w, at, ':') || !field(w, at, 2, &s) || h > 23 || m > 59 || s > 60)
		return false;
	if (sep(w, at, '.')) {
		size_t from = *at;

		while (*at < w.n && is_digit(w.p[*at]))
			(*at)++;
		return *at > from;
	}
	return true;
}

/* Z or +hh:mm up to the end. */
static bool offset_ok(str w, size_t *at)
{
	int h, m;

	if (sep(w, at, 'Z') || sep(w, at, 'z'))
		return *at == w.n;
	return (sep(w, at, '+') || sep(w, at, '-')) && field(w, at, 2, &h) && sep(w, at, ':') &&
	       field(w, at, 2, &m) && h <= 23 && m <= 59 && *at == w.n;
}

static const char *moment(struct arena *a, str w, struct toml *out)
{
	size_t at = 0;
	str copy = arena_dup(a, w);

	out->s = copy;
	if (w.p[2] == ':') {
		out->type = TOML_TIME_LOCAL;
		return time_ok(w, &at) && at == w.n ? NULL : "this is no time of day";
	}
	if (!date_ok(w, &at))
		return "this is no date";
	out->type = TOML_DATE_LOCAL;
	if (at == w.n)
		return NULL;
	if (!sep(w, &at, 'T') && !sep(w, &at, 't') && !sep(w, &at, ' '))
		return "this is no date";
	((char *)(uintptr_t)copy.p)[at - 1] = 'T';
	if (!time_ok(w, &at))
		return "this is no date with a time of day";
	out->type = TOML_DATETIME_LOCAL;
	if (at == w.n)
		return NULL;
	out->type = TOML_DATETIME;
	if (w.p[w.n - 1] == 'z')
		((char *)(uintptr_t)copy.p)[w.n - 1] = 'Z';
	return offset_ok(w, &at) ? NULL : "this is no date with a time of day and an offset";
}

static bool is_moment(str w)
{
	size_t at = 0;

	while (at < w.n && is_digit(w.p[at]))
		at++;
	return at < w.n && ((at == 4 && w.p[at] == '-') || (at == 2 && w.p[at] == ':'));
}

static bool has_any(str w, const char *set)
{
	for (; *set; set++)
		if (str_has(w, (str){ set, 1 }))
			return true;
	return false;
}

const char *toml_number(struct arena *a, str word, struct toml *out)
{
	bool minus = word.n && word.p[0] == '-';
	bool sign = minus || (word.n && word.p[0] == '+');
	str w = str_sub(word, sign, word.n);
	char *digits = NEWN(a, char, word.n + 4);

	if (!sign && is_moment(w))
		return moment(a, w, out);
	if (str_eq(w, S("inf")) || str_eq(w, S("nan"))) {
		out->type = TOML_FLOAT;
		out->d = w.p[0] == 'i' ? (double)INFINITY : (double)NAN;
		out->d = minus ? -out->d : out->d;
		return NULL;
	}
	if (!sign && str_starts(w, S("0x")))
		return based(str_sub(w, 2, w.n), 16, digits, out);
	if (!sign && str_starts(w, S("0o")))
		return based(str_sub(w, 2, w.n), 8, digits, out);
	if (!sign && str_starts(w, S("0b")))
		return based(str_sub(w, 2, w.n), 2, digits, out);
	if (w.n && is_digit(w.p[0]) && has_any(w, ".eE"))
		return real(w, minus, digits, out);
	return decimal(w, minus, digits, out);
}

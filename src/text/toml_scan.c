/*
 * The words of TOML: white space, comments, keys, strings, and the choice between numbers
 * and dates, whose own grammar is in toml_number.c.
 */
#include "text/toml_scan.h"

#include "base/buf.h"
#include "base/utf.h"
#include "text/toml_number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int toml_scan_fail(const struct toml_scan *s, size_t at, struct err *e, const char *fmt, ...)
{
	char why[160];
	size_t line = 1, begin = 0;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < at && i < s->text.n; i++) {
		if (s->text.p[i] == '\n') {
			line++;
			begin = i + 1;
		}
	}
	return err_set(e, E_INVAL, "line %zu, column %zu: %s", line,
		       utf_count(str_sub(s->text, begin, at)) + 1, why);
}

int toml_scan_peek(const struct toml_scan *s)
{
	return s->pos < s->text.n ? (unsigned char)s->text.p[s->pos] : -1;
}

bool toml_scan_take(struct toml_scan *s, const char *word)
{
	if (!str_starts(str_sub(s->text, s->pos, s->text.n), str_of(word)))
		return false;
	s->pos += strlen(word);
	return true;
}

void toml_scan_blank(struct toml_scan *s)
{
	while (toml_scan_peek(s) == ' ' || toml_scan_peek(s) == '\t')
		s->pos++;
}

static bool is_control(int c)
{
	return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7F;
}

/* A comment up to the end of its line, which stays. */
static int skip_comment(struct toml_scan *s, struct err *e)
{
	if (toml_scan_peek(s) != '#')
		return OK;
	for (int c; (c = toml_scan_peek(s)) >= 0 && c != '\n'; s->pos++) {
		if (c == '\r' && s->pos + 1 < s->text.n && s->text.p[s->pos + 1] == '\n')
			return OK;
		if (is_control(c))
			return toml_scan_fail(s, s->pos, e,
					      "control character 0x%02x in a comment", c);
	}
	return OK;
}

static bool take_newline(struct toml_scan *s)
{
	return toml_scan_take(s, "\n") || toml_scan_take(s, "\r\n");
}

int toml_scan_eol(struct toml_scan *s, struct err *e)
{
	int rc;

	toml_scan_blank(s);
	if ((rc = skip_comment(s, e)) < 0)
		return rc;
	if (toml_scan_peek(s) < 0 || take_newline(s))
		return OK;
	return toml_scan_fail(s, s->pos, e, "the line should end here");
}

int toml_scan_space(struct toml_scan *s, struct err *e)
{
	do {
		int rc;

		toml_scan_blank(s);
		if ((rc = skip_comment(s, e)) < 0)
			return rc;
	} while (take_newline(s));
	return OK;
}

/* The code point of \u or \U, whose n digits come next. */
static int take_unicode(struct toml_scan *s, size_t n, struct buf *b, struct err *e)
{
	str digits = str_sub(s->text, s->pos, s->pos + n);
	uint32_t cp = 0;
	char out[4];

	for (size_t i = 0; i < digits.n; i++) {
		int d = str_hex(digits.p[i]);

		if (d < 0)
			return toml_scan_fail(s, s->pos, e,
					      "bad hexadecimal digit in an escape");
		cp = cp << 4 | (uint32_t)d;
	}
	if (digits.n < n || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
		return toml_scan_fail(s, s->pos, e, "escape of no Unicode character");
	buf_add(b, (str){ out, utf_put(out, cp) });
	s->pos += n;
	return OK;
}

/* "\" at the end of a line: everything up to the next word goes. */
static bool take_continuation(struct toml_scan *s)
{
	size_t back = s->pos;

	toml_scan_blank(s);
	if (!take_newline(s)) {
		s->pos = back;
		return false;
	}
	do
		toml_scan_blank(s);
	while (take_newline(s));
	return true;
}

/* Behind a backslash. */
static int take_escape(struct toml_scan *s, bool multi, struct buf *b, struct err *e)
{
	static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
	int c = toml_scan_peek(s);
	const char *at = c > 0 ? strchr(from, c) : NULL;

	if (multi && take_continuation(s))
		return OK;
	if (at) {
		buf_addc(b, to[at - from]);
		s->pos++;
		return OK;
	}
	if (c != 'u' && c != 'U')
		return toml_scan_fail(s, s->pos, e, "unknown escape in a string");
	s->pos++;
	return take_unicode(s, c == 'u' ? 4 : 8, b, e);
}

/* At a quote of a multi-line string: its end?  Up to two quotes may stand before it. */
static bool take_multi_end(struct toml_scan *s, char quote, struct buf *b)
{
	size_t n = 0;

	while (n < 5 && s->pos + n < s->text.n && s->text.p[s->pos + n] == quote)
		n++;
	for (size_t i = 0; i < (n < 3 ? n : n - 3); i++)
		buf_addc(b, quote);
	s->pos += n;
	return n >= 3;
}

/* The string's bytes from behind the opening quotes to behind the closing ones. */
static int take_string(struct toml_scan *s, size_t start, char quote, bool multi, struct buf *b,
		       struct err *e)
{
	for (int c, rc; (c = toml_scan_peek(s)) >= 0;) {
		if (c == quote && !multi) {
			s->pos++;
			return OK;
		}
		if (c == quote) {
			if (take_multi_end(s, quote, b))
				return OK;
		} else if (c == '\\' && quote == '"') {
			s->pos++;
			if ((rc = take_escape(s, multi, b, e)) < 0)
				return rc;
		} else if (multi && take_newline(s)) {
			buf_addc(b, '\n');
		} else if (c == '\n' || c == '\r') {
			break;
		} else if (is_control(c)) {
			return toml_scan_fail(s, s->pos, e,
					      "control character 0x%02x in a string", c);
		} else {
			buf_addc(b, (char)c);
			s->pos++;
		}
	}
	return toml_scan_fail(s, start, e, "this string has no end");
}

static int scan_string(struct toml_scan *s, bool allow_multi, str *out, struct err *e)
{
	struct buf b = buf_in(s->a, s->text.n + 4);
	size_t start = s->pos;
	char quote = s->text.p[s->pos];
	char three[4] = { quote, quote, quote, '\0' };
	bool multi = allow_multi && toml_scan_take(s, three);
	int rc;

	if (multi)
		(void)take_newline(s);
	else
		s->pos++;
	if ((rc = take_string(s, start, quote, multi, &b, e)) < 0)
		return rc;
	*out = buf_str(&b);
	return OK;
}

static bool is_bare(int c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

int toml_scan_key(struct toml_scan *s, str *out, struct err *e)
{
	size_t start = s->pos;

	if (toml_scan_peek(s) == '"' || toml_scan_peek(s) == '\'')
		return scan_string(s, false, out, e);
	while (is_bare(toml_scan_peek(s)))
		s->pos++;
	if (s->pos == start)
		return toml_scan_fail(s, start, e, "a key should stand here");
	*out = arena_dup(s->a, str_sub(s->text, start, s->pos));
	return OK;
}

/* A word of a number, date or true; a date may go on behind one space. */
static str take_word(struct toml_scan *s)
{
	size_t start = s->pos;

	for (int c; (c = toml_scan_peek(s)) >= 0; s->pos++) {
		str w = str_sub(s->text, start, s->pos);
		bool date = c == ' ' && w.n == 10 && w.p[4] == '-' && w.p[7] == '-' &&
			    s->pos + 1 < s->text.n && s->text.p[s->pos + 1] >= '0' &&
			    s->text.p[s->pos + 1] <= '9';

		if (!is_bare(c) && c != '+' && c != '.' && c != ':' && !date)
			break;
	}
	return str_sub(s->text, start, s->pos);
}

int toml_scan_scalar(struct toml_scan *s, struct toml *out, struct err *e)
{
	size_t start = s->pos;
	const char *why;

	if (toml_scan_peek(s) == '"' || toml_scan_peek(s) == '\'') {
		out->type = TOML_STRING;
		return scan_string(s, true, &out->s, e);
	}
	str word = take_word(s);

	if (!word.n)
		return toml_scan_fail(s, start, e, "a value should stand here");
	if (str_eq(word, S("true")) || str_eq(word, S("false"))) {
		out->type = TOML_BOOL;
		out->b = word.n == 4;
		return OK;
	}
	why = toml_number(s->a, word, out);
	return why ? toml_scan_fail(s, start, e, "%s", why) : OK;
}

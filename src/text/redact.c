/*
 * Hiding secrets: those we know by value, and others by their shape.  What is hidden is
 * always a run of value characters, which no shell syntax is made of, so that whoever must
 * approve a command still sees every command in it.
 *
 * One pass from left to right; each rule looks at the place it is asked about and says
 * which bytes are the secret.  Looking back reads the original text.
 */
#include "text/text.h"

#include "base/ascii.h"
#include <string.h>

#define HIDDEN S("[REDACTED]")

struct span {
	size_t from, to; /* empty: no secret here */
};

static bool ident(char c)
{
	return ascii_alnum(c) || c == '_';
}

static bool flag_char(char c)
{
	return ident(c) || c == '-';
}

static bool value_char(char c)
{
	return ascii_alnum(c) || (c && strchr("._~+/=:@%-", c));
}

static bool base64_char(char c)
{
	return ascii_alnum(c) || c == '+' || c == '/';
}

static bool upper_or_digit(char c)
{
	return (c >= 'A' && c <= 'Z') || ascii_digit(c);
}

static char at(str s, size_t i)
{
	return i < s.n ? s.p[i] : 0;
}

static char before(str s, size_t i)
{
	return i ? s.p[i - 1] : 0;
}

static size_t run(str s, size_t i, bool (*in)(char))
{
	while (i < s.n && in(s.p[i]))
		i++;
	return i;
}

static size_t blanks(str s, size_t i)
{
	while (at(s, i) == ' ' || at(s, i) == '\t')
		i++;
	return i;
}

static bool word_at(str s, size_t i, str word)
{
	return str_ieq(str_sub(s, i, i + word.n), word);
}

/* The value at i, which a quote may open. */
static struct span value_at(str s, size_t i)
{
	if (at(s, i) == '"' || at(s, i) == '\'')
		i++;
	return (struct span){ i, run(s, i, value_char) };
}

/* --- the rules ---------------------------------------------------------------------- */

static const str schemes[] = { { "bearer", 6 }, { "basic", 5 },     { "token", 5 },
			       { "digest", 6 }, { "negotiate", 9 }, { "apikey", 6 } };

/* "Bearer v", "Authorization: v", "Authorization: Basic v", "X-Api-Key: v". */
static struct span header_rule(str s, size_t i)
{
	const struct span none = { 0 };
	size_t v;

	if (ident(before(s, i)))
		return none;
	if (word_at(s, i, S("bearer"))) {
		v = blanks(s, i + 6);
		return v > i + 6 ? (struct span){ v, run(s, v, value_char) } : none;
	}
	if (word_at(s, i, S("authorization:")))
		v = blanks(s, i + 14);
	else if (word_at(s, i, S("x-api-key:")))
		v = blanks(s, i + 10);
	else
		return none;
	for (size_t k = 0; k < COUNT(schemes); k++) {
		size_t end = run(s, v, value_char);

		if (!str_ieq(str_sub(s, v, end), schemes[k]))
			continue;
		v = blanks(s, end);
		if (v == end)
			return none;
		break;
	}
	return value_at(s, v);
}

/* "--token v", "--password=v", "--secret-key v", " -pv". */
static struct span flag_rule(str s, size_t i)
{
	const struct span none = { 0 };
	size_t end, v;

	if (at(s, i) != '-' || (before(s, i) && (value_char(before(s, i)))))
		return none;
	if (at(s, i + 1) == 'p') {
		char c = before(s, i);

		return c == 0 || c == ' ' || c == '\t' || c == '\n' ? value_at(s, i + 2) : none;
	}
	end = run(s, i, flag_char);
	if (!str_ieq(str_sub(s, i, end), S("--token")) &&
	    !str_ieq(str_sub(s, i, end), S("--password")) && !word_at(s, i, S("--secret")))
		return none;
	if (at(s, end) == '=')
		return value_at(s, end + 1);
	v = blanks(s, end);
	if (v == end || at(s, v) == '-') /* another flag: it must stay visible */
		return none;
	return value_at(s, v);
}

/* NAME_KEY=v and the JSON form "name_key": "v"; i is at the = or the : */
static struct span assign_rule(str s, size_t i)
{
	static const str ends[] = { { "key", 3 },
				    { "token", 5 },
				    { "secret", 6 },
				    { "passwd", 6 },
				    { "password", 8 } };
	size_t end = i, v = i + 1;
	char quote = 0;

	if (at(s, i) != '=' && at(s, i) != ':')
		return (struct span){ 0 };
	if (at(s, i) == ':') {
		quote = before(s, i);
		v = blanks(s, v);
		if ((quote != '"' && quote != '\'') || at(s, v) != quote)
			return (struct span){ 0 };
		end--;
	}
	for (size_t k = 0; k < COUNT(ends); k++)
		if (end >= ends[k].n && word_at(s, end - ends[k].n, ends[k]))
			return value_at(s, v);
	return (struct span){ 0 };
}

static bool password_char(char c)
{
	return (unsigned char)c > ' ' && !strchr("\"'/;|&$()<>`", c);
}

/* scheme://user:v@host; i is at the "://". */
static struct span url_rule(str s, size_t i)
{
	size_t v, end;

	if (!word_at(s, i, S("://")))
		return (struct span){ 0 };
	for (v = i + 3; v < s.n && password_char(s.p[v]) && s.p[v] != ':' && s.p[v] != '@';)
		v++;
	if (at(s, v) != ':')
		return (struct span){ 0 };
	end = run(s, ++v, password_char);
	while (end > v && at(s, end) != '@')
		end--;
	return (struct span){ v, end };
}

/* Tokens that say what they are. */
static const struct {
	str prefix;
	size_t min;
	bool (*in)(char);
} shapes[] = {
	{ { "sk-", 3 }, 8, flag_char },        { { "ghp_", 4 }, 20, ident },
	{ { "gho_", 4 }, 20, ident },          { { "ghu_", 4 }, 20, ident },
	{ { "ghs_", 4 }, 20, ident },          { { "ghr_", 4 }, 20, ident },
	{ { "github_pat_", 11 }, 20, ident },  { { "glpat-", 6 }, 16, flag_char },
	{ { "AKIA", 4 }, 12, upper_or_digit }, { { "AIza", 4 }, 30, flag_char },
	{ { "xoxb-", 5 }, 16, flag_char },     { { "xoxp-", 5 }, 16, flag_char },
};

static struct span shape_rule(str s, size_t i)
{
	size_t end;

	if (ident(before(s, i)))
		return (struct span){ 0 };
	for (size_t k = 0; k < COUNT(shapes); k++) {
		if (!str_starts(str_sub(s, i, s.n), shapes[k].prefix))
			continue;
		end = run(s, i + shapes[k].prefix.n, shapes[k].in);
		if (end - i - shapes[k].prefix.n >= shapes[k].min)
			return (struct span){ i, end };
	}
	return (struct span){ 0 };
}

/* A Telegram bot token, 123456789:AAE..., also behind the "bot" of a path. */
static struct span bot_rule(str s, size_t i)
{
	size_t colon, end;

	if (!ascii_digit(at(s, i)) || ascii_digit(before(s, i)))
		return (struct span){ 0 };
	colon = run(s, i, ascii_digit);
	if (colon - i < 6 || at(s, colon) != ':')
		return (struct span){ 0 };
	end = run(s, colon + 1, flag_char);
	return end - colon > 30 ? (struct span){ i, end } : (struct span){ 0 };
}

/* Is there a slash before i in the same word, so that what follows is a path or a URL? */
static bool in_path(str s, size_t i)
{
	for (size_t k = 0; k < 256 && k < i; k++) {
		char c = s.p[i - k - 1];

		if (c == '/')
			return true;
		if (!value_char(c) && c != '[' && c != ']') /* a password hidden before */
			break;
	}
	return at(s, i) == '/';
}

/* A long run that mixes cases and digits, unless it looks like a path. */
static struct span base64_rule(str s, size_t i)
{
	size_t end;
	bool up = false, low = false, num = false;

	if (!base64_char(at(s, i)) || base64_char(before(s, i)))
		return (struct span){ 0 };
	end = run(s, i, base64_char);
	if (end - i < 32)
		return (struct span){ 0 };
	for (size_t k = i; k < end; k++) {
		up = up || (s.p[k] >= 'A' && s.p[k] <= 'Z');
		low = low || (s.p[k] >= 'a' && s.p[k] <= 'z');
		num = num || ascii_digit(s.p[k]);
	}
	if (!up || !low || !num || in_path(s, i))
		return (struct span){ 0 };
	for (int k = 0; k < 2 && at(s, end) == '='; k++)
		end++;
	return (struct span){ i, end };
}

/* Mark the bytes of every secret; false when there is none. */
static bool mark(str s, char *secret)
{
	static struct span (*const rules[])(str, size_t) = {
		header_rule, flag_rule, assign_rule, url_rule, shape_rule, bot_rule, base64_rule
	};
	bool any = false;

	for (size_t i = 0; i < s.n; i++) {
		for (size_t r = 0; r < COUNT(rules) && !secret[i]; r++) {
			struct span v = rules[r](s, i);

			if (v.to <= v.from)
				continue;
			memset(secret + v.from, 1, v.to - v.from);
			any = true;
		}
	}
	return any;
}

str text_redact(struct arena *a, str s)
{
	/* What is hidden may uncover another secret's beginning: again, until nothing is. */
	for (int pass = 0; pass < 4; pass++) {
		char *secret = arena_alloc(a, 1, s.n + 1);
		struct buf b = buf_in(a, s.n * 10 + 10);
		size_t done = 0;

		if (!mark(s, secret))
			break;
		for (size_t i = 0; i < s.n; i++) {
			if (!secret[i])
				continue;
			buf_add(&b, str_sub(s, done, i));
			buf_add(&b, HIDDEN);
			while (secret[i]) /* the byte behind the text is never marked */
				i++;
			done = i;
		}
		buf_add(&b, str_sub(s, done, s.n));
		s = buf_str(&b);
	}
	return arena_dup(a, s);
}

/* --- by value ----------------------------------------------------------------------- */

/* How many bytes at i spell the value, any of them percent-encoded; 0 when they do not. */
static size_t spelt(str s, size_t i, str value)
{
	size_t from = i;

	if (str_eq(str_sub(s, i, i + value.n), value))
		return value.n;
	for (size_t k = 0; k < value.n; k++) {
		int high = at(s, i) == '%' ? str_hex(at(s, i + 1)) : -1;
		int low = high >= 0 ? str_hex(at(s, i + 2)) : -1;

		if (low >= 0 && (char)(high << 4 | low) == value.p[k])
			i += 3;
		else if (i < s.n && s.p[i] == value.p[k])
			i++;
		else
			return 0;
	}
	return i - from;
}

str text_redact_values(struct arena *a, str s, const str *values, size_t n)
{
	struct buf b = buf_in(a, s.n * 2 + 10);
	size_t done = 0;

	for (size_t i = 0; i < s.n;) {
		size_t longest = 0;

		for (size_t k = 0; k < n; k++) {
			size_t len = 0;

			if (values[k].n >= 6 && (s.p[i] == '%' || s.p[i] == values[k].p[0]))
				len = spelt(s, i, values[k]);
			longest = len > longest ? len : longest;
		}
		if (!longest) {
			i++;
			continue;
		}
		buf_add(&b, str_sub(s, done, i));
		buf_add(&b, HIDDEN);
		done = i += longest;
	}
	buf_add(&b, str_sub(s, done, s.n));
	return buf_str(&b);
}

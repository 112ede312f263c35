/*
 * Words of a command line: quotes, escapes and expansions.  What is inside of an expansion
 * that runs commands is read as a list of its own.
 */
#include "policy/shell_internal.h"

#include "base/utf.h"

#include <string.h>

/* A word is its run of the line, until something else than plain characters comes: then that is
 * copied to text, and what follows added.  Most words are copied nowhere. */
struct making {
	str run;
	struct buf text;
	struct buf *marks;
	struct shell_word *w;
};

static size_t made(const struct making *m)
{
	return m->run.n + m->text.n;
}

static void copy_run(struct making *m)
{
	if (m->run.n)
		buf_add(&m->text, m->run);
	m->run.n = 0;
}

static void mark(struct buf *marks, size_t upto, char as)
{
	while (marks->n < upto && !marks->full)
		buf_addc(marks, as);
}

static void put_many(struct making *m, str s, char as)
{
	copy_run(m);
	if (as != MARK_PLAIN) {
		mark(m->marks, m->text.n, MARK_PLAIN);
		mark(m->marks, m->text.n + s.n, as);
	}
	buf_add(&m->text, s);
}

static void put(struct making *m, char c, char as)
{
	put_many(m, (str){ &c, 1 }, as);
}

static void put_plain(struct making *m, str run)
{
	if (made(m) == 0)
		m->run = run;
	else
		put_many(m, run, MARK_PLAIN);
}

/* An expansion stands as it is written. */
static void put_expansion(struct lexer *s, struct making *m, size_t from, bool quoted)
{
	m->w->leading |= made(m) == 0;
	m->w->dynamic = true;
	m->w->split |= !quoted;
	put_many(m, str_sub(s->in, from, s->at), MARK_EXPANSION);
}

bool lex_trouble(struct lexer *s, const char *why)
{
	if (!s->out->trouble)
		s->out->trouble = why;
	return false;
}

bool lex_meta(char c)
{
	switch (c) {
	case 0:
	case ' ':
	case '\t':
	case '\n':
	case ';':
	case '|':
	case '&':
	case '(':
	case ')':
	case '<':
	case '>':
		return true;
	default:
		return false;
	}
}

size_t lex_ifs(const struct lexer *s, size_t i)
{
	if (lex_peek(s, i) != '$')
		return 0;
	str rest = str_sub(s->in, s->at + i, s->in.n);

	if (str_starts(rest, S("$IFS")) && !ascii_name(lex_peek(s, i + 4), false))
		return 4;
	if (str_starts(rest, S("${IFS}")))
		return 6;
	for (size_t k = 6; str_starts(rest, S("${IFS%")) && k < rest.n; k++) {
		if (rest.p[k] == '}')
			return k + 1;
		/* What else is in it is looked at. */
		if (strchr("$`\\'\"", rest.p[k]))
			return 0;
	}
	return 0;
}

void lex_blanks(struct lexer *s)
{
	for (;;) {
		char c = lex_peek(s, 0);
		size_t blank = c == '$' ? lex_ifs(s, 0) : 0;
		s->out->substitution |= blank > 0;
		if (c == ' ' || c == '\t')
			s->at++;
		else if (c == '\\' && lex_peek(s, 1) == '\n')
			s->at += 2;
		else if (blank)
			s->at += blank;
		else
			return;
	}
}

bool lex_comment(const struct lexer *s)
{
	size_t i = s->at;

	while (i > 1 && s->in.p[i - 1] == '\n' && s->in.p[i - 2] == '\\')
		i -= 2;
	return lex_peek(s, 0) == '#' && (i == 0 || lex_meta(s->in.p[i - 1]));
}

/* The list between parentheses, the first of which was passed. */
static void nested(struct lexer *s)
{
	bool fed = s->fed;
	size_t feeder = s->feeder;

	if (s->depth >= SHELL_DEPTH_MAX) {
		(void)lex_trouble(s, "it is nested too deep");
		return;
	}
	s->depth++;
	s->out->substitution = true;
	(void)lex_list(s, END_PAREN);
	s->depth--;
	s->fed = fed;
	s->feeder = feeder;
}

static void pass(struct lexer *s);

/* Read another text for a while. */
static void inside(struct lexer *s, str text, bool commands)
{
	str in = s->in;
	size_t at = s->at;
	bool fed = s->fed;
	size_t feeder = s->feeder, heres_from = s->heres_from;

	if (s->depth >= SHELL_DEPTH_MAX) {
		(void)lex_trouble(s, "it is nested too deep");
		return;
	}
	s->in = text;
	s->at = 0;
	s->depth++;
	s->heres_from = s->heres_n;
	if (commands)
		(void)lex_list(s, END_TEXT);
	while (!commands && s->at < s->in.n && !s->out->trouble)
		pass(s);
	s->depth--;
	s->in = in;
	s->at = at;
	s->fed = fed;
	s->feeder = feeder;
	s->heres_n = s->heres_from;
	s->heres_from = heres_from;
}

/* Between double quotes a backslash also protects those. */
static void backtick(struct lexer *s, bool quoted)
{
	struct buf b = buf_in(s->a, SHELL_MAX);

	s->out->substitution = true;
	buf_addc(&s->ops, '`');
	for (s->at++; lex_peek(s, 0) != '`'; s->at++) {
		char c = lex_peek(s, 0), next = lex_peek(s, 1);
		if (s->at >= s->in.n) {
			(void)lex_trouble(s, "a backtick is not closed");
			break;
		}
		if (c == '\\' &&
		    (next == '`' || next == '\\' || next == '$' || (quoted && next == '"')))
			c = s->in.p[++s->at];
		buf_addc(&b, c);
	}
	s->at += s->at < s->in.n;
	inside(s, buf_str(&b), true);
	buf_addc(&s->ops, '`');
}

static void dollar(struct lexer *s);

/* The next character of text that is read for its expansions only. */
static void pass(struct lexer *s)
{
	char c = lex_peek(s, 0);

	if (c == '$')
		dollar(s);
	else if (c == '`')
		backtick(s, false);
	else
		s->at += c == '\\' && s->at + 1 < s->in.n ? 2 : 1;
}

void lex_expansions(struct lexer *s, str text)
{
	inside(s, text, false);
}

bool lex_arithmetic(struct lexer *s)
{
	size_t from = s->at;
	int open = 0;

	while (s->at < s->in.n && !s->out->trouble) {
		char c = lex_peek(s, 0);
		if (c == ')' && open == 0)
			break;
		if (c == '\'' || c == '"')
			return !lex_trouble(s, "quotes are in arithmetic");
		open += (c == '(') - (c == ')');
		/* A name's value is computed again, and may hold a substitution. */
		if (ascii_name(c, true))
			s->out->substitution = true;
		pass(s);
	}
	if (s->out->trouble)
		return true;
	if (lex_peek(s, 0) == ')' && lex_peek(s, 1) == ')') {
		s->at += 2;
		return true;
	}
	/* Read again as commands: not without end. */
	if (s->at >= s->in.n || s->retries++ >= RETRIES_MAX)
		return !lex_trouble(s, "arithmetic is not closed");
	s->at = from;
	return false;
}

/* ${...}: anything but a plain use of a value can run what that value says. */
static void parameter(struct lexer *s)
{
	size_t from = s->at += 2;
	int open = 1;

	/* Some shells run a command there, or read flags. */
	if (s->at < s->in.n && strchr(" \t\n|(\\", lex_peek(s, 0)))
		(void)lex_trouble(s, "what a brace after a dollar does depends on the shell");
	if (lex_peek(s, 0) == '!')
		s->out->substitution = true;
	while (s->at < s->in.n && open > 0 && !s->out->trouble) {
		char c = lex_peek(s, 0), before = s->in.p[s->at - 1];
		/* What quotes mean here depends on what is around. */
		if (c == '\'' || c == '"')
			(void)lex_trouble(s, "quotes are in an expansion");
		open += (c == '{') - (c == '}');
		if ((c == '@' && s->at > from && lex_peek(s, 1) != ']') ||
		    (before == '[' && c != '@' && c != '*' && !(c >= '0' && c <= '9')) ||
		    (before == ':' && ascii_name(c, true)))
			s->out->substitution = true;
		pass(s);
	}
	if (open > 0)
		(void)lex_trouble(s, "a brace after a dollar is not closed");
}

/* $[...] */
static void old_arithmetic(struct lexer *s)
{
	s->out->substitution = true;
	for (s->at += 2; s->at < s->in.n && lex_peek(s, 0) != ']' && !s->out->trouble;)
		pass(s);
	s->at += s->at < s->in.n;
}

/* $((...)), ${...} or $[...], whichever begins here; false: none does. */
static bool computed(struct lexer *s)
{
	char c = lex_peek(s, 1);
	size_t from = s->at;
	bool is = true;

	if (c != '{' && c != '[' && (c != '(' || lex_peek(s, 2) != '('))
		return false;
	if (s->depth >= SHELL_DEPTH_MAX) {
		s->at++;
		return !lex_trouble(s, "it is nested too deep");
	}
	s->depth++;
	if (c == '{') {
		parameter(s);
	} else if (c == '[') {
		old_arithmetic(s);
	} else {
		s->at += 3;
		if (!(is = lex_arithmetic(s)))
			s->at = from;
	}
	s->depth--;
	return is;
}

/* $ and what belongs to it; a lone one is passed over. */
static void dollar(struct lexer *s)
{
	char c = lex_peek(s, 1);

	if (computed(s))
		return;
	if (c == '(') {
		s->at += 2;
		buf_add(&s->ops, S("$("));
		nested(s);
	} else if (ascii_name(c, true)) {
		for (s->at++; ascii_name(lex_peek(s, 0), false); s->at++)
			;
	} else if (c && strchr("@*#?$!-0123456789", c)) {
		s->at += 2;
	} else {
		/* Some shells go on reading behind the line's end. */
		if (c == '\\' && lex_peek(s, 2) == '\n')
			(void)lex_trouble(s, "a line ends behind a dollar");
		s->at++;
	}
}

/* An expansion in a word, or a dollar that stands for itself. */
static void expansion(struct lexer *s, struct making *m, bool quoted)
{
	size_t from = s->at, no = s->out->n;

	if (lex_peek(s, 0) == '`')
		backtick(s, quoted);
	else
		dollar(s);
	if (s->at == from + 1) {
		put(m, '$', quoted ? MARK_QUOTED : MARK_PLAIN);
		return;
	}
	if (s->out->n > no) {
		if (m->w->sub_to == 0)
			m->w->sub_from = no;
		m->w->sub_to = s->out->n;
	}
	put_expansion(s, m, from, quoted);
}

static uint32_t digits(struct lexer *s, int most, uint32_t base)
{
	uint32_t v = 0;

	for (int i = 0; i < most; i++, s->at++) {
		int d = str_hex(lex_peek(s, 0));
		if (d < 0 || (uint32_t)d >= base)
			break;
		v = v * base + (uint32_t)d;
	}
	return v;
}

/* The escapes of $'...': at the character after the backslash. */
static void ansi_escape(struct lexer *s, struct making *m)
{
	static const char from[] = "abeEfnrtv", to[] = "\a\b\033\033\f\n\r\t\v";
	char c = lex_peek(s, 0), out[4];
	const char *simple = c ? strchr(from, c) : NULL;
	uint32_t v;

	if (simple) {
		s->at++;
		put(m, to[simple - from], MARK_QUOTED);
		return;
	}
	if (c >= '0' && c <= '7') {
		put(m, (char)digits(s, 3, 8), MARK_QUOTED);
		return;
	}
	if (c == 'x' || c == 'u' || c == 'U') {
		s->at++;
		v = digits(s, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
		size_t n = 1;
		if (c == 'x')
			out[0] = (char)v;
		else
			n = utf_put(out,
				    v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0xfffd : v);
		for (size_t i = 0; i < n; i++)
			put(m, out[i], MARK_QUOTED);
		return;
	}
	if (c == 'c') {
		put(m, (char)(lex_peek(s, 1) & 0x1f), MARK_QUOTED);
		s->at += 2;
		return;
	}
	if (!strchr("\\'\"?", c))
		put(m, '\\', MARK_QUOTED);
	put(m, c, MARK_QUOTED);
	s->at++;
}

static void ansi(struct lexer *s, struct making *m)
{
	for (s->at += 2; lex_peek(s, 0) != '\'';) {
		if (s->at >= s->in.n) {
			(void)lex_trouble(s, "a quote is not closed");
			return;
		}
		if (lex_peek(s, 0) == '\\' && s->at + 1 < s->in.n) {
			s->at++;
			ansi_escape(s, m);
		} else {
			put(m, s->in.p[s->at++], MARK_QUOTED);
		}
	}
	s->at++;
}

static void single(struct lexer *s, struct making *m)
{
	str rest = str_sub(s->in, ++s->at, s->in.n);
	const char *end = rest.n ? memchr(rest.p, '\'', rest.n) : NULL;

	if (end)
		rest.n = (size_t)(end - rest.p);
	else
		(void)lex_trouble(s, "a quote is not closed");
	put_many(m, rest, MARK_QUOTED);
	s->at += rest.n + (end ? 1 : 0);
}

static void doubled(struct lexer *s, struct making *m)
{
	for (s->at++; lex_peek(s, 0) != '"';) {
		char c = lex_peek(s, 0), next = lex_peek(s, 1);
		if (s->at >= s->in.n) {
			(void)lex_trouble(s, "a quote is not closed");
			return;
		}
		if (c == '$' || c == '`') {
			expansion(s, m, true);
			continue;
		}
		if (c == '\\' && next == '\n') {
			s->at += 2;
			continue;
		}
		if (c == '\\' && next && strchr("$`\"\\", next))
			c = s->in.p[++s->at];
		put(m, c, MARK_QUOTED);
		s->at++;
	}
	s->at++;
}

/* Means itself, wherever in a word. */
static bool is_plain(char c)
{
	return !lex_meta(c) && c != '\'' && c != '"' && c != '$' && c != '`' && c != '\\';
}

/* One piece of a word; false: the word ends here. */
static bool piece(struct lexer *s, struct making *m)
{
	char c = lex_peek(s, 0), next = lex_peek(s, 1);

	if ((c == '<' || c == '>') && next == '(' && made(m) == 0) {
		size_t from = s->at, no = s->out->n;
		s->at += 2;
		buf_addc(&s->ops, c);
		buf_addc(&s->ops, '(');
		nested(s);
		m->w->sub_from = no;
		m->w->sub_to = s->out->n;
		put_expansion(s, m, from, true);
		return true;
	}
	if (lex_meta(c) && s->at < s->in.n && c)
		return false;
	if (s->at >= s->in.n)
		return false;
	if (c == '$' && lex_ifs(s, 0))
		return false;
	if (c == '\'' || c == '"' || (c == '$' && (next == '\'' || next == '"'))) {
		m->w->quoted = true;
		s->at += c == '$' && next == '"';
		(c == '$' && next == '\'' ? ansi : c == '\'' ? single : doubled)(s, m);
	} else if (c == '$' || c == '`') {
		expansion(s, m, false);
	} else if (c == '\\') {
		/* A line that goes on leaves nothing behind, not even quotes. */
		m->w->quoted |= next != '\n';
		if (next != '\n')
			put(m, next ? next : c, MARK_QUOTED);
		s->at += next ? 2 : 1;
	} else {
		size_t from = s->at;
		for (; from == s->at || is_plain(c); c = lex_peek(s, 0)) {
			m->w->glob |= c == '*' || c == '?' || c == '[';
			s->at++;
		}
		put_plain(m, str_sub(s->in, from, s->at));
	}
	return true;
}

str lex_marks(struct lexer *s, size_t n)
{
	mark(&s->marks, n, MARK_PLAIN);
	return buf_str(&s->marks);
}

bool lex_word(struct lexer *s, struct shell_word *w)
{
	struct buf marks = buf_in(s->a, SHELL_MAX);
	struct making m = { .text = buf_in(s->a, SHELL_MAX), .marks = &marks, .w = w };
	size_t from = s->at;

	*w = (struct shell_word){ 0 };
	while (!s->out->trouble && piece(s, &m))
		;
	if (s->at == from || (made(&m) == 0 && !w->quoted))
		return false;
	if (++s->words_n > SHELL_WORDS_MAX)
		return lex_trouble(s, "it has too many words");
	w->text = m.run.n ? m.run : buf_str(&m.text);
	w->raw = str_sub(s->in, from, s->at);
	s->marks = marks; /* words in its expansions had their own */
	return true;
}

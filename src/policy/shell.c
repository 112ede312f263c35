/*
 * The grammar of a command line: lists, pipelines and compounds, down to simple commands.
 * Redirections are in shell_redir.c, words in shell_word.c.
 */
#include "policy/shell_internal.h"

#include <string.h>

#define LETTERS_MAX 16 /* more than "function" has */

static void command(struct lexer *s, unsigned *end);

/* --- simple commands ------------------------------------------------------------------ */

static void append(struct lexer *s, struct shell_word **v, size_t *n,
		   const struct shell_word *w)
{
	if (*n == 0 || (*n >= 4 && (*n & (*n - 1)) == 0))
		*v = arena_grow(s->a, *v, *n * sizeof **v, (*n ? *n * 2 : 4) * sizeof **v);
	(*v)[(*n)++] = *w;
}

/* NAME=, NAME+= or NAME[...]= in front of the word's text, all of it unquoted. */
static size_t assignment(struct lexer *s, str text)
{
	size_t i = 0;

	while (i < text.n && ascii_name(text.p[i], i == 0))
		i++;
	if (i && i < text.n && text.p[i] == '[') {
		while (i < text.n && text.p[i] != ']')
			i++;
		i++;
	}
	if (i && i < text.n && text.p[i] == '+')
		i++;
	if (i == 0 || i >= text.n || text.p[i] != '=')
		return 0;
	str marks = lex_marks(s, text.n);
	for (size_t k = 0; k <= i; k++)
		if (marks.p[k] != MARK_PLAIN)
			return 0;
	return i + 1;
}

/* The elements of NAME=(...). */
static void array(struct lexer *s)
{
	struct shell_word w;
	bool newline = false;

	s->at++;
	for (;;) {
		lex_space(s, &newline);
		if (lex_peek(s, 0) == ')')
			break;
		if (!lex_word(s, &w)) {
			(void)lex_trouble(s, "a list of values is not closed");
			return;
		}
	}
	s->at++;
}

static void add_word(struct lexer *s, struct shell_cmd *cmd, const struct shell_word *w)
{
	size_t n = 1;
	const struct shell_word *v = w;

	if (w->text.n && memchr(w->text.p, '{', w->text.n))
		v = lex_braces(s, w, &n);
	if (n > 1 && (s->words_n += n - 1) > SHELL_WORDS_MAX)
		(void)lex_trouble(s, "it has too many words");
	for (size_t i = 0; i < n; i++)
		append(s, &cmd->words, &cmd->n, &v[i]);
}

static void add_set(struct lexer *s, struct shell_cmd *cmd, const struct shell_word *w)
{
	append(s, &cmd->sets, &cmd->sets_n, w);
	if (str_ends(w->text, S("=")) && lex_peek(s, 0) == '(')
		array(s);
}

static void keep(struct lexer *s, struct shell_cmd *cmd, size_t from, size_t upto)
{
	if (!cmd->n && !cmd->sets_n && !cmd->redirs)
		return;
	cmd->raw = str_sub(s->in, from, upto);
	cmd->no = s->out->n++;
	cmd->fed = s->fed;
	cmd->feeder = s->feeder;
	cmd->function = s->function;
	*s->tail = cmd;
	s->tail = &cmd->next;
}

/* The command behind a word that stands before one. */
static void within(struct lexer *s, unsigned *end)
{
	if (s->depth++ < SHELL_DEPTH_MAX)
		command(s, end);
	else
		(void)lex_trouble(s, "it is nested too deep");
	s->depth--;
}

/* name() and its body. */
static void function(struct lexer *s, str name, unsigned *end)
{
	str was = s->function;
	bool newline = false;

	s->out->compound = true;
	lex_space(s, &newline);
	s->function = name;
	within(s, end);
	s->function = was;
}

static bool is_function(const struct lexer *s, size_t *n)
{
	size_t i = 0;

	if (lex_peek(s, 0) != '(')
		return false;
	for (i = 1; lex_peek(s, i) == ' ' || lex_peek(s, i) == '\t'; i++)
		;
	*n = i + 1;
	return lex_peek(s, i) == ')';
}

static void simple(struct lexer *s, unsigned *end)
{
	struct shell_cmd *cmd = NEW(s->a, struct shell_cmd);
	size_t from = SIZE_MAX, upto = s->at, n, digits;
	struct shell_word w;

	while (!s->out->trouble) {
		lex_blanks(s);
		char c = lex_peek(s, 0);
		if ((n = lex_redirection(s, &digits))) {
			if (!lex_redirect(s, n, digits, cmd))
				break;
			continue;
		}
		if (lex_comment(s))
			break;
		if (cmd->n == 1 && !cmd->sets_n && is_function(s, &n)) {
			s->at += n;
			function(s, cmd->words[0].text, end);
			return;
		}
		size_t begin = s->at;
		if (!lex_word(s, &w)) {
			if (c == '(')
				(void)lex_trouble(s, "a parenthesis is not expected");
			break;
		}
		from = from == SIZE_MAX ? begin : from;
		if (cmd->n == 0 && assignment(s, w.text))
			add_set(s, cmd, &w);
		else
			add_word(s, cmd, &w);
		upto = s->at;
	}
	keep(s, cmd, from == SIZE_MAX ? upto : from, upto);
}

/* --- compounds ------------------------------------------------------------------------ */

/* Redirections behind a compound belong to all in it: kept as a command without words. */
static void tail_redirections(struct lexer *s)
{
	struct shell_cmd *cmd = NEW(s->a, struct shell_cmd);
	size_t n, digits;

	for (;;) {
		lex_blanks(s);
		if (s->out->trouble || !(n = lex_redirection(s, &digits)))
			break;
		if (!lex_redirect(s, n, digits, cmd))
			break;
	}
	keep(s, cmd, s->at, s->at);
}

static unsigned nested_list(struct lexer *s, unsigned ends)
{
	bool fed = s->fed;
	size_t feeder = s->feeder;
	unsigned end = 0;

	if (s->depth++ < SHELL_DEPTH_MAX)
		end = lex_list(s, ends);
	else
		(void)lex_trouble(s, "it is nested too deep");
	s->depth--;
	s->fed = fed;
	s->feeder = feeder;
	return end;
}

static void if_command(struct lexer *s)
{
	unsigned end = END_ELIF;

	while (end == END_ELIF) {
		(void)nested_list(s, END_THEN);
		end = nested_list(s, END_ELIF | END_ELSE | END_FI);
	}
	if (end == END_ELSE)
		(void)nested_list(s, END_FI);
}

static void loop(struct lexer *s)
{
	(void)nested_list(s, END_DO);
	(void)nested_list(s, END_DONE);
}

/* As letters() below, for a line that goes on in the word. */
static str joined_letters(const struct lexer *s, size_t *reach)
{
	struct buf b = buf_in(s->a, LETTERS_MAX);
	size_t i = 0;

	while (!b.full && !lex_meta(lex_peek(s, i)) && !lex_ifs(s, i)) {
		bool goes_on = lex_peek(s, i) == '\\' && lex_peek(s, i + 1) == '\n';
		if (!goes_on)
			buf_addc(&b, lex_peek(s, i));
		i += goes_on ? 2 : 1;
	}
	*reach = i;
	return buf_str(&b);
}

/* The letters up to the end of the word, and how far it reaches; "" when there are more than any
 * word of the shell's has. */
static str letters(const struct lexer *s, size_t *reach)
{
	size_t i = 0;

	for (; i <= LETTERS_MAX; i++) {
		char c = lex_peek(s, i);
		if (lex_meta(c) || lex_ifs(s, i))
			break;
		if (c == '\\' && lex_peek(s, i + 1) == '\n')
			return joined_letters(s, reach);
	}
	*reach = i;
	return i > LETTERS_MAX ? S("") : str_sub(s->in, s->at, s->at + i);
}

/* for NAME [in WORDS]; do ...; select is written alike. */
static void for_command(struct lexer *s)
{
	struct shell_word w;
	bool newline = false;
	size_t reach;

	lex_blanks(s);
	if (lex_peek(s, 0) == '(' && lex_peek(s, 1) == '(') {
		s->at += 2;
		if (!lex_arithmetic(s))
			(void)lex_trouble(s, "the head of a loop is not closed");
	} else if (!lex_word(s, &w)) {
		(void)lex_trouble(s, "a loop has no name");
	}
	lex_space(s, &newline);
	while (!s->out->trouble && lex_peek(s, 0) != ';') {
		if (newline && str_eq(letters(s, &reach), S("do")))
			break;
		if (!lex_word(s, &w)) {
			if (lex_peek(s, 0) != '\n' && lex_peek(s, 0) != ';')
				(void)lex_trouble(s, "the head of a loop cannot be read");
			newline = false;
			lex_space(s, &newline);
			if (!newline)
				break;
			continue;
		}
		lex_blanks(s);
	}
	loop(s);
}

static void case_command(struct lexer *s)
{
	struct shell_word w;
	bool newline = false;
	unsigned end = END_CASE;

	lex_blanks(s);
	if (!lex_word(s, &w))
		(void)lex_trouble(s, "a case is about nothing");
	lex_space(s, &newline);
	if (!lex_word(s, &w) || !str_eq(w.text, S("in")))
		(void)lex_trouble(s, "a case has no in");
	while (end == END_CASE && !s->out->trouble) {
		lex_space(s, &newline);
		if (lex_peek(s, 0) == '(')
			s->at++;
		lex_blanks(s);
		if (!lex_word(s, &w)) {
			(void)lex_trouble(s, "a case is not closed");
			return;
		}
		if (str_eq(w.text, S("esac")) && !w.quoted)
			return;
		for (lex_blanks(s); lex_peek(s, 0) == '|'; lex_blanks(s)) {
			s->at++;
			lex_blanks(s);
			(void)lex_word(s, &w);
		}
		if (lex_peek(s, 0) != ')') {
			(void)lex_trouble(s, "a pattern of a case is not closed");
			return;
		}
		s->at++;
		end = nested_list(s, END_CASE | END_ESAC);
	}
}

/* [[ ... ]]: operators in it are no operators. */
static void test_command(struct lexer *s)
{
	struct shell_cmd *cmd = NEW(s->a, struct shell_cmd);
	size_t from = s->at - 2;
	struct shell_word w = { .text = S("[["), .raw = S("[[") };
	bool newline = false;

	add_word(s, cmd, &w);
	while (!s->out->trouble) {
		lex_space(s, &newline);
		if (s->at >= s->in.n) {
			(void)lex_trouble(s, "a test is not closed");
			break;
		}
		if (!lex_word(s, &w)) {
			s->at++;
			continue;
		}
		add_word(s, cmd, &w);
		if (str_eq(w.raw, S("]]")))
			break;
	}
	keep(s, cmd, from, s->at);
}

static const struct reserved {
	const char *word;
	unsigned end; /* ends a list */
	void (*begin)(struct lexer *s);
} reserved[] = {
	{ "then", END_THEN, NULL },   { "elif", END_ELIF, NULL },  { "else", END_ELSE, NULL },
	{ "fi", END_FI, NULL },       { "do", END_DO, NULL },      { "done", END_DONE, NULL },
	{ "esac", END_ESAC, NULL },   { "}", END_BRACE, NULL },    { "if", 0, if_command },
	{ "while", 0, loop },         { "until", 0, loop },        { "for", 0, for_command },
	{ "select", 0, for_command }, { "case", 0, case_command }, { "[[", 0, test_command },
};

static const struct reserved *find_reserved(str word)
{
	for (size_t i = 0; i < COUNT(reserved); i++)
		if (str_is(word, reserved[i].word))
			return &reserved[i];
	return NULL;
}

/* function NAME [()] and coproc [NAME]. */
static bool named_body(struct lexer *s, str word, unsigned *end)
{
	struct shell_word w;
	size_t n;

	if (str_eq(word, S("function"))) {
		lex_blanks(s);
		if (!lex_word(s, &w))
			return !lex_trouble(s, "a function has no name");
		lex_blanks(s);
		if (is_function(s, &n))
			s->at += n;
		function(s, w.text, end);
		return true;
	}
	lex_blanks(s);
	within(s, end);
	return true;
}

/* time is a word of the shell; before a simple command it may be a program as well. */
static bool times_compound(struct lexer *s)
{
	size_t at = s->at, reach;
	bool is = str_eq(letters(s, &reach), S("time"));

	if (!is)
		return false;
	s->at += reach;
	lex_blanks(s);
	str next = letters(s, &reach);
	const struct reserved *r = find_reserved(next);
	is = lex_peek(s, 0) == '(' || str_eq(next, S("{")) || str_eq(next, S("!")) ||
	     (r && r->begin);
	s->at = at;
	return is;
}

/* One command; *end: it was a word that ends the list. */
static void command(struct lexer *s, unsigned *end)
{
	size_t reach;
	str word = letters(s, &reach);
	const struct reserved *r = find_reserved(word);

	*end = 0;
	if (lex_peek(s, 0) == '(' && lex_peek(s, 1) == '(') {
		size_t at = s->at;
		s->at += 2;
		if (lex_arithmetic(s)) {
			tail_redirections(s);
			return;
		}
		s->at = at;
	}
	if (lex_peek(s, 0) == '(') {
		lex_op(s, 1);
		(void)nested_list(s, END_PAREN);
	} else if (str_eq(word, S("{"))) {
		s->at += reach;
		s->out->compound = true;
		(void)nested_list(s, END_BRACE);
	} else if (str_eq(word, S("!")) || times_compound(s)) {
		s->at += reach;
		lex_blanks(s);
		within(s, end);
		return;
	} else if (str_eq(word, S("function")) || str_eq(word, S("coproc"))) {
		s->at += reach;
		(void)named_body(s, word, end);
		return;
	} else if (r) {
		s->at += reach;
		*end = r->end;
		if (!r->begin)
			return;
		s->out->compound |= r->begin != test_command;
		r->begin(s);
	} else {
		simple(s, end);
		return;
	}
	tail_redirections(s);
}

/* The operator between two commands; false: the list ends here, *end says how. */
static bool operator_(struct lexer *s, unsigned *end, bool *piped)
{
	char c = lex_peek(s, 0), next = lex_peek(s, 1);

	*piped = false;
	if (s->at >= s->in.n) {
		*end = END_TEXT;
		return false;
	}
	if (c == ')') {
		buf_addc(&s->ops, ')');
		s->at++;
		*end = END_PAREN;
		return false;
	}
	if (c == ';' && (next == ';' || next == '&')) {
		s->at += lex_peek(s, 2) == '&' ? 3 : 2;
		*end = END_CASE;
		return false;
	}
	if (!lex_meta(c))
		return lex_trouble(s, "a command does not end where it should");
	*piped = c == '|' && next != '|';
	lex_op(s, (c == '|' || c == '&') && (next == c || (c == '|' && next == '&')) ? 2 : 1);
	return true;
}

/* A word that ends a list needs no operator before it when it stands behind a compound. */
static bool ends_here(const struct lexer *s)
{
	size_t reach;
	const struct reserved *r = find_reserved(letters(s, &reach));

	return r && r->end;
}

/* What follows the last command: *newline when that ended its line. */
static void after(struct lexer *s, bool *newline)
{
	*newline = false;
	lex_space(s, newline);
	if (*newline && s->at < s->in.n)
		buf_addc(&s->ops, '\n');
}

unsigned lex_list(struct lexer *s, unsigned ends)
{
	bool fed = s->fed, piped = false, newline = false, open = false;
	size_t feeder = s->feeder, began = s->out->n;
	struct shell_cmd **pipeline = s->tail;
	unsigned end = 0;

	while (!s->out->trouble) {
		lex_space(s, &newline);
		size_t before = s->at;
		char c = lex_peek(s, 0);
		newline = false;
		if (!lex_meta(c) || c == '(' || c == '<' || c == '>' ||
		    (c == '&' && lex_peek(s, 1) == '>')) {
			command(s, &end);
			if (end)
				break;
			open = false;
			if (s->at == before)
				(void)lex_trouble(s, "it cannot be read");
			after(s, &newline);
			if (!newline && ends_here(s))
				continue;
		}
		bool background = lex_peek(s, 0) == '&' && lex_peek(s, 1) != '&';
		if (!newline && !operator_(s, &end, &piped))
			break;
		for (struct shell_cmd *p = *pipeline; p && background && !newline; p = p->next)
			p->background = true;
		open = !newline && !background && s->at > 0 && s->in.p[s->at - 1] != ';';
		if (piped && !newline) {
			s->feeder = s->fed ? s->feeder : began;
			s->fed = true;
			continue;
		}
		began = s->out->n;
		pipeline = s->tail;
		s->fed = fed;
		s->feeder = feeder;
	}
	if (!s->out->trouble && open)
		(void)lex_trouble(s, "nothing follows an operator");
	if (!s->out->trouble && !(end & ends))
		(void)lex_trouble(s, "a list does not end as it should");
	return s->out->trouble ? 0 : end;
}

void shell_read(struct shell_line *out, struct arena *a, str text)
{
	struct lexer s = { .a = a, .in = text, .out = out };

	*out = (struct shell_line){ 0 };
	s.tail = &out->first;
	s.ops = buf_in(a, 2 * SHELL_MAX);
	if (text.n > SHELL_MAX) {
		(void)lex_trouble(&s, "it is too long");
		return;
	}
	const char *zero = text.n ? memchr(text.p, 0, text.n) : NULL;
	if (zero)
		s.in.n = (size_t)(zero - text.p); /* a program's argument ends there */
	(void)lex_list(&s, END_TEXT);
	if (zero)
		(void)lex_trouble(&s, "it holds a zero byte");
	out->ops = buf_str(&s.ops);
}

/* --- writing it plainly --------------------------------------------------------------- */

static bool plain(char c)
{
	return ascii_name(c, false) || (unsigned char)c >= 0x80 ||
	       (c && strchr("-./:=@%+,~^*?[]{}!#$", c));
}

str shell_plain(struct arena *a, const struct shell_word *words, size_t n)
{
	struct buf b = buf_in(a, 4 * SHELL_MAX);

	for (size_t i = 0; i < n; i++) {
		str t = words[i].text;
		bool bare = t.n > 0;
		for (size_t k = 0; k < t.n && bare; k++)
			bare = plain(t.p[k]);
		if (i)
			buf_addc(&b, ' ');
		if (!bare)
			buf_addc(&b, '\'');
		buf_add(&b, t);
		if (!bare)
			buf_addc(&b, '\'');
	}
	return buf_str(&b);
}

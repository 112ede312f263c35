/*
 * What leads a command's input and output elsewhere: redirections, and the here-documents
 * whose texts follow on the next lines.
 */
#include "policy/shell_internal.h"

#include <string.h>

void lex_op(struct lexer *s, size_t n)
{
	buf_add(&s->ops, str_sub(s->in, s->at, s->at + n));
	s->at += n;
}

/* --- here-documents ------------------------------------------------------------------- */

/* The next line of a here-document, without tabs in front; where backslashes count, lines they
 * continue are one. */
static str here_line(struct lexer *s, const struct here *h)
{
	struct buf line = buf_in(s->a, SHELL_MAX);

	for (bool first = true;; first = false) {
		str rest = str_sub(s->in, s->at, s->in.n), part = str_cut(&rest, '\n');
		size_t slashes = 0;
		s->at = s->in.n - rest.n;
		while (h->tabs && first && part.n && part.p[0] == '\t')
			part = str_sub(part, 1, part.n);
		while (slashes < part.n && part.p[part.n - 1 - slashes] == '\\')
			slashes++;
		bool goes_on = !h->quoted && slashes % 2 && s->at < s->in.n;
		if (first && !goes_on)
			return part;
		part.n -= goes_on;
		buf_add(&line, part);
		if (!goes_on)
			return buf_str(&line);
	}
}

/* The bodies of the here-documents that were announced on the line that ended. */
static void bodies(struct lexer *s)
{
	for (size_t i = s->heres_from; i < s->heres_n; i++) {
		const struct here *h = &s->heres[i];
		size_t from = s->at, upto = s->in.n, no = s->out->n;
		while (s->at < s->in.n) {
			size_t at = s->at;
			if (!str_eq(here_line(s, h), h->end))
				continue;
			upto = at;
			break;
		}
		str body = str_sub(s->in, from, upto);
		h->redir->to = (struct shell_word){ .text = body, .raw = body, .quoted = true };
		if (h->quoted || !body.n)
			continue;
		lex_expansions(s, body);
		h->redir->to.dynamic =
			memchr(body.p, '$', body.n) || memchr(body.p, '`', body.n);
		h->redir->to.sub_from = no;
		h->redir->to.sub_to = s->out->n;
	}
	s->heres_n = s->heres_from;
}

void lex_space(struct lexer *s, bool *newline)
{
	for (;;) {
		lex_blanks(s);
		char c = lex_peek(s, 0);
		if (lex_comment(s)) {
			while (s->at < s->in.n && lex_peek(s, 0) != '\n')
				s->at++;
		} else if (c == '\n' && s->at < s->in.n) {
			s->at++;
			*newline = true;
			bodies(s);
		} else {
			return;
		}
	}
}

/* --- redirections --------------------------------------------------------------------- */

size_t lex_redirection(const struct lexer *s, size_t *digits)
{
	size_t i = 0;

	while (lex_peek(s, i) >= '0' && lex_peek(s, i) <= '9')
		i++;
	*digits = i;
	char c = lex_peek(s, i), next = lex_peek(s, i + 1);
	if (i == 0 && c == '&' && next == '>')
		return lex_peek(s, 2) == '>' ? 3 : 2;
	if ((c != '<' && c != '>') || (next == '(' && i == 0))
		return 0;
	if (c == '<' && next == '<')
		return i + (lex_peek(s, i + 2) == '<' || lex_peek(s, i + 2) == '-' ? 3 : 2);
	if (next == '&' || next == c || (c == '<' && next == '>') || (c == '>' && next == '|'))
		return i + 2;
	return i + 1;
}

bool lex_redirect(struct lexer *s, size_t n, size_t digits, struct shell_cmd *cmd)
{
	str o = str_sub(s->in, s->at + digits, s->at + n);
	struct shell_redir *r = NEW(s->a, struct shell_redir);

	s->at += digits;
	lex_op(s, o.n);
	lex_blanks(s);
	if (!lex_word(s, &r->to))
		return lex_trouble(s, "a redirection goes nowhere");
	r->kind = o.p[0] == '<' && !str_eq(o, S("<>")) ? SHELL_IN : SHELL_OUT;
	if (str_eq(o, S("<<<")))
		r->kind = SHELL_HERE;
	else if (o.n == 2 && o.p[1] == '&')
		r->kind = SHELL_DUP;
	else if (str_eq(o, S("<<")) || str_eq(o, S("<<-"))) {
		if (s->heres_n == HERES_MAX)
			return lex_trouble(s, "it has too many here-documents");
		r->kind = SHELL_HERE;
		s->heres[s->heres_n++] = (struct here){
			.redir = r, .end = r->to.text, .quoted = r->to.quoted, .tabs = o.n == 3
		};
		r->to = (struct shell_word){ 0 };
	}
	r->next = cmd->redirs;
	cmd->redirs = r;
	return true;
}

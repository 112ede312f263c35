/*
 * policy/shell_internal: what the files of the lexer share.
 */
#ifndef POLICY_SHELL_INTERNAL_H
#define POLICY_SHELL_INTERNAL_H

#include "base/ascii.h"
#include "base/buf.h"
#include "policy/shell.h"

#define HERES_MAX 16
#define RETRIES_MAX 8

/* What a byte of a word's text comes from. */
#define MARK_PLAIN 'p'
#define MARK_QUOTED 'q'
#define MARK_EXPANSION 'x'

struct here {
	struct shell_redir *redir;
	str end;
	bool quoted, tabs; /* no expansions in it; leading tabs go */
};

/* Where a list may end. */
enum {
	END_TEXT = 1,
	END_PAREN = 2,
	END_BRACE = 4,
	END_THEN = 8,
	END_ELIF = 16,
	END_ELSE = 32,
	END_FI = 64,
	END_DO = 128,
	END_DONE = 256,
	END_ESAC = 512,
	END_CASE = 1024, /* ;; */
};

struct lexer {
	struct arena *a;
	str in;
	size_t at;
	unsigned depth;
	size_t words_n;
	unsigned retries; /* texts that were read again as something else */
	size_t braced; /* bytes that braces made of words */
	struct shell_line *out;
	struct shell_cmd **tail;
	struct buf ops;
	struct here heres[HERES_MAX];
	size_t heres_from, heres_n; /* those of the text being read */
	bool fed; /* of the pipeline being read */
	size_t feeder;
	str function;
	struct buf
		marks; /* of the last word, up to its last byte that is not plain: see lex_marks() */
};

/* The character i ahead, 0 at the end. */
static inline char lex_peek(const struct lexer *s, size_t i)
{
	return s->at + i < s->in.n ? s->in.p[s->at + i] : 0;
}

bool lex_trouble(struct lexer *s, const char *why); /* false */
size_t lex_ifs(const struct lexer *s,
	       size_t i); /* how long a $IFS i ahead is: it ends a word */
void lex_blanks(struct lexer *s); /* blanks, also $IFS, and continued lines */
bool lex_comment(const struct lexer *s); /* one begins here */
bool lex_meta(char c); /* ends a word */

/* Take n characters as an operator. */
void lex_op(struct lexer *s, size_t n);

/* Blanks, newlines and comments between commands; *newline is set behind a line's end. */
void lex_space(struct lexer *s, bool *newline);

/* How long the redirection operator here is, its number included; 0: none is here. */
size_t lex_redirection(const struct lexer *s, size_t *digits);
bool lex_redirect(struct lexer *s, size_t n, size_t digits, struct shell_cmd *cmd);

/* One word, if one begins here.  Its text may be a part of the line, so no NUL follows it. */
bool lex_word(struct lexer *s, struct shell_word *w);

/* For each of the n bytes of the last word's text one of MARK_*. */
str lex_marks(struct lexer *s, size_t n);

/* Expansions in text that is read as if between double quotes. */
void lex_expansions(struct lexer *s, str text);

/* ((...)), the place being behind the two parentheses; false when it is none. */
bool lex_arithmetic(struct lexer *s);

/* A list up to one of these ends; which one, 0 after trouble. */
unsigned lex_list(struct lexer *s, unsigned ends);

/* The words that braces make of the word read last. */
struct shell_word *lex_braces(struct lexer *s, const struct shell_word *w, size_t *n);

#endif

/*
 * policy/shell: what a command line of a POSIX shell or bash will run, as far as that can be
 * known from its text: its simple commands with quotes, escapes and braces resolved, wherever
 * they stand (lists, pipelines, compounds, functions, substitutions, here-documents).
 *
 * What is read leniently is read as more commands, never as fewer.  What cannot be read is
 * told in .trouble, and what was found before it is kept.
 *
 * Limits  SHELL_MAX bytes, SHELL_WORDS_MAX words, nesting SHELL_DEPTH_MAX.
 */
#ifndef POLICY_SHELL_H
#define POLICY_SHELL_H

#include "base/arena.h"

#define SHELL_MAX ((size_t)64 << 10)
#define SHELL_WORDS_MAX 8192
#define SHELL_DEPTH_MAX 24

struct shell_word {
	str text; /* quotes resolved; an expansion stands as it is written */
	str raw; /* as written */
	bool quoted; /* any of it */
	bool dynamic; /* has an expansion: its value is not known */
	bool split; /* has one outside of quotes: may become several words, or none */
	bool leading; /* begins with one */
	bool glob; /* has * ? [ outside of quotes */
	size_t sub_from, sub_to; /* numbers of the commands in its substitutions */
};

enum shell_redir_kind { SHELL_IN, SHELL_OUT, SHELL_DUP, SHELL_HERE };

struct shell_redir {
	const struct shell_redir *next;
	enum shell_redir_kind kind;
	struct shell_word to; /* SHELL_HERE: what is read */
};

struct shell_cmd {
	struct shell_cmd *next;
	size_t no; /* counted over the line */
	struct shell_word *words;
	size_t n;
	struct shell_word *sets; /* assignments before it */
	size_t sets_n;
	const struct shell_redir *redirs;
	str raw; /* as written, without redirections at its ends */
	bool fed; /* a pipe is its standard input, or that of the compound around it */
	size_t feeder; /* then the number of the pipeline's first command */
	bool background;
	str function; /* whose body it is in, "" none */
};

struct shell_line {
	struct shell_cmd *first;
	size_t n;
	str ops; /* the operators, one after the other, as written */
	bool compound; /* has loops, conditions, functions or the like */
	bool substitution; /* a command's output, or what can run one, becomes text */
	const char *trouble; /* why it cannot be read; NULL it was */
};

void shell_read(struct shell_line *out, struct arena *a, str text);

/* How the words of a command would be written plainly: one blank between them, quotes only
 * where they are needed. */
str shell_plain(struct arena *a, const struct shell_word *words, size_t n);

#endif

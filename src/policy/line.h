/*
 * policy/line: all commands that a line would run, seen through what only runs others (env,
 * sudo, xargs, sh -c, find -exec, ...): the shell's own simple commands, and below each what
 * it was given to run.
 */
#ifndef POLICY_LINE_H
#define POLICY_LINE_H

#include "policy/shell.h"

#define LINE_MANY 512 /* commands; a person must look at a line with more */
#define LINE_TEXTS 1024 /* texts read for commands; likewise */

enum line_how {
	LINE_OWN, /* the line itself has it */
	LINE_RUN, /* a command was given its words */
	LINE_SCRIPT, /* a command was given a text to read as a line */
};

struct line_cmd {
	struct line_cmd *next;
	struct line_cmd *parent; /* NULL: the line */
	enum line_how how;
	str name; /* what runs, without directories; "" not known */
	str text; /* written plainly */
	str raw; /* as written, "" where nobody wrote it */
	const struct shell_word *words;
	size_t n;
	const struct shell_cmd *own; /* the simple command it is (in) */
	size_t script; /* which text it is of, 0 the line itself */
	size_t kids; /* commands it was seen to run */
	int allowed; /* of who judges it: 0 not looked at, 1 yes, -1 no */
	str allowed_by;
	bool passes; /* only runs what it is given, as it would run without it */
	bool input; /* a shell that reads its commands from its standard input */
	bool sole; /* nothing else is in its script, and no operator */
};

struct line {
	struct arena *a;
	struct line_cmd *first, **tail;
	size_t n, scripts;
	size_t bytes; /* of the texts that were read for commands */
	unsigned depth;
	str raw; /* trimmed */
	str text; /* the line written plainly, its operators between blanks */
	str ops;
	bool substitution, compound;
	const char *doubt; /* why a person must look at it, NULL no need */
};

void line_read(struct line *out, struct arena *a, str text);

/* For what finds commands in commands. */
void line_run(struct line *l, struct line_cmd *parent, const struct shell_word *w, size_t n);
void line_script(struct line *l, struct line_cmd *parent, str text, bool dynamic);
void line_doubt(struct line *l, const char *why);

/* It runs more than is looked at, which is said as a doubt. */
bool line_full(struct line *l);

/* What a command runs: line_run() and line_script() for each. */
void line_open(struct line *l, struct line_cmd *c);

/* Does a command that brings something from elsewhere run in this range of a script? */
bool line_fetches(const struct line *l, size_t script, size_t from, size_t to);

bool line_is_shell(str name);

/* What is behind the last slash. */
str line_base_name(str path);

#endif

/*
 * cli/edit: reading what a person types, with editing and history on a terminal.
 *
 * Left and right, Home and End, words with Alt or Ctrl, Ctrl-A E B F D H K U W Y L C and D as
 * shells have them, up and down through the history or the lines of the text, Alt-Enter for a
 * line break; what is pasted stays one message (bracketed paste).  Where the terminal cannot
 * (dumb, or no terminal at all) lines are read as they come.
 *
 * Threads  one; edit_resized() from any.
 * Blocks   edit_line(), which ends within 50 ms of its token.
 * Owns     the mode of the terminal while edit_line() runs: it is restored on each return.
 */
#ifndef CLI_EDIT_H
#define CLI_EDIT_H

#include "base/arena.h"
#include "os/cancel.h"

struct edit_opt {
	int in, out; /* borrowed */
	bool dumb; /* TERM says so */
	const char *history; /* path, borrowed; NULL none */
	size_t max; /* bytes of a message; 0: 1 MiB */
	bool (*secret)(
		str line); /* the history does not keep such a line; NULL: all are kept */
};

struct edit;

int edit_open(struct edit **out, const struct edit_opt *opt, struct err *e) MUSTUSE;
void edit_close(struct edit *ed);

/* One message, valid UTF-8 without its line end, in a; prompt is plain text.  E_NOENT
 * end of input, E_LIMIT a line longer than max (left out; call again), E_CANCELED Ctrl-C (what
 * was typed is dropped) or the end of the token. */
int edit_line(struct edit *ed, const char *prompt, struct arena *a, str *out,
	      const struct cancel *c, struct err *e) MUSTUSE;

/* The same for a secret: nothing of it is shown, and the history neither gives nor keeps it.
 * Also where the terminal cannot edit, whose echo is then switched off. */
int edit_secret(struct edit *ed, const char *prompt, struct arena *a, str *out,
		const struct cancel *c, struct err *e) MUSTUSE;

/* The window has another size: draw anew. */
void edit_resized(struct edit *ed);

#endif

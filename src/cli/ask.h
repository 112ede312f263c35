/*
 * cli/ask: questions with a default, one a line, for commands that set something up.
 *
 * Enter takes the default; "back" (or "<") goes to the step before.  With .automatic nobody is
 * asked: each question answers itself with its default, and what would be asked again is an
 * error.
 *
 * Threads  one.
 * Blocks   until the answer or the end of the token.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "cli/edit.h"

enum { ASK_BACK = 1 }; /* beside OK and the codes of errors */

struct ask {
	struct edit *edit; /* borrowed; NULL when automatic */
	const struct cancel *leave; /* borrowed */
	struct arena *a; /* answers live here */
	str (*tame)(const void *arg, struct arena *a,
		    str line); /* of all that is shown; NULL */
	const void *arg;
	bool automatic;
	bool over; /* the input has ended */
};

/* A line to standard output; what is foreign in it is made visible. */
void ask_say(const struct ask *q, const char *fmt, ...) PRINTF(2, 3);

/* The same, when somebody is there who is asked. */
void ask_note(const struct ask *q, const char *fmt, ...) PRINTF(2, 3);

/* The answer without white space around it; def "" has no default, and then "" is an answer.
 * OK, ASK_BACK, E_CANCELED by Ctrl-C, the token, or the end of the input (.over). */
int ask_line(struct ask *q, const char *label, str def, str *out, struct err *e) MUSTUSE;

/* Not shown; no default.  E_INVAL when automatic. */
int ask_secret(struct ask *q, const char *label, str *out, struct err *e) MUSTUSE;

int ask_yes(struct ask *q, const char *label, bool def, bool *yes, struct err *e) MUSTUSE;

/* The answer was no good: says why and is OK, so that the caller asks again; E_INVAL when
 * automatic. */
int ask_again(const struct ask *q, struct err *e, const char *fmt, ...) PRINTF(3, 4) MUSTUSE;

/* Enter was pressed meanwhile (which is taken), or the input is over. */
bool ask_interrupted(const struct ask *q);

#endif

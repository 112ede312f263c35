/*
 * chan/stdio_asking: questions to the person at the terminal while the channel's thread reads what
 * is typed there: the next line is the reply, and no message.
 *
 * Threads  the approver from any, one question at a time; asking_takes() from the reader.
 */
#ifndef CHAN_STDIO_ASKING_H
#define CHAN_STDIO_ASKING_H

#include "os/permit.h"
#include "os/wait.h"
#include "policy/approver.h"
#include "store/inbox.h"

#define ASKING_LINE 4096 /* bytes of a reply */

struct asking {
	struct approver base;
	bool there; /* somebody sits there */
	/* The words that end a turn: no replies.  NULL: there are none. */
	int (*control)(str text, struct arena *a, enum control *what);
	struct permit turn; /* whose holder may ask */
	_Atomic int state;
	struct bell answered;
	char line[ASKING_LINE]; /* while one is taken, the reader's */
	size_t line_n; /* more than fits: it was longer */
};

int asking_open(struct asking *q, bool there, struct err *e) MUSTUSE;
void asking_close(struct asking *q);

/* Is a question open, and line its reply? */
bool asking_takes(struct asking *q, str line, struct arena *a);

#endif

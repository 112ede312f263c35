/*
 * chan/stdio: the terminal or a pipe as a channel: one message a line on standard input,
 * each answer on standard output followed by a newline.  Prompts, questions and trace lines
 * go to standard error.
 *
 * Threads  one of its own, from start to stop.
 * Limits   a line of opt.input_max bytes, 1 MiB at most (longer: refused with a line on stderr,
 *          the rest of the line is skipped).
 */
#ifndef CHAN_STDIO_H
#define CHAN_STDIO_H

#include "chan/chan.h"
#include "policy/approver.h"

#define STDIO_CHANNEL "stdio"
#define STDIO_ADDRESS "local"

struct stdio_opt {
	int in, out; /* descriptors, borrowed */
	bool stream; /* print the answer while it is made */
	bool prompt; /* show "> " on err: a person sits there */
	str tool_trace; /* compact, full, off */
	int64_t input_max;
};

int stdio_open(struct channel **out, const struct stdio_opt *opt, struct err *e) MUSTUSE;
void stdio_close(struct channel *c);

/* Asking the person who sits there (opt.prompt; E_DENIED without): the question goes to
 * standard error, and the next line that is typed is its answer and no message.  Part of the
 * channel; one question is open at a time. */
struct approver *stdio_approver(struct channel *c);

#endif

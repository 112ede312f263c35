/*
 * cli/face: how a chat looks: the answer as it is made, a trace line per call, a spinner, and
 * plain text when standard output is no terminal.
 *
 * Threads  the channel's functions from any, one at a time (a permit sees to it); the tick
 * from the signal thread.
 */
#ifndef CLI_FACE_H
#define CLI_FACE_H

#include "chan/chan.h"
#include "os/permit.h"
#include "policy/approver.h"
#include "text/ansi.h"

struct face {
	struct channel channel; /* must be first */
	bool terminal; /* styled, streaming, with a spinner */
	bool trace;
	_Atomic bool failed; /* standard output takes nothing any more */
	/* Private. */
	struct approver approver, *asked;
	struct permit writing; /* whose holder owns what follows */
	struct arena arena; /* of the answer being shown */
	struct ansi_stream stream;
	str fed; /* what the stream was given so far */
	bool spinning; /* a spinner stands on the line */
	bool working; /* between start and stop of a turn */
	unsigned frame;
	_Atomic int64_t passed_ms; /* for trace_too_soon() */
	char passing[600]; /* how far a call is, beside the spinner; "" nothing */
};

int face_open(struct face *f, const char *name, bool terminal, bool trace,
	      struct err *e) MUSTUSE;
void face_close(struct face *f);

/* by, with the screen made ready for its question; NULL for NULL. */
struct approver *face_approver(struct face *f, struct approver *by);

/* One step of the spinner. */
void face_tick(struct face *f);

/* Text of ours or of a command, styled like an answer. */
void face_say(struct face *f, str markdown);

#endif

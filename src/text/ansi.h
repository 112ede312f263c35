/*
 * text/ansi: Markdown for a terminal.
 *
 * What the text holds in control characters is made visible first, so that every escape
 * sequence in the result is one of ours (colours and weights; a stream also goes back to the
 * start of the line it has not finished).
 *
 * columns: where to wrap, 0 nowhere.
 */
#ifndef TEXT_ANSI_H
#define TEXT_ANSI_H

#include "base/buf.h"

/* A whole text; ends in a newline unless it is empty.  Limits: what is nested deeper than 32
 * levels is not indented further. */
str text_ansi(struct arena *a, str markdown, size_t columns);

/* A text that grows: complete lines are styled, the last one stands there as it came until
 * it is complete. */
struct ansi_stream {
	size_t columns; /* 0: incomplete lines are held back */
	size_t done; /* bytes of complete lines that were written */
	size_t shown; /* bytes of the incomplete line that were written, raw */
	char fence; /* the mark of the open code fence, 0 none */
	size_t fence_n;
};

/* All of the text so far; what to write now.  It must begin with what was fed before, else
 * start a new stream. */
str ansi_stream_feed(struct ansi_stream *s, struct arena *a, str so_far);

/* The same for the end of the text: the last line is complete, with a newline. */
str ansi_stream_end(struct ansi_stream *s, struct arena *a, str whole);

#endif

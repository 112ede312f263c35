/*
 * chan/lines: bytes as they come, cut into lines that a person typed.
 */
#ifndef CHAN_LINES_H
#define CHAN_LINES_H

#include "base/buf.h"

struct lines {
	struct buf b;
	size_t from; /* of b, what is not taken yet */
	size_t max; /* bytes of a line */
	bool skipping, ended;
};

enum line_kind {
	LINE_NONE, /* no further line is complete */
	LINE_TEXT,
	LINE_LONG, /* one longer than max was left out; told once */
	LINE_QUIT, /* see lines_quits() */
};

/* /quit, /exit or /q, in any case: the person leaves. */
bool lines_quits(str line);

/* step: most bytes that lines_add() gets at a time. */
struct lines lines_in(struct arena *a, size_t max, size_t step);

/* Take all lines with lines_next() before more is added. */
void lines_add(struct lines *l, str bytes);
void lines_end(struct lines *l); /* what is left without a newline is a line too */

/* The next line that is not blank: trimmed, valid UTF-8, without NULs; *out is in a. */
enum line_kind lines_next(struct lines *l, struct arena *a, str *out);

#endif

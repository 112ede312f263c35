/*
 * base/buf: bytes that grow inside an arena, up to a maximum given at birth.
 *
 * Past the maximum a buf stops and remembers it in .full, so that writers are straight
 * lines and the question is asked once, at the end.  The content stays a prefix of what
 * was asked for: a piece that does not fit is left out whole, and so is all after it.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"

struct buf {
	struct arena *a;
	char *p;
	size_t n, cap, max;
	bool full;
};

struct buf buf_in(struct arena *a, size_t max);

void buf_add(struct buf *b, str s);
void buf_addc(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/* n writable bytes behind the content, NULL when they do not fit; then say how many of
 * them were filled. */
char *buf_room(struct buf *b, size_t n);
void buf_filled(struct buf *b, size_t n);

/* Drop the first n bytes, moving the rest to the front. */
void buf_drop(struct buf *b, size_t n);

/* The content, with a NUL behind it; valid until the next change. */
str buf_str(struct buf *b);

/* Empty again, memory kept; .full is cleared. */
void buf_reset(struct buf *b);

#endif

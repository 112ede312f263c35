/*
 * model/think: what of an answer that is still being written may be shown.  Pure.
 *
 * Models print their reasoning as a leading <think> block (text_strip_think() says which
 * forms count).  Its tags may be split over pieces; nothing is shown until it is clear that
 * it is not part of such a block, and no white space around the answer ever.
 */
#ifndef MODEL_THINK_H
#define MODEL_THINK_H

#include "base/str.h"

struct think {
	bool settled; /* the answer proper begins at from */
	size_t from, shown; /* shown: bytes from there on */
	size_t scanned; /* content that was looked at in vain */
};

/* content is all of it so far; returns the further piece to show, a view into it, maybe
 * empty.  end: there will be no more.  The pieces joined are think_answer(content). */
str think_more(struct think *t, str content, bool end);

/* The whole answer, and in *reasoning the block before it. */
str think_answer(str content, str *reasoning);

#endif

/*
 * text/diff: what replacing some stretches of a text changes, as a unified diff.
 */
#ifndef TEXT_DIFF_H
#define TEXT_DIFF_H

#include "base/buf.h"

struct stretch {
	size_t from, to; /* bytes [from, to) */
};

/* The text with each stretch replaced; they are in order and do not overlap. */
str diff_apply(struct arena *a, str text, const struct stretch *v, size_t n, str with);

/* Hunks with three lines around each change, at most about max bytes; *cut: there were more.
 * exact: line ends of DOS are shown, and where the last line has no end. */
str diff_show(struct arena *a, str text, const struct stretch *v, size_t n, str with,
	      bool exact, size_t max, bool *cut);

#endif

/*
 * tools/output: what a command says, kept within a bound: the beginning and the end.
 *
 * Threads  one.
 * Limits   memory is taken once, in output_init(): never more than max bytes.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include "base/arena.h"

struct output {
	char *head, *tail; /* tail is a ring */
	size_t head_max, tail_max, head_n, tail_at, tail_n;
	uint64_t total; /* bytes that came */
};

void output_init(struct output *o, struct arena *a, size_t max);
void output_add(struct output *o, str bytes);

/* Valid UTF-8 of at most max bytes, without control characters: a carriage return before a
 * line's end is dropped, the others are shown as \xNN.  Where something was left out a line
 * says how much, as long as there is room for one; *cut: it was. */
str output_text(const struct output *o, struct arena *a, bool *cut);

#endif

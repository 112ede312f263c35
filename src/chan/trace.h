/*
 * chan/trace: trace lines of which one takes another's place: how far a call is ("… NAME 40%: …") is
 * said by one line, until its end is told ("✓ NAME …", "✗ NAME").  Pure.
 */
#ifndef CHAN_TRACE_H
#define CHAN_TRACE_H

#include "base/str.h"

/* Is it about how far a call is?  Then it is over with the next line about the call. */
bool trace_passing(str line);

/* Where lines stay: is it one of those, less than a second after the last one?  *shown_ms is that
 * one's time. */
bool trace_too_soon(_Atomic int64_t *shown_ms, str line, int64_t now_ms);

/* Of lines, each with its end, take out the one that line takes the place of; how many bytes are
 * left of n. */
size_t trace_in_place(char *lines, size_t n, str line);

#endif

/*
 * base/utf: UTF-8 as RFC 3629 has it (no surrogates, nothing over U+10FFFF, shortest
 * form only): reading, mending, cutting, and the columns it takes on a terminal.
 */
#ifndef BASE_UTF_H
#define BASE_UTF_H

#include "base/arena.h"

/* The code point at the start of s and its length in bytes (1 to 4).  Bad bytes give
 * U+FFFD and the length of the maximal bad prefix, at least 1.  s is not empty. */
uint32_t utf_next(str s, size_t *len);

bool utf_valid(str s);

/* s itself when valid, else a copy in which each bad sequence became U+FFFD. */
str utf_repair(struct arena *a, str s);

/* Write one code point (must be a valid scalar) to out; returns 1 to 4. */
size_t utf_put(char out[4], uint32_t cp);

/* The longest prefix (suffix) of at most max bytes that cuts no character of s. */
str utf_head(str s, size_t max);
str utf_tail(str s, size_t max);

/* s without a character at its end of which not all bytes are there (yet). */
str utf_whole(str s);

/* How many characters (code points) s has; bad sequences count as one. */
size_t utf_count(str s);

/* Is the code point in one of these ranges, both ends included? */
struct utf_range {
	uint32_t from, to;
};
bool utf_within(const struct utf_range *r, size_t n, uint32_t cp);

/* Columns on a terminal: 0 for combining marks, 2 for wide characters, else 1. */
int utf_width(uint32_t cp);

#endif

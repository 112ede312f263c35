/*
 * base/memory: what it means that no memory is left: one line on stderr, and abort.  Whoever
 * started the program starts it again, and the database has the truth; a library that goes on
 * with half of something would not.
 *
 * Most is said with base/arena.  These are for what lives apart from all arenas, and for
 * libraries: each is given them for its own at the place where it is started, or is asked
 * after a call whether memory was what it lacked.
 *
 * Threads  any.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

#include "base/str.h"

/* The end, for want of memory; whose, in a word or two. */
NORETURN void memory_out(const char *whose);

/* As malloc, calloc, realloc and strdup, but never NULL; memory_take(0) is a block, too. */
void *memory_take(size_t n);
void *memory_zeroed(size_t n, size_t size);
void *memory_retake(void *p, size_t n);
char *memory_copy(const char *text);

/* As free; of the four above alone. */
void memory_give(void *p);

#endif

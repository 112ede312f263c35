/*
 * base/arena: memory that is freed all at once.
 *
 * Whoever starts a unit of work (a turn, a command, a batch, a config load) declares
 *
 *	SCOPED(arena_free) struct arena a = { 0 };
 *
 * and everything made for that work lives there.  Memory is zeroed and aligned for any
 * type.  Out of memory aborts; large input never gets this far, since every entrance has
 * a limit.  With -DARENA_DEBUG each allocation is its own exact-size block, so that
 * AddressSanitizer sees an overrun of one byte.
 *
 * Threads  an arena is used by one thread at a time.
 * Owns     with all arenas together at most 128 KiB of free chunks, kept for the next arenas.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *head;
	size_t used; /* bytes handed out so far */
};

/* n objects of size bytes, zeroed.  Never NULL; aborts on overflow or no memory. */
void *arena_alloc(struct arena *a, size_t size, size_t n);

/* Make the block p of old bytes new_size bytes long: in place when it is the last one of
 * the arena, else by copying.  p may be NULL.  The added bytes are zeroed. */
void *arena_grow(struct arena *a, void *p, size_t old, size_t new_size);

/* Copies; p[n] is NUL for these, so that .p may serve as a C string when the text
 * itself holds no NUL. */
str arena_dup(struct arena *a, str s);
str arena_fmt(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
const char *arena_cstr(struct arena *a, str s);
str arena_cat(struct arena *a, str x, str y);
str arena_lower(struct arena *a, str s); /* ASCII letters only */

/* Free everything; the arena can be used again. */
void arena_free(struct arena *a);

/* Give the chunks that are kept back to the C library.  Any thread. */
void arena_trim(void);

#define NEW(a, type) ((type *)arena_alloc((a), sizeof(type), 1))
#define NEWN(a, type, n) ((type *)arena_alloc((a), sizeof(type), (n)))

#endif

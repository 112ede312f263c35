/*
 * glibc's knobs.  Two arenas are enough for a dozen threads that mostly wait for something
 * else, and what one thread freed the others can use; every further arena is a peak that is
 * kept for itself.  A limit that is set is not moved by glibc any more: by default the first
 * large block that is freed makes all later ones of that size stay.
 */
#include "os/heap.h"

#include <stdlib.h> /* tells whether this is glibc */

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define ARENAS 2
#define LARGE (128 << 10) /* bytes of a block that is mapped by itself */
#define KEPT (256 << 10) /* free bytes at the end of an arena */

void heap_tune(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_ARENA_MAX, ARENAS);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

void heap_trim(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/*
 * The C library's allocator, without its NULL.  The line is written in one piece, as other
 * threads may be writing theirs.
 */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void memory_out(const char *whose)
{
	(void)fprintf(stderr, "gantry: out of memory: %s\n", whose);
	abort();
}

void *memory_take(size_t n)
{
	void *p = malloc(n ? n : 1);

	if (!p)
		memory_out("no block");
	return p;
}

void *memory_zeroed(size_t n, size_t size)
{
	void *p = calloc(n && size ? n : 1, n && size ? size : 1);

	if (!p)
		memory_out("no block");
	return p;
}

void *memory_retake(void *p, size_t n)
{
	void *q = realloc(p, n ? n : 1);

	if (!q)
		memory_out("no block");
	return q;
}

char *memory_copy(const char *text)
{
	size_t n = strlen(text) + 1;

	return memcpy(memory_take(n), text, n);
}

void memory_give(void *p)
{
	free(p);
}

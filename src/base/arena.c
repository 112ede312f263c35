/*
 * The arena.  Chunks in a list, of 4, 16 and then 64 KiB (a larger request gets its own): most
 * arenas hold little, and every byte of a chunk is zeroed.  No free and no realloc, but for the
 * extension of the last block, which is what makes growing buffers cheap.
 *
 * A turn is some twenty arenas, one after the other.  A few chunks that are free are kept for the
 * next one, since a C library that gives each back to the system at once (musl's) would map and
 * unmap them all the time.
 */
#include "base/arena.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

static void chunk_push(struct arena *a, struct arena_chunk *c)
{
	c->next = a->head;
	a->head = c;
}

static struct arena_chunk *chunk_make(size_t size)
{
	struct arena_chunk *c = memory_zeroed(1, sizeof *c + size);

	c->size = size;
	return c;
}

#ifdef ARENA_DEBUG

void *arena_alloc(struct arena *a, size_t size, size_t n)
{
	if (n && size > SIZE_MAX / 4 / n)
		memory_out("size overflow");
	size_t want = size * n;
	struct arena_chunk *c = chunk_make(want ? want : 1);

	chunk_push(a, c);
	c->used = want;
	a->used += want;
	return c->data;
}

void *arena_grow(struct arena *a, void *p, size_t old, size_t new_size)
{
	char *q = arena_alloc(a, 1, new_size);

	if (old)
		memcpy(q, p, old < new_size ? old : new_size);
	return q;
}

static void chunk_drop(struct arena_chunk *c)
{
	free(c);
}

void arena_trim(void)
{
}

#else

/* The sizes of chunks, and places for free ones of each. */
static const struct kind {
	size_t size, from, to;
} kinds[] = { { 4096, 0, 4 }, { 16384, 4, 7 }, { 65536, 7, 8 } };
static _Atomic(struct arena_chunk *) spare[8];

/* The size of the next chunk of an arena that holds so much. */
static const struct kind *kind_for(size_t used)
{
	return used < kinds[0].size ? &kinds[0] : used < kinds[1].size ? &kinds[1] : &kinds[2];
}

static struct arena_chunk *chunk_take(const struct kind *k)
{
	struct arena_chunk *c = NULL;

	for (size_t i = k->from; i < k->to && !c; i++)
		c = atomic_exchange(&spare[i], NULL);
	return c ? c : chunk_make(k->size);
}

/* Keep it, zeroed, or free it. */
static void chunk_drop(struct arena_chunk *c)
{
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		if (c->size != kinds[k].size)
			continue;
		memset(c->data, 0, c->used);
		c->used = 0;
		/* What was there moves on, and only what finds no place is freed. */
		for (size_t i = kinds[k].from; i < kinds[k].to && c; i++)
			c = atomic_exchange(&spare[i], c);
		break;
	}
	free(c);
}

void arena_trim(void)
{
	for (size_t i = 0; i < sizeof spare / sizeof *spare; i++)
		free(atomic_exchange(&spare[i], NULL));
}

#define ALIGN alignof(max_align_t)

static size_t round_up(size_t n)
{
	if (n > SIZE_MAX / 2)
		memory_out("size overflow");
	return (n + ALIGN - 1) & ~(ALIGN - 1);
}

void *arena_alloc(struct arena *a, size_t size, size_t n)
{
	if (n && size > SIZE_MAX / 4 / n)
		memory_out("size overflow");
	size_t want = round_up(size * n);
	struct arena_chunk *c = a->head;

	if (!c || c->size - c->used < want) {
		const struct kind *k = kind_for(a->used + want);
		c = want > k->size ? chunk_make(want) : chunk_take(k);
		chunk_push(a, c);
	}
	void *p = c->data + c->used;
	c->used += want;
	a->used += want;
	return p;
}

void *arena_grow(struct arena *a, void *p, size_t old, size_t new_size)
{
	struct arena_chunk *c = a->head;
	size_t have = round_up(old), want = round_up(new_size);

	if (new_size <= old && p)
		return p;
	if (p && want >= have && (char *)p + have == c->data + c->used &&
	    want - have <= c->size - c->used) {
		c->used += want - have;
		a->used += want - have;
		return p;
	}
	char *q = arena_alloc(a, 1, new_size);
	if (old)
		memcpy(q, p, old);
	return q;
}

#endif

str arena_dup(struct arena *a, str s)
{
	char *p = arena_alloc(a, 1, s.n + 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	return (str){ p, s.n };
}

const char *arena_cstr(struct arena *a, str s)
{
	return arena_dup(a, s).p;
}

str arena_cat(struct arena *a, str x, str y)
{
	char *p = arena_alloc(a, 1, x.n + y.n + 1);

	if (x.n)
		memcpy(p, x.p, x.n);
	if (y.n)
		memcpy(p + x.n, y.p, y.n);
	return (str){ p, x.n + y.n };
}

str arena_lower(struct arena *a, str s)
{
	char *p = arena_alloc(a, 1, s.n + 1);

	for (size_t i = 0; i < s.n; i++)
		p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] - 'A' + 'a') : s.p[i];
	return (str){ p, s.n };
}

str arena_fmt(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		memory_out("bad format");
	char *p = arena_alloc(a, 1, (size_t)n + 1);
	(void)vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return (str){ p, (size_t)n };
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_chunk *c = a->head;
		a->head = c->next;
		chunk_drop(c);
	}
	a->used = 0;
}

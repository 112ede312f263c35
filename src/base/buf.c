/*
 * Growing buffers.  One byte beyond max is kept for the NUL of buf_str().
 */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct buf buf_in(struct arena *a, size_t max)
{
	/* Room for the NUL behind the last byte has to be countable too. */
	return (struct buf){ .a = a, .max = max < SIZE_MAX ? max : SIZE_MAX - 1 };
}

/* Room for n more bytes and a NUL, or false with .full set. */
static bool reserve(struct buf *b, size_t n)
{
	if (b->full || n > b->max - b->n) {
		b->full = true;
		return false;
	}
	size_t want = b->n + n + 1;
	if (want <= b->cap)
		return true;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < want)
		cap *= 2;
	if (cap > b->max + 1)
		cap = b->max + 1;
	b->p = arena_grow(b->a, b->p, b->cap, cap);
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, str s)
{
	if (!reserve(b, s.n) || s.n == 0)
		return;
	memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, (str){ &c, 1 });
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

char *buf_room(struct buf *b, size_t n)
{
	return reserve(b, n) ? b->p + b->n : NULL;
}

void buf_filled(struct buf *b, size_t n)
{
	assert(n < b->cap - b->n);
	b->n += n;
}

void buf_drop(struct buf *b, size_t n)
{
	assert(n <= b->n);
	if (n == 0)
		return;
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

str buf_str(struct buf *b)
{
	if (!b->p)
		return S("");
	b->p[b->n] = '\0';
	return (str){ b->p, b->n };
}

void buf_reset(struct buf *b)
{
	b->n = 0;
	b->full = false;
}

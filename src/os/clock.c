/*
 * Clocks, random bytes and identifiers.  There is no fallback for a kernel without
 * getrandom(2): identifiers that repeat would be worse than a program that ends.
 */
#include "os/clock.h"

#include "os/seam.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct timespec now(clockid_t id)
{
	struct timespec t;

	if (seam_clock(id, &t) != 0)
		abort();
	return t;
}

static int64_t as_ms(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_now_ms(void)
{
	return as_ms(now(CLOCK_REALTIME));
}

int64_t clock_mono_ms(void)
{
	return as_ms(now(CLOCK_MONOTONIC));
}

int64_t clock_mono_us(void)
{
	struct timespec t = now(CLOCK_MONOTONIC);

	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void random_bytes(void *out, size_t n)
{
	unsigned char *p = out;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);
		if (got < 0 && errno != EINTR) {
			(void)fprintf(stderr, "gantry: no random bytes from the kernel\n");
			abort();
		}
		if (got > 0) {
			p += got;
			n -= (size_t)got;
		}
	}
}

double random_unit(void)
{
	uint64_t bits;

	random_bytes(&bits, sizeof bits);
	return (double)(bits >> 11) * 0x1p-53;
}

static void hex(char *out, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

void id_new(char out[ID_LEN + 1])
{
	unsigned char bytes[5];
	char when[17];

	random_bytes(bytes, sizeof bytes);
	uint64_t ms = (uint64_t)clock_now_ms() & UINT64_C(0xFFFFFFFFFFF);
	(void)snprintf(when, sizeof when, "%011" PRIx64, ms);
	memcpy(out, when, 11);
	hex(out + 11, bytes, sizeof bytes);
}

void id_long(char out[ID_LONG_LEN + 1])
{
	unsigned char bytes[ID_LONG_LEN / 2];

	random_bytes(bytes, sizeof bytes);
	hex(out, bytes, sizeof bytes);
}

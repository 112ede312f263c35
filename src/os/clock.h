/*
 * os/clock: the two clocks, random bytes and identifiers.  The time seam of the test
 * build sits below these.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include "base/arena.h"

int64_t clock_now_ms(void); /* wall, Unix milliseconds: for rows and logs */
int64_t clock_mono_ms(void); /* monotonic: for waits and durations */
int64_t clock_mono_us(void);

/* n random bytes from the kernel; aborts when there are none. */
void random_bytes(void *out, size_t n);
double random_unit(void); /* [0, 1), for jitter */

/* 21 hex digits (11 of milliseconds, 10 random) and 32 random ones; the buffers hold the
 * digits and a NUL. */
#define ID_LEN 21
#define ID_LONG_LEN 32
void id_new(char out[ID_LEN + 1]);
void id_long(char out[ID_LONG_LEN + 1]);

#endif

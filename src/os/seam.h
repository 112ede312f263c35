/*
 * os/seam: where the test build takes hold of time.
 *
 * build/test/gantry is linked from the same objects with tests/seam/seam_test.c in place of
 * seam.c.  Two things are decided here: what the clocks say, and for how long the kernel
 * may wait before the clock is looked at again (a test that steps the clock wants that to
 * be short).
 *
 * Failing kernel calls need nothing from the product.  The test build defines read, write,
 * fsync, open and their like in the program itself, which the dynamic linker then prefers
 * to libc's, for our own calls as for those of SQLite (whose VFS table is of no use for
 * this: it calls fdatasync(2) directly).  tests/seam/seam_test.c says how faults are asked
 * for.
 */
#ifndef OS_SEAM_H
#define OS_SEAM_H

#include <stdint.h>
#include <time.h>

/* As clock_gettime(2). */
int seam_clock(clockid_t id, struct timespec *out);

/* The part of a wait of ms (-1: for ever) that may be spent in one call to the kernel. */
int seam_slice(int ms);

#endif

/*
 * os/seam: where the test build takes hold of time.
 *
 * build/test/gantry is linked from the same objects with tests/seam/seam_test.c in place of
 * seam.c.  Decided here are: what the clocks say, and for how long the kernel
 * may wait before the clock is looked at again (a test that steps the clock wants that to
 * be short).  Two more are about the sandbox: how much of Landlock the kernel seems to have,
 * and whether the daemon confines itself, so that what the confinement stops can be shown.
 *
 * Failing kernel calls need nothing from the product.  The test build defines read, write,
 * fsync, open and their like in the program itself, which the dynamic linker then prefers
 * to libc's, for our own calls as for those of SQLite (whose VFS table is of no use for
 * this: it calls fdatasync(2) directly).  tests/seam/seam_test.c says how faults are asked
 * for.
 */
#ifndef OS_SEAM_H
#define OS_SEAM_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* As clock_gettime(2). */
int seam_clock(clockid_t id, struct timespec *out);

/* The part of a wait of ms (-1: for ever) that may be spent in one call to the kernel. */
int seam_slice(int ms);

/* The ABI of Landlock that is made use of, where the kernel has this one. */
int seam_landlock(int abi);

/* Does the daemon confine itself? */
bool seam_confine(void);

#endif

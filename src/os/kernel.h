/*
 * os/kernel: is this kernel new enough?
 */
#ifndef OS_KERNEL_H
#define OS_KERNEL_H

#include "base/err.h"

/* Is a release as uname(2) tells it ("6.1.0-18-amd64") older than major.minor?  One that cannot be
 * read is not. */
bool kernel_older(const char *release, int64_t major, int64_t minor);

/* E_DENIED when it lacks what gantry is built on (openat2, pidfds: Linux 5.6).  The version decides:
 * an emulator that lacks some calls runs all that does not need them, and those refuse. */
int kernel_check(struct err *e) MUSTUSE;

#endif

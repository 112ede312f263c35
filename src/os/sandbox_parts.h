/*
 * os/sandbox_parts: what the files of the sandbox share.  All run in a process with one
 * thread, between fork and exec; each returns 0, or -1 with errno.
 */
#ifndef OS_SANDBOX_PARTS_H
#define OS_SANDBOX_PARTS_H

#include "os/sandbox.h"

/* The first ABI with each part. */
#define LANDLOCK_ABI_REFER 2 /* files may be moved between directories */
#define LANDLOCK_ABI_TRUNCATE 3
#define LANDLOCK_ABI_NET 4
#define LANDLOCK_ABI_IOCTL 5
#define LANDLOCK_ABI_SCOPE 6

/* The kernel's ABI, 0 none. */
int landlock_abi(void);

/* Confine to the rules, as far as that ABI goes. */
int landlock_apply(const struct sandbox *box, int abi);

/* No TCP port can be bound; nothing below LANDLOCK_ABI_NET. */
int landlock_no_bind(int abi);

/* Can filters be set here, and on a machine whose calls we know? */
bool seccomp_known(void);

/* Refuse what the flags of a sandbox refuse; weak: Landlock cannot watch truncate(2).  For
 * SANDBOX_MODES *listener gets a descriptor; -1 where the kernel gives none, and no mode can be
 * changed. */
int seccomp_apply(unsigned flags, bool weak, int *listener);

/* Refuse to open a port. */
int seccomp_no_port(void);

#endif

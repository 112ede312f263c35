/*
 * os/iconv: character sets that libc knows, as far as its modules are installed.
 */
#ifndef OS_ICONV_H
#define OS_ICONV_H

#include "base/arena.h"
#include "base/err.h"

/* The bytes in the set called name as UTF-8; what is no character in it becomes U+FFFD.
 * E_NOENT: libc does not know it here. */
int iconv_decode(struct arena *a, const char *name, str bytes, str *out, struct err *e) MUSTUSE;

#endif

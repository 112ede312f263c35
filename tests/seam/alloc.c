/*
 * Allocations that fail, of our own code and of every library.  glibc has the real ones under
 * a second name; the sanitizers bring their own, which stay as they are.
 */
#include "seam/faults.h"

#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#define CLANG_SANITIZES (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define CLANG_SANITIZES 0
#endif

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(SEAM_TSAN) &&             \
	!CLANG_SANITIZES

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	return faults_fail(CALL_alloc) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return faults_fail(CALL_alloc) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return n && faults_fail(CALL_alloc) ? NULL : __libc_realloc(p, n);
}

#endif

/*
 * glibc's knobs.  Two arenas are enough for a dozen threads that mostly wait for something
 * else, and what one thread freed the others can use; every further arena is a peak that is
 * kept for itself.  A limit that is set is not moved by glibc any more: by default the first
 * large block that is freed makes all later ones of that size stay.
 */
#include "os/heap.h"

#include "base/arena.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h> /* tells whether this is glibc */
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define ARENAS 2
#define LARGE (128 << 10) /* bytes of a block that is mapped by itself */
#define KEPT (256 << 10) /* free bytes at the end of an arena */

void heap_tune(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_ARENA_MAX, ARENAS);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

/* Code and constants of one file: they stay in the page cache, and what is used comes back. */
static int forget(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
		uintptr_t to = info->dlpi_addr + p->p_vaddr + p->p_memsz;

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && to > from)
			(void)madvise((void *)from, to - from, MADV_DONTNEED);
	}
	return 0;
}

void heap_trim(void)
{
	arena_trim();
	(void)dl_iterate_phdr(forget, NULL);
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/*
 * Where a call came from.  The return addresses are made independent of where the loader put
 * things, and hashed; the table that counts them is in shared memory and never locked.
 */
#include "seam/faults.h"

#include <execinfo.h>
#include <link.h>
#include <string.h>

#define DEEP 64
#define OWN 4 /* frames of our code that tell one place from another */
#define OWN_ALLOC 2 /* the same of an allocation */
#define FOREIGN 2 /* and those of the library in between */
#define SKIPPED 4 /* choose(), places_note(), faults_fate() and who stands for the kernel */

struct module {
	uintptr_t from, to, base;
};

static struct module modules[MODULES];
static int modules_n;

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct book *book = arg;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	if (modules_n == MODULES)
		return 1;
	struct module *m = &modules[modules_n];
	*m = (struct module){ .from = UINTPTR_MAX, .base = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		m->from = at < m->from ? at : m->from;
		m->to = at + p->p_memsz > m->to ? at + p->p_memsz : m->to;
	}
	name = name ? name + 1 : info->dlpi_name;
	memcpy(book->modules[modules_n++], name, strnlen(name, MODULE_NAME - 1));
	return 0;
}

void places_begin(struct book *book)
{
	void *first[2];

	(void)backtrace(first, 2);
	(void)dl_iterate_phdr(add_module, book);
}

static uint32_t frame_of(const void *address)
{
	uintptr_t at = (uintptr_t)address;

	for (int i = 0; i < modules_n; i++)
		if (at >= modules[i].from && at < modules[i].to)
			return (uint32_t)i << 26 | (uint32_t)(at - modules[i].base);
	return UINT32_MAX;
}

/* The frames that make the place; how many. */
__attribute__((noinline)) static int choose(uint32_t *out, enum seam_call call)
{
	void *all[DEEP];
	int n = backtrace(all, DEEP), chosen = 0, own = 0;
	int most = call == CALL_alloc ? OWN_ALLOC : OWN;

	for (int i = SKIPPED; i < n && own < most && chosen < FRAMES; i++) {
		uint32_t frame = frame_of(all[i]);
		if (frame >> 26 == 0)
			own++;
		else if (own || call != CALL_alloc || chosen >= FOREIGN)
			continue;
		out[chosen++] = frame;
	}
	return chosen;
}

static uint64_t mix(uint64_t h, uint32_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

__attribute__((noinline)) struct place *places_note(struct book *book, enum seam_call call,
						    bool child, int64_t nth)
{
	uint32_t frames[FRAMES] = { 0 };
	int n = choose(frames, call);
	uint64_t hash = mix(mix(1, (uint32_t)call), child);

	for (int i = 0; i < n; i++)
		hash = mix(hash, frames[i]);
	hash += hash == 0;
	for (size_t i = 0; i < PLACES; i++) {
		struct place *p = &book->places[(hash + i) % PLACES];
		uint64_t there = 0;
		if (atomic_compare_exchange_strong(&p->hash, &there, hash)) {
			p->call = (uint32_t)call;
			p->child = child;
			p->nth = nth;
			memcpy(p->frames, frames, sizeof frames);
			return p;
		}
		if (there == hash)
			return p;
	}
	return NULL;
}

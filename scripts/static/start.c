/*
 * Where the static program begins: it moves itself to where the kernel has put it, then hands over
 * to musl.  In place of musl's own start file, which does not know packed relocations (RELR): they
 * are a tenth of the size of the others, and nine tenths of ours can be packed.
 *
 * Nothing here may need a relocation itself, a stack protector or a call to memcpy.
 */
#include <elf.h>
#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define DT_RELRSZ_ 35
#define DT_RELR_ 36

extern HIDDEN const char __ehdr_start[];
extern HIDDEN const Elf64_Dyn _DYNAMIC[];
extern HIDDEN void _init(void), _fini(void);

int main(int argc, char **argv);
HIDDEN int __libc_start_main(int (*start)(int, char **), int argc, char **argv,
			     void (*init)(void), void (*fini)(void), void (*rtld_fini)(void));
HIDDEN void gantry_start(long *sp, const Elf64_Dyn *dyn, const char *base);

#ifdef __x86_64__
#define RELATIVE R_X86_64_RELATIVE
__asm__(".text\n.global _start\n.hidden _start\n.type _start,%function\n_start:\n"
	"	xor %ebp,%ebp\n"
	"	mov %rsp,%rdi\n"
	"	lea _DYNAMIC(%rip),%rsi\n"
	"	lea __ehdr_start(%rip),%rdx\n"
	"	and $-16,%rsp\n"
	"	call gantry_start\n");
#else
#define RELATIVE R_AARCH64_RELATIVE
__asm__(".text\n.global _start\n.hidden _start\n.type _start,%function\n_start:\n"
	"	mov x29,#0\n"
	"	mov x30,#0\n"
	"	mov x0,sp\n"
	"	adrp x1,_DYNAMIC\n"
	"	add x1,x1,#:lo12:_DYNAMIC\n"
	"	adrp x2,__ehdr_start\n"
	"	add x2,x2,#:lo12:__ehdr_start\n"
	"	and sp,x0,#-16\n"
	"	b gantry_start\n");
#endif

/* An even entry is an address; an odd one a bit for each of the next 63 words. */
static void packed(const Elf64_Xword *r, size_t n, Elf64_Addr base)
{
	Elf64_Addr *where = NULL;

	for (; n; n--, r++) {
		if (!(*r & 1)) {
			where = (Elf64_Addr *)(base + *r);
			*where++ += base;
			continue;
		}
		Elf64_Addr *at = where;
		for (Elf64_Xword bits = *r >> 1; bits; bits >>= 1, at++)
			if (bits & 1)
				*at += base;
		where += 63;
	}
}

static void plain(const Elf64_Rela *r, size_t n, Elf64_Addr base)
{
	for (; n; n--, r++) {
		if (ELF64_R_TYPE(r->r_info) != RELATIVE)
			__builtin_trap(); /* the link has left something for a loader */
		*(Elf64_Addr *)(base + r->r_offset) = base + (Elf64_Addr)r->r_addend;
	}
}

void gantry_start(long *sp, const Elf64_Dyn *dyn, const char *start)
{
	Elf64_Addr base = (Elf64_Addr)start, rela = 0, relr = 0;
	size_t rela_n = 0, relr_n = 0;

	for (; dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_RELA)
			rela = base + dyn->d_un.d_ptr;
		if (dyn->d_tag == DT_RELASZ)
			rela_n = dyn->d_un.d_val / sizeof(Elf64_Rela);
		if (dyn->d_tag == DT_RELR_)
			relr = base + dyn->d_un.d_ptr;
		if (dyn->d_tag == DT_RELRSZ_)
			relr_n = dyn->d_un.d_val / sizeof(Elf64_Xword);
	}
	plain((const Elf64_Rela *)rela, rela_n, base);
	packed((const Elf64_Xword *)relr, relr_n, base);
	__libc_start_main((int (*)(int, char **))main, (int)*sp, (char **)(sp + 1), _init,
			  _fini, NULL);
	__builtin_trap();
}

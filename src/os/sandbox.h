/*
 * os/sandbox: what the kernel holds a child to.
 *
 * A struct sandbox is plain data.  It travels in the start request of a child (os/proc.h) and
 * is applied in the child's own process before the program is executed, so that nothing of it
 * can be undone from inside: no new privileges, Landlock for files, TCP and scopes, a seccomp
 * filter, resource limits.  What this kernel does not know is left out, never an error:
 * sandbox_missing() says beforehand what that is, and whoever requires it does not start.
 *
 * Threads  any; sandbox_self() from main before the first thread.
 * Blocks   never, but for the file system.
 * Limits   SANDBOX_RULES rules.
 */
#ifndef OS_SANDBOX_H
#define OS_SANDBOX_H

#include "base/arena.h"
#include "base/err.h"

#define SANDBOX_RULES 256

enum sandbox_flag {
	SANDBOX_ESCAPES = 1, /* no ptrace, mounts, namespaces, kernel modules and the like */
	SANDBOX_FILES = 2, /* files: only what the rules give */
	SANDBOX_SCOPE = 4, /* no signals and no abstract sockets to what is outside */
	SANDBOX_NO_NETWORK = 8, /* no sockets but those of AF_UNIX */
	SANDBOX_NO_SOCKETS = 16, /* none of AF_UNIX either, but for pairs */
	SANDBOX_NO_OWNER = 32, /* owners and extended attributes stay, no set-uid files */
	SANDBOX_NO_POWER = 64, /* root keeps no capability that leads out */
	SANDBOX_LIST_WAYS = 128, /* names on the way to what is hidden may be listed */
	SANDBOX_MODES = 256, /* modes of files stay, but where rules give writing */
};

enum sandbox_access {
	SANDBOX_READ = 1,
	SANDBOX_EXEC = 2,
	SANDBOX_WRITE = 4, /* make, change, move and remove */
	SANDBOX_DEVICE = 8, /* make device nodes, and ioctl(2) on them */
	/* Hidden from every rule above it that is not SURE; HIDE | SURE: from those too.  A
	 * rule below it that is not SURE is void. */
	SANDBOX_HIDE = 32,
	SANDBOX_SURE = 64, /* the owner named this path */
};

struct sandbox_rule {
	const char *path; /* absolute, links are followed; a missing one is left out */
	unsigned access; /* enum sandbox_access bits, never 0 */
};

struct sandbox {
	unsigned flags; /* enum sandbox_flag bits */
	const struct sandbox_rule *rules;
	size_t rules_n;
	const char *tmp; /* a directory made for the child and removed after it; NULL none */
	int64_t max_file_bytes, max_memory_bytes; /* 0: no limit */
	int64_t max_procs; /* beyond those that run at its start; 0: no limit */
};

/* What this kernel can do.  Asked for once; any thread. */
struct sandbox_kernel {
	int landlock; /* its ABI, 0 none */
	bool seccomp;
};
struct sandbox_kernel sandbox_kernel(void);

/* What of box such a kernel does not enforce, as text for people; "" nothing. */
str sandbox_missing(struct arena *a, const struct sandbox *box, struct sandbox_kernel kernel);

/* Hold this process, and what it executes, to box.  In a child before it executes: memory is
 * taken from malloc.  0, or -1 with errno.  *listener is -1, or for SANDBOX_MODES a descriptor
 * by which the supervisor is asked about changes of modes. */
int sandbox_apply(const struct sandbox *box, int *listener);

/* The supervisor's part of SANDBOX_MODES (os/sandbox_modes.c): remember where box gives
 * writing, before the child runs; and do or refuse what is asked through listener, without
 * waiting for anything but the file system.  False when nobody can ask any more. */
void sandbox_modes_learn(const struct sandbox *box);
bool sandbox_modes_answer(int listener);

/* The directory of box->tmp with all that is in it, whatever that is (os/sandbox_tmp.c).  For
 * the supervisor, when no process of the child is left. */
void sandbox_remove_tmp(const char *path);

/* Hold this process itself to what it needs: it opens no port (listen and accept; bind of TCP
 * where Landlock can) and no io_uring.  Children come from the spawner and are not affected.
 * Then: what is in force, and what is missing, as text for people. */
int sandbox_self(struct err *e) MUSTUSE;
const char *sandbox_self_text(void);

#endif

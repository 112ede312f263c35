/*
 * Landlock by its system calls.  The kernel's own header may be older than the kernel, so what
 * is needed of it is defined here, up to ABI 6.
 *
 * Landlock only knows what is allowed, with all that is beneath.  To hide a directory, what
 * lies beside the way to it is allowed entry by entry, as it is when the child starts: on the
 * way itself nothing new can then be made.
 */
#include "os/sandbox_parts.h"

#include "os/seam.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1

#define FS_EXECUTE (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR (UINT64_C(1) << 3)
#define FS_REMOVE_DIR (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_CHAR (UINT64_C(1) << 6)
#define FS_MAKE_DIR (UINT64_C(1) << 7)
#define FS_MAKE_REG (UINT64_C(1) << 8)
#define FS_MAKE_SOCK (UINT64_C(1) << 9)
#define FS_MAKE_FIFO (UINT64_C(1) << 10)
#define FS_MAKE_BLOCK (UINT64_C(1) << 11)
#define FS_MAKE_SYM (UINT64_C(1) << 12)
#define FS_REFER (UINT64_C(1) << 13)
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_IOCTL_DEV (UINT64_C(1) << 15)

#define FS_ABI_1 ((UINT64_C(1) << 13) - 1)
#define FS_OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_WRITES                                                                              \
	(FS_WRITE_FILE | FS_TRUNCATE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR |          \
	 FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER)

#define NET_BIND (UINT64_C(1) << 0)
#define NET_CONNECT (UINT64_C(1) << 1)
#define SCOPES UINT64_C(3) /* abstract sockets, signals */

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct beneath_attr {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

/* A rule's path with its links followed. */
struct place {
	const char *path;
	unsigned access;
};

struct making {
	int ruleset;
	uint64_t handled;
	bool list_ways;
	struct place places[SANDBOX_RULES];
	size_t n;
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);

	return seam_landlock(abi < 0 ? 0 : (int)abi);
}

static uint64_t fs_of_abi(int abi)
{
	return FS_ABI_1 | (abi >= LANDLOCK_ABI_REFER ? FS_REFER : 0) |
	       (abi >= LANDLOCK_ABI_TRUNCATE ? FS_TRUNCATE : 0) |
	       (abi >= LANDLOCK_ABI_IOCTL ? FS_IOCTL_DEV : 0);
}

static uint64_t fs_of(unsigned access)
{
	return (access & SANDBOX_READ ? FS_READ_FILE | FS_READ_DIR : 0) |
	       (access & SANDBOX_EXEC ? FS_EXECUTE : 0) |
	       (access & SANDBOX_WRITE ? FS_WRITES : 0) |
	       (access & SANDBOX_DEVICE ? FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV : 0);
}

/* Is inner below outer, or the same? */
static bool is_in(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	if (n == 1)
		return true; /* the root */
	return strncmp(inner, outer, n) == 0 && (inner[n] == '\0' || inner[n] == '/');
}

static bool is_gone(int errnum)
{
	return errnum == ENOENT || errnum == ENOTDIR || errnum == EACCES || errnum == ELOOP ||
	       errnum == ENAMETOOLONG;
}

/* One rule.  What is not there, or out of our own reach, is left out.  type: as readdir(3)
 * has it. */
static int allow_at(const struct making *m, int at, const char *name, int type, uint64_t access)
{
	struct beneath_attr rule = { .access = access & m->handled };
	struct stat st;

	if (rule.access == 0 || type == DT_LNK)
		return 0;
	rule.fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (rule.fd < 0)
		return is_gone(errno) ? 0 : -1;
	if (type == DT_UNKNOWN && fstat(rule.fd, &st) == 0)
		type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
	if (type != DT_DIR)
		rule.access &= FS_OF_FILES;
	long rc = 0;
	if (type != DT_LNK && rule.access)
		rc = syscall(SYS_landlock_add_rule, m->ruleset, RULE_PATH_BENEATH, &rule, 0);
	int errnum = errno;
	(void)close(rule.fd);
	errno = errnum;
	return (int)rc;
}

static int allow(const struct making *m, const char *path, uint64_t access)
{
	return allow_at(m, AT_FDCWD, path, DT_UNKNOWN, access);
}

enum relation { CLEAR, WAY, HIDDEN };

/* What is hidden from a rule of this access at or below path? */
static enum relation relation_of(const struct making *m, const char *path, unsigned access)
{
	enum relation found = CLEAR;

	for (size_t i = 0; i < m->n; i++) {
		const struct place *h = &m->places[i];
		if (!(h->access & SANDBOX_HIDE) ||
		    ((access & SANDBOX_SURE) && !(h->access & SANDBOX_SURE)))
			continue;
		if (is_in(path, h->path))
			return HIDDEN;
		if (is_in(h->path, path))
			found = WAY;
	}
	return found;
}

static int give(const struct making *m, const char *path, unsigned access);

/* All in a directory on the way to something hidden, but for that. */
static int give_entries(const struct making *m, const char *dir, unsigned access)
{
	DIR *d = opendir(dir);
	char path[PATH_MAX];
	int rc = 0;

	if (!d)
		return is_gone(errno) ? 0 : -1;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    e->d_type == DT_LNK)
			continue;
		int n = snprintf(path, sizeof path, "%s/%s", dir[1] ? dir : "", e->d_name);
		if (n >= (int)sizeof path)
			continue;
		enum relation is = relation_of(m, path, access);
		if (is == CLEAR)
			rc = allow_at(m, dirfd(d), e->d_name, e->d_type, fs_of(access));
		else if (is == WAY)
			rc = give(m, path, access);
	}
	(void)closedir(d);
	return rc;
}

static int give(const struct making *m, const char *path, unsigned access)
{
	if (relation_of(m, path, access) == CLEAR)
		return allow(m, path, fs_of(access));
	if (m->list_ways && allow(m, path, FS_READ_DIR) != 0)
		return -1;
	return give_entries(m, path, access);
}

/* The rule as given: a path that the owner named may lie below what is hidden, or be it. */
static int give_rule(const struct making *m, const struct place *p)
{
	bool below = false;

	for (size_t i = 0; i < m->n; i++)
		below = below || ((m->places[i].access & SANDBOX_HIDE) &&
				  is_in(p->path, m->places[i].path));
	if (!below)
		return give(m, p->path, p->access);
	if (!(p->access & SANDBOX_SURE))
		return 0;
	/* What else is hidden further down stays so. */
	struct making inner = *m;
	inner.n = 0;
	for (size_t i = 0; i < m->n; i++)
		if (!is_in(p->path, m->places[i].path))
			inner.places[inner.n++] = m->places[i];
	return give(&inner, p->path, p->access);
}

static int resolve(struct making *m, const struct sandbox *box)
{
	if (box->rules_n > SANDBOX_RULES) {
		errno = E2BIG;
		return -1;
	}
	for (size_t i = 0; i < box->rules_n; i++) {
		char *path = realpath(box->rules[i].path, NULL);
		if (path)
			m->places[m->n++] = (struct place){ path, box->rules[i].access };
		else if (!is_gone(errno))
			return -1;
	}
	return 0;
}

static int restrict_self(int ruleset)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

int landlock_apply(const struct sandbox *box, int abi)
{
	static struct making m; /* large, and once per process */
	struct ruleset_attr attr = { 0 };

	if (box->flags & SANDBOX_FILES)
		attr.fs = fs_of_abi(abi);
	if ((box->flags & SANDBOX_NO_NETWORK) && abi >= LANDLOCK_ABI_NET)
		attr.net = NET_BIND | NET_CONNECT;
	if ((box->flags & SANDBOX_SCOPE) && abi >= LANDLOCK_ABI_SCOPE)
		attr.scoped = SCOPES;
	if (abi < 1 || !(attr.fs || attr.net || attr.scoped))
		return 0;
	m.handled = attr.fs;
	m.list_ways = box->flags & SANDBOX_LIST_WAYS;
	/* An older kernel takes the longer struct as long as what it does not know is zero. */
	m.ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (m.ruleset < 0 || (attr.fs && resolve(&m, box) != 0))
		return -1;
	for (size_t i = 0; attr.fs && i < m.n; i++)
		if (!(m.places[i].access & SANDBOX_HIDE) && give_rule(&m, &m.places[i]) != 0)
			return -1;
	if (restrict_self(m.ruleset) != 0)
		return -1;
	return close(m.ruleset);
}

int landlock_no_bind(int abi)
{
	struct ruleset_attr attr = { .net = NET_BIND };

	if (abi < LANDLOCK_ABI_NET)
		return 0;
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (ruleset < 0)
		return -1;
	int rc = restrict_self(ruleset), errnum = errno;
	(void)close(ruleset);
	errno = errnum;
	return rc;
}

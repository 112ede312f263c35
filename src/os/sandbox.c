/*
 * The sandbox of a child put together, what it lacks on this kernel, and that of the daemon
 * itself.  The two kernel interfaces are in sandbox_landlock.c and sandbox_seccomp.c.
 */
#include "os/sandbox.h"

#include "base/buf.h"
#include "os/sandbox_parts.h"
#include "os/seam.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD_MAX 128
#define PROCS_UNKNOWN 4096 /* that may run, where /proc does not say how many do */

/* ---- what the kernel can do ---------------------------------------------------------- */

struct sandbox_kernel sandbox_kernel(void)
{
	return (struct sandbox_kernel){ .landlock = landlock_abi(),
					.seccomp = seccomp_known() };
}

static void lacks(struct buf *b, bool does, const char *what)
{
	if (does)
		buf_fmt(b, "%s%s", b->n ? "; " : "", what);
}

str sandbox_missing(struct arena *a, const struct sandbox *box, struct sandbox_kernel k)
{
	struct buf b = buf_in(a, 4096);
	bool files = box->flags & SANDBOX_FILES;

	lacks(&b, files && k.landlock < 1, "files are not confined (no Landlock)");
	lacks(&b, files && k.landlock == 1, "files cannot be moved between directories");
	lacks(&b, files && k.landlock >= 1 && k.landlock < LANDLOCK_ABI_TRUNCATE,
	      "files that may be read can be emptied (Landlock below ABI 3)");
	lacks(&b, files && k.landlock >= 1 && k.landlock < LANDLOCK_ABI_IOCTL,
	      "controls of readable devices are not confined (Landlock below ABI 5)");
	lacks(&b, (box->flags & SANDBOX_SCOPE) && k.landlock < LANDLOCK_ABI_SCOPE,
	      "signals and abstract sockets are not confined (Landlock below ABI 6)");
	lacks(&b, (box->flags & SANDBOX_NO_NETWORK) && !k.seccomp,
	      k.landlock < LANDLOCK_ABI_NET ? "the network is not closed (no seccomp filters)"
					    : "only TCP is closed (no seccomp filters)");
	lacks(&b, (box->flags & SANDBOX_ESCAPES) && !k.seccomp,
	      "system calls are not filtered (no seccomp filters)");
	return buf_str(&b);
}

/* ---- a child --------------------------------------------------------------------------- */

static int limit(int resource, int64_t value)
{
	struct rlimit l, want = { (rlim_t)value, (rlim_t)value };

	/* Never more than there is: that would be refused.  By syscall, since C libraries do not
	 * agree on the type of resource. */
	if (syscall(SYS_prlimit64, 0, resource, NULL, &l) == 0 && l.rlim_max < want.rlim_max)
		want = (struct rlimit){ l.rlim_max, l.rlim_max };
	return (int)syscall(SYS_prlimit64, 0, resource, &want, NULL);
}

/* How many processes and threads there are on the machine: the kernel counts those of the
 * user, which are some of them. */
static int64_t procs_now(void)
{
	char text[LOAD_MAX];
	int64_t n;
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text);

	if (fd >= 0)
		(void)close(fd);
	/* "0.10 0.20 0.30 1/234 5678" */
	str rest = { text, got > 0 ? (size_t)got : 0 };
	(void)str_cut(&rest, '/');
	return str_i64(str_cut(&rest, ' '), &n) ? n : PROCS_UNKNOWN;
}

/* What a sanitizer keeps for itself would count, and is more than any limit gives. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY false
#else
#define LIMITS_MEMORY true
#endif

static int set_limits(const struct sandbox *box)
{
	if (limit(RLIMIT_CORE, 0) != 0 ||
	    (box->max_file_bytes && limit(RLIMIT_FSIZE, box->max_file_bytes) != 0) ||
	    (LIMITS_MEMORY && box->max_memory_bytes &&
	     limit(RLIMIT_DATA, box->max_memory_bytes) != 0))
		return -1;
	return box->max_procs ? limit(RLIMIT_NPROC, procs_now() + box->max_procs) : 0;
}

/* What root may still do to files of its own tree; anything else leads out. */
static int drop_power(void)
{
	static const unsigned kept[] = { CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,
					 CAP_FSETID, CAP_SETUID,       CAP_SETGID };

	for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		bool keep = false;
		for (size_t i = 0; i < COUNT(kept); i++)
			keep = keep || kept[i] == cap;
		/* EPERM: we are not root, and it is out of reach anyway. */
		if (!keep && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && errno != EPERM)
			return -1;
	}
	/* A capability that came as an ambient one would pass through execve(2). */
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 || errno == EINVAL
		       ? 0
		       : -1;
}

int sandbox_apply(const struct sandbox *box, int *listener)
{
	struct sandbox_kernel k = sandbox_kernel();

	if (set_limits(box) != 0)
		return -1;
	if ((box->flags & SANDBOX_NO_POWER) && drop_power() != 0)
		return -1;
	if (landlock_apply(box, k.landlock) != 0)
		return -1;
	/* Last, since it refuses some of what was needed until now. */
	if (!k.seccomp || box->flags == 0)
		return 0;
	bool weak = (box->flags & SANDBOX_FILES) && k.landlock >= 1 &&
		    k.landlock < LANDLOCK_ABI_TRUNCATE;
	return seccomp_apply(box->flags, weak, listener);
}

/* ---- ourselves -------------------------------------------------------------------------- */

static const char *self_text = "not confined";

int sandbox_self(struct err *e)
{
	struct sandbox_kernel k = sandbox_kernel();

	if (!seam_confine())
		return OK;
	if (landlock_no_bind(k.landlock) != 0)
		return err_sys(e, "Landlock");
	if (k.seccomp && seccomp_no_port() != 0)
		return err_sys(e, "seccomp");
	if (k.seccomp)
		self_text = k.landlock >= LANDLOCK_ABI_NET
				    ? "no port can be opened (seccomp, Landlock)"
				    : "no port can be opened (seccomp)";
	else if (k.landlock >= LANDLOCK_ABI_NET)
		self_text = "no TCP port can be bound (Landlock); missing: seccomp filters";
	else
		self_text = "not confined; missing: seccomp filters, Landlock ABI 4";
	return OK;
}

const char *sandbox_self_text(void)
{
	return self_text;
}

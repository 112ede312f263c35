/*
 * The filters of system calls, written as one table and compiled to BPF here.
 *
 * A filter sees numbers, not what they point to: paths and socket addresses cannot be judged.
 * What can is refused with an errno, so that programs take their second-best way.  The
 * architecture is checked first, since a number means something else on another one, and on
 * x86_64 the numbers of x32 are refused too.
 */
#include "os/sandbox_parts.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE AUDIT_ARCH_RISCV64
#endif
#define FOREIGN 0x40000000u /* x32; no architecture has numbers up there */

/* Newer than the headers of long-term distributions; the same on every architecture. */
#define NR_FCHMODAT2 452
#define NR_SETXATTRAT 463
#define NR_REMOVEXATTRAT 466
#define NR_OPEN_TREE_ATTR 467
#define NR_FILE_SETATTR 469

#define NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |         \
	 CLONE_NEWPID | CLONE_NEWNET)
#define NEWTIME 0x80u /* in clone(2) part of the signal's number, so only for unshare(2) */
#define SET_ID 06000
#define CODE_MAX 512

/* An errno for the supervisor's judgement; and for refusing where there is no judge. */
#define ASK_SUPERVISOR 0

/* The filter of ports, and one more rule, beside those of a sandbox. */
#define NO_PORT (1u << 16)
#define NO_TRUNCATE (1u << 17)

enum when { ALWAYS, ARG_HAS, ARG_IS, ARG_IS_NOT };

struct refusal {
	unsigned flags; /* for a filter that has any of these */
	int nr;
	int errnum;
	enum when when;
	int arg;
	uint32_t value;
};

#define ESC SANDBOX_ESCAPES
#define OWN SANDBOX_NO_OWNER

/* clang-format off */
static const struct refusal refusals[] = {
	/* Into other processes. */
	{ ESC, SYS_ptrace, EPERM, .when = ALWAYS },
	{ ESC, SYS_process_vm_readv, EPERM, .when = ALWAYS },
	{ ESC, SYS_process_vm_writev, EPERM, .when = ALWAYS },
	{ ESC, SYS_process_madvise, EPERM, .when = ALWAYS },
	{ ESC, SYS_pidfd_getfd, EPERM, .when = ALWAYS },
	{ ESC, SYS_kcmp, EPERM, .when = ALWAYS },
	/* The tree of files. */
	{ ESC, SYS_mount, EPERM, .when = ALWAYS },
	{ ESC, SYS_umount2, EPERM, .when = ALWAYS },
	{ ESC, SYS_pivot_root, EPERM, .when = ALWAYS },
	{ ESC, SYS_chroot, EPERM, .when = ALWAYS },
	{ ESC, SYS_open_tree, EPERM, .when = ALWAYS },
	{ ESC, SYS_move_mount, EPERM, .when = ALWAYS },
	{ ESC, SYS_fsopen, EPERM, .when = ALWAYS },
	{ ESC, SYS_fsconfig, EPERM, .when = ALWAYS },
	{ ESC, SYS_fsmount, EPERM, .when = ALWAYS },
	{ ESC, SYS_fspick, EPERM, .when = ALWAYS },
	{ ESC, SYS_mount_setattr, EPERM, .when = ALWAYS },
	{ ESC, NR_OPEN_TREE_ATTR, EPERM, .when = ALWAYS },
	{ ESC, SYS_open_by_handle_at, EPERM, .when = ALWAYS },
	{ ESC, SYS_swapon, EPERM, .when = ALWAYS },
	{ ESC, SYS_swapoff, EPERM, .when = ALWAYS },
	{ ESC, SYS_quotactl, EPERM, .when = ALWAYS },
	{ ESC, SYS_acct, EPERM, .when = ALWAYS },
	/* Namespaces.  The flags of clone3(2) are in memory: libc goes on with clone(2). */
	{ ESC, SYS_setns, EPERM, .when = ALWAYS },
	{ ESC, SYS_unshare, EPERM, ARG_HAS, 0, NAMESPACES | NEWTIME },
	{ ESC, SYS_clone, EPERM, ARG_HAS, 0, NAMESPACES },
	{ ESC, SYS_clone3, ENOSYS, .when = ALWAYS },
	/* The kernel itself. */
	{ ESC, SYS_kexec_load, EPERM, .when = ALWAYS },
	{ ESC, SYS_kexec_file_load, EPERM, .when = ALWAYS },
	{ ESC, SYS_init_module, EPERM, .when = ALWAYS },
	{ ESC, SYS_finit_module, EPERM, .when = ALWAYS },
	{ ESC, SYS_delete_module, EPERM, .when = ALWAYS },
	{ ESC, SYS_bpf, EPERM, .when = ALWAYS },
	{ ESC, SYS_perf_event_open, EPERM, .when = ALWAYS },
	{ ESC, SYS_userfaultfd, EPERM, .when = ALWAYS },
	{ ESC, SYS_keyctl, EPERM, .when = ALWAYS },
	{ ESC, SYS_add_key, EPERM, .when = ALWAYS },
	{ ESC, SYS_request_key, EPERM, .when = ALWAYS },
	{ ESC, SYS_reboot, EPERM, .when = ALWAYS },
	{ ESC, SYS_settimeofday, EPERM, .when = ALWAYS },
	{ ESC, SYS_clock_settime, EPERM, .when = ALWAYS },
	{ ESC, SYS_syslog, EPERM, .when = ALWAYS },
#ifdef SYS_iopl
	{ ESC, SYS_iopl, EPERM, .when = ALWAYS },
	{ ESC, SYS_ioperm, EPERM, .when = ALWAYS },
#endif
	/* Its operations would pass unseen. */
	{ ESC | NO_PORT, SYS_io_uring_setup, ENOSYS, .when = ALWAYS },
	{ ESC | NO_PORT, SYS_io_uring_enter, ENOSYS, .when = ALWAYS },
	{ ESC | NO_PORT, SYS_io_uring_register, ENOSYS, .when = ALWAYS },
	/* Typing into a terminal. */
	{ ESC, SYS_ioctl, EPERM, ARG_IS, 1, TIOCSTI },
	{ ESC, SYS_ioctl, EPERM, ARG_IS, 1, 0x541C /* TIOCLINUX */ },
	/* The network. */
	{ SANDBOX_NO_NETWORK, SYS_socket, EACCES, ARG_IS_NOT, 0, AF_UNIX },
	{ SANDBOX_NO_NETWORK, SYS_io_uring_setup, ENOSYS, .when = ALWAYS },
	{ SANDBOX_NO_SOCKETS, SYS_socket, EACCES, ARG_IS, 0, AF_UNIX },
	/* One end of a pair of datagram sockets can be connected to another name. */
	{ SANDBOX_NO_SOCKETS, SYS_socketpair, EACCES, ARG_HAS, 1, SOCK_DGRAM },
	/* What Landlock does not watch. */
	{ NO_TRUNCATE, SYS_truncate, EACCES, .when = ALWAYS },
	{ OWN, SYS_fchown, EPERM, .when = ALWAYS },
	{ OWN, SYS_fchownat, EPERM, .when = ALWAYS },
	{ OWN, SYS_setxattr, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, SYS_lsetxattr, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, SYS_fsetxattr, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, SYS_removexattr, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, SYS_lremovexattr, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, SYS_fremovexattr, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, NR_SETXATTRAT, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, NR_REMOVEXATTRAT, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, NR_FILE_SETATTR, EOPNOTSUPP, .when = ALWAYS },
	{ OWN, SYS_fchmod, EPERM, ARG_HAS, 1, SET_ID },
	{ OWN, SYS_fchmodat, EPERM, ARG_HAS, 2, SET_ID },
	{ OWN, NR_FCHMODAT2, EPERM, ARG_HAS, 2, SET_ID },
#ifdef SYS_chmod
	{ OWN, SYS_chown, EPERM, .when = ALWAYS },
	{ OWN, SYS_lchown, EPERM, .when = ALWAYS },
	{ OWN, SYS_chmod, EPERM, ARG_HAS, 1, SET_ID },
#endif
	{ SANDBOX_MODES, SYS_fchmod, ASK_SUPERVISOR, .when = ALWAYS },
	{ SANDBOX_MODES, SYS_fchmodat, ASK_SUPERVISOR, .when = ALWAYS },
	{ SANDBOX_MODES, NR_FCHMODAT2, ASK_SUPERVISOR, .when = ALWAYS },
#ifdef SYS_chmod
	{ SANDBOX_MODES, SYS_chmod, ASK_SUPERVISOR, .when = ALWAYS },
#endif
	/* A port of our own.  Not bind(2): some C libraries bind the socket they ask a name server
	 * with.  That of TCP is Landlock's. */
	{ NO_PORT, SYS_listen, EPERM, .when = ALWAYS },
	{ NO_PORT, SYS_accept, EPERM, .when = ALWAYS },
	{ NO_PORT, SYS_accept4, EPERM, .when = ALWAYS },
};
/* clang-format on */

bool seccomp_known(void)
{
#ifdef NATIVE
	/* 0 or 2 where filters exist. */
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
#else
	return false;
#endif
}

#ifdef NATIVE

struct program {
	struct sock_filter code[CODE_MAX];
	size_t n;
	bool judged; /* somebody listens */
};

static void add(struct program *p, struct sock_filter f)
{
	if (p->n < CODE_MAX)
		p->code[p->n] = f;
	p->n++;
}

#define LOAD(field)                                                                            \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE(errnum) RETURN(SECCOMP_RET_ERRNO | (uint32_t)(errnum))

static struct sock_filter jump(int test, uint32_t value, size_t yes, size_t no)
{
	return (struct sock_filter){ (unsigned short)(BPF_JMP | test | BPF_K), (uint8_t)yes,
				     (uint8_t)no, value };
}

/* The low half of an argument: each one looked at is an int or has nothing above. */
static struct sock_filter load_arg(int arg)
{
	size_t at = offsetof(struct seccomp_data, args) + (size_t)arg * sizeof(uint64_t);

	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		at += sizeof(uint32_t);
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at);
}

/* With the number loaded before and after it. */
static void add_refusal(struct program *p, const struct refusal *r)
{
	static const int tests[] = {
		[ARG_HAS] = BPF_JSET, [ARG_IS] = BPF_JEQ, [ARG_IS_NOT] = BPF_JEQ
	};
	bool not = r->when == ARG_IS_NOT;

	if (r->when == ALWAYS) {
		add(p, jump(BPF_JEQ, (uint32_t)r->nr, 0, 1));
		add(p, r->errnum == ASK_SUPERVISOR && p->judged
			       ? (struct sock_filter)RETURN(SECCOMP_RET_USER_NOTIF)
			       : (struct sock_filter)REFUSE(r->errnum ? r->errnum : EPERM));
		return;
	}
	add(p, jump(BPF_JEQ, (uint32_t)r->nr, 0, 4));
	add(p, load_arg(r->arg));
	add(p, jump(tests[r->when], r->value, not ? 1 : 0, not ? 0 : 1));
	add(p, (struct sock_filter)REFUSE(r->errnum));
	add(p, (struct sock_filter)LOAD(nr));
}

static void write_program(struct program *p, unsigned flags)
{
	add(p, (struct sock_filter)LOAD(arch));
	add(p, jump(BPF_JEQ, NATIVE, 1, 0));
	add(p, (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS));
	add(p, (struct sock_filter)LOAD(nr));
	add(p, jump(BPF_JGE, FOREIGN, 0, 1));
	add(p, (struct sock_filter)REFUSE(ENOSYS));
	for (size_t i = 0; i < COUNT(refusals); i++)
		if (refusals[i].flags & flags)
			add_refusal(p, &refusals[i]);
	add(p, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
}

/* listener NULL: nobody will be asked. */
static int install(unsigned flags, int *listener)
{
	struct program p = { .judged = listener != NULL };

	write_program(&p, flags);
	if (p.n > CODE_MAX) {
		errno = EINVAL;
		return -1;
	}
	struct sock_fprog prog = { (unsigned short)p.n, p.code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if (!listener)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
	*listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	return *listener < 0 ? -1 : 0;
}

#else

static int install(unsigned flags, int *listener)
{
	(void)flags;
	(void)listener;
	errno = ENOSYS;
	return -1;
}

#endif

int seccomp_apply(unsigned flags, bool weak, int *listener)
{
	unsigned all = (flags & 0xFFFF) | (weak ? NO_TRUNCATE : 0);

	*listener = -1;
	/* Whoever already listens further out leaves no place for us. */
	if ((flags & SANDBOX_MODES) && install(all, listener) == 0)
		return 0;
	*listener = -1;
	return install(all, NULL);
}

int seccomp_no_port(void)
{
	return install(NO_PORT, NULL);
}

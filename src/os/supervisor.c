/*
 * The supervisor: one process for each child.  It starts the child, passes signals on, and
 * when the child has ended, or the daemon asks, or the daemon or the spawner is gone, kills
 * whatever descends from it.  It is a subreaper: descendants whose parents have died become
 * its own children, whatever session or group they moved to, and are found as such in
 * /proc.  Where /proc is missing only the child's group can be killed.
 */
#include "os/spawner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define PAUSE_MAX_MS 50
#define POWERLESS_MS 500

struct supervisor {
	const struct spawner_plan *plan;
	pid_t child;
	int sigfd, life, report; /* report: at its end once the child was executed */
	int listener; /* asks about modes of files; -1 none */
	int status; /* of the child, once reaped */
	bool reaped, failed;
	bool ended, left_some; /* the child by itself; processes of its were still there then */
	char tmp[SPAWNER_TMP];
};

struct failure {
	int stage, errnum;
};

void spawner_tell(int sock, int type, int stage, int value)
{
	struct spawner_event ev = { .type = type, .stage = stage, .value = value };

	ssize_t n;

	do
		n = send(sock, &ev, sizeof ev, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	/* Who waits for what cannot be said hears the end of it instead. */
	if (n < 0)
		(void)shutdown(sock, SHUT_RDWR);
}

static pid_t parent_of(int proc, const char *pid)
{
	char path[32], text[256];
	int64_t parent;

	(void)snprintf(path, sizeof path, "%.20s/stat", pid);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, sizeof text);
	(void)close(fd);
	/* The name in parentheses may hold anything, so count from its end: " S 123 ". */
	const char *end = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;
	if (!end || text + n - end < 5)
		return -1;
	str rest = { end + 4, (size_t)(text + n - end - 4) };
	return str_i64(str_cut(&rest, ' '), &parent) ? (pid_t)parent : -1;
}

int supervisor_kill_children(bool (*spare)(pid_t pid))
{
	DIR *proc = opendir("/proc");
	int64_t pid = 0;
	int signalled = 0;
	bool seen = false;

	if (!proc)
		return -1;
	for (struct dirent *d; (d = readdir(proc));) {
		if (!str_i64(str_of(d->d_name), &pid) || pid <= 1)
			continue;
		pid_t parent = parent_of(dirfd(proc), d->d_name);
		seen = seen || parent >= 0;
		if (parent != getpid() || (spare && spare((pid_t)pid)))
			continue;
		signalled += kill((pid_t)pid, SIGKILL) == 0;
	}
	(void)closedir(proc);
	return seen ? signalled : -1;
}

/* ---- in the child, until it is executed ---------------------------------------------- */

static bool reset_signals(void)
{
	static const unsigned char dfl[64]; /* the kernel's sigaction: SIG_DFL, no flags */
	sigset_t none;

	/* By syscall, since libc does not let go of the two signals it keeps for itself, and
	 * some programs pass those on ignored.  Refused for KILL and STOP. */
	for (int s = 1; s < NSIG; s++)
		(void)syscall(SYS_rt_sigaction, s, dfl, NULL, NSIG / 8);
	(void)sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* Returns only when path was not executed. */
static int execute(const struct spawner_plan *p, const char *path)
{
	(void)execve(path, p->argv, p->env);
	if (errno != ENOENT || access(path, F_OK) != 0)
		return STAGE_EXEC;
	errno = ENOENT; /* the file is there: what it names after #! is not */
	return STAGE_INTERPRETER;
}

static int search_and_execute(const struct spawner_plan *p)
{
	str path = S(DEFAULT_PATH), name = str_of(p->argv[0]);
	int errnum = ENOENT;
	char file[PATH_MAX];

	if (str_has(name, S("/")))
		return execute(p, p->argv[0]);
	for (char **env = p->env; *env; env++)
		if (str_starts(str_of(*env), S("PATH=")))
			path = str_of(*env + 5);
	for (bool more = true; more && name.n;) {
		more = str_has(path, S(":"));
		str dir = str_cut(&path, ':');
		int n = snprintf(file, sizeof file, "%.*s/%s", STRF(dir.n ? dir : S(".")),
				 p->argv[0]);
		if (n >= (int)sizeof file)
			continue;
		int stage = execute(p, file);
		if (errno == EACCES)
			errnum = EACCES; /* a later directory may have a better one */
		else if (stage != STAGE_EXEC || (errno != ENOENT && errno != ENOTDIR))
			return stage;
	}
	errno = errnum;
	return STAGE_EXEC;
}

/* To the supervisor, by the socket it hears from anyway. */
static bool hand_over(int report, int listener)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.align), &listener, sizeof listener);
	return sendmsg(report, &msg, MSG_NOSIGNAL) == 1;
}

/* The name may have been given to another directory since somebody looked. */
static bool enter(const struct spawner_plan *p)
{
	uint64_t dev = p->head->cwd_dev, ino = p->head->cwd_ino;
	struct stat st;

	if (chdir(p->cwd) != 0)
		return false;
	if (dev == 0 && ino == 0)
		return true;
	if (stat(".", &st) != 0)
		return false;
	errno = ESTALE;
	return st.st_dev == dev && st.st_ino == ino;
}

static int become(const struct spawner_plan *p, int report)
{
	int listener = -1;

	if (setpgid(0, 0) != 0)
		return STAGE_SETUP;
	for (int i = 0; i < 3; i++)
		if (dup2(p->stdio[i], i) != i)
			return STAGE_SETUP;
	if (!reset_signals())
		return STAGE_SETUP;
	if (!enter(p))
		return STAGE_CWD;
	if (p->head->confined && sandbox_apply(&p->box, &listener) != 0)
		return STAGE_SANDBOX;
	if (listener >= 0 && !hand_over(report, listener))
		return STAGE_SANDBOX;
	return search_and_execute(p);
}

static NORETURN void run_child(const struct spawner_plan *p, pid_t parent, int report)
{
	struct failure f = { .errnum = ECANCELED };

	/* Should the supervisor be killed: at least the child itself goes with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
		f.stage = become(p, report);
		f.errnum = errno;
	}
	(void)!write(report, &f, sizeof f);
	_exit(127);
}

/* ---- in the supervisor ------------------------------------------------------------------ */

/* Reap whoever is dead; false when there is no child left at all. */
static bool reap(struct supervisor *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->child) {
			s->status = status;
			s->reaped = true;
		}
	return pid == 0 || errno == EINTR;
}

static void drain(int sigfd)
{
	struct signalfd_siginfo info;

	(void)!read(sigfd, &info, sizeof info);
}

/* Kill all descendants and reap them.  Never a blocking wait: one that does not die would
 * hide the others.  Ends early when for a while nothing is left that we may signal: a
 * set-uid program cannot be killed by the user who called it. */
static void end_all(struct supervisor *s)
{
	struct pollfd p = { .fd = s->sigfd, .events = POLLIN };
	int pause = 1, powerless = 0;

	while (reap(s) && powerless < POWERLESS_MS) {
		int n = supervisor_kill_children(NULL);
		s->left_some = s->left_some || (s->ended && n > 0);
		if (n < 0) {
			n = kill(-s->child, SIGKILL) == 0 ||
			    (!s->reaped && kill(s->child, SIGKILL) == 0);
		}
		powerless = n > 0 ? 0 : powerless + pause;
		if (poll(&p, 1, pause) > 0)
			drain(s->sigfd);
		else if (pause < PAUSE_MAX_MS)
			pause *= 2;
	}
}

/* Was the child executed?  False while it is not known yet. */
static bool read_report(struct supervisor *s)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct failure f;
	struct iovec iov = { &f, sizeof f };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	ssize_t n = recvmsg(s->report, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n == 1) {
		if (c && c->cmsg_type == SCM_RIGHTS)
			memcpy(&s->listener, CMSG_DATA(c), sizeof s->listener);
		return false;
	}
	(void)close(s->report);
	s->report = -1;
	s->failed = n == (ssize_t)sizeof f;
	if (s->failed)
		spawner_tell(s->plan->ctl, SPAWNER_FAILED, f.stage, f.errnum);
	else
		spawner_tell(s->plan->ctl, SPAWNER_STARTED, 0, s->child);
	return true;
}

/* Pass one signal on; false at the end of the stream. */
static bool pass_signal(const struct supervisor *s)
{
	int signo;

	if (recv(s->plan->ctl, &signo, sizeof signo, MSG_DONTWAIT) == (ssize_t)sizeof signo) {
		(void)kill(-s->child, signo); /* not reaped yet: the number is still its */
		return true;
	}
	return errno == EAGAIN || errno == EINTR;
}

/* Until the child has ended or has to. */
static void follow(struct supervisor *s)
{
	enum { CTL, SIG, LIFE, REPORT, MODES };
	struct pollfd p[] = {
		[CTL] = { .fd = s->plan->ctl, .events = POLLIN },
		[SIG] = { .fd = s->sigfd, .events = POLLIN },
		[LIFE] = { .fd = s->life, .events = POLLIN },
		[REPORT] = { .fd = s->report, .events = POLLIN },
		[MODES] = { .fd = -1, .events = POLLIN },
	};

	while (!s->reaped) {
		if (poll(p, COUNT(p), -1) < 0 && errno != EINTR)
			return;
		/* Before the signals: a fast child may have ended already, and STARTED has to
		 * come before EXITED.  The report ends first, and is looked at last. */
		if (p[REPORT].revents) {
			/* A listener first, and then maybe the end already. */
			if (read_report(s) || read_report(s))
				p[REPORT].fd = -1;
			p[MODES].fd = s->listener;
		}
		/* Without a question there is only the end: reading it could block. */
		if (p[MODES].revents &&
		    !((p[MODES].revents & POLLIN) && sandbox_modes_answer(s->listener)))
			p[MODES].fd = s->listener = -1;
		errno = 0;
		if (p[LIFE].revents || (p[CTL].revents && !pass_signal(s)))
			return;
		if (p[SIG].revents) {
			drain(s->sigfd);
			(void)reap(s);
		}
	}
}

/* The directory of the sandbox.  Its name is kept, since the request will be wiped. */
static bool make_tmp(struct supervisor *s)
{
	const char *path = s->plan->box.tmp;

	if (!s->plan->head->confined || !path)
		return true;
	if (mkdir(path, 0700) != 0)
		return false;
	(void)snprintf(s->tmp, sizeof s->tmp, "%s", path);
	return true;
}

static bool prepare(struct supervisor *s, int report[2])
{
	sigset_t chld;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD); /* blocked, like all others, since the spawner */
	s->sigfd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->sigfd >= 0 && setsid() >= 0 && spawner_adopt() &&
	       socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) == 0 &&
	       make_tmp(s);
}

NORETURN void supervisor_main(const struct spawner_plan *plan, int life)
{
	struct supervisor s = { .plan = plan, .life = life, .child = -1, .listener = -1 };
	pid_t self = getpid();
	int report[2];

	(void)prctl(PR_SET_NAME, "gantry-super");
	if (prepare(&s, report))
		s.child = fork();
	if (s.child < 0) {
		spawner_tell(plan->ctl, SPAWNER_FAILED, STAGE_SETUP, errno);
		if (s.tmp[0])
			sandbox_remove_tmp(s.tmp);
		_exit(0);
	}
	if (s.child == 0)
		run_child(plan, self, report[1]);
	if (plan->head->confined)
		sandbox_modes_learn(&plan->box);
	spawner_forget();
	/* In both processes, since a signal may have to be passed on before the child runs. */
	(void)setpgid(s.child, s.child);
	(void)close(report[1]);
	s.report = report[0];
	for (int i = 0; i < 3; i++)
		(void)close(plan->stdio[i]); /* or a reader would never see the end */

	follow(&s);
	s.ended = s.reaped;
	end_all(&s);
	if (!s.failed)
		spawner_tell(plan->ctl, s.reaped ? SPAWNER_EXITED : SPAWNER_LOST, s.left_some,
			     s.status);
	if (s.tmp[0])
		sandbox_remove_tmp(s.tmp);
	_exit(0);
}

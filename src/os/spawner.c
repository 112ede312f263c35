/*
 * The spawner: forked from the daemon first thing, it receives start requests, forks a
 * supervisor for each, and sweeps up after a supervisor that was killed.  It never holds a
 * secret and has one thread, so that forking is safe and a child finds nothing in it.
 */
#include "os/spawner.h"

#include "os/cancel.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_MS 2
#define STOP_MS 5000

/* The daemon's side.  Written before the first thread starts and after the last has ended. */
static struct {
	int sock;
	pid_t pid;
} client = { .sock = -1 };

/* One supervisor, in the spawner. */
struct slot {
	pid_t pid; /* 0: free; LOST_PID: killed, its children are being swept up */
	int ctl;
	char tmp[SPAWNER_TMP]; /* the directory its sandbox has, "" none */
};

#define LOST_PID ((pid_t)-1)

/* The spawner is a process of its own with one thread: these exist once, there. */
static struct slot slots[SPAWNER_CHILDREN];
static struct spawner_message message;
static size_t message_n; /* bytes of text in it */
static struct spawner_plan plan;
static int daemon_sock, child_sigfd, life[2];

/* ---- the spawner process ---------------------------------------------------------------- */

static int hide_self(void)
{
	static char *empty[] = { NULL };

	for (char **env = environ; env && *env; env++)
		explicit_bzero(*env, strlen(*env));
	environ = empty;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void close_from(unsigned first)
{
	struct rlimit l = { 0 };

	if (syscall(SYS_close_range, first, ~0u, 0u) == 0)
		return;
	/* Before Linux 5.9. */
	(void)getrlimit(RLIMIT_NOFILE, &l);
	for (unsigned fd = first; fd < l.rlim_cur && fd < 65536; fd++)
		(void)close((int)fd);
}

/* Terminal signals and those a service manager sends to all processes of the service are
 * for the daemon, which then ends us in order: they stay blocked here. */
static bool block_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t all, chld;

	(void)sigfillset(&all);
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (sigaction(SIGCHLD, &dfl, NULL) != 0 || sigprocmask(SIG_SETMASK, &all, NULL) != 0)
		return false;
	child_sigfd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	return child_sigfd >= 0;
}

bool spawner_adopt(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 || errno == EINVAL;
}

static bool settle(int sock)
{
	/* A fixed place above stdio, and nothing else: what the daemon has inherited must not
	 * reach the children. */
	if (sock != 3 && dup3(sock, 3, O_CLOEXEC) != 3)
		return false;
	daemon_sock = 3;
	/* With 0, 1 and 2 taken no received descriptor becomes one of them. */
	int null = null_open(O_RDWR, NULL);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return false;
	close_from(4);
	(void)prctl(PR_SET_NAME, "gantry-spawner");
	return block_signals() && setsid() >= 0 && pipe2(life, O_CLOEXEC) == 0 &&
	       spawner_adopt() && chdir("/") == 0 && hide_self() == 0;
}

static bool is_supervisor(pid_t pid)
{
	for (size_t i = 0; i < COUNT(slots); i++)
		if (slots[i].pid == pid)
			return true;
	return false;
}

static void free_slot(struct slot *s)
{
	(void)close(s->ctl);
	*s = (struct slot){ 0 };
}

/* How many supervisors run. */
static size_t reap_supervisors(void)
{
	struct signalfd_siginfo info;
	size_t running = 0;
	int status;

	(void)!read(child_sigfd, &info, sizeof info);
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
		for (size_t i = 0; i < COUNT(slots); i++) {
			if (slots[i].pid != pid)
				continue;
			if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
				free_slot(&slots[i]);
			else
				slots[i].pid = LOST_PID;
		}
	for (size_t i = 0; i < COUNT(slots); i++)
		running += slots[i].pid > 0;
	return running;
}

/* The children of a killed supervisor are ours now.  Kill them, and once there are none say
 * so.  True while it has to be called again. */
static bool sweep(void)
{
	bool lost = is_supervisor(LOST_PID);

	if (!lost)
		return false;
	if (supervisor_kill_children(is_supervisor) > 0)
		return true;
	for (size_t i = 0; i < COUNT(slots); i++)
		if (slots[i].pid == LOST_PID) {
			if (slots[i].tmp[0])
				sandbox_remove_tmp(slots[i].tmp);
			spawner_tell(slots[i].ctl, SPAWNER_LOST, 0, 0);
			free_slot(&slots[i]);
		}
	return false;
}

static NORETURN void shut_down(void)
{
	struct pollfd p = { .fd = child_sigfd, .events = POLLIN };

	(void)close(life[1]);
	while (reap_supervisors() > 0 || supervisor_kill_children(is_supervisor) > 0)
		(void)poll(&p, 1, 10);
	_exit(0);
}

static char *next_string(char **at, const char *end)
{
	char *s = *at, *nul = s < end ? memchr(s, '\0', (size_t)(end - s)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return s;
}

static bool plan_box(char **at, const char *end)
{
	const struct spawner_request *r = &message.head;
	char *s = next_string(at, end);

	if (!s || strlen(s) >= SPAWNER_TMP || r->rules_n > SANDBOX_RULES)
		return false;
	plan.box = r->box;
	plan.box.tmp = *s ? s : NULL;
	plan.box.rules = plan.rules;
	plan.box.rules_n = r->rules_n;
	for (uint32_t i = 0; i < r->rules_n; i++) {
		if (!(s = next_string(at, end)) || !*s)
			return false;
		plan.rules[i] = (struct sandbox_rule){ s + 1, (unsigned char)*s };
	}
	return true;
}

/* Fill plan from message, n bytes long. */
static bool make_plan(size_t n, const int fds[SPAWNER_FDS])
{
	const struct spawner_request *r = &message.head;
	char *at = message.text;
	const char *end = (const char *)&message + n;

	if (n < offsetof(struct spawner_message, text) || r->argc < 1 ||
	    r->argc > SPAWNER_STRINGS || r->envc > SPAWNER_STRINGS - r->argc)
		return false;
	plan.head = r;
	plan.cwd = next_string(&at, end);
	plan.argv = plan.strings;
	plan.env = plan.strings + r->argc + 1;
	for (uint32_t i = 0; i < r->argc + r->envc; i++) {
		char *s = next_string(&at, end);
		if (!s)
			return false;
		plan.strings[i + (i >= r->argc)] = s;
	}
	plan.strings[r->argc] = plan.strings[r->argc + 1 + r->envc] = NULL;
	if (r->confined && !plan_box(&at, end))
		return false;
	plan.ctl = fds[0];
	memcpy(plan.stdio, fds + 1, sizeof plan.stdio);
	return true;
}

/* Keep the control socket in a slot and fork; false with the failure told. */
static bool launch(void)
{
	struct slot *slot = NULL;

	for (size_t i = 0; i < COUNT(slots) && !slot; i++)
		if (slots[i].pid == 0)
			slot = &slots[i];
	if (!slot) {
		spawner_tell(plan.ctl, SPAWNER_FULL, 0, 0);
		return false;
	}
	pid_t pid = fork();
	if (pid == 0) {
		/* Copies of these would hide the end of the spawner, or of other supervisors. */
		for (size_t i = 0; i < COUNT(slots); i++)
			if (slots[i].pid != 0)
				(void)close(slots[i].ctl);
		(void)close(daemon_sock);
		(void)close(child_sigfd);
		(void)close(life[1]);
		supervisor_main(&plan, life[0]);
	}
	if (pid < 0) {
		spawner_tell(plan.ctl, SPAWNER_FAILED, STAGE_SETUP, errno);
		return false;
	}
	*slot = (struct slot){ .pid = pid, .ctl = plan.ctl };
	if (plan.head->confined && plan.box.tmp)
		(void)snprintf(slot->tmp, sizeof slot->tmp, "%s", plan.box.tmp);
	return true;
}

void spawner_forget(void)
{
	explicit_bzero(&message, sizeof message.head + message_n);
	message_n = 0;
}

static void serve(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SPAWNER_FDS * sizeof(int))];
	} control;
	struct iovec iov = { &message, sizeof message };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	int fds[SPAWNER_FDS] = { 0 };
	size_t fds_n = 0, keep = 0;
	ssize_t n = recvmsg(daemon_sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		shut_down(); /* the daemon closed its end, or died */
	message_n = (size_t)n > sizeof message.head ? (size_t)n - sizeof message.head : 0;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		fds_n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), fds_n * sizeof(int));
	}
	/* Fewer arrive when our descriptors run out. */
	if (fds_n == SPAWNER_FDS && make_plan((size_t)n, fds))
		keep = launch() ? 1 : 0;
	else if (fds_n > 0)
		spawner_tell(fds[0], SPAWNER_FAILED, STAGE_SETUP,
			     fds_n == SPAWNER_FDS ? EINVAL : EMFILE);
	for (size_t i = keep; i < fds_n; i++)
		(void)close(fds[i]);
	spawner_forget();
}

static NORETURN void spawner_main(int sock)
{
	bool sweeping = false;

	if (!settle(sock))
		_exit(1);
	for (;;) {
		struct pollfd p[] = { { .fd = daemon_sock, .events = POLLIN },
				      { .fd = child_sigfd, .events = POLLIN } };
		int ready = poll(p, COUNT(p), sweeping ? SWEEP_MS : -1);
		if (ready < 0 && errno != EINTR)
			shut_down();
		if (sweeping || (ready > 0 && p[1].revents)) {
			(void)reap_supervisors();
			sweeping = sweep();
		}
		if (ready > 0 && p[0].revents)
			serve();
	}
}

/* ---- the daemon's side -------------------------------------------------------------------- */

/* A program may be started with 0, 1 or 2 closed; what is opened then must not land there.
 * Answers must not vanish unseen, so writing to a standard output that is closed fails. */
static int keep_stdio(struct err *e)
{
	/* inherited: these three are what a child's own are made from */
	for (int fd = 0; fd <= 2; fd++) {
		int how = fd == STDERR_FILENO ? O_WRONLY : O_RDONLY;
		int null = fcntl(fd, F_GETFD) < 0 ? null_open(how, e) : fd;
		if (null < 0)
			return null;
		(void)fcntl(null, F_SETFD, 0);
	}
	return OK;
}

int spawner_start(struct err *e)
{
	int pair[2], rc = keep_stdio(e);

	if (rc < 0)
		return rc;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_sys(e, "spawner");
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		spawner_main(pair[1]);
	}
	if (pid < 0)
		rc = err_sys(e, "spawner");
	(void)close(pair[1]);
	client.sock = pair[0];
	client.pid = pid;
	if (rc < 0)
		fd_drop(&client.sock);
	return rc;
}

int spawner_hide(struct err *e)
{
	return hide_self() == 0 ? OK : err_sys(e, "spawner_hide");
}

void spawner_stop(void)
{
	SCOPED(fd_drop) int pidfd = -1;

	if (client.sock < 0)
		return;
	fd_drop(&client.sock);
	/* It ends once all of its children have; one stuck in the kernel may take for ever. */
	pidfd = (int)syscall(SYS_pidfd_open, client.pid, 0);
	if (pidfd >= 0 && wait_fd(pidfd, POLLIN, clock_mono_ms() + STOP_MS, NULL, NULL) == OK)
		(void)waitpid(client.pid, NULL, 0);
}

int spawner_socket(void)
{
	return client.sock;
}

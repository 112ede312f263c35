/*
 * exec: run a shell command in its sandbox and say what came of it.
 *
 * Whatever the command does, the call ends: at its time limit or a cancel everything that
 * descends from it is killed, and so is what it leaves behind in the background.  Both streams
 * go into one pipe, as on a terminal.  What a command may do is decided before, by the gate and
 * by the sandbox; nothing here looks at the command itself.
 */
#include "base/path.h"
#include "config/confine.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/wait.h"
#include "text/text.h"
#include "tools/builtin.h"
#include "tools/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK 65536
#define AFTER_KILL_MS 3000
#define LOOK_MS 20 /* how often the room on the disk is looked at */
#define SHOWN 200
#define ROOM_MOST (INT64_C(1) << 30)
#define ROOM_SHARE 20 /* a twentieth of the file system */
#define SIGNAL_BASE 128 /* as shells say it */

struct running {
	struct proc *proc;
	int out; /* our end of the pipe; -1 at its end */
	struct output said;
	const char *cwd;
	struct stat cwd_is;
	int cwd_held; /* so that no other gets its number; -1 none */
	struct room {
		const char *place;
		int64_t least; /* kept free on its file system; 0: not looked at */
	} rooms[2]; /* of the working and the private directory */
	const char *killed; /* why, NULL it was not */
	int64_t give_up_ms; /* when it is not waited for any more; 0 not yet */
	char chunk[CHUNK];
};

/* ---- what is run ------------------------------------------------------------------------ */

static const char *const *shell_of(const struct tool_env *env, struct arena *a,
				   const char *command)
{
	const struct exec_cfg *cfg = env->opt->exec;
	bool bash = path_exists("/bin/bash");
	/* What a login reads lies where the strict sandbox does not let it. */
	bool plain = env->opt->box && env->opt->box->tmp &&
		     !config_sandbox_granted(&cfg->sandbox, S("profile"));
	const char **v = NEWN(a, const char *, cfg->shell.n + 5);
	size_t n = 0;

	for (; n < cfg->shell.n; n++)
		v[n] = arena_cstr(a, cfg->shell.v[n]);
	if (n == 0) {
		v[n++] = bash ? "/bin/bash" : "/bin/sh";
		if (bash && plain)
			v[n++] = "--noprofile";
		v[n++] = bash ? "-lc" : "-c";
	}
	v[n] = command;
	return v;
}

/* The directory the command starts in: that of the configuration, or one below it. */
static int find_cwd(struct running *r, const struct tool_env *env, const struct json *args,
		    struct arena *a, struct err *e)
{
	const struct tools_opt *opt = env->opt;
	const struct beneath b = { .roots = &opt->exec->cwd, .n = 1, .home = opt->home };
	str text = json_str(args, "cwd"), abs;
	int rc;

	r->cwd = arena_cstr(a, opt->exec->cwd);
	if (!str_trim(text).n)
		return OK;
	if ((rc = beneath_look(&b, a, text, &r->cwd_held, &r->cwd_is, e)) < 0 ||
	    (rc = path_absolute(&abs, a, text, opt->home, opt->exec->cwd, e)) < 0)
		return rc;
	if (!S_ISDIR(r->cwd_is.st_mode))
		return err_set(e, E_INVAL, "not a directory");
	r->cwd = abs.p;
	return OK;
}

static int start(const struct tool_env *env, struct running *r, const char *command,
		 struct arena *a, const struct cancel *c, struct err *e)
{
	SCOPED(fd_drop) int theirs = -1;
	const char *const *vars = env->opt->child_env;
	const struct sandbox *box = config_sandbox_child(a, env->opt->box, &vars);
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) != 0)
		return err_sys(e, "pipe");
	r->out = pair[0];
	theirs = pair[1];
	if (fcntl(r->out, F_SETFL, O_NONBLOCK) != 0)
		return err_sys(e, "pipe");
	return proc_start(&r->proc,
			  &(struct proc_opt){ .argv = shell_of(env, a, command),
					      .env = vars,
					      .cwd = r->cwd,
					      .cwd_is = r->cwd_held >= 0 ? &r->cwd_is : NULL,
					      .in = PROC_NULL,
					      .out = PROC_FD,
					      .err = PROC_FD,
					      .fds = { -1, theirs, theirs },
					      .box = box },
			  c, e);
}

/* ---- while it runs ---------------------------------------------------------------------- */

/* Not more than one read at a time, so that the clock is looked at between them. */
static void take(struct running *r)
{
	ssize_t n = read(r->out, r->chunk, sizeof r->chunk);

	if (n > 0)
		output_add(&r->said, (str){ r->chunk, (size_t)n });
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		fd_drop(&r->out);
}

static void end_it(struct running *r, const char *why)
{
	r->killed = why;
	r->give_up_ms = clock_mono_ms() + AFTER_KILL_MS;
	proc_signal(r->proc, SIGKILL);
}

static void look_at_rooms(struct running *r, const struct sandbox *box)
{
	int64_t left, size;

	r->rooms[0].place = r->cwd;
	r->rooms[1].place = box->tmp ? box->tmp : r->cwd;
	for (size_t i = 0; i < COUNT(r->rooms); i++) {
		if (!disk_room(r->rooms[i].place, &left, &size))
			continue;
		int64_t least = size / ROOM_SHARE < ROOM_MOST ? size / ROOM_SHARE : ROOM_MOST;
		r->rooms[i].least = left > least ? least : 0; /* it was full before */
	}
}

static bool over_full(const struct running *r)
{
	int64_t left, size;

	for (size_t i = 0; i < COUNT(r->rooms); i++)
		if (r->rooms[i].least > 0 && disk_room(r->rooms[i].place, &left, &size) &&
		    left < r->rooms[i].least)
			return true;
	return false;
}

/* Until the command and all of its processes are gone.  limit: its own time. */
static int follow(struct running *r, struct cancel *limit, const struct cancel *c,
		  struct err *e)
{
	for (;;) {
		struct pollfd p[] = { { .fd = r->out, .events = POLLIN },
				      { .fd = proc_exit_fd(r->proc), .events = POLLIN } };
		int64_t now = clock_mono_ms(), until = r->give_up_ms;

		if (!until && (r->rooms[0].least || r->rooms[1].least))
			until = now + LOOK_MS;
		int rc = wait_fds(p, COUNT(p), until, r->killed ? c : limit, e);
		if (cancel_reason(c) != CANCEL_NONE)
			return cancel_check(c, e);
		if (rc < 0 && rc != E_TIMEOUT)
			return rc;
		/* Stuck in the kernel, or somebody else writes to the pipe for ever. */
		if (r->give_up_ms && clock_mono_ms() >= r->give_up_ms)
			return OK;
		if (!r->killed && cancel_reason(limit) != CANCEL_NONE)
			end_it(r, "killed after exceeding tools.exec.timeout");
		else if (!r->killed && over_full(r))
			end_it(r, "killed because it filled the disk");
		if (rc < 0)
			continue;
		if (p[1].revents && !r->give_up_ms)
			r->give_up_ms = clock_mono_ms() + AFTER_KILL_MS;
		if (p[0].revents)
			take(r);
		else if (p[1].revents)
			return OK; /* nothing is left that could write */
	}
}

/* ---- what is said of it ----------------------------------------------------------------- */

static void report(struct running *r, const struct exec_cfg *cfg, int status, int64_t ms,
		   struct arena *a, struct tool_result *out)
{
	struct buf b = buf_in(a, (size_t)cfg->max_output_bytes + 1024);
	const char *why = r->killed;

	out->has_exit = true;
	out->exit_code = r->killed || status == PROC_LOST ? -1
			 : WIFSIGNALED(status)            ? SIGNAL_BASE + WTERMSIG(status)
							  : WEXITSTATUS(status);
	if (!why && status == PROC_LOST)
		why = "lost: its end was not seen";
	if (!why && WIFSIGNALED(status))
		why = arena_fmt(a, "killed by signal %d", WTERMSIG(status)).p;
	if (!why && proc_left_some(r->proc))
		why = "processes it left in the background were ended with it";
	out->failed = r->killed || status == PROC_LOST;
	str said = output_text(&r->said, a, &out->truncated);
	buf_fmt(&b, "exit_code: %lld\nduration_ms: %lld\n", (long long)out->exit_code,
		(long long)ms);
	if (why)
		buf_fmt(&b, "status: %s\n", why);
	if (out->truncated)
		buf_fmt(&b, "[output truncated to %lld bytes]\n",
			(long long)cfg->max_output_bytes);
	buf_add(&b, said);
	out->text = buf_str(&b);
}

static int run_it(const struct tool_env *env, struct running *r, const char *command,
		  struct arena *a, struct tool_result *out, const struct cancel *c,
		  struct err *e)
{
	SCOPED(cancel_done) struct cancel limit = { .fd = -1 };
	const struct exec_cfg *cfg = env->opt->exec;
	int64_t began = clock_mono_ms();
	struct err why = { 0 };
	int status = PROC_LOST;

	if (env->opt->box && env->opt->box->max_file_bytes)
		look_at_rooms(r, env->opt->box);
	int rc = start(env, r, command, a, c, &why);
	if (rc == E_CANCELED || rc == E_TIMEOUT)
		return err_set(e, rc, "%s", why.msg);
	if (rc < 0)
		return tool_fail(out, a, "failed to run: %s", why.msg);
	if ((rc = cancel_init(&limit, c, cfg->timeout_ms, e)) < 0 ||
	    (rc = follow(r, &limit, c, e)) < 0)
		return rc;
	(void)!proc_wait(r->proc, &status, clock_mono_ms() + 1, NULL, NULL);
	report(r, cfg, status, clock_mono_ms() - began, a, out);
	return OK;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	const struct exec_cfg *cfg = env->opt->exec;
	const struct sandbox *box = env->opt->box;
	str command = str_trim(json_str(args, "command"));
	str missing = S("");
	struct err why = { 0 };

	int rc = cancel_check(c, e);
	if (rc < 0)
		return rc;
	if (command.n == 0)
		return tool_fail(out, a, "command must not be empty");
	if (memchr(command.p, '\0', command.n))
		return tool_fail(out, a, "command has a NUL in it");
	if (box && cfg->sandbox.require)
		missing = sandbox_missing(a, box, sandbox_kernel());
	if (missing.n)
		return tool_fail(out, a,
				 "failed to run: this kernel cannot confine it, and "
				 "tools.exec.sandbox.require is set: %.*s",
				 STRF(text_line(a, missing, 300)));
	struct running *r = NEW(a, struct running);
	r->out = r->cwd_held = -1;
	/* The workspace may not be there yet; what else is wrong with it will be said. */
	(void)!dir_make(arena_cstr(a, cfg->cwd), 0755, NULL);
	if (find_cwd(r, env, args, a, &why) < 0) {
		fd_drop(&r->cwd_held);
		return tool_fail(out, a, "cwd %.*s: %s",
				 STRF(text_line(a, json_str(args, "cwd"), SHOWN)), why.msg);
	}
	output_init(&r->said, a, (size_t)cfg->max_output_bytes);
	rc = run_it(env, r, arena_cstr(a, command), a, out, c, e);
	proc_close(r->proc);
	fd_drop(&r->out);
	fd_drop(&r->cwd_held);
	return rc;
}

static bool enabled(const struct tools_opt *opt)
{
	return opt->exec && opt->exec->enabled && opt->exec->cwd.n && opt->child_env;
}

const struct tool tool_exec = {
	.name = "exec",
	.title = "Run a command",
	.description = "Run a shell command and return its exit code and its output (stdout "
		       "and stderr "
		       "together; of a long one the beginning and the end). There is no "
		       "terminal and no "
		       "input. Processes left in the background are ended with the command. It "
		       "may run "
		       "in a sandbox: a permission error can come from there.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"command\":{\"type\":\"string\",\"description\":\"The command line\"},"
		  "\"cwd\":{\"type\":\"string\",\"description\":\"Directory to start in, below "
		  "the working directory\"}},"
		  "\"required\":[\"command\"],\"additionalProperties\":false}",
	.safe = false,
	.own_time = true,
	.shell = true,
	.enabled = enabled,
	.run = run,
};

/*
 * gantry service: the daemon as a service of the user's own systemd.  The unit is a file that this
 * command wrote and marked; a file without the mark is somebody's own and is never touched.
 * systemctl does the rest, and says itself what it does not like.
 */
#include "cli/cli.h"

#include "config/find.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/wait.h"
#include "text/json.h"

#include <stdio.h>
#include <unistd.h>

#define UNIT "gantry.service"
#define MARK "# Written by `gantry service install`, which also replaces it.\n"
#define UNIT_MAX (64 << 10)
#define SYSTEMCTL_MS 90000
#define OUT_MAX 65536

struct service {
	struct cli *cli;
	str folder, unit; /* ~/.config/systemd/user, and the file in it */
};

static int places(struct service *s)
{
	str config = config_xdg(s->cli->a, &s->cli->env, "XDG_CONFIG_HOME", ".config");

	if (!config.n)
		return cli_fail("service: HOME is not set, so there is no place for the unit");
	s->folder = arena_fmt(s->cli->a, "%.*s/systemd/user", STRF(config));
	s->unit = arena_fmt(s->cli->a, "%.*s/" UNIT, STRF(s->folder));
	return EXIT_OK;
}

static void collect(struct proc *p, struct buf *out, int64_t until_ms)
{
	char bytes[4096];

	while (wait_fd(proc_fd(p, 1), POLLIN, until_ms, NULL, NULL) == OK) {
		ssize_t n = read(proc_fd(p, 1), bytes, sizeof bytes);
		if (n <= 0)
			return;
		buf_add(out, (str){ bytes, (size_t)n });
	}
}

/* systemctl --user with these words; what it says on stderr is for the user.  Its exit code, or
 * < 0.  out may be NULL. */
static int systemctl(struct service *s, const char *const *words, bool quiet, str *out,
		     struct err *e)
{
	SCOPED(proc_drop) struct proc *p = NULL;
	const char *argv[12] = { "systemctl", "--user" };
	size_t n = 2;
	int status = 0, rc;

	while (*words && n + 1 < COUNT(argv))
		argv[n++] = *words++;
	struct proc_opt opt = { .argv = argv,
				.env = s->cli->env.v,
				.out = PROC_PIPE,
				.err = quiet ? PROC_NULL : PROC_FD,
				.fds = { -1, -1, STDERR_FILENO } };
	int64_t until_ms = clock_mono_ms() + SYSTEMCTL_MS;
	struct buf b = buf_in(s->cli->a, OUT_MAX);
	if ((rc = proc_start(&p, &opt, NULL, e)) < 0)
		return rc;
	collect(p, &b, until_ms);
	if ((rc = proc_wait(p, &status, until_ms, NULL, e)) < 0)
		return rc;
	if (out)
		*out = buf_str(&b);
	return status == 0 ? 0 : 1;
}

/* Is there a systemd that this user can talk to?  Said before anything is written. */
static int reach(struct service *s)
{
	struct err e = { 0 };
	int rc = systemctl(s, (const char *const[]){ "show", "--property=Version", NULL }, true,
			   NULL, &e);

	if (rc == E_NOENT)
		return cli_fail("service: systemctl is not there, so no systemd: let your own "
				"supervisor run `gantry run`");
	if (rc < 0)
		return cli_fail("service: systemctl: %s", e.msg);
	if (rc > 0)
		return cli_fail(
			"service: the systemd of this user cannot be reached; log in as "
			"that user (not by su or sudo), or run `loginctl enable-linger`");
	return EXIT_OK;
}

static int control(struct service *s, const char *const *words)
{
	struct err e = { 0 };
	int rc = systemctl(s, words, false, NULL, &e);

	if (rc < 0)
		return cli_fail("service: systemctl %s: %s", words[0], e.msg);
	return rc ? cli_fail("service: systemctl --user %s failed; its words are above",
			     words[0])
		  : EXIT_OK;
}

/* A word of a command line or of Environment= in a unit. */
static void add_word(struct buf *b, str word, bool command)
{
	buf_addc(b, '"');
	for (size_t i = 0; i < word.n; i++) {
		char c = word.p[i];
		if (c == '"' || c == '\\')
			buf_addc(b, '\\');
		if (c == '%' || (c == '$' && command))
			buf_addc(b, c);
		buf_addc(b, c);
	}
	buf_addc(b, '"');
}

static bool on_one_line(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 127)
			return false;
	return true;
}

static str absolute(struct cli *cli, str path)
{
	return !path.n || path.p[0] == '/'
		       ? path
		       : arena_fmt(cli->a, "%.*s/%.*s", STRF(path_cwd(cli->a)), STRF(path));
}

/* The program as it was started, also after an upgrade has replaced the file. */
static str program(struct cli *cli)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	return n > 0 ? arena_dup(cli->a, (str){ path, (size_t)n }) : S("");
}

static str unit_text(struct service *s, str gantry, str config)
{
	struct buf b = buf_in(s->cli->a, UNIT_MAX);
	str path = env_get(&s->cli->env, "PATH");

	buf_add(&b, S(MARK "[Unit]\n"
			   "Description=gantry, a personal AI agent\n"
			   "StartLimitIntervalSec=300\n"
			   "StartLimitBurst=5\n\n"
			   "[Service]\n"
			   "Type=notify\n"
			   "NotifyAccess=main\n"
			   "ExecStart="));
	add_word(&b, gantry, true);
	if (config.n) {
		buf_add(&b, S(" --config "));
		add_word(&b, config, true);
	}
	buf_add(&b, S(" run\n"
		      "ExecReload=/bin/kill -HUP $MAINPID\n"
		      "# Keys and tokens, one KEY=VALUE a line; keep it 0600.\n"
		      "EnvironmentFile=-%E/gantry/gantry.env\n"));
	if (path.n && on_one_line(path)) {
		buf_add(&b, S("# Where tool servers are found: as in the shell that installed "
			      "this.\n"
			      "Environment="));
		add_word(&b, arena_fmt(s->cli->a, "PATH=%.*s", STRF(path)), false);
		buf_add(&b, S("\n"));
	}
	buf_add(&b, S("WatchdogSec=120\n"
		      "WatchdogSignal=SIGKILL\n"
		      "Restart=on-failure\n"
		      "RestartSec=3\n"
		      "KillMode=mixed\n"
		      "TimeoutStopSec=40\n"
		      "UMask=0077\n"
		      "NoNewPrivileges=yes\n"
		      "LockPersonality=yes\n"
		      "RestrictRealtime=yes\n"
		      "SystemCallArchitectures=native\n\n"
		      "[Install]\n"
		      "WantedBy=default.target\n"));
	return buf_str(&b);
}

/* The unit as it is; E_NOENT none, E_DENIED not ours. */
static int ours(struct service *s, str *text, struct err *e)
{
	int rc = file_read(text, s->cli->a, s->unit.p, UNIT_MAX, e);

	if (rc < 0)
		return rc;
	return str_starts(*text, S(MARK)) ? OK
					  : err_set(e, E_DENIED,
						    "%s was not written by gantry service "
						    "install; move it away first",
						    s->unit.p);
}

/* The file that the service reads, as an absolute path; "" in env mode. */
static str config_file(struct cli *cli)
{
	struct config_place place;

	config_find(&place, cli->a, cli->config_path, &cli->env);
	return absolute(cli, place.path);
}

static int write_unit(struct service *s)
{
	str gantry = program(s->cli), config = config_file(s->cli), old;
	struct err e = { 0 };
	int rc = ours(s, &old, &e);

	if (rc < 0 && rc != E_NOENT)
		return cli_fail("service: %s", e.msg);
	if (!gantry.n || !on_one_line(gantry) || !on_one_line(config))
		return cli_fail(
			"service: the path of the program or of %s cannot stand in a unit",
			config.n ? config.p : "its configuration");
	if (config.n && !path_exists(config.p))
		return cli_fail("service: %s: there is no such file", config.p);
	if (dir_make(s->folder.p, 0755, &e) < 0 ||
	    file_write_atomic(s->unit.p, unit_text(s, gantry, config), 0644, &e) < 0)
		return cli_fail("service: %s", e.msg);
	cli_print(s->cli, arena_fmt(s->cli->a, "wrote %.*s\n", STRF(s->unit)));
	return EXIT_OK;
}

static int install(struct service *s)
{
	int code = reach(s);

	if (code != EXIT_OK || (code = write_unit(s)) != EXIT_OK ||
	    (code = control(s, (const char *const[]){ "daemon-reload", NULL })) != EXIT_OK ||
	    (code = control(s, (const char *const[]){ "enable", UNIT, NULL })) != EXIT_OK ||
	    (code = control(s, (const char *const[]){ "restart", UNIT, NULL })) != EXIT_OK)
		return code;
	cli_print(s->cli,
		  S("gantry runs, and starts with your next login; without one: loginctl "
		    "enable-linger\nits log: journalctl --user -u gantry -f\n"));
	return EXIT_OK;
}

static int uninstall(struct service *s)
{
	struct err e = { 0 };
	str text;
	int rc = ours(s, &text, &e), code;

	if (rc == E_NOENT) {
		cli_print(s->cli, S("there is no unit to remove\n"));
		return EXIT_OK;
	}
	if (rc < 0)
		return cli_fail("service: %s", e.msg);
	if ((code = reach(s)) != EXIT_OK ||
	    (code = control(s, (const char *const[]){ "disable", "--now", UNIT, NULL })) !=
		    EXIT_OK)
		return code;
	if (unlink(s->unit.p) != 0)
		return cli_fail("service: %s cannot be removed", s->unit.p);
	cli_print(s->cli, arena_fmt(s->cli->a, "removed %.*s\n", STRF(s->unit)));
	return control(s, (const char *const[]){ "daemon-reload", NULL });
}

/* The value of a line "NAME=value". */
static str property(str lines, str name)
{
	while (lines.n) {
		str line = str_cut(&lines, '\n');
		if (str_starts(line, name) && line.n > name.n && line.p[name.n] == '=')
			return str_sub(line, name.n + 1, line.n);
	}
	return S("");
}

static int status(struct service *s, bool json)
{
	static const char *const words[] = {
		"show", UNIT, "--property=ActiveState,SubState,MainPID,UnitFileState,NRestarts",
		NULL
	};
	struct err e = { 0 };
	str lines;
	int code = reach(s), rc;

	if (code != EXIT_OK)
		return code;
	if ((rc = systemctl(s, words, false, &lines, &e)) != 0)
		return cli_fail("service: systemctl show: %s", rc < 0 ? e.msg : "it failed");
	str active = property(lines, S("ActiveState")), sub = property(lines, S("SubState"));
	str file = property(lines, S("UnitFileState")), pid = property(lines, S("MainPID"));
	str restarts = property(lines, S("NRestarts"));
	bool up = str_eq(active, S("active"));
	if (json) {
		struct buf b = buf_in(s->cli->a, OUT_MAX);
		int64_t n = 0;
		buf_addc(&b, '{');
		buf_json_member(&b, "active", active);
		buf_json_member(&b, "sub", sub);
		buf_json_member(&b, "unit_file", file.n ? file : S("absent"));
		buf_json_member_i64(&b, "pid", str_i64(pid, &n) ? n : 0);
		buf_json_member_i64(&b, "restarts", str_i64(restarts, &n) ? n : 0);
		buf_add(&b, S("}\n"));
		(void)fwrite(b.p, 1, b.n, stdout);
	} else if (!file.n) {
		cli_print(s->cli, S("not installed; gantry service install does it\n"));
	} else {
		cli_print(s->cli, arena_fmt(s->cli->a, "%.*s (%.*s), %.*s, pid %.*s\n",
					    STRF(active), STRF(sub), STRF(file), STRF(pid)));
	}
	return up ? EXIT_OK : EXIT_FAILED;
}

static int run(struct cli *cli)
{
	struct service s = { .cli = cli };
	bool json = cli_flag(cli, "--json");
	int code = cli_rest(cli, 1, 1);

	if (code != EXIT_OK)
		return code;
	str what = str_of(cli->argv[0]);
	if (!str_is(what, "install") && !str_is(what, "uninstall") && !str_is(what, "status"))
		return cli_misuse(cli, "%s: say install, uninstall or status", cli->argv[0]);
	if (json && !str_is(what, "status"))
		return cli_misuse(cli, "--json is for status");
	if ((code = places(&s)) != EXIT_OK)
		return code;
	if (str_is(what, "status"))
		return status(&s, json);
	return str_is(what, "install") ? install(&s) : uninstall(&s);
}

const struct cmd cmd_service = {
	.name = "service",
	.summary = "run the daemon as a service of your own systemd",
	.usage =
		"usage: gantry service install | uninstall | status [--json]\n"
		"\n"
		"install writes ~/.config/systemd/user/gantry.service for this program and "
		"the\n"
		"configuration it finds now (or --config FILE), enables and starts it.  In env "
		"mode\n"
		"the settings stand in ~/.config/gantry/gantry.env, one KEY=VALUE a line, and "
		"so do\n"
		"the keys in file mode.  status is 0 when the service is active, else 1.\n"
		"\n"
		"For a service of the whole system there is the unit of the Debian package.\n"
		"\n"
		"example:\n"
		"  gantry --config ~/gantry.yaml service install\n",
	.run = run,
};

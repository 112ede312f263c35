/*
 * gantry auth: sign in to a tool server.  To one behind a URL: nothing listens and no browser is
 * opened; the link is printed, and what the browser was sent to is pasted back, unseen and unkept.  To
 * one that is a program: the command that its entry names for that is run at this terminal.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "cli/edit.h"
#include "mcp/auth.h"
#include "mcp/child.h"
#include "os/path.h"
#include "os/signals.h"
#include "os/tty.h"
#include "os/wait.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <unistd.h>

#define OUT_MAX ((size_t)1 << 20)
#define PASTE_MAX 16384

struct auth_cmd {
	struct cli *cli;
	struct config *cfg;
	struct mcp_manifest manifest;
	bool device, remove, status, json;
	const char *const *more; /* what stood behind "--" */
	size_t more_n;
};

static const struct mcp_server_cfg *find(const struct auth_cmd *x, const char *name)
{
	for (size_t i = 0; i < x->manifest.n; i++)
		if (str_is(x->manifest.servers[i].name, name))
			return &x->manifest.servers[i];
	return NULL;
}

static int make(const struct auth_cmd *x, const struct mcp_server_cfg *s, struct mcp_auth **out,
		struct err *e)
{
	return mcp_auth_new(out, &(struct mcp_auth_opt){ s, x->cfg, &x->cli->env }, e);
}

static const char *state_of(const struct mcp_auth_status *st)
{
	if (st->token)
		return "signed in";
	return st->pending ? "waiting for the code" : "not signed in";
}

static void say_status(struct auth_cmd *x, const struct mcp_server_cfg *s,
		       const struct mcp_auth_status *st, struct buf *b)
{
	struct arena *a = x->cli->a;

	if (x->json) {
		buf_add(b, b->n > 1 ? S(",\n{") : S("\n{"));
		buf_json_member(b, "server", s->name);
		buf_json_member(b, "url", s->http.url);
		buf_json_member(b, "kind", str_of(st->kind));
		buf_json_member(b, "state", str_of(state_of(st)));
		buf_json_member(b, "issuer", st->issuer);
		buf_json_member(b, "scope", st->scope);
		if (st->until_ms)
			buf_json_member(b, "until", date_rfc3339(a, st->until_ms));
		buf_json_key(b, "renewable");
		buf_add(b, st->renewable ? S("true}") : S("false}"));
		return;
	}
	buf_fmt(b, "%-20.*s %-18s %-20s", STRF(s->name), st->kind, state_of(st));
	if (st->issuer.n)
		buf_fmt(b, " at %.*s", STRF(text_line(a, st->issuer, 100)));
	if (st->scope.n)
		buf_fmt(b, ", for %.*s", STRF(text_line(a, st->scope, 100)));
	if (st->renewable)
		buf_add(b, S(", renewed by itself"));
	else if (st->until_ms)
		buf_fmt(b, ", until %.*s", STRF(date_rfc3339(a, st->until_ms)));
	buf_addc(b, '\n');
}

/* One server, or with NULL all of them that are behind a URL. */
static int status(struct auth_cmd *x, const struct mcp_server_cfg *one)
{
	struct buf b = buf_in(x->cli->a, OUT_MAX);
	struct err e = { 0 };

	if (x->json)
		buf_addc(&b, '[');
	for (size_t i = 0; i < x->manifest.n; i++) {
		const struct mcp_server_cfg *s = &x->manifest.servers[i];
		struct mcp_auth_status st;
		struct mcp_auth *au;

		if (!s->http.url.n || (one && s != one))
			continue;
		if (make(x, s, &au, &e) < 0)
			return cli_fail("%s", e.msg);
		mcp_auth_status(au, x->cli->a, &st);
		say_status(x, s, &st, &b);
		mcp_auth_free(au);
	}
	if (x->json)
		buf_add(&b, S("\n]\n"));
	else if (!b.n)
		buf_add(&b, S("no server of the manifest is behind a URL\n"));
	return cli_answer(x->cli, &b, x->json);
}

/* The address, from the person: not shown on a terminal, and kept nowhere. */
static int take_paste(struct auth_cmd *x, str *paste, struct err *e)
{
	struct edit_opt opt = { .in = 0,
				.out = 2,
				.dumb = str_is(env_get(&x->cli->env, "TERM"), "dumb"),
				.max = PASTE_MAX };
	struct edit *ed;
	int rc = edit_open(&ed, &opt, e);

	if (rc < 0)
		return rc;
	rc = edit_secret(ed, x->cli->terminal ? "address or code (not shown): " : "", x->cli->a,
			 paste, NULL, e);
	edit_close(ed);
	if (rc == E_NOENT)
		return err_set(e, rc, "nothing was pasted");
	return rc;
}

static int by_browser(struct auth_cmd *x, struct mcp_auth *au, struct err *e)
{
	struct mcp_auth_step step;
	str paste;
	int rc = mcp_auth_begin(au, false, x->cli->a, &step, NULL, e);

	if (rc < 0)
		return rc;
	cli_print(x->cli,
		  arena_fmt(x->cli->a,
			    "Open this in a browser and sign in:\n\n%.*s\n\n"
			    "It ends at an address that begins with %.*s and that the browser "
			    "cannot open. Paste that address here, whole.\n",
			    STRF(step.link), STRF(step.redirect)));
	(void)fflush(stdout);
	if ((rc = take_paste(x, &paste, e)) < 0)
		return rc;
	return mcp_auth_finish(au, paste, NULL, e);
}

static int by_device(struct auth_cmd *x, struct mcp_auth *au, struct err *e)
{
	struct mcp_auth_step step;
	int64_t pause = 0;
	int rc = mcp_auth_begin(au, true, x->cli->a, &step, NULL, e);

	if (rc < 0)
		return rc;
	cli_print(x->cli,
		  arena_fmt(x->cli->a, "Open %.*s on any device, and %s the code %.*s\n",
			    STRF(step.link), step.whole ? "compare" : "type", STRF(step.code)));
	(void)fflush(stdout);
	while ((rc = mcp_auth_poll(au, &pause, NULL, e)) == E_BUSY)
		if ((rc = wait_ms(pause, NULL, e)) < 0)
			return rc;
	return rc;
}

static int one(struct auth_cmd *x, const struct mcp_server_cfg *s)
{
	struct mcp_auth *au;
	struct err e = { 0 };
	int rc = make(x, s, &au, &e);

	if (rc < 0)
		return cli_fail("%s", e.msg);
	rc = x->remove   ? mcp_auth_forget(au, NULL, &e)
	     : x->device ? by_device(x, au, &e)
			 : by_browser(x, au, &e);
	mcp_auth_free(au);
	if (rc < 0)
		return cli_fail("%s", e.msg);
	cli_print(x->cli, arena_fmt(x->cli->a,
				    x->remove ? "forgot how to sign in to %.*s\n"
					      : "signed in to %.*s; a running daemon uses it "
						"within half a minute\n",
				    STRF(s->name)));
	return EXIT_OK;
}

/* Its end, while signals are passed on: the child is in a session of its own. */
static int await_child(struct proc *p, int signals, int *status, struct err *e)
{
	struct pollfd fds[] = { { .fd = proc_exit_fd(p), .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };
	int rc, signo;

	while ((rc = wait_fds(fds, COUNT(fds), 0, NULL, e)) == OK && !fds[0].revents)
		while ((signo = signals_next(signals)))
			proc_signal(p, signo);
	return rc < 0 ? rc : proc_wait(p, status, 0, NULL, e);
}

/* Whatever it made of the terminal, that is as before afterwards. */
static int run_child(struct auth_cmd *x, const struct mcp_server_cfg *s, int *status,
		     struct err *e)
{
	SCOPED(proc_drop) struct proc *p = NULL;
	struct mcp_child_sign_in opt = { .server = s,
					 .config = x->cfg,
					 .vars = &x->cli->env,
					 .cwd = arena_cstr(x->cli->a, path_cwd(x->cli->a)),
					 .more = x->more,
					 .more_n = x->more_n };
	struct tty_mode mode;
	bool terminal = tty_keep(STDIN_FILENO, &mode);
	int signals, rc = signals_open(&signals, e);

	if (rc < 0)
		return rc;
	if ((rc = mcp_child_sign_in(&p, &opt, e)) == OK)
		rc = await_child(p, signals, status, e);
	if (terminal)
		tty_restore(STDIN_FILENO, &mode);
	(void)close(signals);
	return rc;
}

static int by_command(struct auth_cmd *x, const struct mcp_server_cfg *s)
{
	struct err e = { 0 };
	int status = 0;

	if (!s->auth_command.n && !s->auth_args.n)
		return cli_fail(
			"server %.*s is run by a command, not behind a URL: it signs in by "
			"itself, with what its env and args say, or with an auth_command in "
			"its entry",
			STRF(s->name));
	if (x->device || x->remove || x->status)
		return cli_fail("server %.*s is signed in to by its own command: --device, "
				"--remove and --status are for servers behind a URL",
				STRF(s->name));
	if (run_child(x, s, &status, &e) < 0)
		return cli_fail("the command that signs in to %.*s: %s", STRF(s->name), e.msg);
	if (status != 0)
		return cli_fail("the command that signs in to %.*s ended with %.*s",
				STRF(s->name), STRF(proc_status_text(x->cli->a, status)));
	cli_print(x->cli, arena_fmt(x->cli->a,
				    "the command that signs in to %.*s ended well (exit 0)\n",
				    STRF(s->name)));
	return EXIT_OK;
}

static int with_manifest(struct auth_cmd *x)
{
	const struct mcp_cfg *m = &x->cfg->mcp;
	const struct mcp_server_cfg *s = NULL;
	const char *name = x->cli->argc ? x->cli->argv[0] : NULL;
	struct err e = { 0 };

	if (m->manifest.n && mcp_manifest_load(&x->manifest, x->cli->a, m->manifest.p,
					       m->manifest_optional, &e) < 0)
		return cli_fail("%s", e.msg);
	if (name && !(s = find(x, name)))
		return cli_fail("the manifest %.*s has no server \"%s\"",
				STRF(m->manifest.n ? m->manifest : S("(none)")), name);
	if (s && !s->http.url.n)
		return by_command(x, s);
	if (x->more_n)
		return cli_fail("server %s is behind a URL: nothing may stand behind its name",
				name);
	return x->status ? status(x, s) : one(x, s);
}

/* What follows "--" behind the server's name is for its command. */
static void take_more(struct auth_cmd *x)
{
	struct cli *cli = x->cli;

	for (int i = 1; i < cli->argc; i++)
		if (str_is(str_of(cli->argv[i]), "--")) {
			x->more = (const char *const *)cli->argv + i + 1;
			x->more_n = (size_t)(cli->argc - i - 1);
			cli->argc = i;
		}
}

static int run(struct cli *cli)
{
	struct auth_cmd x = { .cli = cli,
			      .device = cli_flag(cli, "--device"),
			      .remove = cli_flag(cli, "--remove"),
			      .status = cli_flag(cli, "--status"),
			      .json = cli_flag(cli, "--json") };
	int code;

	take_more(&x);
	if ((code = cli_rest(cli, 0, 1)) != EXIT_OK)
		return code;
	if (x.device + x.remove + x.status > 1)
		return cli_misuse(cli, "--device, --remove and --status exclude each other");
	if (x.json && !x.status)
		return cli_misuse(cli, "--json goes with --status");
	if (!cli->argc && !x.status)
		return cli_misuse(cli, "say which server, or --status for all");
	code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &x.cfg);
	if (code != EXIT_OK)
		return code;
	code = with_manifest(&x);
	config_free(x.cfg);
	return code;
}

const struct cmd cmd_auth = {
	.name = "auth",
	.summary = "sign in to a tool server, or out again",
	.usage =
		"usage: gantry auth SERVER [--device]\n"
		"       gantry auth SERVER --remove\n"
		"       gantry auth SERVER [-- ARG...]\n"
		"       gantry auth [SERVER] --status [--json]\n"
		"\n"
		"Prints a link.  Open it in any browser, sign in, and paste the address that\n"
		"it ends at: nothing listens there, so the browser shows an error, but the\n"
		"address holds the code.  It is not shown, and kept nowhere.  --device shows "
		"a\n"
		"code to type on another device instead, where the server offers that.\n"
		"The token is kept in a file of its own in the data directory, mode 0600,\n"
		"sent to this server alone, and renewed by itself.  --remove forgets it.\n"
		"\n"
		"Of a server that is a program, the auth_command of its entry in the manifest\n"
		"(else its command) is run at this terminal with its auth_args and ARG...,\n"
		"with the environment and the sandbox of the server; what it keeps is its own\n"
		"matter.  The exit code is 1 when that command failed.\n"
		"\n"
		"example:\n"
		"  gantry auth linear && gantry auth --status\n",
	.run = run,
};

/*
 * gantry chat: a conversation in the terminal.
 */
#include "cli/cli.h"

#include "agent/slash.h"
#include "base/version.h"
#include "chan/lines.h"
#include "chan/terminal.h"
#include "cli/edit.h"
#include "cli/face.h"
#include "cli/own.h"
#include "cli/tidy.h"
#include "os/file.h"
#include "os/signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIDY_MS 10000 /* how long leaving may take for it */

struct chat {
	struct cli *cli;
	const struct config *cfg;
	struct engine g;
	struct own own;
	struct tidy tidy;
	struct face face;
	struct edit *edit;
	struct approver *approver;
};

static void on_tick(void *arg)
{
	face_tick(&((struct chat *)arg)->face);
}

static void on_resize(void *arg)
{
	edit_resized(((struct chat *)arg)->edit);
}

/* A control word when no turn runs here: /new still resets, /stop finds nothing. */
static int control(struct chat *c, enum control what, struct arena *a, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct control_effect effect = { 0 };
	int rc;

	if ((rc = store_begin(&tx, c->g.store, &c->own.leave, e)) < 0 ||
	    (rc = store_control(&tx, what, S(OWN_CHANNEL), c->own.address, (str){ 0 }, a,
				&effect, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	face_say(&c->face, slash_control_reply(a, what, &effect, false));
	return OK;
}

/* Is it a command?  Ctrl-C ends one that takes time, and the answer is left out. */
static int command(struct chat *c, str line, struct arena *a, bool *taken, struct err *e)
{
	struct cancel token;
	str reply;
	int rc = own_begin(&c->own, &token, e);

	if (rc < 0)
		return rc;
	*taken = slash_command(c->g.agent, S(OWN_CHANNEL), c->own.address, S("local"), line, a,
			       &reply, &token);
	rc = cancel_reason(&token) == CANCEL_USER ? err_set(e, E_CANCELED, "stopped") : OK;
	own_end(&c->own, &token);
	if (*taken && rc == OK)
		face_say(&c->face, reply);
	return rc;
}

/* One line of the person's. */
static int take(struct chat *c, str line, struct arena *a, struct err *e)
{
	char turn[ID_LEN + 1];
	enum control what;
	str state = { 0 }, error;
	bool taken = false;

	if (slash_control(line, a, &what) == OK)
		return control(c, what, a, e);
	int rc = command(c, line, a, &taken, e);
	if (rc == OK && taken)
		return OK;
	if (rc == OK)
		rc = own_turn(&c->own, line, turn, e);
	if (rc == OK && turn[0])
		rc = store_turn_state(c->g.store, str_of(turn), a, &state, &error, e);
	if (rc == E_CANCELED || str_eq(state, S("canceled"))) {
		(void)fputs("(stopped)\n", stderr);
		return OK;
	}
	return rc;
}

static int leave_code(const struct chat *c)
{
	int signo = atomic_load(&c->own.signo);

	return 128 + (signo ? signo : SIGINT);
}

static int converse(struct chat *c)
{
	for (;;) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct err e = { 0 };
		str line = { 0 };
		if (cancel_reason(&c->own.leave) != CANCEL_NONE)
			return leave_code(c);
		tidy_start(&c->tidy);
		int rc = edit_line(c->edit, c->face.terminal ? "> " : "", &a, &line,
				   &c->own.leave, &e);
		if (rc == E_NOENT)
			return EXIT_OK;
		if (rc == E_CANCELED)
			return leave_code(c);
		tidy_stop(&c->tidy);
		line = str_trim(line);
		if (rc == OK && lines_quits(line))
			return EXIT_OK;
		if (rc == OK && line.n)
			rc = take(c, line, &a, &e);
		if (c->face.failed)
			return cli_fail("cannot write to standard output; gantry sessions has "
					"the answers");
		if (rc == E_LIMIT || rc == E_FULL || rc == E_BUSY)
			(void)cli_fail("%s", e.msg);
		else if (rc < 0 && cancel_reason(&c->own.leave) == CANCEL_NONE)
			return cli_fail("%s", e.msg);
	}
}

/* What a newcomer sees first. */
static void greet(const struct chat *c)
{
	if (c->face.terminal)
		(void)fprintf(stderr,
			      "gantry %s, %.*s. /help lists commands, Ctrl-C stops a turn, "
			      "Ctrl-D leaves.\n",
			      version_text(), STRF(c->cfg->model.name));
}

static int open_parts(struct chat *c, int signals, struct err *e)
{
	struct engine_opt opt = { .mode = STORE_CLI, .model = true };
	bool terminal = c->cli->terminal && isatty(STDOUT_FILENO);
	str history = arena_fmt(c->cli->a, "%.*s/chat_history", STRF(c->cfg->store.data_dir));
	struct edit_opt edit = {
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.dumb = !terminal || str_eq(env_get(&c->cli->env, "TERM"), S("dumb")),
		.history = terminal ? history.p : NULL,
		.secret = slash_secret,
		.max = (size_t)c->cfg->limits.input_max_bytes,
	};
	int rc;

	if ((rc = engine_open(&c->g, c->cfg, &c->cli->env, &opt, e)) < 0)
		return rc;
	if ((rc = face_open(&c->face, OWN_CHANNEL, terminal,
			    !str_eq(c->cfg->agent.tool_trace, S("off")), e)) < 0 ||
	    (rc = edit_open(&c->edit, &edit, e)) < 0 ||
	    (terminal &&
	     (rc = terminal_approver_open(&c->approver, STDIN_FILENO, STDERR_FILENO, e)) < 0))
		return rc;
	c->own.g = &c->g;
	c->own.work = (struct work_opt){ .only = store_owner(c->g.store),
					 .channel = &c->face.channel,
					 .approver = face_approver(&c->face, c->approver),
					 .stream = terminal };
	c->own.address = S("chat");
	c->own.signals = signals;
	c->own.on_tick = terminal ? on_tick : NULL;
	c->own.on_resize = on_resize;
	c->own.arg = c;
	c->tidy = (struct tidy){ .g = &c->g, .leave = &c->own.leave };
	return own_open(&c->own, e);
}

static int with_parts(struct cli *cli, const struct config *cfg, int signals)
{
	struct chat c = {
		.cli = cli,
		.cfg = cfg,
		.own = { .leave = { .fd = -1 }, .hear = { .quit = { -1 } }, .kick = { -1 } },
		.face = { .writing = { -1 } },
	};
	struct err e = { 0 };
	int code;

	if (open_parts(&c, signals, &e) < 0) {
		code = cli_fail("%s", e.msg);
	} else {
		greet(&c);
		code = converse(&c);
		if (code == EXIT_OK)
			tidy_finish(&c.tidy, TIDY_MS, c.face.terminal);
		tidy_stop(&c.tidy);
	}
	own_close(&c.own);
	terminal_approver_close(c.approver);
	edit_close(c.edit);
	face_close(&c.face);
	engine_close(&c.g);
	return code;
}

static int run(struct cli *cli)
{
	SCOPED(fd_drop) int signals = -1;
	struct config *cfg = NULL;
	struct err e = { 0 };
	int code;

	if ((code = cli_rest(cli, 0, 0)) != EXIT_OK ||
	    (code = cli_config(cli, CONFIG_STORE | CONFIG_MODEL | CONFIG_TOOLS, true, &cfg)) !=
		    EXIT_OK)
		return code;
	if (signals_open(&signals, &e) < 0)
		code = cli_fail("%s", e.msg);
	else
		code = with_parts(cli, cfg, signals);
	config_free(cfg);
	return code;
}

const struct cmd cmd_chat = {
	.name = "chat",
	.summary = "a conversation in the terminal",
	.usage = "usage: gantry chat\n"
		 "\n"
		 "On a terminal: line editing, history, the answer as it is made, a trace line "
		 "per\n"
		 "tool call; Ctrl-C stops a turn, a second one or Ctrl-D leaves.  Piped: one "
		 "message\n"
		 "a line, plain answers.  It may run beside a daemon on the same data.\n"
		 "\n"
		 "example:\n"
		 "  LLM_BASE_URL=http://localhost:11434/v1 LLM_NO_KEY=true LLM_MODEL=qwen3 "
		 "gantry "
		 "chat\n",
	.run = run,
};

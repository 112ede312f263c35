/*
 * gantry prompt: one turn from the command line.
 */
#include "cli/cli.h"

#include "base/utf.h"
#include "chan/terminal.h"
#include "chan/trace.h"
#include "cli/own.h"
#include "cli/tidy.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "os/signals.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIDY_MS 20000 /* how long the end may take for it, after the answer */

/* A channel that only collects the answer. */
struct collector {
	struct channel channel;
	struct buf answer;
	bool quiet;
	_Atomic int64_t passed_ms; /* for trace_too_soon() */
};

static void send_piece(struct channel *self, const struct outbox_row *row,
		       const struct piece *piece, struct arena *a, struct send_result *out,
		       const struct cancel *c)
{
	struct collector *k = (struct collector *)self;

	(void)row;
	(void)a;
	(void)c;
	if (k->answer.n)
		buf_addc(&k->answer, '\n');
	buf_add(&k->answer, piece->body);
	*out = (struct send_result){ .end = SEND_OK };
}

static void live(struct channel *self, str turn_id, str address, enum live_kind kind, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct collector *k = (struct collector *)self;

	(void)turn_id;
	(void)address;
	if (kind == LIVE_TRACE && !k->quiet &&
	    !trace_too_soon(&k->passed_ms, text, clock_mono_ms()))
		(void)fprintf(stderr, "%.*s\n", STRF(text_line(&a, text, 200)));
}

static int pick_session(struct cli *cli, struct engine *g, const char *id, bool fresh,
			str *address, struct err *e)
{
	struct session s;
	char digits[ID_LEN + 1];

	*address = S("local");
	if (fresh) {
		id_new(digits);
		*address = arena_dup(cli->a, str_of(digits));
	}
	if (!id)
		return OK;
	int rc = store_session_get(g->store, str_of(id), cli->a, &s, e);
	if (rc == E_NOENT)
		return err_set(e, rc, "no session %s; see gantry sessions list", id);
	if (rc == OK && !str_eq(s.channel, S(OWN_CHANNEL)))
		return err_set(
			e, E_DENIED,
			"session %s belongs to the channel %.*s; only sessions of the command "
			"line can be continued here",
			id, STRF(s.channel));
	if (rc == OK)
		*address = s.address;
	return rc;
}

static void print_json(struct cli *cli, struct engine *g, str address, const char *turn,
		       str state, str reply)
{
	struct buf b = buf_in(cli->a, 64u << 20);
	struct session s = { 0 };
	struct message *msgs;
	struct call *calls;
	size_t msgs_n, calls_n = 0;

	if (store_session_find(g->store, S(OWN_CHANNEL), address, cli->a, &s, NULL) < 0 ||
	    store_turn_load(g->store, str_of(turn), cli->a, &msgs, &msgs_n, &calls, &calls_n,
			    NULL) < 0)
		calls_n = 0; /* the reply stands without them */
	buf_addc(&b, '{');
	buf_json_member(&b, "session", s.id);
	buf_json_member(&b, "turn", str_of(turn));
	buf_json_member(&b, "state", state);
	buf_json_member(&b, "reply", reply);
	buf_json_key(&b, "tools");
	buf_addc(&b, '[');
	for (size_t i = 0; i < calls_n; i++) {
		buf_add(&b, i ? S(",{") : S("{"));
		buf_json_member(&b, "name",
				calls[i].name.n ? calls[i].name : calls[i].requested);
		buf_json_member(&b, "arguments", calls[i].args);
		buf_json_key(&b, "failed");
		buf_add(&b, calls[i].state == CALL_DONE ? S("false") : S("true"));
		buf_json_member_i64(&b, "ms", calls[i].duration_ms);
		buf_addc(&b, '}');
	}
	buf_add(&b, S("]}\n"));
	(void)fwrite(b.p, 1, b.n, stdout);
}

/* What the command line asked for. */
struct wish {
	const char *session;
	bool fresh, json;
	str text;
};

static int ask(struct cli *cli, struct engine *g, struct own *o, const struct wish *w)
{
	struct collector *k = (struct collector *)o->work.channel;
	char turn[ID_LEN + 1];
	str state = { 0 }, error = { 0 };
	struct err e = { 0 };

	int rc = own_turn(o, w->text, turn, &e);
	int signo = atomic_load(&o->signo);
	if (rc < 0 && signo == 0)
		return cli_fail("%s", e.msg);
	if (turn[0] && store_turn_state(g->store, str_of(turn), cli->a, &state, &error, &e) < 0)
		return cli_fail("%s", e.msg);
	str reply = buf_str(&k->answer);
	if (w->json) {
		print_json(cli, g, o->address, turn, state, reply);
	} else if (reply.n) {
		cli_print(cli, reply);
		cli_print(cli, S("\n"));
	}
	if (signo)
		return 128 + signo;
	return str_eq(state, S("done")) ? EXIT_OK : EXIT_FAILED;
}

static int with_engine(struct cli *cli, struct config *cfg, int signals, const struct wish *w)
{
	struct collector k = {
		.channel = { .name = OWN_CHANNEL,
			     .render = chan_render_whole,
			     .send = send_piece,
			     .live = live },
		.answer = buf_in(cli->a, 16u << 20),
		.quiet = w->json || str_eq(cfg->agent.tool_trace, S("off")),
	};
	struct engine g;
	struct engine_opt opt = { .mode = STORE_CLI, .model = true };
	struct own o = { .g = &g,
			 .signals = signals,
			 .leave = { .fd = -1 },
			 .hear = { .quit = { -1 } },
			 .kick = { -1 } };
	struct approver *by = NULL;
	struct err e = { 0 };
	int code;

	if (engine_open(&g, cfg, &cli->env, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	o.work = (struct work_opt){ .only = store_owner(g.store), .channel = &k.channel };
	if (pick_session(cli, &g, w->session, w->fresh, &o.address, &e) < 0 ||
	    own_open(&o, &e) < 0 ||
	    (cli->terminal &&
	     terminal_approver_open(&by, STDIN_FILENO, STDERR_FILENO, &e) < 0)) {
		code = cli_fail("%s", e.msg);
	} else {
		o.work.approver = by;
		code = ask(cli, &g, &o, w);
		(void)fflush(stdout);
		if (code == EXIT_OK)
			tidy_finish(&(struct tidy){ .g = &g, .leave = &o.leave }, TIDY_MS,
				    cli->terminal);
	}
	terminal_approver_close(by);
	own_close(&o);
	engine_close(&g);
	return code;
}

static int run(struct cli *cli)
{
	SCOPED(fd_drop) int signals = -1;
	struct wish w = { .fresh = cli_flag(cli, "--new"), .json = cli_flag(cli, "--json") };
	struct config *cfg = NULL;
	struct err e = { 0 };
	bool bad = false;
	int code;

	(void)cli_value(cli, "--session", &w.session, &bad);
	if (bad || (w.session && w.fresh))
		return cli_misuse(cli, "say --session ID or --new");
	if ((code = cli_rest(cli, 1, 1)) != EXIT_OK ||
	    (code = cli_config(cli, CONFIG_STORE | CONFIG_MODEL | CONFIG_TOOLS, true, &cfg)) !=
		    EXIT_OK)
		return code;
	if (signals_open(&signals, &e) < 0)
		code = cli_fail("%s", e.msg);
	else if ((code = cli_text(cli, cfg, &w.text)) == EXIT_OK)
		code = with_engine(cli, cfg, signals, &w);
	config_free(cfg);
	return code;
}

const struct cmd cmd_prompt = {
	.name = "prompt",
	.summary = "one turn: ask, print the answer, leave",
	.usage = "usage: gantry prompt TEXT|- [--session ID | --new] [--json]\n"
		 "\n"
		 "Without --session it goes on with the command line's own conversation; --new "
		 "starts\n"
		 "another.  Trace lines go to standard error.  Exit code 1 when the turn "
		 "failed.\n"
		 "\n"
		 "example:\n"
		 "  git log -5 | gantry prompt - --new\n",
	.run = run,
};

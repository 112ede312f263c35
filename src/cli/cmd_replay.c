/*
 * gantry replay: a turn of the journal, made again.  It only reads; asking it of another model is
 * in replay_fork.c.
 */
#include "cli/cli.h"

#include "agent/replay.h"
#include "cli/replay_fork.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>

#define OUT_MAX (256u << 20)

static const char *const words[] = { "same", "different", "unknown" };

static const struct message *answer_of(const struct replay *r, int64_t round)
{
	for (size_t i = 0; i < r->rows_n; i++)
		if (r->rows[i].round == round && str_eq(r->rows[i].role, S("assistant")))
			return &r->rows[i];
	return NULL;
}

/* What came of a request: calls with their results, or the answer. */
static void show_outcome(struct buf *b, const struct replay *r, const struct model_row *row)
{
	const struct message *m = answer_of(r, row->round);

	if (row->error.n) {
		buf_fmt(b, "      failed: %.*s\n", STRF(row->error));
		return;
	}
	for (size_t i = 0; i < r->calls_n; i++) {
		const struct call *c = &r->calls[i];
		if (c->round == row->round)
			buf_fmt(b, "      call %.*s %.*s\n      result: %.*s\n",
				STRF(c->name.n ? c->name : c->requested),
				STRF(text_line(b->a, c->args, 200)),
				STRF(text_line(b->a, c->result, 200)));
	}
	if (m && m->text.n)
		buf_fmt(b, "      said: %.*s\n", STRF(text_line(b->a, m->text, 200)));
}

static struct buf as_text(struct arena *a, const struct replay *r)
{
	struct buf b = buf_in(a, OUT_MAX);

	buf_fmt(&b, "turn %.*s (%.*s), session %.*s\n", STRF(r->turn.id), STRF(r->turn.state),
		STRF(r->turn.session_id));
	for (size_t i = 0; i < r->n; i++) {
		const struct replay_request *q = &r->v[i];
		buf_fmt(&b, "%4zu  round %lld: %s", i + 1, (long long)q->made.row->round,
			words[q->state]);
		if (q->state != REPLAY_UNKNOWN)
			buf_fmt(&b, ", %zu bytes, %zu messages", q->made.record.sent.bytes,
				q->made.msgs_n);
		buf_addc(&b, '\n');
		if (q->where.n)
			buf_fmt(&b, "      %.*s\n", STRF(q->where));
		show_outcome(&b, r, q->made.row);
	}
	buf_fmt(&b, "%zu of %zu request%s the same, byte for byte\n", r->same, r->n,
		r->n == 1 ? " is" : "s are");
	return b;
}

static struct buf as_json(struct arena *a, const struct replay *r)
{
	struct buf b = buf_in(a, OUT_MAX);

	buf_addc(&b, '{');
	buf_json_member(&b, "turn", r->turn.id);
	buf_json_member(&b, "session", r->turn.session_id);
	buf_json_member(&b, "state", r->turn.state);
	buf_json_key(&b, "requests");
	buf_addc(&b, '[');
	for (size_t i = 0; i < r->n; i++) {
		const struct replay_request *q = &r->v[i];
		buf_add(&b, i ? S(",{") : S("{"));
		buf_json_member_i64(&b, "round", q->made.row->round);
		buf_json_member(&b, "compared", str_of(words[q->state]));
		buf_json_member_i64(&b, "bytes", (int64_t)q->made.record.sent.bytes);
		buf_json_member(&b, "where", q->where);
		buf_json_member(&b, "error", q->made.row->error);
		buf_addc(&b, '}');
	}
	buf_addc(&b, ']');
	buf_json_member_i64(&b, "same", (int64_t)r->same);
	buf_add(&b, S("}\n"));
	return b;
}

/* *same: all of it was. */
static int one(struct cli *cli, struct store *s, str id, bool json, bool *same, struct err *e)
{
	struct replay r = { 0 };
	int rc = str_eq(id, S("last")) ? store_trace_last(s, S(""), cli->a, &id, e) : OK;

	if (rc < 0 || (rc = replay_turn(&r, s, id, cli->a, e)) < 0)
		return rc;
	struct buf b = json ? as_json(cli->a, &r) : as_text(cli->a, &r);
	if (b.full)
		return err_set(e, E_LIMIT, "what there is to say of it is over %u bytes",
			       OUT_MAX);
	*same = cli_answer(cli, &b, json) == EXIT_OK && r.same == r.n;
	return OK;
}

/* A line for each turn that is not the same, and the sum. */
static int all(struct cli *cli, struct store *s, bool json, bool *same, struct err *e)
{
	size_t n, turns = 0, requests = 0, same_n = 0;
	str *ids;
	int rc = store_turn_ids(s, cli->a, &ids, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct replay r = { 0 };
		if ((rc = replay_turn(&r, s, ids[i], &a, e)) < 0)
			break;
		turns += r.same == r.n;
		requests += r.n;
		same_n += r.same;
		for (size_t k = 0; !json && k < r.n; k++)
			if (r.v[k].state != REPLAY_SAME) {
				cli_print(cli,
					  arena_fmt(&a, "%.*s round %lld: %s: %.*s\n",
						    STRF(ids[i]),
						    (long long)r.v[k].made.row->round,
						    words[r.v[k].state], STRF(r.v[k].where)));
			}
	}
	if (rc < 0)
		return rc;
	(void)printf(json ? "{\"turns\":%zu,\"turns_same\":%zu,\"requests\":%zu,\"same\":%zu}\n"
			  : "%zu turns, %zu of them the same; %zu requests, %zu of them the "
			    "same, byte for byte\n",
		     n, turns, requests, same_n);
	*same = same_n == requests;
	return OK;
}

static int compare(struct cli *cli, const struct config *cfg, bool json)
{
	struct store *s;
	bool same = false;
	str id = str_of(cli->argv[0]);
	struct err e = { 0 };
	int rc = store_open(&s, &cfg->store, STORE_READ, NULL, &e);

	if (rc == E_NOENT)
		return cli_fail("there is no database yet, and so no turn");
	if (rc < 0)
		return cli_fail("%s", e.msg);
	rc = str_eq(id, S("all")) ? all(cli, s, json, &same, &e)
				  : one(cli, s, id, json, &same, &e);
	store_close(s);
	if (rc < 0)
		return cli_fail("%s", e.msg);
	return same ? EXIT_OK : EXIT_FAILED;
}

static int run(struct cli *cli)
{
	bool json = cli_flag(cli, "--json"), bad = false;
	const char *model = NULL;
	struct config *cfg = NULL;

	(void)cli_value(cli, "--model", &model, &bad);
	if (bad || (model && !*model))
		return cli_misuse(cli, "--model wants the name of a model");
	int code = cli_rest(cli, 1, 1);
	if (code == EXIT_OK && model && str_eq(str_of(cli->argv[0]), S("all")))
		code = cli_misuse(cli, "one turn at a time can be asked of a model, not all");
	if (code == EXIT_OK)
		code = cli_config(cli, model ? CONFIG_STORE | CONFIG_MODEL : CONFIG_STORE, true,
				  &cfg);
	if (code != EXIT_OK)
		return code;
	code = model ? replay_fork(cli, cfg, str_of(model), json) : compare(cli, cfg, json);
	config_free(cfg);
	return code;
}

const struct cmd cmd_replay = {
	.name = "replay",
	.summary = "make the requests of a turn again, and compare them",
	.usage =
		"usage: gantry replay TURN|last|all [--model NAME] [--json]\n"
		"\n"
		"Makes each request of a turn again from the journal and compares it, byte for "
		"byte,\n"
		"with what was sent; of one that differs the first difference is shown.  "
		"Nothing "
		"is\n"
		"asked, run, delivered or written.  TURN may be the beginning of an id.  Exit "
		"code 1\n"
		"when one differs, or when nothing was kept to compare it with.\n"
		"\n"
		"--model asks the turn again of that model, at the configured endpoint, with "
		"the\n"
		"recorded results in place of tools, and shows how its calls and its answer "
		"differ.\n"
		"It is paid for and counted, but no session knows of it.  Exit code 1 when it "
		"came\n"
		"to no answer.\n"
		"\n"
		"example:\n"
		"  gantry replay last\n"
		"  gantry replay last --model gpt-5-mini\n",
	.run = run,
};

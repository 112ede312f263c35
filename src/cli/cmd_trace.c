/*
 * gantry trace: one turn as a timeline.  Reads in one view of the database and prints when it
 * is closed again; safe beside a running daemon.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "cli/trace_text.h"
#include "config/zones.h"
#include "store/session.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define OUT_MAX ((size_t)64 << 20)

struct look {
	struct cli *cli;
	const struct config *cfg;
	struct buf b;
};

static void member_time(struct look *l, const char *key, int64_t at_ms)
{
	if (at_ms)
		buf_json_member(&l->b, key, date_rfc3339(l->cli->a, at_ms));
}

static void member_known(struct look *l, const char *key, int64_t n)
{
	if (n >= 0)
		buf_json_member_i64(&l->b, key, n);
}

static void member_line(struct look *l, const char *key, str text)
{
	buf_json_member(&l->b, key, show_line(l->cfg, text, 4000, l->cli->a));
}

static void model_json(struct look *l, const struct trace_model *m)
{
	buf_add(&l->b, S("{"));
	buf_json_member_i64(&l->b, "round", m->round);
	buf_json_member_i64(&l->b, "attempt", m->attempt);
	buf_json_member(&l->b, "model", price_model(m->issuer));
	member_time(l, "started_at", m->started_at_ms);
	buf_json_member_i64(&l->b, "total_ms", m->total_ms);
	if (m->first_token_ms)
		buf_json_member_i64(&l->b, "first_token_ms", m->first_token_ms);
	buf_json_member(&l->b, "finish", m->finish);
	member_line(l, "error", m->error);
	member_known(l, "prompt_tokens", m->prompt_tokens);
	member_known(l, "cached_tokens", m->cached_tokens);
	member_known(l, "cache_write_tokens", m->written_tokens);
	member_known(l, "completion_tokens", m->completion_tokens);
	if (m->est_tokens)
		buf_json_member_i64(&l->b, "estimated_prompt_tokens", m->est_tokens);
	buf_add(&l->b, S("}"));
}

static void call_json(struct look *l, const struct trace_call *c)
{
	buf_add(&l->b, S("{"));
	buf_json_member(&l->b, "id", c->id);
	buf_json_member_i64(&l->b, "round", c->round);
	buf_json_member_i64(&l->b, "index", c->index);
	member_line(l, "tool", c->tool);
	buf_json_member(&l->b, "state", c->state);
	buf_json_member(&l->b, "decision", c->decision);
	member_line(l, "rule", c->rule);
	member_line(l, "decider", c->decider);
	member_line(l, "requester", c->requester);
	member_line(l, "args", show_args(l->cfg, c->tool, c->args, l->cli->a));
	member_time(l, "planned_at", c->created_at_ms);
	member_time(l, "started_at", c->started_at_ms);
	member_time(l, "finished_at", c->finished_at_ms);
	member_known(l, "duration_ms", c->duration_ms);
	if (c->has_exit)
		buf_json_member_i64(&l->b, "exit_code", c->exit_code);
	buf_add(&l->b, S("}"));
}

static void ask_json(struct look *l, const struct trace_ask *p)
{
	buf_add(&l->b, S("{"));
	member_line(l, "tool", p->tool);
	buf_json_member(&l->b, "call", p->call_id);
	buf_json_member(&l->b, "state", p->state);
	member_line(l, "reason", p->reason);
	member_line(l, "decided_by", p->decided_by);
	member_time(l, "asked_at", p->created_at_ms);
	member_time(l, "decided_at", p->decided_at_ms);
	buf_add(&l->b, S("}"));
}

static void out_json(struct look *l, const struct trace_out *o)
{
	buf_add(&l->b, S("{"));
	buf_json_member_i64(&l->b, "id", o->id);
	member_line(l, "channel", o->channel);
	member_line(l, "address", o->address);
	buf_json_member(&l->b, "kind", o->kind);
	buf_json_member(&l->b, "state", o->state);
	buf_json_member_i64(&l->b, "pieces", o->pieces);
	buf_json_member_i64(&l->b, "sent", o->sent);
	buf_json_member_i64(&l->b, "unknown", o->unknown);
	buf_json_member_i64(&l->b, "dead", o->dead);
	buf_json_member_i64(&l->b, "tries", o->attempts);
	member_line(l, "error", o->error);
	member_time(l, "created_at", o->created_at_ms);
	member_time(l, "finished_at", o->finished_at_ms);
	buf_add(&l->b, S("}"));
}

/* "key":[...] with a comma between the elements. */
#define LIST_JSON(l, key, list, count, one)                                                    \
	do {                                                                                   \
		buf_json_key(&(l)->b, (key));                                                  \
		buf_add(&(l)->b, S("["));                                                      \
		for (size_t i_ = 0; i_ < (count); i_++) {                                      \
			buf_add(&(l)->b, i_ ? S(",") : S(""));                                 \
			one((l), &(list)[i_]);                                                 \
		}                                                                              \
		buf_add(&(l)->b, S("]"));                                                      \
	} while (0)

static void sum_json(struct look *l, const struct trace *t)
{
	struct trace_sum s = trace_sum(t, l->cfg);

	buf_json_key(&l->b, "tokens");
	buf_add(&l->b, S("{"));
	buf_json_member_i64(&l->b, "prompt", s.prompt);
	buf_json_member_i64(&l->b, "cached", s.cached);
	buf_json_member_i64(&l->b, "completion", s.completion);
	buf_json_member_i64(&l->b, "estimated_requests", s.estimated);
	buf_add(&l->b, S("}"));
	buf_json_member_i64(&l->b, "unpriced_requests", s.unpriced);
	buf_json_key(&l->b, "cost");
	if (s.unpriced || s.requests == s.failed)
		buf_add(&l->b, S("null"));
	else
		buf_json(&l->b, price_text(l->cli->a, s.nano, l->cfg->models.currency));
}

static void json(struct look *l, const struct trace *t)
{
	buf_add(&l->b, S("{"));
	buf_json_member(&l->b, "turn", t->id);
	buf_json_member(&l->b, "session", t->session_id);
	member_line(l, "channel", t->channel);
	member_line(l, "address", t->address);
	buf_json_member(&l->b, "kind", t->kind);
	buf_json_member(&l->b, "state", t->state);
	member_line(l, "error", t->error);
	buf_json_member_i64(&l->b, "messages", t->rows_n);
	buf_json_member_i64(&l->b, "claims", t->claims);
	member_time(l, "arrived_at", t->arrived_at_ms);
	member_time(l, "started_at", t->started_at_ms);
	member_time(l, "finished_at", t->finished_at_ms);
	if (t->arrived_at_ms)
		buf_json_member_i64(&l->b, "queued_ms", t->started_at_ms - t->arrived_at_ms);
	sum_json(l, t);
	LIST_JSON(l, "model_calls", t->models, t->models_n, model_json);
	LIST_JSON(l, "tool_calls", t->calls, t->calls_n, call_json);
	LIST_JSON(l, "approvals", t->asks, t->asks_n, ask_json);
	LIST_JSON(l, "deliveries", t->outs, t->outs_n, out_json);
	buf_json_key(&l->b, "cut");
	buf_add(&l->b, t->cut ? S("true}\n") : S("false}\n"));
}

/* "last", of a session where one is named. */
static int find(struct cli *cli, struct store *s, str session, str *turn, struct err *e)
{
	struct session found;
	int rc;

	if (strcmp(cli->argv[0], "last") != 0) {
		*turn = str_of(cli->argv[0]);
		return OK;
	}
	if (session.n && (rc = store_session_get(s, session, cli->a, &found, e)) < 0)
		return rc == E_NOENT ? err_set(e, rc,
					       "there is no session %.*s; see gantry sessions "
					       "list",
					       STRF(session))
				     : rc;
	return store_trace_last(s, session, cli->a, turn, e);
}

static int show(struct look *l, str session, bool as_json)
{
	struct cli *cli = l->cli;
	struct store *s;
	struct trace t;
	struct err e = { 0 };
	str turn = { 0 };
	int rc = store_open(&s, &l->cfg->store, STORE_READ, NULL, &e);

	if (rc == E_NOENT)
		return cli_fail("there is no database yet, and so no turn");
	if (rc < 0)
		return cli_fail("%s", e.msg);
	if ((rc = find(cli, s, session, &turn, &e)) == OK)
		rc = store_trace(s, turn, cli->a, &t, &e);
	store_close(s);
	if (rc == OK && session.n && !str_eq(session, t.session_id))
		return cli_fail("turn %.*s is of session %.*s", STRF(t.id), STRF(t.session_id));
	if (rc < 0)
		return cli_fail("%s", e.msg);
	if (as_json)
		json(l, &t);
	else
		trace_text(&l->b, &t, l->cfg, zone_load_or_utc(cli->a, l->cfg->cron.zone),
			   cli->a);
	return cli_answer(cli, &l->b, as_json);
}

static int run(struct cli *cli)
{
	bool as_json = cli_flag(cli, "--json"), bad = false;
	struct config *cfg = NULL;
	const char *session = NULL;

	(void)cli_value(cli, "--session", &session, &bad);
	if (bad)
		return cli_misuse(cli, "--session wants an id");
	int code = cli_rest(cli, 1, 1);
	if (code != EXIT_OK)
		return code;
	if ((code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg)) != EXIT_OK)
		return code;
	struct look l = { .cli = cli, .cfg = cfg, .b = buf_in(cli->a, OUT_MAX) };
	code = show(&l, str_of(session), as_json);
	config_free(cfg);
	return code;
}

const struct cmd cmd_trace = {
	.name = "trace",
	.summary = "where the time of a turn went",
	.usage = "usage: gantry trace TURN|last [--session ID] [--json]\n"
		 "\n"
		 "Shows a turn as a timeline: the wait before it, requests to the model, tools "
		 "(those\n"
		 "that ran side by side are marked ||), questions, what was delivered, tokens "
		 "and\n"
		 "cost.  TURN may be the beginning of an id; last is the turn that began "
		 "last.\n"
		 "\n"
		 "example:\n"
		 "  gantry trace last\n",
	.run = run,
};

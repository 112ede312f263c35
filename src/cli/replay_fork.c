/*
 * A turn asked again of another model, and shown beside what it was.  Text is for reading and cut;
 * --json has all of it.
 */
#include "cli/replay_fork.h"

#include "agent/fork.h"
#include "cli/show.h"
#include "gateway/engine.h"
#include "text/json.h"
#include "text/text.h"

#define OUT_MAX ((size_t)256 << 20)
#define SHOWN 200

struct view {
	struct cli *cli;
	const struct config *cfg;
	const struct fork *f;
	struct buf b;
};

static const char *const ends[] = { "answered", "unrecorded", "endless" };

/* --- what it cost ------------------------------------------------------------------------ */

struct cost {
	int64_t prompt, completion, ms, nano;
	bool estimated, priced;
};

static struct cost cost_of(const struct view *v)
{
	struct cost sum = { .priced = v->f->n > 0 };

	for (size_t i = 0; i < v->f->n; i++) {
		const struct fork_round *r = &v->f->v[i];
		bool known = r->usage.prompt >= 0 && r->usage.completion >= 0;
		struct price_usage used = {
			.prompt = r->usage.prompt >= 0 ? r->usage.prompt : r->est_tokens,
			.cached = r->usage.cached,
			.written = r->usage.written,
			.completion = r->usage.completion >= 0 ? r->usage.completion
							       : r->answer_tokens,
		};
		int64_t nano = 0;
		if (price_of(&v->cfg->models, price_model(v->f->issuer), &used, &nano))
			sum.nano += nano;
		else
			sum.priced = false;
		sum.prompt += used.prompt;
		sum.completion += used.completion;
		sum.estimated |= !known;
		sum.ms += r->ms;
	}
	return sum;
}

static str cost_text(const struct view *v, const struct cost *c)
{
	return c->priced ? price_text(v->cli->a, c->nano, v->cfg->models.currency)
			 : S("no price, see models.prices");
}

/* Whole, but for secrets. */
static str hidden(const struct view *v, str text)
{
	return text_redact(v->cli->a, text_redact_values(v->cli->a, text, v->cfg->secrets,
							 v->cfg->secrets_n));
}

/* --- as text ------------------------------------------------------------------------------ */

static str line(const struct view *v, str text)
{
	return show_line(v->cfg, text, SHOWN, v->cli->a);
}

static void call_line(struct view *v, const char *head, str name, str args, const char *tail)
{
	buf_fmt(&v->b, "  %-5s call %.*s %.*s%s\n", head, STRF(line(v, name)),
		STRF(line(v, show_args(v->cfg, name, args, v->cli->a))), tail);
}

static void round_text(struct view *v, size_t i)
{
	const struct fork_round *r = &v->f->v[i];
	const struct call **then;
	str text;
	size_t n = fork_then(v->f, (int64_t)i + 1, v->cli->a, &then, &text);

	buf_fmt(&v->b, "round %zu: %s, %.*s\n", i + 1,
		!r->calls_n && !n ? "an answer"
		: r->same_calls   ? "the same calls"
				  : "other calls",
		STRF(show_ms(v->cli->a, r->ms)));
	for (size_t k = 0; k < n && !r->same_calls; k++)
		call_line(v, "then:", then[k]->name.n ? then[k]->name : then[k]->requested,
			  then[k]->args, "");
	if (text.n && !r->same_calls)
		buf_fmt(&v->b, "  then: said %.*s\n", STRF(line(v, text)));
	for (size_t k = 0; k < r->calls_n; k++)
		call_line(v, "now:", r->calls[k].name, r->calls[k].args,
			  r->calls[k].then ? "" : " (no result was recorded for it)");
	if (r->text.n && r->calls_n)
		buf_fmt(&v->b, "  now:  said %.*s\n", STRF(line(v, r->text)));
}

static void answer_text(struct view *v, const char *head, str text)
{
	str shown = text_visible(v->cli->a, hidden(v, text), false);

	buf_fmt(&v->b, "\n%s\n%.*s\n", head, STRF(shown.n ? shown : S("(none)")));
}

static void as_text(struct view *v)
{
	const struct fork *f = v->f;
	struct cost c = cost_of(v);

	buf_fmt(&v->b, "turn %.*s asked again of %.*s; nothing is run or delivered\n",
		STRF(f->past.turn.id), STRF(price_model(f->issuer)));
	if (f->past.v[0].state == REPLAY_DIFFERS)
		buf_fmt(&v->b, "its first request is not what it was: %.*s\n",
			STRF(line(v, f->past.v[0].where)));
	for (size_t i = 0; i < f->n; i++)
		round_text(v, i);
	if (f->end == FORK_ANSWERED && str_eq(f->was, f->is)) {
		answer_text(v, "then and now:", f->is);
	} else {
		answer_text(v, "then:", f->was);
		answer_text(v, "now:", f->is);
	}
	if (f->end == FORK_UNRECORDED)
		buf_add(&v->b, S("it ends here: no result was recorded for a call of the last "
				 "round, and no tool is run\n"));
	if (f->end == FORK_ENDLESS)
		buf_fmt(&v->b, "it was given up after %d rounds\n", FORK_ROUNDS_MAX);
	buf_fmt(&v->b, "\n%zu request%s, %s%lld tokens in, %lld out, %.*s, %.*s\n", f->n,
		f->n == 1 ? "" : "s", c.estimated ? "~" : "", (long long)c.prompt,
		(long long)c.completion, STRF(show_ms(v->cli->a, c.ms)),
		STRF(cost_text(v, &c)));
}

/* --- as JSON ------------------------------------------------------------------------------ */

static void call_json(struct view *v, bool first, str name, str args)
{
	buf_add(&v->b, first ? S("{") : S(",{"));
	buf_json_member(&v->b, "name", name);
	buf_json_member(&v->b, "arguments", hidden(v, args));
}

static void round_json(struct view *v, size_t i)
{
	const struct fork_round *r = &v->f->v[i];
	const struct call **then;
	str text;
	size_t n = fork_then(v->f, (int64_t)i + 1, v->cli->a, &then, &text);

	buf_add(&v->b, i ? S(",{") : S("{"));
	buf_json_member_i64(&v->b, "round", (int64_t)i + 1);
	buf_json_key(&v->b, "same_calls");
	buf_add(&v->b, r->same_calls ? S("true") : S("false"));
	buf_json_member_i64(&v->b, "ms", r->ms);
	buf_json_key(&v->b, "then");
	buf_addc(&v->b, '{');
	buf_json_member(&v->b, "text", hidden(v, text));
	buf_json_key(&v->b, "calls");
	buf_addc(&v->b, '[');
	for (size_t k = 0; k < n; k++) {
		call_json(v, k == 0, then[k]->requested, then[k]->args);
		buf_addc(&v->b, '}');
	}
	buf_add(&v->b, S("]}"));
	buf_json_key(&v->b, "now");
	buf_addc(&v->b, '{');
	buf_json_member(&v->b, "text", hidden(v, r->text));
	buf_json_key(&v->b, "calls");
	buf_addc(&v->b, '[');
	for (size_t k = 0; k < r->calls_n; k++) {
		call_json(v, k == 0, r->calls[k].name, r->calls[k].args);
		buf_json_key(&v->b, "recorded");
		buf_add(&v->b, r->calls[k].then ? S("true}") : S("false}"));
	}
	buf_add(&v->b, S("]}}"));
}

static void as_json(struct view *v)
{
	const struct fork *f = v->f;
	struct cost c = cost_of(v);

	buf_addc(&v->b, '{');
	buf_json_member(&v->b, "turn", f->past.turn.id);
	buf_json_member(&v->b, "session", f->past.turn.session_id);
	buf_json_member(&v->b, "model", price_model(f->issuer));
	buf_json_member(&v->b, "model_then", price_model(f->first->row->issuer));
	buf_json_member(&v->b, "first_request",
			f->past.v[0].state == REPLAY_SAME ? S("same") : S("different"));
	buf_json_key(&v->b, "rounds");
	buf_addc(&v->b, '[');
	for (size_t i = 0; i < f->n; i++)
		round_json(v, i);
	buf_addc(&v->b, ']');
	buf_json_member(&v->b, "end", str_of(ends[f->end]));
	buf_json_member(&v->b, "answer_then", hidden(v, f->was));
	buf_json_member(&v->b, "answer", hidden(v, f->is));
	buf_json_key(&v->b, "same_answer");
	buf_add(&v->b,
		f->end == FORK_ANSWERED && str_eq(f->was, f->is) ? S("true") : S("false"));
	buf_json_member_i64(&v->b, "prompt_tokens", c.prompt);
	buf_json_member_i64(&v->b, "completion_tokens", c.completion);
	buf_json_key(&v->b, "tokens_estimated");
	buf_add(&v->b, c.estimated ? S("true") : S("false"));
	buf_json_key(&v->b, "cost");
	if (c.priced)
		buf_json(&v->b, cost_text(v, &c));
	else
		buf_add(&v->b, S("null"));
	buf_add(&v->b, S("}\n"));
}

/* --- the command -------------------------------------------------------------------------- */

static int ask(struct cli *cli, struct engine *g, bool json)
{
	struct fork f;
	struct model_failure fail;
	struct err e = { 0 };
	str id = str_of(cli->argv[0]);
	int rc =
		str_eq(id, S("last")) ? store_trace_last(g->store, S(""), cli->a, &id, &e) : OK;

	if (rc == OK)
		rc = fork_turn(&f, g->agent, id, cli->a, &fail, &g->root, &e);
	if (rc < 0)
		return cli_fail("%s", e.msg);
	struct view v = { .cli = cli, .cfg = g->cfg, .f = &f, .b = buf_in(cli->a, OUT_MAX) };
	if (json)
		as_json(&v);
	else
		as_text(&v);
	int code = cli_answer(cli, &v.b, json);
	return code == EXIT_OK && f.end != FORK_ANSWERED ? EXIT_FAILED : code;
}

int replay_fork(struct cli *cli, struct config *cfg, str model, bool json)
{
	const struct engine_opt opt = { .mode = STORE_CLI, .model = true, .no_tools = true };
	struct engine g;
	struct err e = { 0 };

	cfg->model.name = model;
	if (engine_open(&g, cfg, &cli->env, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	int code = ask(cli, &g, json);
	engine_close(&g);
	return code;
}

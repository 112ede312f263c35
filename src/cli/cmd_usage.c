/*
 * gantry usage: turns, tokens and money, by day, session, tool or model.  Reads in one view of
 * the database and prints when it is closed again; safe beside a running daemon.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "cli/show.h"
#include "cli/since.h"
#include "config/zones.h"
#include "os/clock.h"
#include "store/tally.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>

#define OUT_MAX ((size_t)64 << 20)
#define SESSIONS_MAX 50

struct usage_cmd {
	struct cli *cli;
	const struct config *cfg;
	const struct zone *zone;
	struct tally t;
	struct buf b;
	bool json, estimated, at_least; /* marks that were used */
	size_t rows;
};

static str cost_of(struct usage_cmd *u, const struct tally_share *shares,
		   const struct tally_tokens *all)
{
	struct tally_cost c = tally_cost(&u->t, shares, &u->cfg->models);
	str text = tally_cost_text(u->cli->a, &c, all, u->cfg->models.currency);

	u->at_least = u->at_least || str_ends(text, S("+"));
	return text;
}

static void cost_json(struct usage_cmd *u, const struct tally_share *shares,
		      const struct tally_tokens *all)
{
	struct tally_cost c = tally_cost(&u->t, shares, &u->cfg->models);
	bool none = !c.priced;

	buf_json_key(&u->b, "cost");
	if (none)
		buf_add(&u->b, S("null"));
	else
		buf_json(&u->b, price_text(u->cli->a, c.nano, u->cfg->models.currency));
	buf_json_key(&u->b, "cost_estimated");
	buf_add(&u->b, !none && c.estimated ? S("true") : S("false"));
	buf_json_key(&u->b, "cost_at_least");
	buf_add(&u->b, none || all->requests - all->failed > c.priced ? S("true") : S("false"));
}

static void row_begin(struct usage_cmd *u)
{
	if (u->json)
		buf_add(&u->b, u->rows ? S(",\n{") : S("\n{"));
	u->rows++;
}

static void tokens_json(struct usage_cmd *u, const struct tally_tokens *k)
{
	buf_json_member_i64(&u->b, "requests", k->requests);
	buf_json_member_i64(&u->b, "failed_requests", k->failed);
	buf_json_member_i64(&u->b, "prompt_tokens", k->prompt);
	buf_json_member_i64(&u->b, "cached_tokens", k->cached);
	buf_json_member_i64(&u->b, "cache_write_tokens", k->written);
	buf_json_member_i64(&u->b, "completion_tokens", k->completion);
	buf_json_member_i64(&u->b, "estimated_requests", k->estimated);
}

/* Turns, requests, tools, tokens and cost: the columns of days and sessions. */
static void work(struct usage_cmd *u, int64_t turns, int64_t tools,
		 const struct tally_tokens *k, const struct tally_share *shares)
{
	const char *mark = k->estimated ? "~" : "";
	char in[32], out[32];

	u->estimated = u->estimated || k->estimated;
	if (u->json) {
		buf_json_member_i64(&u->b, "turns", turns);
		buf_json_member_i64(&u->b, "tool_calls", tools);
		tokens_json(u, k);
		cost_json(u, shares, k);
		buf_addc(&u->b, '}');
		return;
	}
	(void)snprintf(in, sizeof in, "%s%lld", mark, (long long)k->prompt);
	(void)snprintf(out, sizeof out, "%s%lld", mark, (long long)k->completion);
	buf_fmt(&u->b, "%6lld %6lld %6lld %10s %10lld %9s  %.*s\n", (long long)turns,
		(long long)k->requests, (long long)tools, in, (long long)k->cached, out,
		STRF(cost_of(u, shares, k)));
}

#define WORK_HEAD " TURNS   REQS  TOOLS         IN     CACHED       OUT  COST\n"

static void days(struct usage_cmd *u)
{
	if (!u->json)
		buf_add(&u->b, S("DAY       " WORK_HEAD));
	for (size_t i = 0; i < u->t.days_n; i++) {
		const struct tally_day *d = &u->t.days[i];
		if (!d->turns && !d->used.requests && !d->tool_calls)
			continue;
		row_begin(u);
		if (u->json)
			buf_json_member(&u->b, "day", since_day(u->cli->a, d->day));
		else
			buf_add(&u->b, since_day(u->cli->a, d->day));
		work(u, d->turns, d->tool_calls, &d->used, d->shares);
	}
}

static void sessions(struct usage_cmd *u)
{
	if (!u->json)
		buf_add(&u->b, S("SESSION               WHERE             " WORK_HEAD));
	for (size_t i = 0; i < u->t.sessions_n; i++) {
		const struct tally_session *s = &u->t.sessions[i];
		str where = show_line(
			u->cfg,
			arena_fmt(u->cli->a, "%.*s %.*s", STRF(s->channel), STRF(s->address)),
			u->json ? 200 : 18, u->cli->a);
		row_begin(u);
		if (u->json) {
			buf_json_member(&u->b, "session", s->id);
			buf_json_member(&u->b, "where", where);
		} else {
			buf_fmt(&u->b, "%-21.*s %-18.*s", STRF(s->id), STRF(where));
		}
		work(u, s->turns, s->tool_calls, &s->used, s->shares);
	}
	if (!u->json && (size_t)u->t.sessions_all > u->t.sessions_n)
		buf_fmt(&u->b, "(and %lld more that used less)\n",
			(long long)u->t.sessions_all - (long long)u->t.sessions_n);
}

static str percent(struct arena *a, int64_t part, int64_t all)
{
	return all ? arena_fmt(a, "%lld%%", (long long)(part * 100 / all)) : S("-");
}

static void tools(struct usage_cmd *u)
{
	struct arena *a = u->cli->a;

	if (!u->json)
		buf_add(&u->b,
			S("TOOL                         CALLS     OK FAILED DENIED  OTHER "
			  "   OK%      P50      P95\n"));
	for (size_t i = 0; i < u->t.tools_n; i++) {
		const struct tally_tool *t = &u->t.tools[i];
		int64_t ran = t->done + t->failed, other = t->calls - ran - t->denied;
		row_begin(u);
		if (!u->json) {
			buf_fmt(&u->b,
				"%-27.*s %6lld %6lld %6lld %6lld %6lld %6.*s %8.*s %8.*s\n",
				STRF(show_line(u->cfg, t->name, 27, a)), (long long)t->calls,
				(long long)t->done, (long long)t->failed, (long long)t->denied,
				(long long)other, STRF(percent(a, t->done, ran)),
				STRF(show_ms(a, t->p50_ms)), STRF(show_ms(a, t->p95_ms)));
			continue;
		}
		buf_json_member(&u->b, "tool", show_line(u->cfg, t->name, 200, a));
		buf_json_member_i64(&u->b, "calls", t->calls);
		buf_json_member_i64(&u->b, "done", t->done);
		buf_json_member_i64(&u->b, "failed", t->failed);
		buf_json_member_i64(&u->b, "denied", t->denied);
		buf_json_member_i64(&u->b, "in_doubt", t->in_doubt);
		buf_json_member_i64(&u->b, "canceled", t->canceled);
		buf_json_member_i64(&u->b, "p50_ms", t->p50_ms);
		buf_json_member_i64(&u->b, "p95_ms", t->p95_ms);
		buf_addc(&u->b, '}');
	}
}

static void model_json(struct usage_cmd *u, const struct tally_model *m, str name,
		       const struct tally_share *share)
{
	buf_json_member(&u->b, "model", name);
	tokens_json(u, &m->used);
	buf_json_member_i64(&u->b, "first_token_p50_ms", m->first_p50_ms);
	buf_json_member_i64(&u->b, "p50_ms", m->p50_ms);
	buf_json_member_i64(&u->b, "p95_ms", m->p95_ms);
	cost_json(u, share, &m->used);
	buf_addc(&u->b, '}');
}

static void models(struct usage_cmd *u)
{
	struct arena *a = u->cli->a;

	if (!u->json)
		buf_add(&u->b, S("MODEL                   REQS FAILED         IN     CACHED    "
				 "   OUT    FIRST      P50      P95  COST\n"));
	for (size_t i = 0; i < u->t.models_n; i++) {
		const struct tally_model *m = &u->t.models[i];
		const struct tally_share share = { .model = i, .used = m->used };
		str name = show_line(u->cfg, price_model(m->issuer), u->json ? 200 : 21, a);
		const char *mark = m->used.estimated ? "~" : "";
		char in[32], out[32];

		u->estimated = u->estimated || m->used.estimated;
		row_begin(u);
		if (u->json) {
			model_json(u, m, name, &share);
			continue;
		}
		(void)snprintf(in, sizeof in, "%s%lld", mark, (long long)m->used.prompt);
		(void)snprintf(out, sizeof out, "%s%lld", mark, (long long)m->used.completion);
		buf_fmt(&u->b, "%-21.*s %6lld %6lld %10s %10lld %9s %8.*s %8.*s %8.*s  %.*s\n",
			STRF(name), (long long)m->used.requests, (long long)m->used.failed, in,
			(long long)m->used.cached, out,
			STRF(m->first_p50_ms ? show_ms(a, m->first_p50_ms) : S("-")),
			STRF(show_ms(a, m->p50_ms)), STRF(show_ms(a, m->p95_ms)),
			STRF(cost_of(u, &share, &m->used)));
	}
}

static const struct by {
	const char *name;
	unsigned parts;
	void (*print)(struct usage_cmd *u);
} bys[] = {
	{ "day", TALLY_DAYS, days },
	{ "session", TALLY_SESSIONS, sessions },
	{ "tool", TALLY_TOOLS, tools },
	{ "model", TALLY_MODELS, models },
};

static void notes(struct usage_cmd *u)
{
	if (!u->rows)
		buf_add(&u->b, S("nothing was done in that time\n"));
	if (u->estimated)
		buf_add(&u->b, S("~ holds estimates: the model did not count every request\n"));
	if (u->at_least)
		buf_add(&u->b,
			S("+ at least: requests without a price, or no longer kept, are left "
			  "out\n"));
}

static int print(struct usage_cmd *u, const struct by *by)
{
	struct cli *cli = u->cli;

	if (!u->json) {
		by->print(u);
		if (!u->rows)
			buf_reset(&u->b);
		notes(u);
		return cli_answer(cli, &u->b, false);
	}
	buf_add(&u->b, S("{"));
	buf_json_member(&u->b, "by", str_of(by->name));
	buf_json_member(&u->b, "since", date_rfc3339(cli->a, u->t.since_ms));
	buf_json_member(&u->b, "zone", zone_name(u->zone));
	buf_json_member(&u->b, "currency", u->cfg->models.currency);
	buf_json_key(&u->b, "rows");
	buf_addc(&u->b, '[');
	by->print(u);
	buf_add(&u->b, u->rows ? S("\n]}\n") : S("]}\n"));
	return cli_answer(cli, &u->b, true);
}

static int look(struct usage_cmd *u, const struct by *by, int64_t since_ms)
{
	const struct tally_opt opt = { .parts = by->parts,
				       .since_ms = since_ms,
				       .until_ms = clock_now_ms(),
				       .zone = u->zone,
				       .sessions_max = SESSIONS_MAX };
	struct store *s;
	struct err e = { 0 };
	int rc = store_open(&s, &u->cfg->store, STORE_READ, NULL, &e);

	u->t.since_ms = since_ms;
	if (rc == E_NOENT && !u->json) {
		cli_print(u->cli, S("no database yet\n"));
		return EXIT_OK;
	}
	if (rc == OK) {
		rc = store_tally(s, &opt, u->cli->a, &u->t, &e);
		store_close(s);
	}
	if (rc < 0 && rc != E_NOENT)
		return cli_fail("%s", e.msg);
	return print(u, by);
}

static int run(struct cli *cli)
{
	struct usage_cmd u = { .cli = cli, .json = cli_flag(cli, "--json") };
	const char *by_text = "day", *since_text = "30d";
	const struct by *by = NULL;
	struct config *cfg = NULL;
	int64_t since_ms;
	bool bad = false;

	(void)cli_value(cli, "--by", &by_text, &bad);
	for (size_t i = 0; i < COUNT(bys); i++)
		if (strcmp(bys[i].name, by_text) == 0)
			by = &bys[i];
	if (bad || !by)
		return cli_misuse(cli, "--by wants day, session, tool or model");
	(void)cli_value(cli, "--since", &since_text, &bad);
	int code = cli_rest(cli, 0, 0);
	if (code != EXIT_OK ||
	    (code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg)) != EXIT_OK)
		return code;
	u.cfg = cfg;
	u.zone = zone_load_or_utc(cli->a, cfg->cron.zone);
	u.b = buf_in(cli->a, OUT_MAX);
	code = bad || !since_parse(str_of(since_text), u.zone, clock_now_ms(), &since_ms)
		       ? cli_misuse(cli, "--since wants days (7d), a date (2026-11-01), an RFC "
					 "3339 time, or all")
		       : look(&u, by, since_ms);
	config_free(cfg);
	return code;
}

const struct cmd cmd_usage = {
	.name = "usage",
	.summary = "turns, tokens and money by day, session, tool or model",
	.usage = "usage: gantry usage [--by day|session|tool|model] [--since DATE|Nd|all] "
		 "[--json]\n"
		 "\n"
		 "Without --since it is the last 30 days.  Days are those of the configured "
		 "time "
		 "zone.\n"
		 "Prices come from models.prices; what has none costs \"-\".  ~ marks "
		 "estimates, "
		 "+ what\n"
		 "cost at least so much.\n"
		 "\n"
		 "example:\n"
		 "  gantry usage --by model --since 7d\n",
	.run = run,
};

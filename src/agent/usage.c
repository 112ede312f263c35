/*
 * /usage: what today, this month and this session came to, in requests, tokens and money.
 */
#include "agent/internal.h"
#include "os/clock.h"
#include "store/session.h"
#include "store/tally.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

struct counted {
	int64_t turns, tool_calls;
	struct tally_tokens used;
	struct tally_cost cost;
};

static void add(struct counted *c, int64_t turns, int64_t tool_calls,
		const struct tally_tokens *used, const struct tally_cost *cost)
{
	c->turns += turns;
	c->tool_calls += tool_calls;
	c->used.requests += used->requests;
	c->used.failed += used->failed;
	c->used.prompt += used->prompt;
	c->used.cached += used->cached;
	c->used.completion += used->completion;
	c->used.written += used->written;
	c->used.estimated += used->estimated;
	c->cost.nano += cost->nano;
	c->cost.priced += cost->priced;
	c->cost.unpriced += cost->unpriced;
	c->cost.estimated = c->cost.estimated || cost->estimated;
}

static void line(struct buf *b, struct arena *a, const char *what, const struct counted *c,
		 str currency)
{
	const char *mark = c->used.estimated ? "~" : "";
	str cost = tally_cost_text(a, &c->cost, &c->used, currency);

	buf_fmt(b,
		"\n%s: %lld turn%s, %lld request%s, %lld tool call%s, tokens %s%lld in (%lld "
		"cached), %s%lld out",
		what, (long long)c->turns, c->turns == 1 ? "" : "s",
		(long long)c->used.requests, c->used.requests == 1 ? "" : "s",
		(long long)c->tool_calls, c->tool_calls == 1 ? "" : "s", mark,
		(long long)c->used.prompt, (long long)c->used.cached, mark,
		(long long)c->used.completion);
	if (!str_eq(cost, S("-")))
		buf_fmt(b, ", cost %.*s", STRF(cost));
}

/* Today is the last day of the month so far. */
static int of_month(struct counted *today, struct counted *month, struct agent *ag,
		    const struct models_cfg *models, struct arena *a, struct err *e)
{
	const struct zone *z = agent_zone(ag, a);
	int64_t now_ms = clock_now_ms();
	const struct tally_opt opt = {
		.parts = TALLY_DAYS,
		.since_ms = tally_day_at_ms(z, tally_period(z, TALLY_MONTH, now_ms)),
		.until_ms = now_ms,
		.zone = z,
	};
	struct tally t;
	int rc = store_tally(ag->opt.store, &opt, a, &t, e);

	for (size_t i = 0; rc == OK && i < t.days_n; i++) {
		const struct tally_day *d = &t.days[i];
		struct tally_cost cost = tally_cost(&t, d->shares, models);
		add(month, d->turns, d->tool_calls, &d->used, &cost);
		if (i + 1 == t.days_n)
			add(today, d->turns, d->tool_calls, &d->used, &cost);
	}
	return rc;
}

static int of_session(struct counted *c, struct agent *ag, const struct models_cfg *models,
		      str channel, str address, struct arena *a, struct err *e)
{
	struct session s;
	struct tally t;
	int rc = store_session_find(ag->opt.store, channel, address, a, &s, e);

	if (rc < 0)
		return rc == E_NOENT ? OK : rc;
	const struct tally_opt opt = { .parts = TALLY_SESSIONS,
				       .since_ms = s.created_at_ms,
				       .until_ms = clock_now_ms() + DAY_MS,
				       .zone = &zone_utc,
				       .sessions_max = 1,
				       .session_id = s.id };
	rc = store_tally(ag->opt.store, &opt, a, &t, e);
	if (rc == OK && t.sessions_n) {
		const struct tally_session *v = &t.sessions[0];
		struct tally_cost cost = tally_cost(&t, v->shares, models);
		add(c, v->turns, v->tool_calls, &v->used, &cost);
	}
	return rc;
}

str agent_usage_text(struct agent *ag, str channel, str address, struct arena *a)
{
	struct snapshot *snap = agent_snapshot_get(ag);
	const struct models_cfg *models = &snap->cfg->models;
	struct counted today = { 0 }, month = { 0 }, session = { 0 };
	struct buf b = buf_in(a, 8192);
	struct err e = { 0 };

	if (of_month(&today, &month, ag, models, a, &e) < 0 ||
	    of_session(&session, ag, models, channel, address, a, &e) < 0) {
		agent_snapshot_put(ag, snap);
		return arena_fmt(a, "That did not work: %s", e.msg);
	}
	buf_fmt(&b, "usage (days of %.*s)", STRF(zone_name(agent_zone(ag, a))));
	line(&b, a, "today", &today, models->currency);
	line(&b, a, "this month", &month, models->currency);
	line(&b, a, "this session", &session, models->currency);
	if (month.used.estimated || session.used.estimated)
		buf_add(&b, S("\n~ holds estimates: the model did not count every request"));
	if (month.cost.priced && month.used.requests - month.used.failed > month.cost.priced)
		buf_add(&b, S("\n+ at least: not every request has a known price"));
	agent_snapshot_put(ag, snap);
	return buf_str(&b);
}

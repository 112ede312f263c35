/*
 * Limits on spending.  A day is a date in the owner's zone: its sum belongs to that date, so
 * that a clock that is set forward and back finds what was spent on each.
 */
#include "agent/spend.h"

#include "agent/internal.h"
#include "base/date.h"
#include "config/zones.h"
#include "os/clock.h"
#include "os/log.h"
#include "text/text.h"

#include <stdatomic.h>

#define SHUT_MS (60 * 60000) /* then it is looked at again: a limit may have been raised */

enum { TURN, JOB, DAY, MONTH };

static const struct kind {
	const char *tokens, *money; /* options */
	const char *each;
} kinds[SPEND_SCOPES] = {
	[TURN] = { "spending.turn_tokens", "spending.turn_money", "a turn" },
	[JOB] = { "spending.job_tokens", "spending.job_money", "a job and day" },
	[DAY] = { "spending.day_tokens", "spending.day_money", "a day" },
	[MONTH] = { "spending.month_tokens", "spending.month_money", "a month" },
};

static struct spending_limit limit_of(const struct config *cfg, int kind)
{
	const struct spending_cfg *s = &cfg->spending;

	return kind == TURN ? s->turn : kind == JOB ? s->job : kind == DAY ? s->day : s->month;
}

bool spend_limited(const struct config *cfg)
{
	for (int i = 0; i < SPEND_SCOPES; i++)
		if (limit_of(cfg, i).tokens || limit_of(cfg, i).nano)
			return true;
	return false;
}

/* The day and month that it is for the owner, and when they end. */
static void name_days(struct spend *s)
{
	int64_t now_s = clock_now_ms() / 1000;
	struct date d = date_of_ms(zone_wall(s->zone, now_s) * 1000);
	struct date day = { .year = d.year, .month = d.month, .day = d.day + 1 };
	struct date month = { .year = d.year + d.month / 12, .month = d.month % 12 + 1 };

	month.day = 1;
	s->scopes[DAY] = arena_fmt(s->a, "day:%04d%02d%02d", d.year, d.month, d.day);
	s->scopes[MONTH] = arena_fmt(s->a, "month:%04d%02d", d.year, d.month);
	s->opens_ms[DAY] = s->opens_ms[JOB] =
		zone_instant(s->zone, date_to_ms(&day) / 1000) * 1000;
	s->opens_ms[MONTH] = zone_instant(s->zone, date_to_ms(&month) / 1000) * 1000;
}

int spend_begin(struct spend *out, struct agent *ag, const struct config *cfg, str issuer,
		str turn_id, struct arena *a, struct err *e)
{
	struct spend s = { .ag = ag, .cfg = cfg, .model = price_model(issuer), .a = a };
	int64_t job = 0;
	int rc = OK;

	*out = (struct spend){ 0 };
	if (!spend_limited(cfg))
		return OK;
	s.zone = zone_load_or_utc(a, cfg->cron.zone);
	name_days(&s);
	if (turn_id.n) {
		s.scopes[TURN] = arena_fmt(a, "turn:%.*s", STRF(turn_id));
		rc = store_turn_job(ag->opt.store, turn_id, &job, e);
	}
	if (job)
		s.scopes[JOB] = arena_fmt(a, "job:%lld:%.*s", (long long)job,
					  STRF(str_sub(s.scopes[DAY], 4, SIZE_MAX)));
	if (rc == OK)
		*out = s;
	return rc;
}

/* Tokens and money of so much. */
static struct spend_amount amount(const struct spend *s, const struct price_usage *u)
{
	int64_t prompt = u->prompt < SPEND_MOST ? u->prompt : SPEND_MOST;
	int64_t answer = u->completion < SPEND_MOST ? u->completion : SPEND_MOST;
	struct spend_amount sum = { .tokens = prompt + answer };

	(void)price_of(&s->cfg->models, s->model, u, &sum.nano);
	return sum;
}

static str opens_words(const struct spend *s, int kind)
{
	if (s->opens_ms[kind] == 0)
		return S("It is of one turn: the next message has all of it");
	str at = zone_rfc3339(s->zone, s->a, s->opens_ms[kind] / 1000);
	return arena_fmt(s->a, "It opens again on %.*s at %.*s (%.*s)",
			 STRF(str_sub(at, 0, 10)), STRF(str_sub(at, 11, 16)),
			 STRF(zone_name(s->zone)));
}

static str shown(const struct spend *s, int64_t n, bool money)
{
	return money ? price_text(s->a, n, s->cfg->models.currency)
		     : arena_fmt(s->a, "%lld tokens", (long long)n);
}

static int refuse(struct spend *s, int kind, bool money, const struct spent *used,
		  int64_t worst, struct err *e)
{
	struct spending_limit limit = limit_of(s->cfg, kind);
	const char *option = money ? kinds[kind].money : kinds[kind].tokens;
	str max = shown(s, money ? limit.nano : limit.tokens, money);
	str now = shown(s, money ? used->sum.nano : used->sum.tokens, money);
	str more = shown(s, worst, money);

	s->option = str_of(option);
	s->shut_ms = s->opens_ms[kind];
	s->refusal = arena_fmt(
		s->a,
		"The limit of %.*s %s leaves no room for a further question to the model: "
		"%.*s used, and this one could take up to %.*s. %.*s. To go on before, raise "
		"%s.",
		STRF(max), kinds[kind].each, STRF(now), STRF(more), STRF(opens_words(s, kind)),
		option);
	return err_set(e, E_LIMIT, "%s leaves no room", option);
}

static int check(struct spend *s, struct tx *tx, int kind, const struct spend_amount *worst,
		 bool priced, struct err *e)
{
	struct spending_limit limit = limit_of(s->cfg, kind);
	struct spent used;
	int rc;

	if (s->scopes[kind].n == 0 || (limit.tokens == 0 && limit.nano == 0))
		return OK;
	if (limit.nano && !priced) {
		s->option = str_of(kinds[kind].money);
		s->refusal =
			arena_fmt(s->a,
				  "%s is a limit in money, and models.prices has no price of "
				  "%.*s: the model is not asked before it has one.",
				  kinds[kind].money, STRF(s->model));
		return err_set(e, E_LIMIT, "%s: no price of %.*s", kinds[kind].money,
			       STRF(s->model));
	}
	if ((rc = store_spent_in(tx, s->scopes[kind], &used, e)) < 0)
		return rc;
	if (limit.tokens && used.sum.tokens + worst->tokens > limit.tokens)
		return refuse(s, kind, false, &used, worst->tokens, e);
	if (limit.nano && used.sum.nano > limit.nano - worst->nano)
		return refuse(s, kind, true, &used, worst->nano, e);
	return OK;
}

/* An answer was never asked for, or came to nothing that was reported. */
static struct spend_settle estimated(const struct spend *s)
{
	return (struct spend_settle){ .id = s->id,
				      .estimated = true,
				      .amount = amount(s, &(struct price_usage){
								  .prompt = s->prompt }) };
}

static int hold(struct spend *s, const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct config *cfg = s->cfg;
	int64_t answer =
		cfg->model.max_tokens > 0 ? cfg->model.max_tokens : cfg->spending.answer_tokens;
	struct spend_settle earlier = estimated(s);
	struct spend_amount worst =
		amount(s, &(struct price_usage){ .prompt = s->prompt, .completion = answer });
	str scopes[SPEND_SCOPES];
	size_t n = 0;
	int64_t id = 0;
	bool priced = price_worst(&cfg->models, s->model, s->prompt, answer, &worst.nano);
	int rc = store_begin(&tx, s->ag->opt.store, c, e);

	if (rc == OK && s->id)
		rc = store_spend_settle(&tx, &earlier, e);
	for (int i = 0; rc == OK && i < SPEND_SCOPES; i++) {
		rc = check(s, &tx, i, &worst, priced, e);
		if (s->scopes[i].n)
			scopes[n++] = s->scopes[i];
	}
	if (rc < 0 || (rc = store_spend_hold(&tx, scopes, n, &worst, &id, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	s->id = id;
	return OK;
}

int spend_hold(struct spend *s, int64_t prompt_tokens, const struct cancel *c, struct err *e)
{
	int rc;

	if (!s->cfg)
		return OK;
	s->refusal = (str){ 0 };
	s->prompt = prompt_tokens;
	if ((rc = hold(s, c, e)) == E_LIMIT && s->refusal.n)
		log_info("spend.refused", "scope=%.*s option=%.*s",
			 STRF(s->scopes[TURN].n ? s->scopes[TURN] : S("background")),
			 STRF(s->option));
	return rc;
}

struct spend_settle spend_end(const struct spend *s, const struct model_reply *reply,
			      const struct model_failure *fail)
{
	struct spend_settle how = { .id = s->id };

	if (!s->cfg)
		return how;
	if (!reply) /* what was refused cost nothing; what broke off may have */
		return fail->status ? how : estimated(s);
	const struct model_usage *u = &reply->usage;
	how.estimated = u->prompt < 0 || u->completion < 0;
	how.amount = amount(
		s, &(struct price_usage){ .prompt = u->prompt >= 0 ? u->prompt : s->prompt,
					  .cached = u->cached,
					  .written = u->written,
					  .completion = u->completion >= 0
								? u->completion
								: text_tokens(reply->wire) });
	return how;
}

void agent_spend_shut(struct agent *ag, int64_t until_ms)
{
	int64_t most = clock_now_ms() + SHUT_MS;

	atomic_store(&ag->shut_until_ms, until_ms && until_ms < most ? until_ms : most);
}

int64_t agent_spend_shut_until(struct agent *ag)
{
	return atomic_exchange(&ag->shut_until_ms, 0);
}

static void add_line(struct buf *b, const struct spend *s, int kind, bool money)
{
	struct spending_limit limit = limit_of(s->cfg, kind);
	int64_t max = money ? limit.nano : limit.tokens;
	struct spent used;

	if (max == 0 || store_spent(s->ag->opt.store, s->scopes[kind], &used, NULL) < 0)
		return;
	int64_t sum = money ? used.sum.nano : used.sum.tokens;
	int64_t est = money ? used.estimated.nano : used.estimated.tokens;
	int64_t held = money ? used.held.nano : used.held.tokens;
	buf_fmt(b, "\nspent this %s: %.*s of %.*s, %.*s left", kind == DAY ? "day" : "month",
		STRF(shown(s, sum, money)), STRF(shown(s, max, money)),
		STRF(shown(s, sum < max ? max - sum : 0, money)));
	if (held)
		buf_fmt(b, "; held for requests under way: %.*s", STRF(shown(s, held, money)));
	if (est)
		buf_fmt(b, "; estimated: %.*s", STRF(shown(s, est, money)));
}

str spend_text(struct agent *ag, const struct config *cfg, struct arena *a)
{
	struct buf b = buf_in(a, 4096);
	struct spend s;

	if (spend_begin(&s, ag, cfg, S(""), S(""), a, NULL) < 0 || !s.cfg)
		return S("");
	for (int i = DAY; i <= MONTH; i++) {
		add_line(&b, &s, i, false);
		add_line(&b, &s, i, true);
	}
	return buf_str(&b);
}

/*
 * The limits of each part, and the judgement.
 */
#include "gateway/health.h"

#define SECOND_MS 1000
/* The clock writes the heartbeats, every 15 s; the others look up at least every 30 s when they
 * have nothing to do.  What they do has limits of its own: 60 s a call of Telegram's, 10 s for
 * the database. */
#define CLOCK_MAX_MS (60 * SECOND_MS)
#define THREAD_MAX_MS (180 * SECOND_MS)
#define STEP_MARGIN_MS (60 * SECOND_MS)

static int64_t larger(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

int64_t health_step_max(const struct config *cfg, int64_t call_max_ms)
{
	const struct model_cfg *m = &cfg->model;
	int64_t total = larger(m->total_ms, m->first_token_ms);
	int64_t ms = (m->max_retries + 1) * (total + STEP_MARGIN_MS);

	ms = larger(ms, larger(cfg->mcp.call_timeout_ms, call_max_ms));
	ms = larger(ms, cfg->mcp.call_max_ms);
	ms = larger(ms, larger(cfg->exec.timeout_ms, cfg->web.timeout_ms));
	ms = larger(ms, cfg->policy.approval_timeout_ms);
	ms = larger(ms, cfg->mcp.call_timeout_ms + cfg->mcp.question_timeout_ms);
	return larger(ms, cfg->mcp.turn_wait_ms) + STEP_MARGIN_MS;
}

const char *health_word(enum health_state s)
{
	return s == HEALTHY ? "healthy" : s == DEGRADED ? "degraded" : "dead";
}

static const struct heartbeat *beat_of(const struct store_health *rows, const char *part)
{
	for (size_t i = 0; i < rows->n; i++)
		if (str_is(rows->beats[i].part, part))
			return &rows->beats[i];
	return NULL;
}

/* A clock that was set back makes nothing old. */
static int64_t age(int64_t at_ms, int64_t now_ms)
{
	return at_ms <= 0 ? -1 : larger(now_ms - at_ms, 0);
}

/* A daemon that began just now has the rows of the one before it until its clock turns; that one's
 * standstill is not its own.  (After a clock that was set back its begin may lie ahead.) */
static int64_t beat_age(const struct store_health *rows, const char *part, int64_t now_ms)
{
	const struct heartbeat *b = beat_of(rows, part);
	int64_t since = rows->since_ms > now_ms ? 0 : rows->since_ms;

	if (!b || b->at_ms <= 0)
		return -1;
	return age(larger(b->at_ms, since), now_ms);
}

static const char *what(const char *part)
{
	return str_is(str_of(part), PART_CLOCK)  ? "the clock thread did not turn"
	       : str_is(str_of(part), PART_POLL) ? "the poll of the channel did not come back"
	       : str_is(str_of(part), PART_DELIVER) ? "a deliverer did not move"
	       : str_is(str_of(part), PART_WORKER)  ? "a worker did not look for work"
						    : "a turn made no step";
}

static bool overdue(const struct health_part *p)
{
	return p->limit_ms && p->age_ms > p->limit_ms;
}

static void judge_troubles(const struct store_health *rows, struct arena *a, struct health *out)
{
	const struct heartbeat *heard = beat_of(rows, PART_HEARD);

	if (heard && heard->trouble.n) {
		out->state = DEGRADED;
		out->part = PART_HEARD;
		out->reason = arena_fmt(a, "the channel: %.*s", STRF(heard->trouble));
	} else if (rows->model_error.n) {
		out->state = DEGRADED;
		out->part = "model";
		out->reason = arena_fmt(a, "the model failed when it was last asked (%.*s)",
					STRF(rows->model_error));
	}
}

void health_judge(const struct store_health *rows, int64_t now_ms, int64_t step_max_ms,
		  struct arena *a, struct health *out)
{
	*out = (struct health){
		.state = HEALTHY,
		.part = "",
		.reason = S(""),
		.parts = { { PART_CLOCK, beat_age(rows, PART_CLOCK, now_ms), CLOCK_MAX_MS },
			   { PART_POLL, beat_age(rows, PART_POLL, now_ms), THREAD_MAX_MS },
			   { PART_DELIVER, beat_age(rows, PART_DELIVER, now_ms),
			     THREAD_MAX_MS },
			   { PART_WORKER, beat_age(rows, PART_WORKER, now_ms), THREAD_MAX_MS },
			   { PART_TURN, age(rows->turn_step_at_ms, now_ms), step_max_ms } },
	};
	for (size_t i = 0; i < HEALTH_PARTS && out->state != DEAD; i++) {
		const struct health_part *p = &out->parts[i];
		if (!overdue(p))
			continue;
		out->state = DEAD;
		out->part = p->name;
		out->reason = arena_fmt(a, "%s for %lld s, the limit is %lld s", what(p->name),
					(long long)(p->age_ms / SECOND_MS),
					(long long)(p->limit_ms / SECOND_MS));
	}
	if (out->state != DEAD)
		judge_troubles(rows, a, out);
}

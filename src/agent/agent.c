/*
 * What turns share.  The lock guards the current snapshot's pointer and counts and the ring
 * of recent turns; it is never held across anything but a few assignments.
 */
#include "agent/internal.h"

#include "agent/persona.h"
#include "base/buf.h"
#include "config/zones.h"
#include "os/clock.h"
#include "os/log.h"

#include <string.h>

static int snapshot_new(struct snapshot **out, const struct config *cfg, struct err *e)
{
	struct arena a = { 0 };
	str persona;
	int rc = persona_load(&persona, &a, cfg, e);

	if (rc < 0) {
		arena_free(&a);
		return rc;
	}
	struct snapshot *s = NEW(&a, struct snapshot);
	s->cfg = cfg;
	s->persona = persona;
	s->refs = 1;
	s->arena = a; /* it holds itself */
	*out = s;
	return OK;
}

static void snapshot_free(struct snapshot *s)
{
	struct arena a = s->arena;

	config_free(s->own);
	arena_free(&a);
}

int agent_open(struct agent **out, const struct agent_opt *opt, struct err *e)
{
	struct snapshot *s;
	int rc = snapshot_new(&s, opt->cfg, e);

	if (rc < 0)
		return rc;
	struct arena a = { 0 };
	struct agent *ag = NEW(&a, struct agent);
	ag->arena = a; /* it holds itself */
	ag->opt = *opt;
	ag->started_at_ms = clock_now_ms();
	ag->now = s;
	(void)pthread_mutex_init(&ag->lock, NULL);
	*out = ag;
	return OK;
}

void agent_close(struct agent *ag)
{
	if (!ag)
		return;
	agent_snapshot_put(ag, ag->now);
	(void)pthread_mutex_destroy(&ag->lock);
	struct arena a = ag->arena;
	arena_free(&a);
}

static struct snapshot *hold(struct agent *ag, struct snapshot *s)
{
	pthread_mutex_lock(&ag->lock);
	s = s ? s : ag->now;
	s->refs++;
	pthread_mutex_unlock(&ag->lock);
	return s;
}

struct snapshot *agent_snapshot_get(struct agent *ag)
{
	return hold(ag, NULL);
}

void agent_snapshot_put(struct agent *ag, struct snapshot *s)
{
	pthread_mutex_lock(&ag->lock);
	bool last = --s->refs == 0;
	pthread_mutex_unlock(&ag->lock);
	if (!last)
		return;
	struct snapshot *base = s->base;
	snapshot_free(s);
	if (base)
		agent_snapshot_put(ag, base);
}

/* From now on s is the current one, if old still is (NULL: in any case). */
static bool replace(struct agent *ag, const struct snapshot *old, struct snapshot *s)
{
	pthread_mutex_lock(&ag->lock);
	struct snapshot *was = ag->now;
	bool fits = !old || was == old;
	if (fits)
		ag->now = s;
	pthread_mutex_unlock(&ag->lock);
	agent_snapshot_put(ag, fits ? was : s);
	return fits;
}

int agent_persona_refresh(struct agent *ag, struct err *e)
{
	struct snapshot *old = agent_snapshot_get(ag), *s;
	int rc = snapshot_new(&s, old->cfg, e);

	if (rc == OK && str_eq(s->persona, old->persona)) {
		snapshot_free(s);
	} else if (rc == OK) {
		size_t chars = s->persona.n;
		s->base = hold(ag, old->base ? old->base : old);
		if (replace(ag, old, s)) /* else it was read again by a reload */
			log_info("persona.loaded", "chars=%zu", chars);
	}
	agent_snapshot_put(ag, old);
	return rc;
}

int agent_reload_begin(struct agent_reload *r, const struct config *cfg, struct err *e)
{
	return snapshot_new(&r->fresh, cfg, e);
}

void agent_reload_drop(struct agent_reload *r)
{
	if (r->fresh)
		snapshot_free(r->fresh);
	r->fresh = NULL;
}

void agent_reload_take(struct agent *ag, struct agent_reload *r, struct config *cfg)
{
	struct snapshot *s = r->fresh;

	r->fresh = NULL;
	s->own = cfg;
	(void)replace(ag, NULL, s);
}

void agent_perf_add(struct agent *ag, struct perf *p)
{
	pthread_mutex_lock(&ag->lock);
	p->number = ++ag->perf_n;
	ag->ring[(p->number - 1) % PERF_RING] = *p;
	pthread_mutex_unlock(&ag->lock);
}

static str seconds(struct arena *a, int64_t ms)
{
	return ms < 50 ? S("0s")
		       : arena_fmt(a, "%lld.%llds", (long long)(ms / 1000),
				   (long long)(ms % 1000 / 100));
}

static void perf_line(struct buf *b, struct arena *a, const struct perf *p)
{
	static const char *const outcome[] = { "", " [landing]", " [canceled]", " [error]" };
	int64_t s = p->at_ms / 1000 % 86400;
	int64_t cached = p->prompt_tokens > 0 ? p->cached_tokens * 100 / p->prompt_tokens : 0;

	buf_fmt(b, "\n#%lld %02lld:%02lld:%02lld %s total=%.*s model=%.*s tool=%.*s",
		(long long)p->number, (long long)(s / 3600), (long long)(s / 60 % 60),
		(long long)(s % 60), p->kind, STRF(seconds(a, p->total_ms)),
		STRF(seconds(a, p->model_ms)), STRF(seconds(a, p->tool_ms)));
	buf_fmt(b, " rounds=%lld tools=%lld batch=%lld rec=%lld", (long long)p->rounds,
		(long long)p->calls, (long long)p->max_batch, (long long)p->recoveries);
	buf_fmt(b, " prompt=%lld gen=%lld cached=%lld%% first_token=%.*s%s%s",
		(long long)p->prompt_tokens, (long long)p->completion_tokens, (long long)cached,
		STRF(seconds(a, p->first_token_ms)), outcome[p->outcome],
		p->number == 1 ? " (cold)" : "");
}

str agent_perf_text(struct agent *ag, struct arena *a)
{
	struct perf ring[PERF_RING];
	struct buf b = buf_in(a, 16384);

	pthread_mutex_lock(&ag->lock);
	int64_t last = ag->perf_n, n = last < PERF_RING ? last : PERF_RING;
	memcpy(ring, ag->ring, sizeof ring);
	pthread_mutex_unlock(&ag->lock);
	if (n == 0)
		return S("no turns yet");
	buf_fmt(&b, "last %lld turn%s (UTC; tokens as reported by the model)", (long long)n,
		n == 1 ? "" : "s");
	for (int64_t i = last; i > last - n; i--)
		perf_line(&b, a, &ring[(i - 1) % PERF_RING]);
	return buf_str(&b);
}

const struct zone *agent_zone(struct agent *ag, struct arena *a)
{
	struct snapshot *s = agent_snapshot_get(ag);
	const struct zone *z = zone_load_or_utc(a, s->cfg->cron.zone);

	agent_snapshot_put(ag, s);
	return z;
}

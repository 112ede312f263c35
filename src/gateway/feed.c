/*
 * The words are those of sd_notify(3).  Between two meals at most half the time passes that the
 * manager gives, and never more than the clock's own beat.
 */
#include "gateway/feed.h"

#include "gateway/health.h"
#include "mcp/manifest.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/health.h"

#define BEAT_MS 15000
#define STATUS_MAX 512

int64_t feed_step_max(const struct config *cfg, struct arena *a)
{
	struct mcp_manifest m = { 0 };
	int64_t ms = 0;

	/* One that cannot be read allows no call. */
	if (!cfg->mcp.manifest.n ||
	    mcp_manifest_load(&m, a, cfg->mcp.manifest.p, true, NULL) < 0)
		return health_step_max(cfg, 0);
	for (size_t i = 0; i < m.n; i++)
		if (m.servers[i].timeout_ms > ms)
			ms = m.servers[i].timeout_ms;
	return health_step_max(cfg, ms);
}

static bool heard(const struct feed *f)
{
	return f->to && f->to->n;
}

void feed_init(struct feed *f, const struct notify *to, const struct config *cfg)
{
	SCOPED(arena_free) struct arena a = { 0 };

	*f = (struct feed){ .to = to };
	if (heard(f))
		f->step_max_ms = feed_step_max(cfg, &a);
}

void feed_ready(const struct feed *f, const char *channel)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (heard(f))
		notify_send(f->to, arena_fmt(&a, "READY=1\nSTATUS=started on %s", channel));
}

void feed_stopping(const struct feed *f)
{
	if (heard(f))
		notify_send(f->to, S("STOPPING=1\nSTATUS=stopping"));
}

/* The health as it is in memory, with what only rows tell where they can be read. */
static void judge(struct feed *f, struct engine *g, struct beats *b, struct arena *a,
		  struct health *out)
{
	struct heartbeat rows[BEATS_PARTS];
	struct store_health known = { 0 };
	struct err e = { 0 };

	if (store_health_get(g->store, a, &known, &e) < 0) {
		log_debug("watchdog.rows", "err=%s", e.msg);
		known = (struct store_health){ 0 };
	}
	known.n = beats_read(b, rows);
	known.beats = rows;
	health_judge(&known, clock_now_ms(), f->step_max_ms, a, out);
}

int64_t feed_look(struct feed *f, struct engine *g, struct beats *b)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t now = clock_mono_ms(), every;
	struct health h;

	if (!heard(f))
		return INT64_MAX;
	if (now < f->next_ms)
		return f->next_ms;
	every = f->to->watchdog_ms ? f->to->watchdog_ms / 2 : BEAT_MS;
	f->next_ms = now + (every < BEAT_MS ? every + !every : BEAT_MS);
	judge(f, g, b, &a, &h);
	bool dead = h.state == DEAD;
	if (dead && !f->starved)
		log_error("watchdog.starved", "part=%s reason=%s", h.part,
			  log_q(&a, h.reason).p);
	f->starved = dead;
	str food = !dead && f->to->watchdog_ms ? S("WATCHDOG=1\n") : S("");
	str line = arena_fmt(&a, "%.*sSTATUS=%s%s%.*s", STRF(food), health_word(h.state),
			     h.reason.n ? ": " : "", STRF(h.reason));
	size_t end = str_find(str_sub(line, food.n, line.n), S("\n"));
	if (end != SIZE_MAX)
		line = str_sub(line, 0, food.n + end);
	notify_send(f->to, str_sub(line, 0, STATUS_MAX));
	return f->next_ms;
}

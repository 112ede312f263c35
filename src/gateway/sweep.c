/*
 * Sweeping.  What would take long is done in parts, one at a time.
 */
#include "gateway/sweep.h"

#include "gateway/work.h"
#include "os/clock.h"
#include "os/heap.h"
#include "os/http.h"
#include "os/log.h"
#include "store/inbox.h"
#include "store/memory.h"
#include "store/state.h"

#define IDLE_KEPT_MS 60000
#define RETAIN_EVERY_MS (20 * 60000)

/* What the last burst needed, and nobody needs now. */
static void shrink(struct engine *g)
{
	http_pool_tidy(g->pool, IDLE_KEPT_MS);
	store_tidy_readers(g->store, IDLE_KEPT_MS);
	heap_trim();
}

/* Now and then, for what is old is not in a hurry; the rest of much at the next sweep. */
static int retain(struct sweep *s, struct engine *g, const struct cancel *c, struct err *e)
{
	bool more = false;
	int rc = OK;

	if (clock_mono_ms() < s->retain_at_ms)
		return OK;
	rc = store_retain(g->store, &g->cfg->store, &more, c, e);
	if (rc == OK && !more)
		s->retain_at_ms = clock_mono_ms() + RETAIN_EVERY_MS;
	return rc;
}

int sweep_up(struct sweep *s, struct engine *g, const struct cancel *c, struct err *e)
{
	int64_t turns = 0, purged;
	int rc;

	shrink(g);
	rc = store_recover(g->store, c, &turns, e);
	if (rc == OK)
		work_news(g);
	if (rc == OK && turns) {
		log_info("turns.recovered", "n=%lld", (long long)turns);
		bell_ring(&g->inbox);
		bell_ring(&g->outbox);
	}
	if (rc == OK)
		rc = retain(s, g, c, e);
	if (rc == OK)
		rc = store_memory_purge(g->store, c, &purged, e);
	return rc < 0 ? rc : store_blobs_sweep(g->store, e);
}

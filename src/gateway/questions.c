/*
 * Questions whose time is over.  What cannot be written now (the disk is full) is tried again
 * after a while, not at once.
 */
#include "gateway/questions.h"

#include "os/clock.h"
#include "store/approval.h"

#define FAILED_WAIT_MS 5000

static int expire(struct engine *g, str channel, bool again, const struct cancel *c,
		  struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t expired = 0, posted = 0;
	int rc;

	if ((rc = store_begin(&tx, g->store, c, e)) < 0 ||
	    (rc = store_approval_expire(&tx, clock_now_ms(), &expired, e)) < 0 ||
	    (again && (rc = store_approval_repost(&tx, channel, &posted, e)) < 0) ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	if (expired)
		bell_ring(&g->inbox);
	if (posted)
		bell_ring(&g->outbox);
	return OK;
}

int questions_look(struct engine *g, str channel, bool *reposted, const struct cancel *c,
		   int64_t *at_ms, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct approval *v;
	size_t n;
	int64_t first = INT64_MAX;
	int rc = store_approval_list(g->store, S(""), &a, &v, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		first = v[i].expires_at_ms < first ? v[i].expires_at_ms : first;
	bool again = rc == OK && !*reposted && n > 0;
	*at_ms = first;
	if (rc == OK && n > 0 && (again || first <= clock_now_ms())) {
		rc = expire(g, channel, again, c, e);
		*at_ms = clock_now_ms(); /* look again for the next one */
	}
	if (rc < 0)
		*at_ms = clock_now_ms() + FAILED_WAIT_MS;
	*reposted |= rc == OK;
	return rc;
}

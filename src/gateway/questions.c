/*
 * Questions whose time is over.  What cannot be written now (the disk is full) is tried again
 * after a while, not at once.
 */
#include "gateway/questions.h"

#include "os/clock.h"
#include "store/approval.h"
#include "store/question.h"

#define FAILED_WAIT_MS 5000

static int expire(struct engine *g, str channel, bool again, const struct cancel *c,
		  struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t expired = 0, posted = 0, over = 0, asked = 0;
	int rc;

	if ((rc = store_begin(&tx, g->store, c, e)) < 0 ||
	    (rc = store_approval_expire(&tx, clock_now_ms(), &expired, e)) < 0 ||
	    (rc = store_question_expire(&tx, clock_now_ms(), &over, e)) < 0 ||
	    (again && ((rc = store_approval_repost(&tx, channel, &posted, e)) < 0 ||
		       (rc = store_question_repost(&tx, channel, &asked, e)) < 0)) ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	if (expired || over)
		bell_ring(&g->inbox);
	if (over)
		turns_answered(&g->turns, S(""));
	if (posted || asked)
		bell_ring(&g->outbox);
	return OK;
}

/* *first: when the first of those that are pending is over; *n how many there are. */
static int pending(struct engine *g, int64_t *first, size_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct approval *v;
	struct question *w;
	size_t v_n, w_n;
	int rc = store_approval_list(g->store, S(""), &a, &v, &v_n, e);

	*n = 0;
	*first = INT64_MAX;
	if (rc < 0 || (rc = store_question_list(g->store, S(""), &a, &w, &w_n, e)) < 0)
		return rc;
	for (size_t i = 0; i < v_n; i++)
		*first = v[i].expires_at_ms < *first ? v[i].expires_at_ms : *first;
	for (size_t i = 0; i < w_n; i++)
		*first = w[i].expires_at_ms < *first ? w[i].expires_at_ms : *first;
	*n = v_n + w_n;
	return OK;
}

int questions_look(struct engine *g, str channel, bool *reposted, const struct cancel *c,
		   int64_t *at_ms, struct err *e)
{
	size_t n;
	int64_t first;
	int rc = pending(g, &first, &n, e);
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

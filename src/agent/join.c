/*
 * Follow-ups that join a running turn: before each request to the model what the session has
 * ready becomes a further user message, in one transaction with the rows it came from.
 */
#include "agent/recall.h"
#include "agent/run.h"

#include "os/log.h"
#include "store/inbox.h"
#include "store/memory.h"

static int join(struct run *r, size_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct inbox_row *rows;
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_turn_join(&tx, r->t->id, &a, &rows, n, e)) < 0 || *n == 0)
		return rc;
	str text = run_text_of(&a, rows, *n);
	struct recall about;
	if ((rc = recall_message(r->ag, &tx, r->t, text, &a, &about, e)) < 0 ||
	    (rc = store_message_user(&tx, r->t->id, model_user_wire(&a, text), text,
				     str_trim(about.block), e)) < 0 ||
	    (rc = store_memory_used(&tx, r->t->id, about.ids, about.n, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

int run_join(struct run *r, bool *joined, struct err *e)
{
	int64_t ready = 0;
	size_t n = 0;
	int rc;

	*joined = false;
	if (!r->io || !r->io->on_request)
		return OK;
	if ((rc = store_inbox_joinable(r->ag->opt.store, r->t->session.id, &ready, e)) < 0 ||
	    ready == 0)
		return rc;
	do
		rc = join(r, &n, e);
	while (run_await_room(r, rc, e));
	if (rc < 0 || n == 0)
		return rc;
	log_info("turn.joined", "messages=%zu", n);
	*joined = true;
	return run_images(r, e);
}

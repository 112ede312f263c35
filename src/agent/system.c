/*
 * The table of what system rows do.  A handler runs on the thread of the system worker, which
 * has one at a time; it begins no transaction before its slow work is done, and its last one
 * holds the effect, compared with what it had read, and store_system_done().
 */
#include "agent/system.h"

#include "agent/consolidate.h"
#include "agent/fold.h"
#include "agent/internal.h"
#include "agent/resource.h"
#include "agent/watch.h"
#include "store/resource.h"
#include "store/watch.h"
#include "agent/self_notes.h"

static const struct handler {
	const char *what;
	int (*run)(struct agent *ag, const struct system_row *row, const struct cancel *c,
		   struct err *e);
} table[] = {
	{ FOLD_WHAT, fold_run },
	{ WATCH_WHAT, watch_run },
	{ CONSOLIDATE_WHAT, consolidate_run },
	{ SYSTEM_RENEW, self_notes_renew },
	{ RESOURCE_WHAT, resource_run },
	{ RESOURCE_AGAIN_WHAT, resource_again },
};

int agent_system_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
		     struct err *e)
{
	for (size_t i = 0; i < COUNT(table); i++)
		if (str_eq(row->what, str_of(table[i].what)))
			return table[i].run(ag, row, c, e);
	return err_set(e, E_NOENT, "nobody knows how to do \"%.*s\"", STRF(row->what));
}

int agent_system_over(struct agent *ag, const struct system_row *row, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, ag->opt.store, NULL, e)) < 0 ||
	    (rc = store_system_done(&tx, row->id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

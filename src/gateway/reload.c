/*
 * Reading everything again.  How it went is said in the log; what failed changed nothing.
 */
#include "gateway/reload.h"

#include "os/log.h"

#include <stdatomic.h>

enum { IDLE, RUNNING, AGAIN };

static void once(struct reload *r)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct config *cfg = NULL;
	struct err e = { 0 };
	int rc = r->opt->reload ? r->opt->reload(r->opt->arg, &cfg, &e) : E_NOENT;

	if (rc == OK && (rc = engine_reload(r->g, cfg, &e)) < 0)
		config_free(cfg);
	if (rc < 0)
		log_error("reload.failed", "err=%.*s hint=\"everything stays as it was\"",
			  STRF(log_q(&a, str_of(e.msg))));
	else
		log_info("reload.done", "what=\"persona, manifest and reloadable options\"");
}

/* True when the state was from, and is to now. */
static bool turn(struct reload *r, int from, int to)
{
	return atomic_compare_exchange_strong(&r->state, &from, to);
}

static void *reload_main(void *arg)
{
	struct reload *r = arg;

	do
		once(r);
	while (turn(r, AGAIN, RUNNING) || !turn(r, RUNNING, IDLE));
	return NULL;
}

void reload_ask(struct reload *r)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };

	while (!turn(r, IDLE, RUNNING))
		if (turn(r, RUNNING, AGAIN) || atomic_load(&r->state) == AGAIN)
			return;
	thread_join(&r->thread);
	if (thread_start(&r->thread, "reload", reload_main, r, &e) == OK)
		return;
	atomic_store(&r->state, IDLE);
	log_error("reload.failed", "err=%.*s hint=\"everything stays as it was\"",
		  STRF(log_q(&a, str_of(e.msg))));
}

void reload_end(struct reload *r)
{
	thread_join(&r->thread);
}

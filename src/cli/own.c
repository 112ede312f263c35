/*
 * The turn runs on a thread of its own, so that main can hear signals meanwhile.  The first
 * one acts like /stop; what a second one does is the command's business.
 */
#include "cli/own.h"

#include "os/clock.h"
#include "os/signals.h"
#include "os/thread.h"
#include "store/inbox.h"

#include <signal.h>

#define BUSY_LOOK_MS 200
#define TICK_MS 100

struct job {
	struct own *o;
	struct cancel token; /* ends the wait for a busy session */
	struct bell done;
	char *turn;
	int rc;
	struct err err;
};

static int insert(struct own *o, str text, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct inbox_new row = {
		.channel = S(OWN_CHANNEL),
		.address = o->address,
		.kind = S("cli"),
		.owner = o->work.only,
		.sender = S("cli"),
		.text = text,
	};
	int64_t id;
	int rc;

	if ((rc = store_begin(&tx, o->g->store, &o->g->root, e)) < 0 ||
	    (rc = store_inbox_add(&tx, &row, &id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* Another process may run a turn of this session: look again until it has ended. */
static void *job_main(void *arg)
{
	struct job *j = arg;
	int64_t wake_at;

	while ((j->rc = work_turn(j->o->g, &j->o->work, j->turn, &j->err)) == E_NOENT)
		if ((j->rc = wait_ms(BUSY_LOOK_MS, &j->token, &j->err)) < 0)
			break;
	while (j->rc == OK)
		if ((j->rc = work_deliver(j->o->g, &j->o->work, &wake_at, &j->err)) ==
		    E_NOENT) {
			j->rc = OK;
			break;
		}
	bell_ring(&j->done);
	return NULL;
}

/* What /stop does: the rows first, then the wait. */
static void stop_turn(struct own *o, struct job *j)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct control_effect effect = { 0 };
	struct err e = { 0 };

	if (store_begin(&tx, o->g->store, NULL, &e) == OK &&
	    store_control(&tx, CONTROL_STOP, S(OWN_CHANNEL), o->address, (str){ 0 }, &a,
			  &effect, &e) == OK &&
	    store_commit(&tx, &e) == OK)
		(void)turns_fire(&o->g->turns, effect.turn_id, CANCEL_USER);
	cancel_fire(&j->token, CANCEL_USER);
}

static void watch(struct own *o, struct job *j, int *signo)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = j->done.fd, .events = POLLIN },
					{ .fd = o->signals, .events = POLLIN } };
		int64_t until = o->on_tick ? clock_mono_ms() + TICK_MS : 0;
		int got, rc = wait_fds(fds, COUNT(fds), until, NULL, NULL);
		if (rc == E_TIMEOUT && o->on_tick)
			o->on_tick(o->arg);
		if (fds[0].revents)
			return;
		while ((got = signals_next(o->signals)) != 0) {
			if (got != SIGINT && got != SIGTERM)
				continue;
			if (*signo == 0)
				stop_turn(o, j);
			*signo = got;
		}
	}
}

int own_turn(struct own *o, str text, char *turn, int *signo, struct err *e)
{
	struct job j = { .o = o, .turn = turn, .token = { .fd = -1 }, .done = { .fd = -1 } };
	struct thread thread = { 0 };
	int rc;

	*signo = 0;
	turn[0] = '\0';
	if ((rc = cancel_init(&j.token, &o->g->root, 0, e)) == OK &&
	    (rc = bell_init(&j.done, e)) == OK && (rc = insert(o, text, e)) == OK &&
	    (rc = thread_start(&thread, "turn", job_main, &j, e)) == OK) {
		watch(o, &j, signo);
		thread_join(&thread);
		rc = j.rc;
		if (rc < 0)
			*e = j.err;
	}
	bell_done(&j.done);
	cancel_done(&j.token);
	return rc;
}

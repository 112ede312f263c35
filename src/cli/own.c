/*
 * Turns of our own, and the signals beside them.
 */
#include "cli/own.h"

#include "os/clock.h"
#include "store/inbox.h"

#include <signal.h>
#include <string.h>

#define BUSY_LOOK_MS 200
#define RECOVER_LOOKS 10

#define COMMAND S("command") /* in the registry of turns, where no turn is called so */

/* What /stop does: the rows first, then the wait. */
static void stop_turn(struct own *o)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct control_effect effect = { 0 };

	if (!o->no_rows && store_begin(&tx, o->g->store, NULL, NULL) == OK &&
	    store_control(&tx, CONTROL_STOP, S(OWN_CHANNEL), o->address, (str){ 0 }, &a,
			  &effect, NULL) == OK &&
	    store_commit(&tx, NULL) == OK) {
		(void)turns_fire(&o->g->turns, effect.turn_id, CANCEL_USER);
		(void)turns_fire(&o->g->turns, COMMAND, CANCEL_USER);
	} else {
		/* It has to end all the same. */
		turns_fire_all(&o->g->turns, CANCEL_USER);
	}
	atomic_store(&o->stopped, true);
	bell_ring(&o->kick);
}

static void on_signal(void *arg, int signo)
{
	struct own *o = arg;

	if (signo == SIGWINCH && o->on_resize)
		o->on_resize(o->arg);
	if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP)
		return;
	atomic_store(&o->signo, signo);
	if (!atomic_load(&o->busy) || atomic_load(&o->stopped) || signo != SIGINT)
		cancel_fire(&o->leave, CANCEL_USER);
	if (atomic_load(&o->busy) && !atomic_load(&o->stopped))
		stop_turn(o);
}

static void on_tick(void *arg)
{
	struct own *o = arg;

	if (atomic_load(&o->busy))
		o->on_tick(o->arg);
}

int own_open(struct own *o, struct err *e)
{
	int rc;

	o->leave.fd = o->hear.quit.fd = o->kick.fd = -1;
	if ((rc = engine_check_schema(o->g, e)) < 0 ||
	    (rc = cancel_init(&o->leave, &o->g->root, 0, e)) < 0 ||
	    (rc = bell_init(&o->kick, e)) < 0)
		return rc;
	o->work.leave = &o->leave;
	o->hear.signals = o->signals;
	o->hear.on_signal = on_signal;
	o->hear.on_tick = o->on_tick ? on_tick : NULL;
	o->hear.arg = o;
	return hear_start(&o->hear, e);
}

void own_close(struct own *o)
{
	hear_stop(&o->hear);
	bell_done(&o->kick);
	cancel_done(&o->leave);
}

static int insert(struct own *o, str text, int64_t *id, struct err *e)
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
	int rc;

	if ((rc = store_begin(&tx, o->g->store, &o->leave, e)) < 0 ||
	    (rc = store_inbox_add(&tx, &row, id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static bool dropped(struct own *o, int64_t row)
{
	bool waits = true;

	return store_inbox_waits(o->g->store, row, &waits, NULL) == OK && !waits;
}

/* Until the turn of the row has ended.  An earlier one of ours may come first, which a full
 * disk had kept; and another process may run one of this session: then we look again.  If it
 * died over it, the daemon clears that away, or we do where there is none. */
static int run(struct own *o, int64_t row, struct work_done *done, struct err *e)
{
	int64_t turns;
	int rc;

	for (int look = 0; (rc = work_turn(o->g, &o->work, done, e)) == E_NOENT ||
			   (rc == OK && done->row < row);
	     look++) {
		if (rc == OK)
			continue;
		if (atomic_load(&o->stopped))
			return err_set(e, E_CANCELED, "stopped");
		if (dropped(o, row))
			return err_set(e, E_CANCELED, "dropped by /stop or /new");
		if (look % RECOVER_LOOKS == 0 &&
		    store_recover(o->g->store, &o->g->root, &turns, NULL) == OK && turns > 0)
			continue;
		rc = wait_fd(o->kick.fd, POLLIN, clock_mono_ms() + BUSY_LOOK_MS, &o->g->root,
			     e);
		bell_hear(&o->kick);
	}
	return rc;
}

/* From now on a signal is about what is done now. */
static void begin(struct own *o)
{
	atomic_store(&o->signo, 0);
	atomic_store(&o->stopped, false);
	atomic_store(&o->busy, true);
}

static int run_to_end(struct own *o, int64_t row, char *turn, struct err *e)
{
	struct work_done done = { 0 };
	int rc = run(o, row, &done, e);

	turn[0] = '\0';
	/* Not the one that may have come first. */
	if (done.turn[0] && done.row >= row)
		memcpy(turn, done.turn, sizeof done.turn);
	return rc;
}

int own_turn(struct own *o, str text, char *turn, struct err *e)
{
	int64_t wake_at, row = 0;
	int rc;

	turn[0] = '\0';
	begin(o);
	if ((rc = insert(o, text, &row, e)) == OK)
		rc = run_to_end(o, row, turn, e);
	/* The turn is over: a signal from now on is about what comes after it. */
	atomic_store(&o->busy, false);
	while (rc == OK)
		rc = work_deliver(o->g, &o->work, &wake_at, e);
	return rc == E_NOENT ? OK : rc;
}

int own_begin(struct own *o, struct cancel *token, struct err *e)
{
	int rc = cancel_init(token, &o->leave, 0, e);

	if (rc < 0)
		return rc;
	(void)turns_enter(&o->g->turns, COMMAND, token);
	begin(o);
	return OK;
}

void own_end(struct own *o, struct cancel *token)
{
	atomic_store(&o->busy, false);
	turns_leave(&o->g->turns, COMMAND);
	cancel_done(token);
}

int own_run(struct own *o, int64_t row, char *turn, struct err *e)
{
	begin(o);
	int rc = run_to_end(o, row, turn, e);
	atomic_store(&o->busy, false);
	return rc;
}

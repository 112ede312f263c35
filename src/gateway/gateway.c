/*
 * The daemon's life: start in order, wait for signals, stop in reverse order.
 *
 *	start   deliverers, workers, channel, clock, system worker (the engine is open already)
 *	stop    no new claims, channel, grace for running turns, SHUTDOWN, workers, system worker,
 *	        deliverers, clock
 *
 * Main is the only thread that waits for signals; a second one ends the process at once.
 */
#include "gateway/gateway.h"

#include "agent/slash.h"
#include "gateway/errands.h"
#include "gateway/feed.h"
#include "gateway/reload.h"
#include "gateway/jobs.h"
#include "gateway/questions.h"
#include "gateway/sweep.h"
#include "gateway/work.h"
#include "os/clock.h"
#include "os/heap.h"
#include "os/log.h"
#include "os/signals.h"
#include "os/spawner.h"
#include "os/thread.h"
#include "store/inbox.h"
#include "store/memory.h"
#include "store/system.h"

#include <signal.h>
#include <stdatomic.h>

#define WORKERS_MAX TURNS_MAX /* what gateway.max_turns may ask for */
#define DELIVERERS BEATS_DELIVER
#define HEARTBEAT_MS 15000
#define IDLE_LOOK_MS 30000 /* a lost ring costs this much at most */
#define FULL_WAIT_MS 5000
#define TIDY_BEATS 4
#define CHECK_AFTER_MS 1000

struct gateway {
	struct engine *g;
	const struct gateway_opt *opt;
	struct work_opt work;
	struct thread workers[WORKERS_MAX], deliverers[DELIVERERS], clock, system;
	size_t workers_n;
	_Atomic size_t workers_begun, deliverers_begun;
	struct reload reload;
	struct errands errands;
	struct cancel deliver; /* deliverers and the clock outlive the turns */
	struct sweep sweep; /* the clock's */
	_Atomic bool input_ended;
	struct beats beats;
	bool beaten; /* before the clock was there */
	struct feed feed;
	_Atomic bool met; /* the channel's other side was heard since the start */
	_Atomic int failed; /* code of a fatal error in a thread */
};

/* An error in a thread that ends with the token until.  Full and busy are waited out until then,
 * the rest ends the daemon, and is the result of a stop that was under way: the rows are safe
 * and recovery starts from them. */
static bool survive(struct gateway *d, const char *who, const struct err *e, int rc,
		    const struct cancel *until)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str why = log_q(&a, str_of(e->msg));

	bool ends = cancel_reason(until) != CANCEL_NONE ||
		    cancel_reason(&d->g->root) != CANCEL_NONE;
	if (rc == E_FULL || rc == E_BUSY || rc == E_CANCELED || rc == E_TIMEOUT) {
		if (ends)
			return false;
		log_error(rc == E_FULL ? "disk.full" : "store.busy",
			  "who=%s err=%.*s hint=\"nothing is lost; tried again soon\"", who,
			  STRF(why));
		if (rc == E_FULL)
			chan_notice(d->opt->channel, (str){ 0 });
		return wait_ms(FULL_WAIT_MS, until, NULL) == OK;
	}
	if (atomic_exchange(&d->failed, rc) == OK)
		log_error("fatal", "who=%s err=%.*s", who, STRF(why));
	bell_ring(&d->g->control);
	return false;
}

/* How long a worker may sleep: an album becomes complete by itself. */
static int64_t next_look(struct engine *g, int64_t since_ms)
{
	struct err e = { 0 };
	int64_t at = 0;

	if (store_inbox_next_at(g->store, since_ms, &at, &e) < 0 || at == 0)
		return IDLE_LOOK_MS;
	int64_t ms = at - clock_now_ms();
	return ms < 1 ? 1 : ms < IDLE_LOOK_MS ? ms : IDLE_LOOK_MS;
}

static void *worker_main(void *arg)
{
	struct gateway *d = arg;
	struct engine *g = d->g;
	struct work_opt work = d->work;
	int64_t look_at = clock_mono_ms() + IDLE_LOOK_MS;

	work.beat = &d->beats.worker[atomic_fetch_add(&d->workers_begun, 1)];
	for (;;) {
		struct err e = { 0 };
		beats_move(work.beat);
		int rc = wait_fd(g->inbox.fd, POLLIN, look_at, &g->stop, &e);
		if (cancel_reason(&g->stop) != CANCEL_NONE)
			return NULL;
		if (!bell_hear(&g->inbox) && rc == OK)
			continue; /* another one heard it, and looks */
		int64_t since_ms = clock_now_ms();
		beats_move(work.beat);
		for (; (rc = work_turn(g, &work, NULL, &e)) == OK; since_ms = clock_now_ms())
			beats_move(work.beat);
		beats_move(work.beat);
		look_at = clock_mono_ms() + next_look(g, since_ms);
		if (rc == E_NOENT)
			continue;
		if (!survive(d, "worker", &e, rc, &g->stop))
			return NULL;
		bell_ring(&g->inbox); /* what could not be done is still to be done */
	}
}

/* Work of our own, one row at a time.  It ends at once when the daemon stops: what was begun is
 * put down and done after the restart. */
static void *system_main(void *arg)
{
	struct gateway *d = arg;
	struct engine *g = d->g;

	for (;;) {
		struct err e = { 0 };
		int64_t at = 0, ms = IDLE_LOOK_MS;
		int rc;
		bell_hear(&g->system);
		while ((rc = work_system(g, &g->stop, &e)) == OK)
			;
		if (cancel_reason(&g->stop) != CANCEL_NONE)
			return NULL;
		if (rc != E_NOENT && !survive(d, "system", &e, rc, &g->stop))
			return NULL;
		if (store_system_next_at(g->store, &at, &e) == OK && at > 0)
			ms = at - clock_now_ms();
		ms = ms < 1 ? 1 : ms < IDLE_LOOK_MS ? ms : IDLE_LOOK_MS;
		if (wait_fd(g->system.fd, POLLIN, clock_mono_ms() + ms, &g->stop, &e) < 0 &&
		    cancel_reason(&g->stop) != CANCEL_NONE)
			return NULL;
	}
}

static void *deliver_main(void *arg)
{
	struct gateway *d = arg;
	struct engine *g = d->g;
	struct work_opt work = d->work;
	int64_t wake_at = 0, look_at = clock_mono_ms() + IDLE_LOOK_MS;

	work.beat = &d->beats.deliver[atomic_fetch_add(&d->deliverers_begun, 1)];
	for (;;) {
		struct err e = { 0 };
		beats_move(work.beat);
		int rc = wait_fd(g->outbox.fd, POLLIN, look_at, &d->deliver, &e);
		if (cancel_reason(&d->deliver) != CANCEL_NONE)
			return NULL;
		if (!bell_hear(&g->outbox) && rc == OK)
			continue; /* another one heard it, and looks */
		while ((rc = work_deliver(g, &work, &wake_at, &e)) == OK)
			beats_move(work.beat);
		int64_t now = clock_now_ms(), ms = IDLE_LOOK_MS;
		if (wake_at && wake_at - now < ms)
			ms = wake_at > now ? wake_at - now : 1;
		look_at = clock_mono_ms() + ms;
		if (rc == E_NOENT)
			continue;
		if (!survive(d, "deliver", &e, rc, &d->deliver))
			return NULL;
		bell_ring(&g->outbox);
	}
}

static void beat(struct gateway *d)
{
	struct err e = { 0 };
	int rc = beats_write(&d->beats, d->g->store, &d->deliver, &e);

	if (rc < 0 && rc != E_CANCELED)
		log_warn("heartbeat.failed", "code=%s", err_word(rc));
}

/* Not before the other side was heard of: an answer may have waited there. */
static int questions(struct gateway *d, bool *reposted, int64_t *at_ms, struct err *e)
{
	*at_ms = INT64_MAX;
	if (d->opt->channel->asks && !atomic_load(&d->met))
		return OK;
	return questions_look(d->g, str_of(d->opt->channel->name), reposted, &d->deliver, at_ms,
			      e);
}

/* Schedules.  *at_ms: when to look again. */
static int schedules(struct gateway *d, struct jobs *j, int64_t *at_ms, struct err *e)
{
	*at_ms = INT64_MAX;
	/* After the stop nothing new begins: it would only be put down again. */
	if (!d->g->cfg->cron.enabled || cancel_reason(&d->g->stop) != CANCEL_NONE)
		return OK;
	return jobs_tick(d->g, j, &d->deliver, at_ms, e);
}

/* When to look again: what is over meanwhile was over at once. */
static int clock_wait(struct gateway *d, int64_t beat_at_ms, int64_t at_ms, struct err *e)
{
	int64_t left = at_ms == INT64_MAX ? HEARTBEAT_MS : at_ms - clock_now_ms();
	int64_t until = clock_mono_ms() + (left > 0 ? left : 1);
	int rc = wait_fd(d->g->clock.fd, POLLIN, until < beat_at_ms ? until : beat_at_ms,
			 &d->deliver, e);

	bell_hear(&d->g->clock);
	return cancel_reason(&d->deliver) != CANCEL_NONE ? rc : OK;
}

/* The check of a large file is no standstill. */
struct checking {
	struct gateway *d;
	int64_t beat_at_ms;
};

static void while_checking(void *arg)
{
	struct checking *k = arg;

	if (clock_mono_ms() < k->beat_at_ms)
		return;
	beat(k->d);
	k->beat_at_ms = clock_mono_ms() + HEARTBEAT_MS;
}

/* The whole file, which takes as long as it is large: not while the start needs the machine. */
static int check(struct gateway *d, struct err *e)
{
	struct checking k = { d, clock_mono_ms() + HEARTBEAT_MS };
	int rc = wait_ms(CHECK_AFTER_MS, &d->deliver, e);

	struct memory_health memory;
	if (rc == OK)
		rc = store_check(d->g->store, while_checking, &k, &d->deliver, e);
	return rc < 0 ? rc : store_memory_check(d->g->store, &d->deliver, &memory, e);
}

/* Heartbeats; questions; schedules; and what has time: the check of the file, tidying up. */
static void *clock_main(void *arg)
{
	struct gateway *d = arg;
	struct jobs jobs = { 0 };
	bool reposted = false;

	for (int64_t beats = 0;; beats++) {
		struct err e = { 0 };
		int64_t next = clock_mono_ms() + HEARTBEAT_MS;
		int64_t over_at = INT64_MAX, due_at = INT64_MAX;
		int rc = OK;
		if (beats || !d->beaten)
			beat(d);
		if (beats == 0) {
			/* What is due does not wait for a file that may be large. */
			rc = schedules(d, &jobs, &due_at, &e);
			rc = rc < 0 ? rc : check(d, &e);
			heap_trim(); /* of what the start needed */
		} else if (beats % TIDY_BEATS == 0) {
			rc = sweep_up(&d->sweep, d->g, &d->deliver, &e);
		}
		if (rc == OK)
			rc = work_schedule(d->g, &d->deliver, &e);
		if (rc < 0 && rc != E_FULL && rc != E_BUSY)
			(void)survive(d, "clock", &e, rc, &d->deliver);
		while (clock_mono_ms() < next) {
			int64_t feed_at = feed_look(&d->feed, d->g, &d->beats);
			due_at = INT64_MAX;
			rc = questions(d, &reposted, &over_at, &e);
			if (rc == OK)
				rc = schedules(d, &jobs, &due_at, &e);
			if (rc < 0 && rc != E_FULL && rc != E_BUSY)
				(void)survive(d, "clock", &e, rc, &d->deliver);
			if (clock_wait(d, next < feed_at ? next : feed_at,
				       due_at < over_at ? due_at : over_at, &e) < 0)
				return NULL;
		}
	}
}

/* What the channel may ask of us. */
static void steer(struct gateway *d)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	str *ids;
	size_t n;

	if (store_turn_joinable(d->g->store, &a, &ids, &n, &e) < 0)
		return; /* it joins before the turn's next request, or comes after it */
	for (size_t i = 0; i < n; i++)
		turns_steer(&d->g->turns, ids[i]);
}

static void up_inbox(void *arg)
{
	struct gateway *d = arg;

	if (d->work.steer)
		steer(d);
	bell_ring(&d->g->inbox);
}

static void up_outbox(void *arg)
{
	bell_ring(&((struct gateway *)arg)->g->outbox);
}

static void up_control(void *arg, enum control what, str channel, str address, str turn_id)
{
	struct gateway *d = arg;

	if (what == CONTROL_STOP)
		errands_stop(&d->errands, channel, address);
	(void)turns_fire(&d->g->turns, turn_id, CANCEL_USER);
	work_news(d->g);
	bell_ring(&d->g->inbox);
}

static void up_answer(void *arg, str turn_id)
{
	struct gateway *d = arg;

	turns_answered(&d->g->turns, turn_id);
}

static bool up_command(void *arg, str channel, str address, str sender, str text,
		       struct arena *a, str *reply, const struct cancel *c)
{
	struct gateway *d = arg;

	return errands_command(&d->errands, channel, address, sender, text, a, reply, c);
}

static str up_control_reply(void *arg, str channel, str address, struct arena *a,
			    enum control what, const struct control_effect *ef)
{
	struct gateway *d = arg;

	return slash_control_reply(a, what, ef, errands_run(&d->errands, channel, address));
}

static void up_poll(void *arg)
{
	struct gateway *d = arg;

	atomic_store(&d->beats.heard, true);
	if (!atomic_exchange(&d->met, true))
		bell_ring(&d->g->clock);
}

static void up_try(void *arg)
{
	beats_move(&((struct gateway *)arg)->beats.poll);
}

static void up_end(void *arg)
{
	struct gateway *d = arg;

	atomic_store(&d->input_ended, true);
	bell_ring(&d->g->control);
}

static void up_fatal(void *arg, int code)
{
	struct gateway *d = arg;

	atomic_store(&d->failed, code);
	bell_ring(&d->g->control);
}

static int start_threads(struct gateway *d, const struct chan_up *up, struct err *e)
{
	int64_t n = d->g->cfg->gateway.max_turns;
	int rc;

	for (size_t i = 0; i < DELIVERERS; i++)
		if ((rc = thread_start(&d->deliverers[i], "deliver", deliver_main, d, e)) < 0)
			return rc;
	for (; d->workers_n < WORKERS_MAX && (int64_t)d->workers_n < n; d->workers_n++)
		if ((rc = thread_start(&d->workers[d->workers_n], "worker", worker_main, d,
				       e)) < 0)
			return rc;
	if ((rc = d->opt->channel->start(d->opt->channel, d->g->store, up, &d->g->stop, e)) < 0)
		return rc;
	/* What recovery left, and what clock and system worker look at at once, can wait for the
	 * other side to be heard. */
	bell_ring(&d->g->inbox);
	bell_ring(&d->g->outbox);
	rc = thread_start(&d->clock, "clock", clock_main, d, e);
	return rc < 0 ? rc : thread_start(&d->system, "system", system_main, d, e);
}

static bool is_at_work(struct gateway *d)
{
	return turns_running(&d->g->turns) || errands_run(&d->errands, S(""), S(""));
}

/* Is there nothing left to do?  Asked after the input has ended. */
static bool drained(struct gateway *d)
{
	struct err e = { 0 };
	int64_t open = 0, pending = 0;

	/* The rows are asked, not the registry: a claimed turn enters that a moment later. */
	if (is_at_work(d))
		return false;
	if (store_inbox_open(d->g->store, &open, &e) < 0 ||
	    store_outbox_pending(d->g->store, (str){ 0 }, &pending, &e) < 0)
		return true; /* the database is gone: nothing more will happen */
	return open == 0 && pending == 0 && !is_at_work(d);
}

/* Until something ends the daemon; the signal, or 0. */
static int watch(struct gateway *d)
{
	struct engine *g = d->g;

	for (;;) {
		struct pollfd fds[] = { { .fd = d->opt->signals, .events = POLLIN },
					{ .fd = g->control.fd, .events = POLLIN },
					{ .fd = spawner_socket() } };
		struct err e = { 0 };
		int signo;

		if (wait_fds(fds, COUNT(fds), 0, &g->root, &e) < 0)
			return 0;
		bell_hear(&g->control);
		while ((signo = signals_next(d->opt->signals)) != 0) {
			if (signo == SIGTERM || signo == SIGINT)
				return signo;
			if (signo == SIGHUP)
				reload_ask(&d->reload);
		}
		if (fds[2].revents && !atomic_load(&d->failed)) {
			/* No child can be started any more; a supervisor starts us afresh. */
			log_error("fatal", "who=spawner err=\"the spawner process is gone\"");
			atomic_store(&d->failed, E_IO);
		}
		if (atomic_load(&d->failed))
			return 0;
		if (atomic_load(&d->input_ended) && drained(d))
			return 0;
	}
}

/* Running turns get their grace; commands end at once, and say so. */
static void await_turns(struct gateway *d)
{
	int64_t until = clock_mono_ms() + d->g->cfg->gateway.grace_ms;

	while (is_at_work(d) && !atomic_load(&d->failed)) {
		if (wait_fd(d->g->control.fd, POLLIN, until, NULL, NULL) < 0)
			return;
		bell_hear(&d->g->control);
	}
}

/* Answers that are ready still go out, within the grace. */
static void await_outbox(struct gateway *d)
{
	int64_t until = clock_mono_ms() + d->g->cfg->gateway.grace_ms / 2;
	int64_t pending = 0;
	struct err e = { 0 };

	while (!atomic_load(&d->failed) && clock_mono_ms() < until) {
		if (store_outbox_pending(d->g->store, (str){ 0 }, &pending, &e) < 0 ||
		    pending == 0)
			return;
		if (wait_fd(d->g->control.fd, POLLIN, until, NULL, &e) < 0)
			return;
		bell_hear(&d->g->control);
	}
}

static void stop(struct gateway *d)
{
	struct engine *g = d->g;

	feed_stopping(&d->feed);
	log_info("stopping", "turns=%d", turns_running(&g->turns));
	cancel_fire(&g->stop, CANCEL_SHUTDOWN);
	signals_default();
	d->opt->channel->stop(d->opt->channel);
	await_turns(d);
	await_outbox(d);
	cancel_fire(&g->root, CANCEL_SHUTDOWN);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		thread_join(&d->workers[i]);
	thread_join(&d->system);
	errands_end(&d->errands);
	cancel_fire(&d->deliver, CANCEL_SHUTDOWN);
	for (size_t i = 0; i < DELIVERERS; i++)
		thread_join(&d->deliverers[i]);
	thread_join(&d->clock);
	reload_end(&d->reload);
}

int gateway_run(struct engine *g, const struct gateway_opt *opt, int *signo, struct err *e)
{
	struct gateway d = {
		.g = g,
		.opt = opt,
		.reload = { .g = g, .opt = opt },
		.work = { .channel = opt->channel,
			  .approver = opt->approver,
			  .stream = opt->stream,
			  .steer = str_eq(g->cfg->gateway.followup, S("steer")) },
		.deliver = { .fd = -1 },
	};
	struct chan_up up = {
		.arg = &d,
		.on_inbox = up_inbox,
		.on_outbox = up_outbox,
		.on_control = up_control,
		.on_answer = up_answer,
		.command = up_command,
		.control = slash_control,
		.control_reply = up_control_reply,
		.on_poll = up_poll,
		.on_try = up_try,
		.on_end = up_end,
		.on_fatal = up_fatal,
	};
	int rc;

	feed_init(&d.feed, opt->notify, g->cfg);
	*signo = 0;
	if ((rc = engine_check_schema(g, e)) < 0 ||
	    (rc = cancel_init(&d.deliver, NULL, 0, e)) < 0)
		return rc;
	errands_init(&d.errands, g);
	if (g->cfg->cron.enabled)
		rc = jobs_sync(g->store, &g->cfg->cron, &g->root, e);
	if (rc == OK) {
		/* Whoever looks from outside finds that it moves as soon as it is ready. */
		struct err why = { 0 };
		if (beats_first(&d.beats, g->store, &d.beaten, &d.deliver, &why) < 0)
			log_warn("heartbeat.failed", "code=%s", err_word(why.code));
		rc = start_threads(&d, &up, e);
	}
	if (rc == OK) {
		feed_ready(&d.feed, opt->channel->name);
		log_info("ready", "channel=%s workers=%zu", opt->channel->name, d.workers_n);
		*signo = watch(&d);
	}
	stop(&d);
	cancel_done(&d.deliver);
	if (rc == OK && atomic_load(&d.failed))
		rc = err_set(e, atomic_load(&d.failed),
			     "stopped after a fatal error; see the log");
	log_info("stopped", "signal=%d", *signo);
	return rc;
}

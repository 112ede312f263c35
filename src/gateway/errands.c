/*
 * Errands.  A thread takes the oldest one whose address has none running, until there is none;
 * a new one starts a thread unless all are at work, and then one of those takes it up.
 */
#include "gateway/errands.h"

#include "agent/slash.h"
#include "os/log.h"
#include "os/wait.h"
#include "store/outbox.h"

#define ROOM_LOOK_MS 500

void errands_init(struct errands *x, struct engine *g)
{
	*x = (struct errands){ .g = g };
	(void)pthread_mutex_init(&x->lock, NULL);
	for (size_t i = 0; i < COUNT(x->threads); i++)
		x->threads[i].of = x;
}

static bool is_of(const struct errand *n, str channel, str address)
{
	return n->state != ERRAND_NONE &&
	       (!channel.n || (str_eq(n->channel, channel) && str_eq(n->address, address)));
}

/* Under the lock. */
static void drop(struct errand *n)
{
	cancel_done(&n->token);
	arena_free(&n->a);
	n->state = ERRAND_NONE;
}

/* --- the threads that do them ------------------------------------------------------------- */

static int add_answer(struct errands *x, const struct errand *n, str text, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct outbox_new row = {
		.channel = n->channel,
		.address = n->address,
		.kind = S("notice"),
		.text = text,
	};
	int64_t id;
	int rc;

	if ((rc = store_begin(&tx, x->g->store, &x->g->root, e)) < 0 ||
	    (rc = store_outbox_add(&tx, &row, &id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* What was done was done: that is told as soon as there is room for it, unless a /stop came. */
static void answer(struct errands *x, struct errand *n, str text)
{
	struct err e = { 0 };
	int rc;

	do
		rc = add_answer(x, n, text, &e);
	while ((rc == E_FULL || rc == E_BUSY) &&
	       wait_ms(ROOM_LOOK_MS, &x->g->root, NULL) == OK &&
	       cancel_reason(&n->token) != CANCEL_USER);
	if (rc < 0 && cancel_reason(&n->token) != CANCEL_USER)
		log_warn("command.unanswered", "channel=%.*s err=%.*s",
			 STRF(log_q(&n->a, n->channel)), STRF(log_q(&n->a, str_of(e.msg))));
	bell_ring(&x->g->outbox);
}

static void run(struct errands *x, struct errand *n)
{
	str reply = S("");

	if (!slash_command(x->g->agent, n->channel, n->address, n->sender, n->text, &n->a,
			   &reply, &n->token))
		reply = S(
			"That address is not expected any more; begin anew with /auth SERVER");
	if (cancel_reason(&n->token) != CANCEL_USER && reply.n)
		answer(x, n, reply);
}

static bool is_in_turn(const struct errands *x, const struct errand *n)
{
	if (n->state != ERRAND_WAITS)
		return false;
	for (size_t i = 0; i < COUNT(x->slot); i++)
		if (x->slot[i].state == ERRAND_RUNS &&
		    is_of(&x->slot[i], n->channel, n->address))
			return false;
	return true;
}

/* The next one; NULL: none, and the thread is no longer at work. */
static struct errand *next(struct errand_thread *t)
{
	struct errands *x = t->of;
	struct errand *found = NULL;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < COUNT(x->slot); i++)
		if (is_in_turn(x, &x->slot[i]) && (!found || x->slot[i].number < found->number))
			found = &x->slot[i];
	if (found)
		found->state = ERRAND_RUNS;
	t->busy = found != NULL;
	pthread_mutex_unlock(&x->lock);
	return found;
}

static void *errand_main(void *arg)
{
	struct errand_thread *t = arg;
	struct errands *x = t->of;

	for (struct errand *n; (n = next(t));) {
		run(x, n);
		pthread_mutex_lock(&x->lock);
		drop(n);
		pthread_mutex_unlock(&x->lock);
		bell_ring(&x->g->control); /* main may wait for the end */
	}
	return NULL;
}

/* --- the channel's side ------------------------------------------------------------------- */

/* Put it into a free slot; *idle: a thread that is to be started for it, NULL:
 * all are at work. */
static int put(struct errands *x, const struct errand *n, struct errand **slot,
	       struct errand_thread **idle, struct err *e)
{
	int rc = E_BUSY;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < COUNT(x->slot) && rc < 0; i++) {
		if (x->slot[i].state != ERRAND_NONE)
			continue;
		*slot = &x->slot[i];
		**slot = *n;
		(*slot)->number = ++x->last;
		rc = OK;
	}
	*idle = NULL;
	for (size_t i = 0; i < COUNT(x->threads) && rc == OK && !*idle; i++)
		if (!x->threads[i].busy)
			*idle = &x->threads[i];
	if (*idle)
		(*idle)->busy = true;
	pthread_mutex_unlock(&x->lock);
	return rc < 0 ? err_set(e, rc, "too many such commands are under way") : OK;
}

/* No thread for it: it is taken back, unless one that is at work has taken it up. */
static bool take_back(struct errands *x, struct errand *n, struct errand_thread *idle)
{
	bool waits;

	pthread_mutex_lock(&x->lock);
	idle->busy = false;
	waits = n->state == ERRAND_WAITS;
	if (waits)
		drop(n);
	pthread_mutex_unlock(&x->lock);
	return waits;
}

static int add(struct errands *x, str channel, str address, str sender, str text, struct err *e)
{
	struct errand n = { .state = ERRAND_WAITS }, *slot = NULL;
	struct errand_thread *idle = NULL;
	int rc = cancel_init(&n.token, &x->g->stop, 0, e);

	if (rc < 0)
		return rc;
	n.channel = arena_dup(&n.a, channel);
	n.address = arena_dup(&n.a, address);
	n.sender = arena_dup(&n.a, sender);
	n.text = arena_dup(&n.a, text);
	if ((rc = put(x, &n, &slot, &idle, e)) < 0) {
		drop(&n);
		return rc;
	}
	if (!idle)
		return OK;
	thread_join(&idle->thread); /* it has ended, or is about to */
	rc = thread_start(&idle->thread, "errand", errand_main, idle, e);
	return rc < 0 && take_back(x, slot, idle) ? rc : OK;
}

bool errands_command(struct errands *x, str channel, str address, str sender, str text,
		     struct arena *a, str *reply, const struct cancel *c)
{
	struct agent *ag = x->g->agent;
	struct err e = { 0 };

	if (!slash_slow(ag, channel, sender, text))
		return slash_command(ag, channel, address, sender, text, a, reply, c);
	*reply = S("");
	if (add(x, channel, address, sender, text, &e) < 0)
		*reply = arena_fmt(a, "That did not work: %s", e.msg);
	return true;
}

bool errands_run(struct errands *x, str channel, str address)
{
	bool found = false;

	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < COUNT(x->slot); i++)
		found = found || is_of(&x->slot[i], channel, address);
	pthread_mutex_unlock(&x->lock);
	return found;
}

void errands_stop(struct errands *x, str channel, str address)
{
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < COUNT(x->slot); i++) {
		struct errand *n = &x->slot[i];
		if (!is_of(n, channel, address))
			continue;
		cancel_fire(&n->token, CANCEL_USER);
		if (n->state == ERRAND_WAITS)
			drop(n);
	}
	pthread_mutex_unlock(&x->lock);
}

void errands_end(struct errands *x)
{
	for (size_t i = 0; i < COUNT(x->threads); i++)
		thread_join(&x->threads[i].thread);
	(void)pthread_mutex_destroy(&x->lock);
}

/*
 * The side of the server's thread: the queue of frames it takes from, and the slots it hands
 * answers, progress and questions into.
 */
#include "mcp/slots.h"

#include "base/utf.h"
#include "mcp/stateless.h"
#include "os/thread.h"

#include <stdio.h>

void mcp_slots_lock(struct mcp_calls *c)
{
	(void)pthread_mutex_lock(&c->lock);
}

void mcp_slots_unlock(struct mcp_calls *c)
{
	(void)pthread_mutex_unlock(&c->lock);
}

int mcp_calls_new(struct mcp_calls **out, str server, _Atomic int64_t *ids, struct err *e)
{
	struct arena a = { 0 };
	struct mcp_calls *c = NEW(&a, struct mcp_calls);
	int rc = bell_init(&c->bell, e);

	if (rc < 0) {
		arena_free(&a);
		return rc;
	}
	(void)pthread_mutex_init(&c->lock, NULL);
	c->server = server;
	c->ids = ids;
	c->lent = -1;
	c->a = a;
	*out = c;
	return OK;
}

void mcp_slots_free_asked(struct mcp_asked *q)
{
	for (struct mcp_asked *next; q; q = next) {
		struct arena a = q->a;

		next = q->next;
		arena_free(&a);
	}
}

static struct mcp_frame *pop(struct mcp_calls *c)
{
	struct mcp_frame *f = c->first;

	if (!f)
		return NULL;
	c->first = f->next;
	if (!c->first)
		c->last = NULL;
	f->next = NULL;
	c->frames--;
	return f;
}

void mcp_slots_push(struct mcp_calls *c, struct mcp_frame *f)
{
	if (c->last)
		c->last->next = f;
	else
		c->first = f;
	c->last = f;
	c->frames++;
}

void mcp_slots_drop(struct mcp_calls *c, int64_t id)
{
	struct mcp_frame *f, *kept = NULL, **tail = &kept;
	size_t n = c->frames;

	for (size_t i = 0; i < n; i++) {
		f = pop(c);
		if (f->id == id) {
			mcp_frame_free(f);
			continue;
		}
		*tail = f;
		tail = &f->next;
	}
	while ((f = kept)) {
		kept = f->next;
		f->next = NULL;
		mcp_slots_push(c, f);
	}
}

void mcp_calls_free(struct mcp_calls *c)
{
	struct arena a;

	if (!c)
		return;
	for (struct mcp_frame *f; (f = pop(c));)
		mcp_frame_free(f);
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++) {
		arena_free(&c->slots[i].line);
		mcp_slots_free_asked(c->slots[i].asked);
		if (c->slots[i].has_bell)
			bell_done(&c->slots[i].bell);
	}
	bell_done(&c->bell);
	(void)pthread_mutex_destroy(&c->lock);
	a = c->a;
	arena_free(&a);
}

int mcp_slots_take(struct mcp_calls *c, int64_t id, struct mcp_slot **out, struct err *e)
{
	struct mcp_slot *s = NULL;
	int rc = OK;

	if (c->shut)
		return err_set(e, E_NOENT, "server \"%.*s\" is down: %s", STRF(c->server),
			       c->shut_why);
	for (size_t i = 0; i < MCP_SLOTS_MAX && !s; i++)
		if (c->slots[i].state == FREE)
			s = &c->slots[i];
	if (!s || c->frames >= MCP_FRAMES_MAX)
		return err_set(e, E_BUSY, "server \"%.*s\" has too many open calls",
			       STRF(c->server));
	if (!s->has_bell && (rc = bell_init(&s->bell, e)) < 0)
		return rc;
	bell_hear(&s->bell);
	*s = (struct mcp_slot){ .state = QUEUED, .id = id, .bell = s->bell, .has_bell = true };
	*out = s;
	return OK;
}

static struct mcp_slot *slot_of(struct mcp_calls *c, int64_t id)
{
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++)
		if (c->slots[i].state != FREE && c->slots[i].id == id)
			return &c->slots[i];
	return NULL;
}

/* The slot has its outcome. */
static void finish(struct mcp_slot *s, int rc, bool not_sent, const char *why)
{
	s->state = DONE;
	if (s->asking_cancel)
		cancel_fire(s->asking_cancel, CANCEL_DEADLINE);
	s->rc = rc;
	s->not_sent = not_sent;
	(void)snprintf(s->why, sizeof(s->why), "%s", why);
	bell_ring(&s->bell);
}

void mcp_slots_close(const struct mcp_calls *c, struct mcp_frame *f)
{
	mcp_frame_close(f, str_of(c->more[f->answers]),
			c->level ? atomic_load(c->level) : NULL);
}

/* The first frame that is of call id. */
static struct mcp_frame *take_frame(struct mcp_calls *c, int64_t id)
{
	struct mcp_frame *prev = NULL, *f = c->first;

	while (f && f->id != id) {
		prev = f;
		f = f->next;
	}
	if (!f)
		return NULL;
	if (prev)
		prev->next = f->next;
	else
		c->first = f->next;
	if (c->last == f)
		c->last = prev;
	f->next = NULL;
	c->frames--;
	return f;
}

struct mcp_frame *mcp_slots_claim(struct mcp_calls *c, struct mcp_slot *s,
				  const struct mcp_carrier **by)
{
	struct mcp_frame *f = NULL;

	mcp_slots_lock(c);
	*by = c->carrier;
	if (c->carrier && s->state == QUEUED)
		f = take_frame(c, s->id);
	if (f) {
		s->state = WRITTEN;
		s->carry_n = c->carry_n;
		mcp_slots_close(c, f);
	}
	mcp_slots_unlock(c);
	return f;
}

struct mcp_frame *mcp_calls_notice(struct mcp_calls *c)
{
	struct mcp_frame *f;

	mcp_slots_lock(c);
	f = take_frame(c, 0);
	mcp_slots_unlock(c);
	return f;
}

bool mcp_slots_carried(struct mcp_calls *c, struct mcp_slot *s, struct mcp_frame *again, int rc,
		       bool not_run, const char *why)
{
	bool waits = false;

	mcp_slots_lock(c);
	if (s->state == WRITTEN && again && !c->shut) {
		s->state = QUEUED;
		mcp_slots_push(c, again);
		if (s->carry_n == c->carry_n)
			c->carrier = NULL;
		waits = true;
	} else if (s->state == WRITTEN) {
		finish(s, rc < 0 ? rc : E_IO, not_run, why);
	}
	mcp_slots_unlock(c);
	return waits;
}

void mcp_calls_carry(struct mcp_calls *c, const struct mcp_carrier *carrier)
{
	mcp_slots_lock(c);
	c->carrier = carrier;
	c->carry_n++;
	for (size_t i = 0; carrier && i < MCP_SLOTS_MAX; i++)
		if (c->slots[i].state == QUEUED)
			bell_ring(&c->slots[i].bell);
	mcp_slots_unlock(c);
}

void mcp_calls_speak(struct mcp_calls *c, const struct mcp_session *session)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_session_opt *opt = session->opt;
	bool stateless = session->peer.stateless;
	str more[2] = { { 0 } };

	for (size_t i = 0; i < COUNT(more) && stateless; i++)
		more[i] = mcp_stateless_more(opt, i == 1, &a);
	mcp_slots_lock(c);
	for (size_t i = 0; i < COUNT(more); i++)
		(void)snprintf(c->more[i], sizeof(c->more[i]), "%.*s", STRF(more[i]));
	c->stateless = stateless;
	c->offer = opt->offer;
	c->level = stateless && session->peer.caps.logging ? opt->level : NULL;
	mcp_slots_unlock(c);
}

const struct bell *mcp_calls_bell(const struct mcp_calls *c)
{
	return &c->bell;
}

void mcp_calls_lend(struct mcp_calls *c, int fd)
{
	mcp_slots_lock(c);
	c->lent = fd;
	mcp_slots_unlock(c);
}

struct mcp_frame *mcp_calls_next(struct mcp_calls *c)
{
	struct mcp_frame *f;
	struct mcp_slot *s;

	mcp_slots_lock(c);
	f = pop(c);
	if (f)
		c->lent = -1;
	s = f && f->id ? slot_of(c, f->id) : NULL;
	if (s)
		s->state = TAKEN;
	if (f)
		mcp_slots_close(c, f);
	mcp_slots_unlock(c);
	return f;
}

void mcp_calls_wrote(struct mcp_calls *c, int64_t id)
{
	struct mcp_slot *s;

	mcp_slots_lock(c);
	s = slot_of(c, id);
	if (s && s->state == TAKEN)
		s->state = WRITTEN;
	mcp_slots_unlock(c);
}

void mcp_calls_refused(struct mcp_calls *c, int64_t id, int rc, bool not_run, const char *why)
{
	struct mcp_slot *s;

	mcp_slots_lock(c);
	s = slot_of(c, id);
	if (s && s->state == WRITTEN)
		finish(s, rc, not_run, why);
	mcp_slots_unlock(c);
}

bool mcp_calls_idle(struct mcp_calls *c)
{
	bool idle = true;

	mcp_slots_lock(c);
	for (size_t i = 0; i < MCP_SLOTS_MAX && idle; i++)
		idle = c->slots[i].state == FREE || c->slots[i].state == DONE;
	mcp_slots_unlock(c);
	return idle;
}

void mcp_calls_answer(struct mcp_calls *c, const struct mcp_event *ev, struct arena *line)
{
	struct mcp_slot *s;

	mcp_slots_lock(c);
	s = slot_of(c, ev->id);
	if (s && s->state == WRITTEN) {
		s->line = *line;
		*line = (struct arena){ 0 };
		s->stateless = c->stateless;
		s->offer = s->answers ? c->offer : (struct mcp_offer){ 0 };
		s->result = ev->result;
		s->error = ev->error;
		finish(s, OK, false, "");
	}
	mcp_slots_unlock(c);
}

/* The call, or whoever waits for the task that it became. */
static struct mcp_slot *slot_told(struct mcp_calls *c, const struct mcp_event *ev)
{
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++) {
		struct mcp_slot *s = &c->slots[i];

		if (s->state == WRITTEN &&
		    (ev->task.n ? str_eq(s->task, ev->task)
				: s->id == ev->id || (s->task.n && s->token == ev->id)))
			return s;
	}
	return NULL;
}

str mcp_slots_link(const struct mcp_question *q)
{
	bool url = q->kind == MCP_ELICIT && str_is(json_str(q->params, "mode"), "url");

	return url ? json_str(q->params, "elicitationId") : (str){ 0 };
}

/* What the link with that id was for is done: whoever is asked about it need not answer. */
static void link_done(struct mcp_calls *c, str link)
{
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++) {
		struct mcp_slot *s = &c->slots[i];

		if (s->state != WRITTEN)
			continue;
		if (s->asking_cancel && s->asking_done && str_eq(s->asking_link, link)) {
			atomic_store(s->asking_done, true);
			cancel_fire(s->asking_cancel, CANCEL_DEADLINE);
		}
		for (struct mcp_asked *q = s->asked; q; q = q->next)
			q->done |= str_eq(mcp_slots_link(&q->q), link);
	}
}

void mcp_calls_progress(struct mcp_calls *c, const struct mcp_event *ev)
{
	str message = utf_head(ev->text, MCP_WHY_MAX - 1);
	struct mcp_slot *s;

	mcp_slots_lock(c);
	if (ev->link.n)
		link_done(c, ev->link);
	s = ev->link.n ? NULL : slot_told(c, ev);
	if (s && s->lingers && ev->task.n) {
		s->poked = true;
		bell_ring(&s->bell);
	} else if (s) {
		s->has_progress = true;
		s->done = ev->done;
		s->total = ev->total;
		(void)snprintf(s->message, sizeof(s->message), "%.*s", STRF(message));
		bell_ring(&s->bell);
	}
	mcp_slots_unlock(c);
}

/* Whose caller is to answer: that of call id, or where that is not known (0) of the newest, if
 * all that may be meant ask the same. */
static struct mcp_slot *find_asked(struct mcp_calls *c, int64_t id, const char **why)
{
	struct mcp_slot *s = NULL;

	*why = "no call is open that could be asked";
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++) {
		struct mcp_slot *o = &c->slots[i];
		if (o->state != WRITTEN || !o->answers || (id && o->id != id))
			continue;
		if (s && !str_eq(s->origin, o->origin)) {
			*why = "it cannot be known which of the open calls asks";
			return NULL;
		}
		if (!s || o->id > s->id)
			s = o;
	}
	return s;
}

bool mcp_calls_question(struct mcp_calls *c, const struct mcp_event *ev, struct arena *line,
			const char **why)
{
	struct mcp_asked *q, **tail;
	struct mcp_slot *s;

	mcp_slots_lock(c);
	s = find_asked(c, ev->id, why);
	if (s && s->asked_n == MCP_QUESTIONS_MAX) {
		*why = "too many questions at a time";
		s = NULL;
	} else if (s && s->asked_in_all == MCP_QUESTIONS_CALL) {
		*why = "too many questions in one call";
		s = NULL;
	}
	if (s) {
		q = NEW(line, struct mcp_asked);
		q->id = ev->request;
		q->q = (struct mcp_question){ .kind = ev->question, .params = ev->params };
		q->a = *line;
		*line = (struct arena){ 0 };
		for (tail = &s->asked; *tail;)
			tail = &(*tail)->next;
		*tail = q;
		s->asked_n++;
		s->asked_in_all++;
		bell_ring(&s->bell);
	}
	mcp_slots_unlock(c);
	return s;
}

static bool same_id(const struct json *x, const struct json *y)
{
	return x && y && x->type == y->type &&
	       (x->type == JSON_STRING ? str_eq(x->s, y->s) : x->d == y->d);
}

static struct mcp_asked *withdraw(struct mcp_slot *s, const struct json *id)
{
	struct mcp_asked **p = &s->asked, *q;

	if (s->state == FREE)
		return NULL;
	if (same_id(s->asking, id)) {
		s->withdrawn = true;
		if (s->asking_cancel)
			cancel_fire(s->asking_cancel, CANCEL_DEADLINE);
	}
	while (*p && !same_id((*p)->id, id))
		p = &(*p)->next;
	q = *p;
	if (q) {
		*p = q->next;
		q->next = NULL;
		s->asked_n--;
	}
	return q;
}

void mcp_calls_withdraw(struct mcp_calls *c, const struct json *id)
{
	struct mcp_asked *q = NULL;

	mcp_slots_lock(c);
	for (size_t i = 0; i < MCP_SLOTS_MAX && !q; i++)
		q = withdraw(&c->slots[i], id);
	mcp_slots_unlock(c);
	mcp_slots_free_asked(q);
}

void mcp_calls_anew(struct mcp_calls *c)
{
	struct mcp_asked *gone = NULL;

	mcp_slots_lock(c);
	mcp_slots_drop(c, 0);
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++) {
		struct mcp_slot *s = &c->slots[i];

		if (s->state == FREE)
			continue;
		if (s->asking) {
			s->withdrawn = true;
			if (s->asking_cancel)
				cancel_fire(s->asking_cancel, CANCEL_DEADLINE);
		}
		for (struct mcp_asked *q; (q = s->asked);) {
			s->asked = q->next;
			q->next = gone;
			gone = q;
		}
		s->asked_n = 0;
	}
	mcp_slots_unlock(c);
	mcp_slots_free_asked(gone);
}

size_t mcp_calls_written(struct mcp_calls *c, int64_t *ids, size_t max)
{
	size_t n = 0;

	mcp_slots_lock(c);
	for (size_t i = 0; i < MCP_SLOTS_MAX && n < max; i++)
		if (c->slots[i].state == WRITTEN)
			ids[n++] = c->slots[i].id;
	mcp_slots_unlock(c);
	return n;
}

void mcp_calls_open(struct mcp_calls *c)
{
	mcp_slots_lock(c);
	c->shut = false;
	mcp_slots_unlock(c);
}

void mcp_calls_broken(struct mcp_calls *c, struct mcp_frame *unwritten, const char *why)
{
	struct mcp_slot *s;

	mcp_slots_lock(c);
	c->lent = -1;
	/* Notices were for the server that is gone. */
	mcp_slots_drop(c, 0);
	s = unwritten ? slot_of(c, unwritten->id) : NULL;
	if (s && s->state == TAKEN) {
		s->state = QUEUED;
		unwritten->next = c->first;
		c->first = unwritten;
		c->last = c->last ? c->last : unwritten;
		c->frames++;
		unwritten = NULL;
	}
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++)
		if (c->slots[i].state == WRITTEN || c->slots[i].state == TAKEN)
			finish(&c->slots[i], E_IO, false, why);
	mcp_slots_unlock(c);
	mcp_frame_free(unwritten);
}

void mcp_calls_shut(struct mcp_calls *c, const char *why)
{
	mcp_slots_lock(c);
	c->shut = true;
	(void)snprintf(c->shut_why, sizeof(c->shut_why), "%s", why);
	for (size_t i = 0; i < MCP_SLOTS_MAX; i++)
		if (c->slots[i].state == QUEUED)
			finish(&c->slots[i], E_NOENT, true, why);
	for (struct mcp_frame *f; (f = pop(c));)
		mcp_frame_free(f);
	mcp_slots_unlock(c);
}

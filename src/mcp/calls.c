/*
 * Open calls.  One lock guards the slots and the queue; nothing is called and nothing waited
 * for under it; a frame that is short enough to go out whole or not at all is written under it
 * by its caller when the server's thread has nothing to write itself, which saves waking that
 * thread.  A slot belongs to its caller from the moment it is taken until the caller
 * gives it back, and its bell stays with it from call to call.
 */
#include "mcp/calls.h"

#include "base/utf.h"
#include "mcp/result.h"
#include "os/clock.h"
#include "os/thread.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOTS_MAX 256
#define FRAMES_MAX 512
#define MESSAGE_MAX 200

enum slot_state {
	FREE,
	QUEUED, /* its frame is in the queue */
	TAKEN, /* its frame is with the server's thread, no byte written */
	WRITTEN, /* in part or whole */
	DONE,
};

struct slot {
	enum slot_state state;
	int64_t id;
	struct bell bell;
	bool has_bell, wants_progress, has_progress;
	double done, total;
	char message[MESSAGE_MAX];
	/* The outcome. */
	int rc;
	bool not_sent;
	char why[MESSAGE_MAX];
	struct arena line;
	const struct json *result, *error;
};

struct mcp_calls {
	struct arena a;
	str server;
	_Atomic int64_t *ids;
	struct bell bell;
	pthread_mutex_t lock;
	/* Under the lock: */
	struct slot slots[SLOTS_MAX];
	struct mcp_frame *first, *last;
	size_t frames;
	int lent; /* the server's input while its thread writes nothing, else -1 */
	bool shut;
	char shut_why[MESSAGE_MAX];
};

void mcp_frame_free(struct mcp_frame *f)
{
	if (!f)
		return;
	struct arena a = f->a;

	arena_free(&a);
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

static void push(struct mcp_calls *c, struct mcp_frame *f)
{
	if (c->last)
		c->last->next = f;
	else
		c->first = f;
	c->last = f;
	c->frames++;
}

/* Take the frames out that are of call id; of no call: 0. */
static void drop_frames(struct mcp_calls *c, int64_t id)
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
		push(c, f);
	}
}

void mcp_calls_free(struct mcp_calls *c)
{
	struct arena a;

	if (!c)
		return;
	for (struct mcp_frame *f; (f = pop(c));)
		mcp_frame_free(f);
	for (size_t i = 0; i < SLOTS_MAX; i++) {
		arena_free(&c->slots[i].line);
		if (c->slots[i].has_bell)
			bell_done(&c->slots[i].bell);
	}
	bell_done(&c->bell);
	(void)pthread_mutex_destroy(&c->lock);
	a = c->a;
	arena_free(&a);
}

static struct slot *slot_of(struct mcp_calls *c, int64_t id)
{
	for (size_t i = 0; i < SLOTS_MAX; i++)
		if (c->slots[i].state != FREE && c->slots[i].id == id)
			return &c->slots[i];
	return NULL;
}

/* The slot has its outcome. */
static void finish(struct slot *s, int rc, bool not_sent, const char *why)
{
	s->state = DONE;
	s->rc = rc;
	s->not_sent = not_sent;
	(void)snprintf(s->why, sizeof(s->why), "%s", why);
	bell_ring(&s->bell);
}

/* Arguments go out as they are, but a line break between two tokens would end the frame. */
static int checked_args(struct arena *a, str args, str *out, struct err *e)
{
	struct json *v;
	char *p;
	int rc;

	args = str_trim(args);
	if (!args.n || str_eq(args, S("null"))) {
		*out = S("{}");
		return OK;
	}
	if ((rc = json_read(&v, a, args, e)) < 0)
		return err_wrap(e, E_INVAL, "the arguments are no JSON");
	if (v->type != JSON_OBJECT)
		return err_set(e, E_INVAL, "the arguments are no JSON object");
	args = arena_dup(a, utf_repair(a, args));
	p = (char *)(uintptr_t)args.p;
	for (size_t i = 0; i < args.n; i++)
		if (p[i] == '\n' || p[i] == '\r')
			p[i] = ' ';
	*out = args;
	return OK;
}

static struct mcp_frame *frame_new(int64_t id)
{
	struct arena a = { 0 };
	struct mcp_frame *f = NEW(&a, struct mcp_frame);

	f->a = a;
	f->id = id;
	return f;
}

static struct mcp_frame *call_frame(int64_t id, str tool, str args, bool progress)
{
	struct mcp_frame *f = frame_new(id);
	struct buf params = buf_in(&f->a, args.n + 6 * tool.n + 200);
	struct buf line = buf_in(&f->a, params.max + 200);

	buf_add(&params, S("{"));
	buf_json_member(&params, "name", tool);
	buf_json_key(&params, "arguments");
	buf_add(&params, args);
	if (progress)
		buf_fmt(&params, ",\"_meta\":{\"progressToken\":%lld}", (long long)id);
	buf_add(&params, S("}"));
	mcp_rpc_request(&line, id, "tools/call", buf_str(&params));
	f->text = buf_str(&line);
	return f;
}

static struct mcp_frame *cancel_frame(int64_t id, const char *reason)
{
	struct mcp_frame *f = frame_new(0);
	struct buf params = buf_in(&f->a, 400), line = buf_in(&f->a, 600);

	buf_add(&params, S("{"));
	buf_json_member_i64(&params, "requestId", id);
	buf_json_member(&params, "reason", str_of(reason));
	buf_add(&params, S("}"));
	mcp_rpc_notice(&line, "notifications/cancelled", buf_str(&params));
	f->text = buf_str(&line);
	return f;
}

/* Whole and now, or not at all: a pipe splits nothing of that size. */
static bool write_now(const struct mcp_calls *c, const struct mcp_frame *f)
{
	if (c->lent < 0 || c->first || f->text.n > PIPE_BUF)
		return false;
	return write(c->lent, f->text.p, f->text.n) == (ssize_t)f->text.n;
}

/* A slot for call id with f written or in the queue, as its state says; f stays the caller's
 * on failure, and when it was written. */
static int enter(struct mcp_calls *c, struct mcp_frame *f, bool progress, struct slot **out,
		 struct err *e)
{
	struct slot *s = NULL;
	int rc = OK;

	if (c->shut)
		return err_set(e, E_NOENT, "server \"%.*s\" is down: %s", STRF(c->server),
			       c->shut_why);
	for (size_t i = 0; i < SLOTS_MAX && !s; i++)
		if (c->slots[i].state == FREE)
			s = &c->slots[i];
	if (!s || c->frames >= FRAMES_MAX)
		return err_set(e, E_BUSY, "server \"%.*s\" has too many open calls",
			       STRF(c->server));
	if (!s->has_bell && (rc = bell_init(&s->bell, e)) < 0)
		return rc;
	bell_hear(&s->bell);
	*s = (struct slot){ .state = QUEUED,
			    .id = f->id,
			    .bell = s->bell,
			    .has_bell = true,
			    .wants_progress = progress };
	if (write_now(c, f))
		s->state = WRITTEN;
	else
		push(c, f);
	*out = s;
	return OK;
}

/* What a ring meant: true when the outcome is there, which is then in *got. */
static bool look(struct mcp_calls *c, struct slot *s, struct slot *got)
{
	bool done;

	(void)pthread_mutex_lock(&c->lock);
	done = s->state == DONE;
	*got = *s;
	s->has_progress = false;
	if (done) {
		s->line = (struct arena){ 0 };
		s->state = FREE;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return done;
}

/* The caller gives up.  True when the outcome had come meanwhile. */
static bool leave(struct mcp_calls *c, struct slot *s, const char *reason, struct slot *got)
{
	struct mcp_frame *notice = cancel_frame(s->id, reason);

	(void)pthread_mutex_lock(&c->lock);
	*got = *s;
	if (s->state == QUEUED) {
		drop_frames(c, s->id);
	} else if (s->state == TAKEN || s->state == WRITTEN) {
		push(c, notice);
		notice = NULL;
	}
	s->state = FREE;
	s->line = (struct arena){ 0 };
	(void)pthread_mutex_unlock(&c->lock);
	mcp_frame_free(notice);
	bell_ring(&c->bell);
	return got->state == DONE;
}

static void read_outcome(struct slot *got, struct arena *a, struct mcp_result *result)
{
	*result = (struct mcp_result){ 0 };
	if (got->error)
		result->failed = true;
	result->text = got->error ? mcp_result_error(a, got->error)
				  : mcp_result_text(a, got->result, &result->failed);
}

static const char *reason_text(const struct cancel *cancel)
{
	switch (cancel_reason(cancel)) {
	case CANCEL_USER:
		return "cancelled by the user";
	case CANCEL_SHUTDOWN:
		return "the client is shutting down";
	default:
		return "timed out";
	}
}

static int await(struct mcp_calls *c, struct slot *s, int64_t timeout_ms,
		 const struct mcp_progress *progress, struct slot *got,
		 const struct cancel *cancel, struct err *e)
{
	int64_t until = clock_mono_ms() + timeout_ms;
	int rc;

	for (;;) {
		rc = wait_fd(s->bell.fd, POLLIN, until, cancel, e);
		if (rc < 0)
			break;
		bell_hear(&s->bell);
		if (look(c, s, got))
			return OK;
		if (got->has_progress && progress)
			progress->fn(progress->arg, got->done, got->total,
				     str_of(got->message));
	}
	if (leave(c, s, reason_text(cancel), got))
		return OK;
	if (rc == E_TIMEOUT && cancel_reason(cancel) == CANCEL_NONE)
		return err_set(e, E_TIMEOUT, "no answer from server \"%.*s\" within %lld ms",
			       STRF(c->server), (long long)timeout_ms);
	return rc;
}

int mcp_calls_do(struct mcp_calls *c, const struct mcp_call *call, int64_t timeout_ms,
		 struct arena *a, struct mcp_result *result, const struct cancel *cancel,
		 struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	const struct mcp_progress *progress = call->progress;
	bool wants_progress = progress && progress->fn;
	str args;
	struct mcp_frame *f;
	struct slot *s = NULL, got;
	bool queued;
	int rc;

	*result = (struct mcp_result){ .not_sent = true };
	if ((rc = checked_args(&tmp, call->args, &args, e)) < 0 ||
	    (rc = cancel_check(cancel, e)) < 0)
		return rc;
	f = call_frame(atomic_fetch_add(c->ids, 1) + 1, call->tool, args, wants_progress);
	(void)pthread_mutex_lock(&c->lock);
	rc = enter(c, f, wants_progress, &s, e);
	queued = rc == OK && s->state == QUEUED;
	(void)pthread_mutex_unlock(&c->lock);
	if (!queued)
		mcp_frame_free(f);
	if (rc < 0)
		return rc;
	if (queued)
		bell_ring(&c->bell);
	rc = await(c, s, timeout_ms, wants_progress ? progress : NULL, &got, cancel, e);
	if (rc < 0) {
		result->not_sent = got.state == QUEUED;
		return rc;
	}
	result->not_sent = got.not_sent;
	if (got.rc < 0)
		return err_set(e, got.rc, "server \"%.*s\"%s: %s", STRF(c->server),
			       got.rc == E_NOENT ? " is down" : "", got.why);
	read_outcome(&got, a, result);
	arena_free(&got.line);
	return OK;
}

const struct bell *mcp_calls_bell(const struct mcp_calls *c)
{
	return &c->bell;
}

void mcp_calls_lend(struct mcp_calls *c, int fd)
{
	(void)pthread_mutex_lock(&c->lock);
	c->lent = fd;
	(void)pthread_mutex_unlock(&c->lock);
}

struct mcp_frame *mcp_calls_next(struct mcp_calls *c)
{
	struct mcp_frame *f;
	struct slot *s;

	(void)pthread_mutex_lock(&c->lock);
	f = pop(c);
	if (f)
		c->lent = -1;
	s = f && f->id ? slot_of(c, f->id) : NULL;
	if (s)
		s->state = TAKEN;
	(void)pthread_mutex_unlock(&c->lock);
	return f;
}

void mcp_calls_wrote(struct mcp_calls *c, int64_t id)
{
	struct slot *s;

	(void)pthread_mutex_lock(&c->lock);
	s = slot_of(c, id);
	if (s && s->state == TAKEN)
		s->state = WRITTEN;
	(void)pthread_mutex_unlock(&c->lock);
}

bool mcp_calls_idle(struct mcp_calls *c)
{
	bool idle = true;

	(void)pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < SLOTS_MAX && idle; i++)
		idle = c->slots[i].state == FREE || c->slots[i].state == DONE;
	(void)pthread_mutex_unlock(&c->lock);
	return idle;
}

void mcp_calls_answer(struct mcp_calls *c, const struct mcp_event *ev, struct arena *line)
{
	struct slot *s;

	(void)pthread_mutex_lock(&c->lock);
	s = slot_of(c, ev->id);
	if (s && s->state == WRITTEN) {
		s->line = *line;
		*line = (struct arena){ 0 };
		s->result = ev->result;
		s->error = ev->error;
		finish(s, OK, false, "");
	}
	(void)pthread_mutex_unlock(&c->lock);
}

void mcp_calls_progress(struct mcp_calls *c, const struct mcp_event *ev)
{
	str message = utf_head(ev->text, MESSAGE_MAX - 1);
	struct slot *s;

	(void)pthread_mutex_lock(&c->lock);
	s = slot_of(c, ev->id);
	if (s && s->state == WRITTEN && s->wants_progress) {
		s->has_progress = true;
		s->done = ev->done;
		s->total = ev->total;
		(void)snprintf(s->message, sizeof(s->message), "%.*s", STRF(message));
		bell_ring(&s->bell);
	}
	(void)pthread_mutex_unlock(&c->lock);
}

size_t mcp_calls_written(struct mcp_calls *c, int64_t *ids, size_t max)
{
	size_t n = 0;

	(void)pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < SLOTS_MAX && n < max; i++)
		if (c->slots[i].state == WRITTEN)
			ids[n++] = c->slots[i].id;
	(void)pthread_mutex_unlock(&c->lock);
	return n;
}

void mcp_calls_open(struct mcp_calls *c)
{
	(void)pthread_mutex_lock(&c->lock);
	c->shut = false;
	(void)pthread_mutex_unlock(&c->lock);
}

void mcp_calls_broken(struct mcp_calls *c, struct mcp_frame *unwritten, const char *why)
{
	struct slot *s;

	(void)pthread_mutex_lock(&c->lock);
	c->lent = -1;
	/* Notices were for the server that is gone. */
	drop_frames(c, 0);
	s = unwritten ? slot_of(c, unwritten->id) : NULL;
	if (s && s->state == TAKEN) {
		s->state = QUEUED;
		unwritten->next = c->first;
		c->first = unwritten;
		c->last = c->last ? c->last : unwritten;
		c->frames++;
		unwritten = NULL;
	}
	for (size_t i = 0; i < SLOTS_MAX; i++)
		if (c->slots[i].state == WRITTEN || c->slots[i].state == TAKEN)
			finish(&c->slots[i], E_IO, false, why);
	(void)pthread_mutex_unlock(&c->lock);
	mcp_frame_free(unwritten);
}

void mcp_calls_shut(struct mcp_calls *c, const char *why)
{
	(void)pthread_mutex_lock(&c->lock);
	c->shut = true;
	(void)snprintf(c->shut_why, sizeof(c->shut_why), "%s", why);
	for (size_t i = 0; i < SLOTS_MAX; i++)
		if (c->slots[i].state == QUEUED)
			finish(&c->slots[i], E_NOENT, true, why);
	for (struct mcp_frame *f; (f = pop(c));)
		mcp_frame_free(f);
	(void)pthread_mutex_unlock(&c->lock);
}

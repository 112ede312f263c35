/*
 * Open calls, the side of the callers.  One lock guards the slots and the queue; nothing is
 * called and nothing waited for under it; a frame that is short enough to go out whole or not
 * at all is written under it by its caller when the server's thread has nothing to write
 * itself, which saves waking that thread.  A slot belongs to its caller from the moment it is
 * taken until the caller gives it back, and its bell stays with it from call to call.
 */
#include "mcp/slots.h"

#include "base/utf.h"
#include "mcp/outcome.h"
#include "mcp/result.h"
#include "os/clock.h"
#include "os/thread.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define RESULT_MAX ((size_t)256 << 20)
#define ACCEPT "{\"action\":\"accept\"}"
#define LINKS_TRIES 8

/* Whole and now, or not at all: a pipe splits nothing of that size. */
static bool write_now(const struct mcp_calls *c, struct mcp_frame *f)
{
	if (c->lent < 0 || c->first || f->open_n > PIPE_BUF)
		return false;
	mcp_slots_close(c, f);
	return f->text.n <= PIPE_BUF &&
	       write(c->lent, f->text.p, f->text.n) == (ssize_t)f->text.n;
}

/* A slot for call id with f written or in the queue, as its state says; f stays the caller's
 * on failure, and when it was written. */
static int enter(struct mcp_calls *c, struct mcp_frame *f, struct mcp_slot **out, struct err *e)
{
	struct mcp_slot *s;
	int rc = mcp_slots_take(c, f->id, &s, e);

	if (rc < 0)
		return rc;
	s->answers = f->answers;
	if (write_now(c, f))
		s->state = WRITTEN;
	else
		mcp_slots_push(c, f);
	*out = s;
	return OK;
}

/* What a ring meant: true when the outcome is there, which is then in *got.  Else *q is a
 * question to be answered, or NULL. */
static bool look(struct mcp_calls *c, struct mcp_slot *s, struct mcp_slot *got,
		 struct mcp_asked **q, bool take)
{
	bool done;

	*q = NULL;
	mcp_slots_lock(c);
	done = s->state == DONE;
	*got = *s;
	s->has_progress = s->poked = false;
	if (done && take) {
		s->line = (struct arena){ 0 };
		s->asked = NULL;
		s->state = FREE;
	} else if (!done && (*q = s->asked)) {
		s->asked = (*q)->next;
		s->asked_n--;
		(*q)->next = NULL;
		s->asking = (*q)->id;
		s->withdrawn = false;
	}
	mcp_slots_unlock(c);
	if (done && take)
		mcp_slots_free_asked(got->asked);
	return done;
}

struct mcp_frame *mcp_slots_refusal(const struct mcp_asked *q)
{
	return mcp_frame_answer(q->id,
				&(struct mcp_answer){ .code = MCP_INTERNAL_ERROR,
						      .message = S("it was not answered") });
}

/* The caller gives up.  True when the outcome had come meanwhile. */
static bool leave(struct mcp_calls *c, struct mcp_slot *s, const char *reason,
		  struct mcp_slot *got)
{
	struct mcp_frame *notice = mcp_frame_cancel(s->id, reason);

	mcp_slots_lock(c);
	*got = *s;
	if (s->state == QUEUED) {
		mcp_slots_drop(c, s->id);
	} else if (s->state == TAKEN || s->state == WRITTEN) {
		mcp_slots_push(c, notice);
		notice = NULL;
		for (const struct mcp_asked *q = s->asked; q; q = q->next)
			mcp_slots_push(c, mcp_slots_refusal(q));
	}
	s->state = FREE;
	s->line = (struct arena){ 0 };
	s->asked = NULL;
	mcp_slots_unlock(c);
	mcp_frame_free(notice);
	mcp_slots_free_asked(got->asked);
	bell_ring(&c->bell);
	return got->state == DONE;
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

/* The caller begins to answer q, or, NULL, has ended; false when nobody waits
 * for that any more. */
static bool answering(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_question *q,
		      struct cancel *cancel, _Atomic bool *done)
{
	bool wanted;

	mcp_slots_lock(c);
	wanted = s->state != DONE && !s->withdrawn;
	s->asking_cancel = cancel;
	s->asking_done = done;
	s->asking_link = q ? mcp_slots_link(q) : (str){ 0 };
	if (!q)
		s->asking = NULL;
	mcp_slots_unlock(c);
	return wanted;
}

/* Have a question answered; *wanted: somebody still waits for that.  What was done elsewhere is
 * accepted. */
int mcp_slots_have_answered(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_ask *ask,
			    struct mcp_question *q, struct arena *a, struct mcp_answer *out,
			    bool *wanted, struct err *e)
{
	_Atomic bool done = false;
	struct cancel mine;
	int rc = cancel_init(&mine, ask->cancel, 0, e);

	if (rc < 0)
		return rc;
	q->server = c->server;
	q->done = &done;
	if (answering(c, s, q, &mine, &done))
		rc = ask->call->on_question(ask->call->arg, q, a, out, &mine, e);
	*wanted = answering(c, s, NULL, NULL, NULL);
	cancel_done(&mine);
	if (!done)
		return rc;
	*out = (struct mcp_answer){ .result = S(ACCEPT) };
	return OK;
}

/* Have what the server asked answered and send the answer.  Below 0: the call ends with it. */
static int serve_question(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_ask *ask,
			  struct mcp_asked *q, struct err *e)
{
	struct mcp_answer answer = { .result = S(ACCEPT) };
	struct mcp_frame *f;
	bool wanted = true;
	int rc = OK;

	if (!q->done)
		rc = mcp_slots_have_answered(c, s, ask, &q->q, &q->a, &answer, &wanted, e);
	if (!wanted)
		return OK;
	f = rc < 0 ? mcp_slots_refusal(q) : mcp_frame_answer(q->id, &answer);
	mcp_slots_lock(c);
	if (s->state == WRITTEN)
		mcp_slots_push(c, f);
	else
		mcp_frame_free(f);
	mcp_slots_unlock(c);
	bell_ring(&c->bell);
	return rc;
}

int mcp_slots_attend(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_ask *ask,
		     bool take, struct mcp_slot *got, struct mcp_attended *did, struct err *e)
{
	const struct mcp_progress *progress = ask->call ? ask->call->progress : NULL;
	struct mcp_asked *q;
	int rc;

	*did = (struct mcp_attended){ 0 };
	while (!look(c, s, got, &q, take)) {
		did->moved |= got->has_progress;
		if (got->has_progress && progress && progress->fn)
			progress->fn(progress->arg, got->done, got->total,
				     str_of(got->message));
		if (!q)
			return 0;
		int64_t began = clock_mono_ms();
		rc = serve_question(c, s, ask, q, e);
		did->asked_ms += clock_mono_ms() - began;
		mcp_slots_free_asked(q);
		if (rc < 0)
			return rc;
	}
	return 1;
}

/* Whom a carrier calls back. */
struct carried {
	struct mcp_calls *c;
	struct mcp_slot *s;
	const struct mcp_ask *ask;
	struct mcp_slot *got;
};

static int serve(void *arg, struct err *e)
{
	const struct carried *v = arg;
	struct mcp_attended did;
	int rc = mcp_slots_attend(v->c, v->s, v->ask, false, v->got, &did, e);

	if (rc == 1 && v->got->rc < 0)
		return err_set(e, v->got->rc, "%s", v->got->why);
	return rc < 0 ? rc : OK;
}

/* The caller carries its request itself.  OK: the outcome is in the slot, or the request waits
 * for the next life of the server. */
static int carry(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_ask *ask,
		 const struct mcp_carrier *by, struct mcp_frame *f, struct mcp_slot *got,
		 struct err *e)
{
	struct carried v = { c, s, ask, got };
	struct mcp_load load = { .frame = f,
				 .method = ask->method,
				 .params = ask->params,
				 .limit = ask->limit,
				 .bell = &s->bell,
				 .serve = serve,
				 .arg = &v,
				 .cancel = ask->cancel };
	struct err why = { 0 };
	int rc = by->carry(by->arg, &load, &why);
	bool over = (rc == E_CANCELED || rc == E_TIMEOUT) && !load.not_run;

	if (rc < 0 && (cancel_reason(ask->cancel) != CANCEL_NONE || over)) {
		mcp_frame_free(f);
		return err_set(e, rc, "%s", why.msg);
	}
	if (mcp_slots_carried(c, s, load.again ? f : NULL, rc, load.not_run, why.msg))
		f = NULL;
	mcp_frame_free(f);
	return OK;
}

/* It did not come in time, its own or that of whoever waits. */
static int too_late(const struct mcp_calls *c, const struct mcp_ask *ask, bool at_last, int rc,
		    struct err *e)
{
	if (rc != E_TIMEOUT || cancel_reason(ask->cancel) != CANCEL_NONE)
		return rc;
	if (at_last)
		return err_set(
			e, E_TIMEOUT,
			"server \"%.*s\" reported progress but did not end within %lld ms",
			STRF(c->server), (long long)ask->limit->max_ms);
	return err_set(e, E_TIMEOUT, "no answer from server \"%.*s\" within %lld ms",
		       STRF(c->server), (long long)ask->limit->call_ms);
}

/* Wait for the outcome; below 0: it did not come. */
static int await(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_ask *ask,
		 struct mcp_slot *got, struct err *e)
{
	int64_t now = clock_mono_ms(), until = now + ask->limit->call_ms;
	int64_t last = now + ask->limit->max_ms;
	int rc;

	for (;;) {
		const struct mcp_carrier *by;
		struct mcp_frame *f = mcp_slots_claim(c, s, &by);
		struct mcp_attended did;

		rc = f ? carry(c, s, ask, by, f, got, e)
		       : wait_fd(s->bell.fd, POLLIN, until < last ? until : last, ask->cancel,
				 e);
		if (rc < 0)
			return f ? rc : too_late(c, ask, last < until, rc, e);
		bell_hear(&s->bell);
		if ((rc = mcp_slots_attend(c, s, ask, true, got, &did, e)) != 0)
			return rc < 0 ? rc : OK;
		/* The limits stand still while a question is answered, and only then. */
		now = clock_mono_ms();
		last += did.asked_ms;
		until = did.moved ? now + ask->limit->call_ms : until + did.asked_ms;
		if ((rc = cancel_check(ask->cancel, e)) < 0)
			return rc;
		if (now >= until || now >= last)
			return too_late(c, ask, last < until, E_TIMEOUT, e);
	}
}

/* Put f, which is taken over, on its way, and wait for the answer.  OK: it is in *got. */
static int ask_server(struct mcp_calls *c, struct mcp_frame *f, const struct mcp_ask *ask,
		      struct mcp_slot *got, struct err *e)
{
	struct mcp_slot *s = NULL;
	bool queued, ring;
	int rc;

	*got = (struct mcp_slot){ .state = QUEUED };
	mcp_slots_lock(c);
	f->answers = ask->call && ask->call->on_question;
	rc = enter(c, f, &s, e);
	if (rc == OK && ask->call)
		s->origin = ask->call->origin;
	if (rc == OK) {
		s->task = ask->task;
		s->token = ask->token;
	}
	queued = rc == OK && s->state == QUEUED;
	ring = queued && !c->carrier;
	mcp_slots_unlock(c);
	if (!queued)
		mcp_frame_free(f);
	if (rc < 0)
		return rc;
	if (ring)
		bell_ring(&c->bell);
	rc = await(c, s, ask, got, e);
	if (rc < 0 && !leave(c, s, reason_text(ask->cancel), got))
		return rc;
	if (got->rc < 0)
		return err_set(e, got->rc, "server \"%.*s\"%s: %s", STRF(c->server),
			       got->rc == E_NOENT ? " is down" : "", got->why);
	return OK;
}

static int64_t next_id(struct mcp_calls *c)
{
	return atomic_fetch_add(c->ids, 1) + 1;
}

static void read_outcome(struct mcp_calls *c, const struct mcp_call *call,
			 const struct mcp_slot *got, struct arena *a, struct mcp_result *result)
{
	*result = (struct mcp_result){ 0 };
	if (call->as_task && got->result && !got->stateless &&
	    mcp_outcome_task(result, got->result, got->id, &got->offer, a))
		return;
	mcp_outcome_read(result, got->result, got->error, c->server,
			 got->stateless ? &got->offer : NULL, a);
	if (got->result && !result->needs_input && !result->task)
		result->mismatch = mcp_result_mismatch(a, call->output, got->result);
}

int mcp_calls_do(struct mcp_calls *c, const struct mcp_call *call,
		 const struct mcp_limit *limit, struct arena *a, struct mcp_result *result,
		 const struct cancel *cancel, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	struct mcp_ask ask = {
		.call = call, .method = "tools/call", .limit = limit, .cancel = cancel
	};
	int rc;

	*result = (struct mcp_result){ .not_sent = true };
	if ((rc = mcp_frame_params(call, &tmp, &ask.params, e)) < 0 ||
	    (rc = cancel_check(cancel, e)) < 0)
		return rc;
	for (int tries = 0;; tries++) {
		struct mcp_slot got;
		bool links;

		rc = ask_server(c, mcp_frame_request(next_id(c), ask.method, ask.params), &ask,
				&got, e);
		result->not_sent = got.state == QUEUED || got.not_sent;
		if (rc < 0)
			return rc;
		links = got.error && !got.stateless && got.offer.url && tries < LINKS_TRIES;
		if (links)
			rc = mcp_beside_links(c, &ask, got.error, a, result, e);
		else
			read_outcome(c, call, &got, a, result);
		arena_free(&got.line);
		if (!links || rc != OK)
			return rc < 0 ? rc : OK;
	}
}

/* The answer, in an arena that the line's is not. */
static int keep_result(struct mcp_calls *c, const struct mcp_slot *got, struct arena *a,
		       const struct json **result, struct err *e)
{
	struct buf b = buf_in(a, RESULT_MAX);
	struct json *v;
	int rc;

	if (got->error)
		return err_set(e, E_PROTO, "server \"%.*s\": %.*s", STRF(c->server),
			       STRF(utf_head(mcp_result_reason(got->error), MCP_WHY_MAX)));
	if (!json_is(got->result, JSON_OBJECT))
		return err_set(e, E_PROTO, "server \"%.*s\": its answer is no object",
			       STRF(c->server));
	json_write(&b, got->result);
	if ((rc = json_read(&v, a, buf_str(&b), e)) < 0)
		return rc;
	*result = v;
	return OK;
}

int mcp_calls_request(struct mcp_calls *c, const struct mcp_request *request,
		      const struct mcp_limit *limit, struct arena *a,
		      const struct json **result, const struct cancel *cancel, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	struct mcp_ask ask = { .call = request->call,
			       .method = request->method,
			       .limit = limit,
			       .cancel = cancel,
			       .task = request->task,
			       .token = request->token };
	struct mcp_slot got;
	int rc;

	if ((rc = mcp_frame_object(request->params, &tmp, &ask.params, e)) < 0 ||
	    (rc = cancel_check(cancel, e)) < 0)
		return rc;
	rc = ask_server(c, mcp_frame_request(next_id(c), ask.method, ask.params), &ask, &got,
			e);
	if (rc < 0)
		return rc;
	rc = keep_result(c, &got, a, result, e);
	arena_free(&got.line);
	return rc;
}

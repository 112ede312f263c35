/*
 * The calls that are under way: their places, their threads, and what these leave for main: lines
 * of progress, questions, results.
 */
#include "cli/serve_parts.h"

#include "cli/tidy.h"
#include "os/clock.h"

#define ALIVE_MS 10000 /* how often a call that is quiet says that it works */
#define AGAIN_MS 50 /* until a cancel is tried again that came before its turn */
#define KEEP_MS 600000 /* how long a result waits for a host that asked and went */

static void *call_main(void *arg)
{
	struct serve_call *k = arg;

	serve_call_do(k);
	serve_shared_over(k);
	return NULL;
}

static void free_call(struct serve_call *k)
{
	thread_join(&k->thread);
	serve_shared_place(k, 0);
	cancel_done(&k->token);
	bell_done(&k->bell);
	arena_free(&k->said_arena);
	arena_free(&k->wire);
	arena_free(&k->a);
}

static void cancel_call(struct serve_call *k)
{
	char turn[ID_LEN + 1];

	serve_shared_cancel(k, turn);
	cancel_fire(&k->token, CANCEL_USER);
	if (turn[0])
		(void)turns_fire(&k->s->g->turns, str_of(turn), CANCEL_USER);
	bell_ring(&k->bell);
}

void serve_table_stop(struct serve *s)
{
	for (size_t i = 0; i < SERVE_CALLS; i++)
		if (s->calls[i].serial)
			cancel_call(&s->calls[i]);
}

/* A free place; what nobody came back for makes room. */
static struct serve_call *find_place(struct serve *s)
{
	for (size_t i = 0; i < SERVE_CALLS; i++)
		if (!s->calls[i].serial)
			return &s->calls[i];
	for (size_t i = 0; i < SERVE_CALLS; i++) {
		if (s->calls[i].waits && s->calls[i].over_ms) {
			free_call(&s->calls[i]);
			return &s->calls[i];
		}
	}
	return NULL;
}

static int open_call(struct serve *s, struct serve_call *k, const struct mcp_serve_event *ev,
		     struct err *e)
{
	struct json *args;
	struct buf b;
	int rc;

	serve_shared_clear(s, k);
	k->tool = ev->tool;
	b = buf_in(&k->a, s->lines.max + LINE_EXTRA);
	json_write(&b, ev->args);
	if ((rc = bell_init(&k->bell, e)) < 0 ||
	    (rc = cancel_init(&k->token, &s->g->root, 0, e)) < 0 ||
	    (rc = json_read(&args, &k->a, buf_str(&b), e)) < 0)
		return rc;
	k->args = args;
	k->elicits = ev->elicits;
	k->said = buf_in(&k->said_arena, OUT_MAX / 4);
	k->to = (struct mcp_serve_to){ arena_dup(&k->wire, ev->to.id), ev->to.revision };
	k->token_json = arena_dup(&k->wire, ev->token);
	k->told_ms = clock_mono_ms();
	return OK;
}

static void refuse(struct serve *s, struct serve_batch *batch, const struct mcp_serve_to *to,
		   str why)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1u << 20);

	mcp_serve_result(to, why, S(""), true, &b);
	serve_emit(s, batch, buf_str(&b));
}

/* A host that was asked back and begins another ask of the session has given the first one up:
 * where requests say all there is, it has no other way to say so. */
static void give_up(struct serve *s, str address)
{
	for (size_t i = 0; i < SERVE_CALLS; i++) {
		struct serve_call *k = &s->calls[i];
		if (!k->serial || !k->waits || !str_eq(k->address, address))
			continue;
		k->waits = false;
		k->silent = true;
		cancel_call(k);
	}
}

void serve_table_begin(struct serve *s, const struct mcp_serve_event *ev,
		       struct serve_batch *batch, struct tidy *tidy)
{
	struct serve_call *k = find_place(s);
	struct err e = { 0 };
	str why;

	if (batch)
		batch->left++;
	if (!k) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 4096);
		mcp_serve_error(&ev->to, MCP_TOO_MANY, S("too many calls at once"), &b);
		serve_emit(s, batch, buf_str(&b));
		return;
	}
	int rc = open_call(s, k, ev, &e);
	why = rc < 0 ? str_of(e.msg) : serve_call_check(k, ev->host);
	if (!why.n) {
		k->batch = batch;
		if (k->tool == &serve_ask_tool) {
			give_up(s, k->address);
			tidy_stop(tidy);
		}
		serve_shared_place(k, ++s->serials);
		if (thread_start(&k->thread, "mcp-call", call_main, k, &e) == OK)
			return;
		why = str_of(e.msg);
	}
	refuse(s, batch, &ev->to, why);
	free_call(k);
}

/* The host comes back to a call that asked, with the answer or without one. */
void serve_table_resume(struct serve *s, const struct mcp_serve_event *ev)
{
	struct serve_call *k = NULL;

	for (size_t i = 0; i < SERVE_CALLS && !k; i++)
		if (s->calls[i].serial && s->calls[i].waits &&
		    str_eq(str_of(s->calls[i].key), ev->state))
			k = &s->calls[i];
	if (!k || k->tool != ev->tool) {
		refuse(s, NULL, &ev->to,
		       S("error: this call is not known any more; make it again from the "
			 "beginning"));
		return;
	}
	k->waits = false;
	k->to.id = arena_dup(&k->wire, ev->to.id);
	k->token_json = arena_dup(&k->wire, ev->token);
	if (mcp_serve_answer(ev->answers))
		serve_shared_answer(k, k->put, mcp_serve_answer(ev->answers));
	bell_ring(&s->bell); /* without an answer it is asked again */
}

void serve_table_cancel(struct serve *s, str id)
{
	for (size_t i = 0; i < SERVE_CALLS; i++) {
		struct serve_call *k = &s->calls[i];
		if (k->serial && !k->waits && !k->silent && str_eq(k->to.id, id)) {
			k->silent = true;
			cancel_call(k);
		}
	}
}

void serve_table_answer(struct serve *s, const struct mcp_serve_event *ev)
{
	for (size_t i = 0; i < SERVE_CALLS; i++) {
		struct serve_call *k = &s->calls[i];
		if (!k->serial || k->question != ev->question)
			continue;
		k->question = 0;
		serve_shared_answer(k, k->put, ev->result);
	}
}

bool serve_table_has(const struct serve *s, str id)
{
	for (size_t i = 0; i < SERVE_CALLS; i++)
		if (s->calls[i].serial && !s->calls[i].waits && str_eq(s->calls[i].to.id, id))
			return true;
	return false;
}

static void tell_progress(struct serve_call *k, const struct serve_seen *v, int64_t now)
{
	struct serve *s = k->s;

	if (!k->token_json.n || k->waits || k->silent || s->out_buf.n > OUT_HIGH)
		return;
	for (size_t i = 0; i < v->lines_n; i++) {
		mcp_serve_progress(&k->to, k->token_json, ++k->told, str_of(v->lines[i]),
				   &s->out_buf);
		k->told_ms = now;
	}
	if (!v->over && now - k->told_ms >= ALIVE_MS) {
		mcp_serve_progress(&k->to, k->token_json, ++k->told, S("still working"),
				   &s->out_buf);
		k->told_ms = now;
	}
}

/* The one that stands in the call's place.  Another than was put has another id and key, so that
 * no answer is taken for that to another question. */
static void put_question(struct serve_call *k, const struct serve_seen *v)
{
	struct serve *s = k->s;

	if (k->question && (!v->asking.message.n || v->number != k->put)) {
		mcp_serve_unask(k->question, &s->out_buf);
		k->question = 0;
	}
	if (!v->asking.message.n || v->answered || k->question || k->waits || k->silent)
		return;
	if (!k->key[0] || v->number != k->put)
		id_new(k->key);
	k->put = v->number;
	if (!mcp_serve_stateless(k->to.revision)) {
		k->question = ++s->questions;
		mcp_serve_ask(k->question, &v->asking, &s->out_buf);
		return;
	}
	k->waits = true;
	mcp_serve_ask_back(&k->to, str_of(k->key), &v->asking, &s->out_buf);
}

/* The result is there.  False: it is kept for a host that will call again. */
static bool end_call(struct serve_call *k, int64_t now)
{
	struct serve *s = k->s;
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, OUT_MAX);

	thread_join(&k->thread);
	if (k->waits && !k->over_ms)
		k->over_ms = now;
	if (k->waits && !s->ended && now - k->over_ms < KEEP_MS)
		return false;
	if (!k->waits && !k->silent) {
		mcp_serve_result(&k->to, k->text, k->structured, k->failed, &b);
		serve_emit(s, k->batch, buf_str(&b));
	} else if (k->batch) {
		serve_batch_flush(s, k->batch);
	}
	return true;
}

void serve_table_ring(struct serve *s)
{
	for (size_t i = 0; i < SERVE_CALLS; i++)
		if (s->calls[i].serial)
			bell_ring(&s->calls[i].bell);
}

int64_t serve_table_look(struct serve *s, struct tidy *tidy, int *open)
{
	int64_t now = clock_mono_ms(), due = INT64_MAX;
	bool asked = false;

	*open = 0;
	for (size_t i = 0; i < SERVE_CALLS; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct serve_call *k = &s->calls[i];
		struct serve_seen v = { 0 };
		if (!k->serial)
			continue;
		serve_shared_see(k, &a, &v);
		tell_progress(k, &v, now);
		put_question(k, &v);
		if (v.again) {
			(void)turns_fire(&s->g->turns, str_of(v.turn), CANCEL_USER);
			due = now + AGAIN_MS;
		}
		if (k->token_json.n && !v.over && k->told_ms + ALIVE_MS < due)
			due = k->told_ms + ALIVE_MS;
		if (v.over && end_call(k, now)) {
			asked |= k->tool == &serve_ask_tool;
			free_call(k);
			serve_table_ring(s);
		}
		*open += k->serial && !v.over;
	}
	if (asked && *open == 0 && !s->ended)
		tidy_start(tidy);
	return due;
}

void serve_table_drop(struct serve *s)
{
	serve_table_stop(s);
	for (size_t i = 0; i < SERVE_CALLS; i++)
		if (s->calls[i].serial)
			free_call(&s->calls[i]);
	for (size_t i = 0; i < COUNT(s->batches); i++)
		arena_free(&s->batches[i].a);
}

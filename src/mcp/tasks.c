/*
 * Tasks, asked for again and again, at the pace that the server wishes within bounds of ours.
 *
 * Where there was a handshake (.token), the caller hears between two looks what is said of the
 * task, and its result is asked for: when it has ended, or when it wants input, as the answer
 * to that is what such a server asks beside.
 */
#include "mcp/tasks.h"

#include "base/map.h"
#include "base/utf.h"
#include "mcp/outcome.h"
#include "mcp/result.h"
#include "os/clock.h"
#include "os/wait.h"

#include <stdio.h>

#define POLL_MS 1000
#define POLL_MIN_MS 50
#define POLL_MAX_MS 30000
#define GET_MS 30000
#define CANCEL_MS 40 /* whoever cancels a call waits no longer than that for its end */
#define QUESTIONS_MAX 32
#define MISSED_MAX 4 /* times in a row that the server could not be asked */
#define PARAMS_MAX ((size_t)16 << 20)

struct wait {
	const struct mcp_asker *asker;
	const struct mcp_call *call;
	const struct mcp_limit *limit;
	str id; /* of the task */
	struct mcp_offer offer; /* what its call offered to answer */
	str server;
	int64_t poll_ms, until_ms, last_ms;
	struct arena answered; /* owns the keys of what was asked and answered */
	struct map keys;
	int asked, missed;
	int64_t asked_ms; /* that questions beside a request took */
	int64_t token; /* of 2025-11-25: what its progress is told by; else 0 */
	struct mcp_linger linger; /* the same */
	char seen[256]; /* how the task stood the last time */
};

static str params_of(const struct wait *w, struct arena *a, str answers)
{
	struct buf b = buf_in(a, PARAMS_MAX);

	buf_add(&b, S("{"));
	buf_json_member(&b, "taskId", w->id);
	if (answers.n) {
		buf_json_key(&b, "inputResponses");
		buf_add(&b, answers);
	}
	buf_add(&b, S("}"));
	return buf_str(&b);
}

static int ask(const struct wait *w, const char *method, str answers, int64_t ms,
	       struct arena *a, const struct json **out, const struct cancel *c, struct err *e)
{
	const struct mcp_request request = { .method = method,
					     .params = params_of(w, a, answers),
					     .call = w->token && c ? w->call : NULL,
					     .task = w->id,
					     .token = w->token };
	const struct mcp_limit limit = { ms, ms };

	return w->asker->request(w->asker->arg, &request, &limit, a, out, c, e);
}

/* Nobody waits for it any more.  Whether the server hears that is not waited for for long: the end
 * of a cancelled call is promised within 50 ms. */
static void give_up(const struct wait *w)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct json *v;

	(void)ask(w, "tasks/cancel", (str){ 0 }, CANCEL_MS, &a, &v, NULL, NULL);
}

/* It has moved: that is told, and counts as progress. */
static void look_at(struct wait *w, const struct json *task)
{
	const struct mcp_progress *p = w->call->progress;
	str message = utf_head(json_str(task, "statusMessage"), 150);
	char now[256];

	(void)snprintf(now, sizeof(now), "%.*s %.*s %.*s",
		       STRF(utf_head(json_str(task, "status"), 20)),
		       STRF(utf_head(json_str(task, "lastUpdatedAt"), 40)), STRF(message));
	w->poll_ms = json_i64(task, w->token ? "pollInterval" : "pollIntervalMs", POLL_MS);
	if (w->poll_ms < POLL_MIN_MS)
		w->poll_ms = POLL_MIN_MS;
	if (w->poll_ms > POLL_MAX_MS)
		w->poll_ms = POLL_MAX_MS;
	if (str_is(str_of(now), w->seen))
		return;
	(void)snprintf(w->seen, sizeof(w->seen), "%s", now);
	w->until_ms = clock_mono_ms() + w->limit->call_ms;
	if (p && p->fn && message.n)
		p->fn(p->arg, 0, -1, message);
}

/* One answer to all that is asked and was not answered yet; "" when there is nothing. */
static int answer_all(struct wait *w, const struct mcp_question *v, size_t n, struct arena *a,
		      str *out, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, PARAMS_MAX);

	buf_add(&b, S("{"));
	for (size_t i = 0; i < n; i++) {
		struct mcp_answer answer = { 0 };
		int rc;

		if (map_get(&w->keys, v[i].key))
			continue;
		if (w->asked++ == QUESTIONS_MAX)
			return err_set(e, E_DENIED, "the task asks more than %d things",
				       QUESTIONS_MAX);
		rc = w->call->on_question(w->call->arg, &v[i], a, &answer, c, e);
		if (rc < 0)
			return rc;
		if (answer.code)
			return err_set(e, E_DENIED, "the server's question was refused: %.*s",
				       STRF(utf_head(answer.message, 150)));
		(void)map_set(&w->keys, &w->answered, arena_dup(&w->answered, v[i].key), w);
		buf_addc(&b, b.n > 1 ? ',' : ' ');
		buf_json(&b, v[i].key);
		buf_addc(&b, ':');
		buf_add(&b, answer.result);
	}
	if (b.n == 1)
		return OK;
	buf_add(&b, S("}"));
	*out = buf_str(&b);
	return OK;
}

/* It asks something: the clocks stand still until that is answered. */
static int serve_questions(struct wait *w, const struct json *task, struct arena *a,
			   const struct cancel *c, struct err *e)
{
	const struct mcp_question *v = NULL;
	const struct json *ack;
	int64_t began = clock_mono_ms(), spent;
	str answers = { 0 };
	size_t n = 0;
	int rc = mcp_outcome_questions(json_get(task, "inputRequests"), w->server, &w->offer, a,
				       &v, &n, e);

	if (rc == OK)
		rc = answer_all(w, v, n, a, &answers, c, e);
	spent = clock_mono_ms() - began;
	w->until_ms += spent;
	w->last_ms += spent;
	if (rc < 0 || !answers.n)
		return rc;
	return ask(w, "tasks/update", answers, GET_MS, a, &ack, c, e);
}

/* What is asked beside a request for its result, which may be made any number of times. */
static int answer_one(void *arg, const struct mcp_question *q, struct arena *a,
		      struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct wait *w = arg;
	int64_t began = clock_mono_ms();
	int rc;

	if (w->asked++ == QUESTIONS_MAX)
		return err_set(e, E_DENIED, "the task asks more than %d things", QUESTIONS_MAX);
	rc = w->call->on_question(w->call->arg, q, a, out, c, e);
	w->asked_ms += clock_mono_ms() - began;
	return rc;
}

/* Of 2025-11-25: its result, which comes once it has ended; until then it may ask.  1: that was
 * it. */
static int fetch_result(struct wait *w, bool ended, struct arena *a, struct mcp_result *result,
			const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	int64_t left = w->last_ms - clock_mono_ms();
	struct mcp_call call = *w->call;
	const struct mcp_request request = { .method = "tasks/result",
					     .params = params_of(w, &tmp, (str){ 0 }),
					     .call = &call,
					     .task = w->id,
					     .token = w->token };
	const struct mcp_limit limit = { w->limit->call_ms, left > 1 ? left : 1 };
	const struct json *v;
	struct err why = { 0 };
	int rc;

	if (call.on_question) {
		call.on_question = answer_one;
		call.arg = w;
	}
	rc = w->asker->request(w->asker->arg, &request, &limit, &tmp, &v, c, &why);
	/* Some do not wait for its end, but say that it has none yet. */
	if (rc == E_PROTO && !ended)
		return 0;
	if (rc < 0 && rc != E_PROTO)
		return err_set(e, rc, "%s", why.msg);
	*result = (struct mcp_result){ 0 };
	if (rc == E_PROTO) {
		result->failed = true;
		result->text = arena_cat(a, S("tool error: "), str_of(why.msg));
		return 1;
	}
	mcp_outcome_read(result, v, NULL, w->server, NULL, a);
	result->mismatch = mcp_result_mismatch(a, w->call->output, v);
	return 1;
}

/* Of 2025-11-25: what its state wants to be done, as poll_once(). */
static int go_on(struct wait *w, str status, struct arena *a, struct mcp_result *result,
		 const struct cancel *c, struct err *e)
{
	bool ended = str_is(status, "completed") || str_is(status, "failed");
	int64_t began = clock_mono_ms();
	int rc;

	w->asked_ms = 0;
	rc = fetch_result(w, ended, a, result, c, e);
	/* The request had a limit of its own; in all only what it asked does not count. */
	w->until_ms += clock_mono_ms() - began;
	w->last_ms += w->asked_ms;
	return rc;
}

static void say_end(struct mcp_result *result, const struct json *task, str status,
		    struct arena *a)
{
	str message = json_str(task, "statusMessage");

	result->failed = true;
	result->text =
		arena_fmt(a, "tool error: the task ended as \"%.*s\"%s%.*s",
			  STRF(utf_repair(a, utf_head(status, 40))), message.n ? ": " : "",
			  STRF(utf_repair(a, utf_head(message, 300))));
}

/* 1: it has ended, and *result says how. */
static int poll_once(struct wait *w, struct arena *a, struct mcp_result *result,
		     const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	const struct json *task;
	str status;
	int rc = ask(w, "tasks/get", (str){ 0 }, GET_MS, &tmp, &task, c, e);

	/* It only reads, and the task may go on meanwhile. */
	if ((rc == E_IO || rc == E_TIMEOUT) && cancel_reason(c) == CANCEL_NONE &&
	    ++w->missed < MISSED_MAX)
		return 0;
	if (rc < 0)
		return rc;
	w->missed = 0;
	look_at(w, task);
	status = json_str(task, "status");
	if (str_is(status, "working"))
		return 0;
	if (w->token && !str_is(status, "cancelled"))
		return go_on(w, status, a, result, c, e);
	if (str_is(status, "input_required"))
		return serve_questions(w, task, &tmp, c, e);
	*result = (struct mcp_result){ 0 };
	if (str_is(status, "completed") && json_is(json_get(task, "result"), JSON_OBJECT)) {
		mcp_outcome_read(result, json_get(task, "result"), NULL, w->server, NULL, a);
		result->mismatch =
			mcp_result_mismatch(a, w->call->output, json_get(task, "result"));
	} else if (str_is(status, "failed")) {
		mcp_outcome_read(result, NULL,
				 json_get(task, "error") ? json_get(task, "error") : task,
				 w->server, NULL, a);
	} else {
		say_end(result, task, status, a);
	}
	return 1;
}

/* Until the next look. */
static int pause_for(struct wait *w, int64_t ms, const struct cancel *c, struct err *e)
{
	int rc;

	if (!w->token)
		return wait_ms(ms, c, e);
	rc = w->asker->linger(w->asker->arg, &w->linger, ms, c, e);
	w->until_ms += w->linger.asked_ms;
	w->last_ms += w->linger.asked_ms;
	if (w->linger.moved)
		w->until_ms = clock_mono_ms() + w->limit->call_ms;
	return rc;
}

static int await(struct wait *w, struct arena *a, struct mcp_result *result,
		 const struct cancel *c, struct err *e)
{
	int rc;

	for (;;) {
		int64_t now = clock_mono_ms();
		int64_t end = w->until_ms < w->last_ms ? w->until_ms : w->last_ms;

		if (now >= end)
			return err_set(e, E_TIMEOUT,
				       "the task of server \"%.*s\" did not end within %lld ms",
				       STRF(w->server),
				       (long long)(w->last_ms <= w->until_ms
							   ? w->limit->max_ms
							   : w->limit->call_ms));
		rc = pause_for(w, w->poll_ms < end - now ? w->poll_ms : end - now, c, e);
		if (rc < 0)
			return rc;
		if ((rc = poll_once(w, a, result, c, e)) != 0)
			return rc < 0 ? rc : OK;
	}
}

int mcp_tasks_await(const struct mcp_asker *asker, const struct mcp_call *call,
		    const struct mcp_limit *limit, struct arena *a, struct mcp_result *result,
		    const struct cancel *c, struct err *e)
{
	int64_t now = clock_mono_ms();
	struct wait w = { .asker = asker,
			  .call = call,
			  .limit = limit,
			  .id = json_str(result->task, "taskId"),
			  .offer = result->offer,
			  .server = call->server,
			  .token = result->token,
			  .until_ms = now + limit->call_ms,
			  .last_ms = now + limit->max_ms };
	struct err why = { 0 };
	int rc;

	w.linger = (struct mcp_linger){ .call = call, .task = w.id, .token = w.token };
	look_at(&w, result->task);
	rc = await(&w, a, result, c, &why);
	arena_free(&w.answered);
	if (rc == OK)
		return OK;
	*result = (struct mcp_result){ 0 };
	if (rc == E_CANCELED || rc == E_TIMEOUT || rc == E_DENIED)
		give_up(&w);
	if (rc == E_DENIED) {
		result->failed = true;
		result->text = arena_cat(a, S("tool error: "), str_of(why.msg));
		return OK;
	}
	if (rc == E_IO || rc == E_NOENT || rc == E_PROTO)
		return err_set(e, E_IO, "the task that the call became is lost: %s", why.msg);
	return err_set(e, rc, "%s", why.msg);
}

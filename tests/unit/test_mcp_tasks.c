/*
 * Tasks over a link that is a script: how they are waited for, what is told and answered
 * meanwhile, and how they end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "mcp/outcome.h"
#include "mcp/tasks.h"
#include "os/clock.h"
#include "os/wait.h"

#define TEST_MS 20000

struct rig {
	struct arena a;
	struct mcp_asker asker;
	struct mcp_result result;
	struct cancel cancel;
	const char *const
		*answers; /* to tasks/get, in turn; the last again and again; NULL fails, and
			   * "!" as a server that is not to be reached */
	int at;
	struct buf asked; /* every other request */
	int gets, progress, questions;
	char told[100];
	bool stop_at_question;
	const char *const *results; /* to tasks/result, in turn, as .answers */
	int result_at, lingers;
	int late_ms; /* what tasks/result takes, for ever the same answer */
	bool asks; /* beside each */
	bool pokes; /* the server tells of each change, and the pace is slow */
	struct mcp_limit limit;
	struct err e;
};

static int request(void *arg, const struct mcp_request *rq, const struct mcp_limit *limit,
		   struct arena *a, const struct json **result, const struct cancel *c,
		   struct err *e)
{
	struct rig *r = arg;
	struct json *v;
	const char *text = "{\"resultType\":\"complete\"}";

	(void)c;
	if (str_is(str_of(rq->method), "tasks/get")) {
		assert_true(str_is(rq->params, "{\"taskId\":\"t1\"}"));
		r->gets++;
		text = r->answers[r->at];
		if (text && r->answers[r->at + 1])
			r->at++;
		if (!text)
			return err_set(e, E_PROTO, "no such task");
		if (str_is(S("!"), text))
			return err_set(e, E_IO, "gone");
	} else if (str_is(str_of(rq->method), "tasks/result")) {
		assert_true(str_is(rq->params, "{\"taskId\":\"t1\"}") &&
			    str_is(rq->task, "t1"));
		assert_non_null(rq->call);
		assert_int_equal(rq->token, 7);
		text = r->results[r->late_ms || r->asks ? 0 : r->result_at];
		r->result_at++;
		if (r->late_ms)
			assert_int_equal(wait_ms(r->late_ms, NULL, NULL), OK);
		if (r->asks) {
			struct mcp_question q = { .kind = MCP_ELICIT, .server = S("srv") };
			struct mcp_answer answer = { 0 };
			int rc = rq->call->on_question(rq->call->arg, &q, a, &answer, c, e);

			if (rc < 0)
				return rc;
		}
		if (!text)
			return err_set(e, E_PROTO, "server \"srv\": it broke");
	} else {
		/* Its caller may have left, and is promised to be let go within 50 ms. */
		if (str_is(str_of(rq->method), "tasks/cancel"))
			assert_true(limit->max_ms <= 50 && limit->call_ms <= 50);
		buf_fmt(&r->asked, "%s %.*s\n", rq->method, STRF(rq->params));
	}
	assert_int_equal(json_read(&v, a, str_of(text), NULL), OK);
	*result = v;
	return OK;
}

static void on_progress(void *arg, double done, double total, str message)
{
	struct rig *r = arg;

	(void)done;
	assert_true(total < 0);
	r->progress++;
	(void)snprintf(r->told, sizeof(r->told), "%.*s", STRF(message));
}

static int on_question(void *arg, const struct mcp_question *q, struct arena *a,
		       struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct rig *r = arg;

	(void)c;
	r->questions++;
	assert_true(str_is(q->server, "srv"));
	if (r->stop_at_question)
		return err_set(e, E_CANCELED, "stopped");
	out->result = arena_fmt(a, "{\"action\":\"accept\",\"content\":{\"k\":\"%.*s\"}}",
				STRF(q->key));
	return OK;
}

/* Waits as it is told to, unless the server would say that there is news. */
static int linger(void *arg, struct mcp_linger *l, int64_t ms, const struct cancel *c,
		  struct err *e)
{
	struct rig *r = arg;

	assert_true(str_is(l->task, "t1") && l->call->on_question == on_question);
	assert_int_equal(l->token, 7);
	r->lingers++;
	assert_in_range(ms, 1, r->pokes ? 30000 : 50);
	return r->pokes ? cancel_check(c, e) : wait_ms(1, c, e);
}

/* A call has become a task. */
static void rig_init(struct rig *r, const char *const *answers)
{
	struct json *v;

	*r = (struct rig){ .answers = answers, .limit = { TEST_MS, TEST_MS } };
	r->asked = buf_in(&r->a, 10000);
	r->asker = (struct mcp_asker){ .arg = r, .request = request };
	assert_int_equal(cancel_init(&r->cancel, NULL, 0, NULL), OK);
	assert_int_equal(json_read(&v, &r->a,
				   S("{\"resultType\":\"task\",\"taskId\":\"t1\",\"status\":"
				     "\"working\",\"pollIntervalMs\":1}"),
				   NULL),
			 OK);
	mcp_outcome_read(&r->result, v, NULL, S("srv"), &(struct mcp_offer){ .form = true },
			 &r->a);
	assert_non_null(r->result.task);
}

static void rig_done(struct rig *r)
{
	cancel_done(&r->cancel);
	arena_free(&r->a);
}

static int await(struct rig *r)
{
	const struct mcp_progress progress = { on_progress, r };
	const struct mcp_call call = { .server = S("srv"),
				       .tool = S("tool"),
				       .progress = &progress,
				       .on_question = on_question,
				       .arg = r };

	return mcp_tasks_await(&r->asker, &call, &r->limit, &r->a, &r->result, &r->cancel,
			       &r->e);
}

#define TASK(status, more)                                                                     \
	"{\"resultType\":\"complete\",\"taskId\":\"t1\",\"pollIntervalMs\":1,\"status\":"      \
	"\"" status "\"" more "}"

static void a_task_is_asked_for_until_it_ends_and_its_result_is_the_calls(void **state)
{
	static const char *const answers[] = {
		TASK("working", ""),
		TASK("working", ",\"statusMessage\":\"half\""),
		TASK("working", ",\"statusMessage\":\"half\""),
		TASK("completed",
		     ",\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\","
		     "\"text\":\"no luck\"}]}"),
		NULL,
	};
	SCOPED(rig_done) struct rig r;

	rig_init(&r, answers);
	assert_int_equal(await(&r), OK);
	assert_int_equal(r.gets, 4);
	assert_true(r.result.failed);
	assert_string_equal(r.result.text.p, "tool error: no luck");
	assert_null(r.result.task);
	assert_int_equal(r.progress, 1);
	assert_string_equal(r.told, "half");
	assert_int_equal(r.asked.n, 0);
}

static void a_server_that_is_away_for_a_while_is_asked_again(void **state)
{
	static const char *const away[] = {
		"!",
		"!",
		"!",
		TASK("working", ""),
		"!",
		"!",
		"!",
		TASK("completed", ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
				  "\"ok\"}]}"),
		NULL,
	};
	static const char *const gone[] = { TASK("working", ""), "!", NULL };
	SCOPED(rig_done) struct rig r, other;

	rig_init(&r, away);
	assert_int_equal(await(&r), OK);
	assert_string_equal(r.result.text.p, "ok");
	assert_int_equal(r.gets, 8);
	rig_init(&other, gone);
	assert_int_equal(await(&other), E_IO);
	assert_int_equal(other.gets, 5);
}

static void what_a_task_asks_is_answered_once(void **state)
{
#define ASKS(more)                                                                             \
	TASK("input_required",                                                                 \
	     ",\"inputRequests\":{\"one\":{\"method\":\"elicitation/create\","                 \
	     "\"params\":{}}" more "}")
	static const char *const answers[] = {
		ASKS(""),
		ASKS(""),
		ASKS(",\"two\":{\"method\":\"elicitation/create\",\"params\":{}}"),
		TASK("completed",
		     ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}"),
		NULL,
	};
	SCOPED(rig_done) struct rig r;

	rig_init(&r, answers);
	assert_int_equal(await(&r), OK);
	assert_string_equal(r.result.text.p, "ok");
	assert_int_equal(r.questions, 2);
	assert_string_equal(
		arena_dup(&r.a, buf_str(&r.asked)).p,
		"tasks/update {\"taskId\":\"t1\",\"inputResponses\":{ \"one\":{\"action\":"
		"\"accept\",\"content\":{\"k\":\"one\"}}}}\n"
		"tasks/update {\"taskId\":\"t1\",\"inputResponses\":{ \"two\":{\"action\":"
		"\"accept\",\"content\":{\"k\":\"two\"}}}}\n");
}

static void what_was_not_offered_or_ends_badly_fails_the_call(void **state)
{
	static const struct {
		const char *answer, *text;
		bool cancelled;
	} rows[] = {
		{ TASK("input_required",
		       ",\"inputRequests\":{\"k\":{\"method\":\"sampling/createMessage\"}}"),
		  "tool error: the server asks for sampling/createMessage, which was not "
		  "offered "
		  "to it",
		  true },
		{ TASK("failed", ",\"error\":{\"code\":-32603,\"message\":\"rate limit\"}"),
		  "tool error: rate limit (code -32603)", false },
		{ TASK("failed", ""), "tool error: the server gave no reason", false },
		{ TASK("cancelled", ",\"statusMessage\":\"by an operator\""),
		  "tool error: the task ended as \"cancelled\": by an operator", false },
		{ TASK("completed", ""), "tool error: the task ended as \"completed\"", false },
		{ TASK("dreaming", ""), "tool error: the task ended as \"dreaming\"", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *const answers[] = { rows[i].answer, NULL };
		SCOPED(rig_done) struct rig r;

		rig_init(&r, answers);
		assert_int_equal(await(&r), OK);
		assert_true(r.result.failed);
		assert_string_equal(r.result.text.p, rows[i].text);
		assert_int_equal(r.asked.n > 0, rows[i].cancelled);
	}
}

static void a_task_that_is_stopped_or_takes_too_long_is_cancelled(void **state)
{
	static const char *const works[] = { TASK("working", ""), NULL };
	static const char *const asks[] = { TASK("input_required",
						 ",\"inputRequests\":{\"k\":{\"method\":"
						 "\"elicitation/create\",\"params\":{}}}"),
					    NULL };

	for (int i = 0; i < 3; i++) {
		SCOPED(rig_done) struct rig r;

		rig_init(&r, i == 2 ? asks : works);
		if (i == 0)
			cancel_fire(&r.cancel, CANCEL_USER);
		if (i == 1)
			r.limit = (struct mcp_limit){ 200, 200 };
		r.stop_at_question = i == 2;
		assert_int_equal(await(&r), i == 1 ? E_TIMEOUT : E_CANCELED);
		assert_string_equal(arena_dup(&r.a, buf_str(&r.asked)).p,
				    "tasks/cancel {\"taskId\":\"t1\"}\n");
		assert_false(r.result.not_sent);
	}
}

static void a_task_does_not_ask_for_ever(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *answers[5] = { NULL };
	SCOPED(rig_done) struct rig r;

	for (int i = 0; i < 4; i++) {
		struct buf b = buf_in(&a, 10000);

		buf_add(&b, S("{\"taskId\":\"t1\",\"pollIntervalMs\":1,\"status\":"
			      "\"input_required\",\"inputRequests\":{"));
		for (int k = 0; k < 11; k++)
			buf_fmt(&b,
				"%s\"k%d\":{\"method\":\"elicitation/create\",\"params\":{}}",
				k ? "," : "", 11 * i + k);
		buf_add(&b, S("}}"));
		answers[i] = buf_str(&b).p;
	}
	rig_init(&r, answers);
	assert_int_equal(await(&r), OK);
	assert_true(r.result.failed);
	assert_string_equal(r.result.text.p, "tool error: the task asks more than 32 things");
	assert_int_equal(r.questions, 32);
	assert_true(str_has(buf_str(&r.asked), S("tasks/cancel")));
}

/* The same with a server that has a handshake. */
static void rig_of_2025(struct rig *r, const char *const *answers, const char *const *results)
{
	struct json *v;

	rig_init(r, answers);
	r->results = results;
	r->asker.linger = linger;
	r->result = (struct mcp_result){ 0 };
	assert_int_equal(json_read(&v, &r->a,
				   S("{\"task\":{\"taskId\":\"t1\",\"status\":\"working\","
				     "\"pollInterval\":1}}"),
				   NULL),
			 OK);
	assert_true(
		mcp_outcome_task(&r->result, v, 7, &(struct mcp_offer){ .form = true }, &r->a));
}

#define OLD(status, more)                                                                      \
	"{\"taskId\":\"t1\",\"pollInterval\":1,\"status\":\"" status "\"" more "}"
#define SAID(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

static void with_a_handshake_the_result_of_a_task_is_asked_for_when_it_has_ended(void **state)
{
	static const char *const answers[] = { OLD("working", ",\"statusMessage\":\"half\""),
					       OLD("completed", ""), NULL };
	static const char *const results[] = { SAID("well done"), NULL };
	SCOPED(rig_done) struct rig r;

	rig_of_2025(&r, answers, results);
	assert_int_equal(await(&r), OK);
	assert_true(str_is(r.result.text, "well done") && !r.result.failed);
	assert_int_equal(r.gets, 2);
	assert_int_equal(r.lingers, 2);
	assert_int_equal(r.result_at, 1);
	assert_string_equal(r.told, "half");
	assert_int_equal(r.asked.n, 0);
}

static void with_a_handshake_news_of_a_task_are_no_reason_to_wait(void **state)
{
	static const char *const answers[] = {
		"{\"taskId\":\"t1\",\"pollInterval\":99999999,\"status\":\"working\"}",
		OLD("completed", ""), NULL
	};
	static const char *const results[] = { SAID("x"), NULL };
	int64_t began = clock_mono_ms();
	SCOPED(rig_done) struct rig r;

	rig_of_2025(&r, answers, results);
	r.result.task = NULL;
	struct json *v;
	assert_int_equal(json_read(&v, &r.a, str_of(answers[0]), NULL), OK);
	r.result.task = v;
	r.pokes = true;
	r.limit = (struct mcp_limit){ 100000, 100000 };
	assert_int_equal(await(&r), OK);
	assert_int_equal(r.lingers, 2);
	assert_true(clock_mono_ms() - began < 30000);
}

static void with_a_handshake_a_task_that_wants_input_asks_where_its_result_is_awaited(
	void **state)
{
	static const char *const answers[] = { OLD("input_required", ""),
					       OLD("input_required", ""), OLD("failed", ""),
					       NULL };
	/* It has none yet; then it says why there is none. */
	static const char *const results[] = { NULL, NULL, NULL };
	SCOPED(rig_done) struct rig r;

	rig_of_2025(&r, answers, results);
	assert_int_equal(await(&r), OK);
	assert_true(r.result.failed);
	assert_string_equal(r.result.text.p, "tool error: server \"srv\": it broke");
	assert_int_equal(r.result_at, 3);
	assert_int_equal(r.gets, 3);
	assert_null(strstr(buf_str(&r.asked).p ? buf_str(&r.asked).p : "", "tasks/update"));
}

static void with_a_handshake_a_result_that_is_never_there_is_not_waited_for_for_ever(
	void **state)
{
	static const char *const answers[] = { OLD("input_required", ""), NULL };
	static const char *const results[] = { NULL };
	SCOPED(rig_done) struct rig r;

	rig_of_2025(&r, answers, results);
	r.late_ms = 20;
	r.limit.max_ms = 100;
	assert_int_equal(await(&r), E_TIMEOUT);
	assert_in_range(r.result_at, 1, 5);
	assert_true(str_has(buf_str(&r.asked), S("tasks/cancel")));
}

static void with_a_handshake_a_task_does_not_ask_for_ever_either(void **state)
{
	static const char *const answers[] = { OLD("input_required", ""), NULL };
	static const char *const results[] = { NULL };
	SCOPED(rig_done) struct rig r;

	rig_of_2025(&r, answers, results);
	r.asks = true;
	assert_int_equal(await(&r), OK);
	assert_true(r.result.failed);
	assert_string_equal(r.result.text.p, "tool error: the task asks more than 32 things");
	assert_int_equal(r.questions, 32);
	assert_true(str_has(buf_str(&r.asked), S("tasks/cancel")));
}

static void with_a_handshake_a_task_is_cancelled_as_well(void **state)
{
	static const char *const answers[] = { OLD("working", ""), NULL };
	static const char *const gone[] = { OLD("cancelled", ",\"statusMessage\":\"by me\""),
					    NULL };

	for (int i = 0; i < 3; i++) {
		SCOPED(rig_done) struct rig r;

		rig_of_2025(&r, i == 2 ? gone : answers, NULL);
		if (i == 0)
			cancel_fire(&r.cancel, CANCEL_USER);
		if (i == 1)
			r.limit = (struct mcp_limit){ 1, 1 };
		assert_int_equal(await(&r), i == 0 ? E_CANCELED : i == 1 ? E_TIMEOUT : OK);
		if (i == 2)
			assert_string_equal(
				r.result.text.p,
				"tool error: the task ended as \"cancelled\": by me");
		else
			assert_string_equal(buf_str(&r.asked).p,
					    "tasks/cancel {\"taskId\":\"t1\"}\n");
	}
}

static void a_task_that_its_server_has_lost_leaves_the_call_in_doubt(void **state)
{
	static const char *const answers[] = { NULL };
	SCOPED(rig_done) struct rig r;

	rig_init(&r, answers);
	assert_int_equal(await(&r), E_IO);
	assert_string_equal(r.e.msg, "the task that the call became is lost: no such task");
	assert_false(r.result.not_sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_is_asked_for_until_it_ends_and_its_result_is_the_calls),
		cmocka_unit_test(a_server_that_is_away_for_a_while_is_asked_again),
		cmocka_unit_test(what_a_task_asks_is_answered_once),
		cmocka_unit_test(what_was_not_offered_or_ends_badly_fails_the_call),
		cmocka_unit_test(a_task_that_is_stopped_or_takes_too_long_is_cancelled),
		cmocka_unit_test(a_task_does_not_ask_for_ever),
		cmocka_unit_test(
			with_a_handshake_the_result_of_a_task_is_asked_for_when_it_has_ended),
		cmocka_unit_test(with_a_handshake_news_of_a_task_are_no_reason_to_wait),
		cmocka_unit_test(
			with_a_handshake_a_task_that_wants_input_asks_where_its_result_is_awaited),
		cmocka_unit_test(
			with_a_handshake_a_result_that_is_never_there_is_not_waited_for_for_ever),
		cmocka_unit_test(with_a_handshake_a_task_does_not_ask_for_ever_either),
		cmocka_unit_test(with_a_handshake_a_task_is_cancelled_as_well),
		cmocka_unit_test(a_task_that_its_server_has_lost_leaves_the_call_in_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

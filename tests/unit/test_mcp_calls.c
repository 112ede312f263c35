/*
 * Open calls, with the test in the place of the server's thread: what becomes of a call when
 * its server dies before, while and after its frame is written, and what its caller is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcp/calls.h"
#include "os/clock.h"
#include "os/seam.h"
#include "os/thread.h"

#define TEST_MS 20000
#define STEP_MS (TEST_MS * 3 / 4) /* less than any wait of a test may take */

/* How far the clock is ahead: limits pass when a test says so. */
static _Atomic int64_t ahead_ms;

int seam_clock(clockid_t id, struct timespec *out)
{
	int rc = clock_gettime(id, out);

	out->tv_sec += (time_t)(atomic_load(&ahead_ms) / 1000);
	return rc;
}

/* A step of the clock is noticed soon. */
int seam_slice(int ms)
{
	return ms < 0 || ms > 5 ? 5 : ms;
}

static void step(void)
{
	(void)atomic_fetch_add(&ahead_ms, STEP_MS);
}

struct rig {
	_Atomic int64_t ids;
	struct mcp_calls *calls;
	struct cancel cancel;
	/* The caller. */
	struct thread thread;
	struct arena a;
	int64_t timeout_ms, max_ms;
	struct mcp_result result;
	struct err e;
	int rc;
	int64_t about; /* which call its questions say they are of */
	struct mcp_progress progress;
	/* Of the questions: rung when one is being answered, heard to go on. */
	struct bell asked, go;
	int (*on_question)(void *arg, const struct mcp_question *q, struct arena *a,
			   struct mcp_answer *out, const struct cancel *c, struct err *e);
};

static void rig_init(struct rig *r)
{
	*r = (struct rig){ .timeout_ms = TEST_MS };
	assert_int_equal(mcp_calls_new(&r->calls, S("srv"), &r->ids, NULL), OK);
	assert_int_equal(cancel_init(&r->cancel, NULL, 0, NULL), OK);
	assert_int_equal(bell_init(&r->asked, NULL), OK);
	assert_int_equal(bell_init(&r->go, NULL), OK);
}

static void rig_done(struct rig *r)
{
	mcp_calls_free(r->calls);
	cancel_done(&r->cancel);
	bell_done(&r->asked);
	bell_done(&r->go);
	arena_free(&r->a);
}

static void *caller(void *arg)
{
	struct rig *r = arg;
	struct mcp_call mc = { .tool = S("tool\n\"x\""), .args = S("{\"k\":\r\n[1,\n2]}") };

	const struct mcp_limit limit = { r->timeout_ms, r->max_ms ? r->max_ms : r->timeout_ms };

	mc.on_question = r->on_question;
	mc.progress = &r->progress;
	mc.origin = S("turn 1");
	mc.arg = r;
	r->rc = mcp_calls_do(r->calls, &mc, &limit, &r->a, &r->result, &r->cancel, &r->e);
	return NULL;
}

/* Start the call and take its frame. */
static struct mcp_frame *take(struct rig *r)
{
	struct mcp_frame *f;

	assert_int_equal(thread_start(&r->thread, "caller", caller, r, NULL), OK);
	assert_int_equal(wait_fd(mcp_calls_bell(r->calls)->fd, POLLIN,
				 clock_mono_ms() + TEST_MS, NULL, NULL),
			 OK);
	bell_hear(mcp_calls_bell(r->calls));
	f = mcp_calls_next(r->calls);
	assert_non_null(f);
	return f;
}

static void answer(struct rig *r, int64_t id, const char *result)
{
	struct arena line = { 0 };
	struct mcp_event ev = { .kind = MCP_EVENT_ANSWER, .id = id };
	struct json *v;

	assert_int_equal(json_read(&v, &line, str_of(result), NULL), OK);
	ev.result = v;
	mcp_calls_answer(r->calls, &ev, &line);
	arena_free(&line);
}

static void a_frame_is_one_line_and_its_answer_reaches_the_caller(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f;

	rig_init(&r);
	assert_true(mcp_calls_idle(r.calls));
	f = take(&r);
	assert_string_equal(
		f->text.p,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
		"\"name\":\"tool\\n\\\"x\\\"\",\"arguments\":{\"k\":  [1, "
		"2]},\"_meta\":{\"progressToken\":1}}}\n");
	assert_false(mcp_calls_idle(r.calls));
	/* An answer to what was not written is none. */
	answer(&r, 1, "{\"content\":[{\"type\":\"text\",\"text\":\"early\"}]}");
	mcp_calls_wrote(r.calls, f->id);
	answer(&r, 2, "{\"content\":[{\"type\":\"text\",\"text\":\"other\"}]}");
	answer(&r, 1, "{\"content\":[{\"type\":\"text\",\"text\":\"right\"}]}");
	answer(&r, 1, "{\"content\":[{\"type\":\"text\",\"text\":\"again\"}]}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
	assert_true(str_eq(r.result.text, S("right")));
	assert_false(r.result.failed || r.result.not_sent);
	assert_true(mcp_calls_idle(r.calls));
	mcp_frame_free(f);
}

static void a_call_that_was_not_written_waits_for_the_next_life(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f;

	rig_init(&r);
	f = take(&r);
	mcp_calls_broken(r.calls, f, "exit 1");
	f = mcp_calls_next(r.calls);
	assert_non_null(f);
	assert_int_equal(f->id, 1);
	mcp_calls_wrote(r.calls, f->id);
	answer(&r, 1, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
	mcp_frame_free(f);
}

static void a_call_that_was_written_fails_with_its_server(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f;

	rig_init(&r);
	f = take(&r);
	mcp_calls_wrote(r.calls, f->id);
	mcp_calls_broken(r.calls, NULL, "exit 1");
	thread_join(&r.thread);
	assert_int_equal(r.rc, E_IO);
	assert_false(r.result.not_sent);
	assert_string_equal(r.e.msg, "server \"srv\": exit 1");
	assert_null(mcp_calls_next(r.calls));
	mcp_frame_free(f);
}

static void when_there_is_nothing_to_wait_for_calls_fail_unsent(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f;

	rig_init(&r);
	f = take(&r);
	mcp_calls_broken(r.calls, f, "exit 1");
	mcp_calls_shut(r.calls, "it keeps dying");
	thread_join(&r.thread);
	assert_int_equal(r.rc, E_NOENT);
	assert_true(r.result.not_sent);
	assert_string_equal(r.e.msg, "server \"srv\" is down: it keeps dying");
	assert_null(mcp_calls_next(r.calls));
	r.e = (struct err){ 0 };
	(void)caller(&r);
	assert_int_equal(r.rc, E_NOENT);
	assert_string_equal(r.e.msg, "server \"srv\" is down: it keeps dying");
	mcp_calls_open(r.calls);
	f = take(&r);
	mcp_calls_wrote(r.calls, f->id);
	answer(&r, f->id, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
	mcp_frame_free(f);
}

static void a_cancelled_call_is_followed_by_its_notice(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f, *notice;

	rig_init(&r);
	f = take(&r);
	mcp_calls_wrote(r.calls, f->id);
	cancel_fire(&r.cancel, CANCEL_USER);
	thread_join(&r.thread);
	assert_int_equal(r.rc, E_CANCELED);
	assert_false(r.result.not_sent);
	notice = mcp_calls_next(r.calls);
	assert_non_null(notice);
	assert_string_equal(
		notice->text.p,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		"\"requestId\":1,\"reason\":\"cancelled by the user\"}}\n");
	/* Too late for anybody. */
	answer(&r, 1, "{}");
	assert_true(mcp_calls_idle(r.calls));
	mcp_frame_free(f);
	mcp_frame_free(notice);
}

static void expect_in(int fd, const char *start)
{
	char got[4096] = "";

	assert_int_equal(wait_fd(fd, POLLIN, clock_mono_ms() + TEST_MS, NULL, NULL), OK);
	assert_true(read(fd, got, sizeof got - 1) > 0);
	assert_true(str_starts(str_of(got), str_of(start)));
	assert_int_equal(got[strlen(got) - 1], '\n');
}

static void a_caller_writes_its_frame_itself_where_the_pipe_was_lent(void **state)
{
	SCOPED(rig_done) struct rig r;
	int fd[2];

	rig_init(&r);
	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	mcp_calls_lend(r.calls, fd[1]);
	assert_int_equal(thread_start(&r.thread, "caller", caller, &r, NULL), OK);
	expect_in(fd[0], "{\"jsonrpc\":\"2.0\",\"id\":1,");
	/* Nobody else has to be woken, and it counts as written. */
	assert_int_equal(wait_fd(mcp_calls_bell(r.calls)->fd, POLLIN, 1, NULL, NULL),
			 E_TIMEOUT);
	assert_null(mcp_calls_next(r.calls));
	mcp_calls_broken(r.calls, NULL, "exit 1");
	thread_join(&r.thread);
	assert_int_equal(r.rc, E_IO);
	assert_false(r.result.not_sent);
	/* What is broken is not written to any more. */
	mcp_frame_free(take(&r));
	cancel_fire(&r.cancel, CANCEL_USER);
	thread_join(&r.thread);
	assert_int_equal(wait_fd(fd[0], POLLIN, 1, NULL, NULL), E_TIMEOUT);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void fill(int fd)
{
	static const char zeros[4096];

	while (write(fd, zeros, sizeof zeros) > 0)
		;
}

/* Each time the frame comes through the queue, whole. */
static void a_pipe_that_is_full_closed_or_taken_back_is_left_to_the_thread(void **state)
{
	for (int i = 0; i < 3; i++) {
		SCOPED(rig_done) struct rig r;
		struct mcp_frame *f;
		int fd[2];

		rig_init(&r);
		(void)signal(SIGPIPE, SIG_IGN);
		assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
		mcp_calls_lend(r.calls, fd[1]);
		if (i == 0)
			fill(fd[1]);
		else if (i == 1)
			(void)close(fd[0]);
		else
			mcp_calls_lend(r.calls, -1);
		f = take(&r);
		assert_true(str_ends(f->text, S("}}}\n")));
		mcp_calls_wrote(r.calls, f->id);
		answer(&r, 1, "{}");
		thread_join(&r.thread);
		assert_int_equal(r.rc, OK);
		mcp_frame_free(f);
		if (i != 1)
			(void)close(fd[0]);
		(void)close(fd[1]);
	}
}

static void what_is_in_the_queue_goes_first(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *first;
	int fd[2];

	rig_init(&r);
	first = take(&r);
	mcp_calls_wrote(r.calls, first->id);
	cancel_fire(&r.cancel, CANCEL_USER);
	thread_join(&r.thread); /* its notice is in the queue now */
	cancel_done(&r.cancel);
	assert_int_equal(cancel_init(&r.cancel, NULL, 0, NULL), OK);
	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	mcp_calls_lend(r.calls, fd[1]);
	bell_hear(mcp_calls_bell(r.calls));
	struct mcp_frame *notice = take(&r), *call = mcp_calls_next(r.calls);
	assert_int_equal(notice->id, 0);
	assert_int_equal(call->id, 2);
	assert_int_equal(wait_fd(fd[0], POLLIN, 1, NULL, NULL), E_TIMEOUT);
	mcp_calls_wrote(r.calls, 2);
	answer(&r, 2, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
	mcp_frame_free(first);
	mcp_frame_free(notice);
	mcp_frame_free(call);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void notices_do_not_outlive_the_server_they_were_for(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f;

	rig_init(&r);
	f = take(&r);
	mcp_calls_wrote(r.calls, f->id);
	cancel_fire(&r.cancel, CANCEL_SHUTDOWN);
	thread_join(&r.thread);
	mcp_calls_broken(r.calls, NULL, "exit 1");
	assert_null(mcp_calls_next(r.calls));
	mcp_frame_free(f);
}

static void a_call_cancelled_in_the_queue_is_taken_out_of_it(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	r.timeout_ms = 20;
	(void)caller(&r);
	assert_int_equal(r.rc, E_TIMEOUT);
	assert_true(r.result.not_sent);
	assert_string_equal(r.e.msg, "no answer from server \"srv\" within 20 ms");
	assert_null(mcp_calls_next(r.calls));
}

struct one_of_many {
	struct rig *r;
	struct thread thread;
	int rc;
};

static void *wait_for_ever(void *arg)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct one_of_many *o = arg;
	struct mcp_call mc = { .tool = S("t") };
	struct mcp_result result;

	o->rc = mcp_calls_do(o->r->calls, &mc, &(struct mcp_limit){ TEST_MS, TEST_MS }, &a,
			     &result, NULL, NULL);
	return NULL;
}

static void more_open_calls_than_there_are_slots_are_refused(void **state)
{
	enum { SLOTS = 256 };
	static struct one_of_many many[SLOTS];
	SCOPED(rig_done) struct rig r;
	int64_t until = clock_mono_ms() + TEST_MS;

	rig_init(&r);
	for (size_t i = 0; i < SLOTS; i++) {
		many[i] = (struct one_of_many){ .r = &r };
		assert_int_equal(
			thread_start(&many[i].thread, "caller", wait_for_ever, &many[i], NULL),
			OK);
	}
	for (size_t n = 0; n < SLOTS;) {
		struct mcp_frame *f = mcp_calls_next(r.calls);

		n += f != NULL;
		mcp_calls_wrote(r.calls, f ? f->id : 0);
		mcp_frame_free(f);
		if (!f && wait_fd(mcp_calls_bell(r.calls)->fd, POLLIN, until, NULL, NULL) < 0)
			fail_msg("%zu of the calls came", n);
		if (!f)
			bell_hear(mcp_calls_bell(r.calls));
	}
	(void)caller(&r);
	assert_int_equal(r.rc, E_BUSY);
	assert_true(r.result.not_sent);
	assert_string_equal(r.e.msg, "server \"srv\" has too many open calls");
	mcp_calls_broken(r.calls, NULL, "end");
	for (size_t i = 0; i < SLOTS; i++)
		thread_join(&many[i].thread);
	for (size_t i = 0; i < SLOTS; i++)
		assert_int_equal(many[i].rc, E_IO);
	assert_true(mcp_calls_idle(r.calls));
}

/* Waits until it may go on, then says what it was asked. */
static int on_question(void *arg, const struct mcp_question *q, struct arena *a,
		       struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct rig *r = arg;
	int rc;

	bell_ring(&r->asked);
	rc = wait_fd(r->go.fd, POLLIN, clock_mono_ms() + TEST_MS, c, e);
	bell_hear(&r->go);
	if (rc == OK)
		out->result = arena_fmt(
			a, "{\"server\":\"%.*s\",\"kind\":%d,\"message\":\"%.*s\"}",
			STRF(q->server), (int)q->kind, STRF(json_str(q->params, "message")));
	return rc;
}

/* The server asks, with this id. */
static bool ask(struct rig *r, const char *id, const char **why)
{
	struct arena line = { 0 };
	struct mcp_event ev = { .kind = MCP_EVENT_QUESTION, .question = MCP_ELICIT };
	struct json *v;
	bool taken;

	assert_int_equal(
		json_read(&v, &line,
			  arena_fmt(&line, "{\"id\":%s,\"params\":{\"message\":%s}}", id, id),
			  NULL),
		OK);
	ev.id = r->about;
	ev.request = json_get(v, "id");
	ev.params = json_get(v, "params");
	taken = mcp_calls_question(r->calls, &ev, &line, why);
	arena_free(&line);
	return taken;
}

static void withdraw(struct rig *r, const char *id)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json *v;

	assert_int_equal(json_read(&v, &a, str_of(id), NULL), OK);
	mcp_calls_withdraw(r->calls, v);
}

static void wait_bell(const struct bell *b)
{
	assert_int_equal(wait_fd(b->fd, POLLIN, clock_mono_ms() + TEST_MS, NULL, NULL), OK);
	bell_hear(b);
}

static void expect_frame(struct rig *r, const char *text)
{
	struct mcp_frame *f;

	wait_bell(mcp_calls_bell(r->calls));
	f = mcp_calls_next(r->calls);
	assert_non_null(f);
	assert_string_equal(f->text.p, text);
	assert_int_equal(f->id, 0);
	mcp_frame_free(f);
}

/* A call that is written and whose caller answers questions. */
static void begin_asked(struct rig *r)
{
	struct mcp_frame *f;

	rig_init(r);
	r->on_question = on_question;
	f = take(r);
	mcp_calls_wrote(r->calls, f->id);
	mcp_frame_free(f);
}

#define UNANSWERED(id)                                                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":\"" id "\",\"error\":{\"code\":-32603,\"message\":"       \
	"\"it was not answered\"}}\n"

static void a_question_is_answered_by_the_caller_while_the_limit_of_its_call_stands_still(
	void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *why;

	rig_init(&r);
	r.on_question = on_question;
	struct mcp_frame *f = take(&r);

	mcp_calls_wrote(r.calls, f->id);
	mcp_frame_free(f);
	assert_true(ask(&r, "\"a\"", &why));
	assert_true(ask(&r, "\"b\"", &why));
	wait_bell(&r.asked);
	step();
	bell_ring(&r.go);
	expect_frame(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"server\":\"srv\","
			 "\"kind\":0,\"message\":\"a\"}}\n");
	wait_bell(&r.asked);
	step(); /* with the first one longer than the call itself may take */
	bell_ring(&r.go);
	expect_frame(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"result\":{\"server\":\"srv\","
			 "\"kind\":0,\"message\":\"b\"}}\n");
	answer(&r, 1, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
}

static void a_question_that_is_taken_back_is_neither_asked_nor_answered(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *why;

	begin_asked(&r);
	assert_true(ask(&r, "\"a\"", &why));
	wait_bell(&r.asked);
	assert_true(ask(&r, "\"b\"", &why));
	assert_true(ask(&r, "\"c\"", &why));
	withdraw(&r, "\"b\"");
	withdraw(&r, "\"unknown\"");
	withdraw(&r, "\"a\"");
	wait_bell(&r.asked);
	bell_ring(&r.go);
	expect_frame(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"result\":{\"server\":\"srv\","
			 "\"kind\":0,\"message\":\"c\"}}\n");
	answer(&r, 1, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
}

/* The answer to the call, the death of the server, and nothing else. */
static void a_question_ends_with_its_call(void **state)
{
	for (int i = 0; i < 2; i++) {
		SCOPED(rig_done) struct rig r;
		const char *why;

		begin_asked(&r);
		assert_true(ask(&r, "\"a\"", &why));
		wait_bell(&r.asked);
		assert_true(ask(&r, "\"b\"", &why));
		if (i == 0)
			answer(&r, 1, "{}");
		else
			mcp_calls_broken(r.calls, NULL, "exit 1");
		thread_join(&r.thread);
		assert_int_equal(r.rc, i == 0 ? OK : E_IO);
		assert_null(mcp_calls_next(r.calls));
	}
}

/* The server asks with a link. */
static void ask_with_link(struct rig *r, const char *id, const char *mode)
{
	struct arena line = { 0 };
	struct mcp_event ev = { .kind = MCP_EVENT_QUESTION, .question = MCP_ELICIT };
	const char *why;
	struct json *v;

	assert_int_equal(json_read(&v, &line,
				   arena_fmt(&line,
					     "{\"id\":%s,\"params\":{\"mode\":\"%s\","
					     "\"elicitationId\":\"e%s\"}}",
					     id, mode, id),
				   NULL),
			 OK);
	ev.request = json_get(v, "id");
	ev.params = json_get(v, "params");
	assert_true(mcp_calls_question(r->calls, &ev, &line, &why));
	arena_free(&line);
}

static void link_done(struct rig *r, const char *link)
{
	mcp_calls_progress(r->calls, &(struct mcp_event){ .kind = MCP_EVENT_PROGRESS,
							  .link = str_of(link) });
}

static struct mcp_frame *next_frame(struct rig *r)
{
	struct mcp_frame *f;

	while (!(f = mcp_calls_next(r->calls)))
		wait_bell(mcp_calls_bell(r->calls));
	return f;
}

static void expect_next(struct rig *r, const char *text)
{
	struct mcp_frame *f = next_frame(r);

	assert_string_equal(f->text.p, text);
	mcp_frame_free(f);
}

/* The server refuses call id until a link was opened. */
static void want_link(struct rig *r, int64_t id)
{
	struct arena line = { 0 };
	struct mcp_event ev = { .kind = MCP_EVENT_ANSWER, .id = id };
	struct json *v;

	assert_int_equal(json_read(&v, &line,
				   S("{\"code\":-32042,\"message\":\"not yet\",\"data\":{"
				     "\"elicitations\":[{\"mode\":\"url\",\"url\":"
				     "\"https://a.example/\",\"elicitationId\":\"e1\"}]}}"),
				   NULL),
			 OK);
	ev.error = v;
	mcp_calls_answer(r->calls, &ev, &line);
	arena_free(&line);
}

static void a_call_that_needs_a_link_first_is_made_again_once_that_is_done(void **state)
{
	const struct mcp_session_opt opt = { .version = "1", .offer.url = true };
	const struct mcp_session session = { .opt = &opt };

	/* The server says so; nobody does; it is not offered. */
	for (int i = 0; i < 3; i++) {
		SCOPED(rig_done) struct rig r;
		struct mcp_frame *f;

		rig_init(&r);
		if (i < 2)
			mcp_calls_speak(r.calls, &session);
		r.on_question = on_question;
		f = take(&r);
		mcp_calls_wrote(r.calls, f->id);
		mcp_frame_free(f);
		want_link(&r, 1);
		if (i < 2)
			wait_bell(&r.asked);
		if (i == 0) {
			link_done(&r, "e1");
			f = next_frame(&r);
			assert_true(str_has(f->text, S("\"method\":\"tools/call\"")));
			mcp_calls_wrote(r.calls, f->id);
			answer(&r, f->id,
			       "{\"content\":[{\"type\":\"text\",\"text\":\"linked\"}]}");
			mcp_frame_free(f);
		} else if (i == 1) {
			bell_ring(&r.go); /* with what is no acceptance */
		}
		thread_join(&r.thread);
		assert_int_equal(r.rc, OK);
		assert_int_equal(r.result.failed, i > 0);
		assert_true(str_has(r.result.text, i ? S("not yet") : S("linked")));
		assert_null(mcp_calls_next(r.calls));
		assert_true(mcp_calls_idle(r.calls));
	}
}

struct lingering {
	struct rig *r;
	struct mcp_linger l;
	char told[50];
};

static void on_told(void *arg, double done, double total, str message)
{
	struct lingering *g = arg;

	(void)total;
	(void)snprintf(g->told, sizeof(g->told), "%g %.*s", done, STRF(message));
	bell_ring(&g->r->asked);
}

static void *linger(void *arg)
{
	struct lingering *g = arg;
	struct rig *r = g->r;
	const struct mcp_progress progress = { on_told, g };
	const struct mcp_call call = { .on_question = on_question,
				       .progress = &progress,
				       .origin = S("turn 1"),
				       .arg = r };

	g->l = (struct mcp_linger){ .call = &call, .task = S("t"), .token = 5 };
	r->rc = mcp_calls_linger(r->calls, &g->l, 10 * TEST_MS, &r->cancel, &r->e);
	return NULL;
}

static void between_two_looks_at_a_task_is_heard_what_is_said_of_it(void **state)
{
	enum { TOLD, DIED, STOPPED, WAYS };

	for (int way = 0; way < WAYS; way++) {
		SCOPED(rig_done) struct rig r;
		struct lingering g = { .r = &r };
		int64_t began = clock_mono_ms();
		struct mcp_event ev = { .kind = MCP_EVENT_PROGRESS,
					.id = 5,
					.done = 3,
					.total = 4,
					.text = S("half") };
		const char *why;

		rig_init(&r);
		assert_int_equal(thread_start(&r.thread, "linger", linger, &g, NULL), OK);
		/* It hears nothing before it is there. */
		do
			mcp_calls_progress(r.calls, &ev);
		while (wait_fd(r.asked.fd, POLLIN, clock_mono_ms() + 20, NULL, NULL) < 0 &&
		       clock_mono_ms() - began < TEST_MS);
		bell_hear(&r.asked);
		assert_string_equal(g.told, "3 half");
		assert_true(ask(&r, "\"q\"", &why));
		wait_bell(&r.asked);
		bell_ring(&r.go);
		expect_next(&r,
			    "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"server\":\"srv\","
			    "\"kind\":0,\"message\":\"q\"}}\n");
		ev = (struct mcp_event){ .kind = MCP_EVENT_PROGRESS, .task = S("other") };
		mcp_calls_progress(r.calls, &ev);
		ev.task = S("t");
		if (way == TOLD)
			mcp_calls_progress(r.calls, &ev);
		else if (way == DIED)
			mcp_calls_broken(r.calls, NULL, "exit 1");
		else
			cancel_fire(&r.cancel, CANCEL_USER);
		thread_join(&r.thread);
		assert_int_equal(r.rc, way == TOLD ? OK : way == DIED ? E_IO : E_CANCELED);
		assert_true(g.l.moved && g.l.asked == 1);
		assert_true(clock_mono_ms() - began < 9 * TEST_MS);
		/* It never was a request, so none is cancelled. */
		assert_null(mcp_calls_next(r.calls));
		assert_true(mcp_calls_idle(r.calls));
	}
}

static void what_a_link_was_for_is_accepted_when_the_server_says_that_it_is_done(void **state)
{
	static const char accepted[] =
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"action\":\"accept\"}}\n";
	SCOPED(rig_done) struct rig r;

	begin_asked(&r);
	ask_with_link(&r, "91", "url");
	wait_bell(&r.asked);
	/* One that is not asked yet, and one that is none of a link. */
	ask_with_link(&r, "92", "url");
	ask_with_link(&r, "93", "form");
	link_done(&r, "other");
	link_done(&r, "e92");
	link_done(&r, "e93");
	link_done(&r, "e91");
	expect_next(&r, arena_fmt(&r.a, accepted, 91).p);
	expect_next(&r, arena_fmt(&r.a, accepted, 92).p);
	wait_bell(&r.asked);
	bell_ring(&r.go);
	expect_next(&r,
		    "{\"jsonrpc\":\"2.0\",\"id\":93,\"result\":{\"server\":\"srv\",\"kind\":0,"
		    "\"message\":\"\"}}\n");
	answer(&r, 1, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
}

static void a_caller_that_leaves_refuses_what_it_was_asked(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *why;

	begin_asked(&r);
	assert_true(ask(&r, "\"a\"", &why));
	wait_bell(&r.asked);
	assert_true(ask(&r, "\"b\"", &why));
	cancel_fire(&r.cancel, CANCEL_USER);
	thread_join(&r.thread);
	assert_int_equal(r.rc, E_CANCELED);
	expect_frame(&r, UNANSWERED("a"));
	struct mcp_frame *f = mcp_calls_next(r.calls);
	assert_true(str_has(f->text, S("notifications/cancelled")));
	mcp_frame_free(f);
	f = mcp_calls_next(r.calls);
	assert_string_equal(f->text.p, UNANSWERED("b"));
	mcp_frame_free(f);
}

/* The server says how far call id is. */
static void progress(struct rig *r, int64_t id)
{
	struct mcp_event ev = { .kind = MCP_EVENT_PROGRESS, .id = id, .done = 1, .total = -1 };

	mcp_calls_progress(r->calls, &ev);
}

/* It takes time to tell of it, and that counts. */
static void heard_progress(void *arg, double done, double total, str message)
{
	struct rig *r = arg;

	(void)done;
	(void)total;
	(void)message;
	step();
	bell_ring(&r->asked);
}

static void progress_keeps_a_call_alive_up_to_a_limit(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f;

	rig_init(&r);
	r.max_ms = 4 * STEP_MS;
	r.progress = (struct mcp_progress){ heard_progress, &r };
	f = take(&r);
	mcp_calls_wrote(r.calls, f->id);
	mcp_frame_free(f);
	/* Of an unknown call, and of this one, for as long as it lives. */
	progress(&r, 77);
	for (int i = 0; i < 4; i++) {
		progress(&r, 1);
		wait_bell(&r.asked);
	}
	thread_join(&r.thread);
	assert_int_equal(r.rc, E_TIMEOUT);
	assert_string_equal(r.e.msg,
			    "server \"srv\" reported progress but did not end within 60000 ms");
	f = mcp_calls_next(r.calls);
	assert_true(str_has(f->text, S("notifications/cancelled")));
	mcp_frame_free(f);
	/* What comes late is of no call any more. */
	progress(&r, 1);
	answer(&r, 1, "{}");
	assert_true(mcp_calls_idle(r.calls));
}

static void questions_go_to_the_last_call_that_answers_any_and_are_bounded(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *why;
	struct mcp_frame *f;

	rig_init(&r);
	assert_false(ask(&r, "\"a\"", &why));
	assert_string_equal(why, "no call is open that could be asked");
	f = take(&r);
	mcp_calls_wrote(r.calls, f->id);
	mcp_frame_free(f);
	assert_false(ask(&r, "\"a\"", &why)); /* its caller answers none */
	answer(&r, 1, "{}");
	thread_join(&r.thread);
	r.on_question = on_question;
	f = take(&r);
	assert_false(ask(&r, "\"a\"", &why)); /* the server does not know of it */
	mcp_calls_wrote(r.calls, f->id);
	mcp_frame_free(f);
	assert_true(ask(&r, "\"a\"", &why));
	wait_bell(&r.asked);
	for (int i = 0; i < 4; i++)
		assert_true(ask(&r, "\"b\"", &why));
	assert_false(ask(&r, "\"b\"", &why));
	assert_string_equal(why, "too many questions at a time");
	answer(&r, 2, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
}

struct other {
	struct rig *r;
	struct thread thread;
	str origin;
};

static void *other_caller(void *arg)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct other *o = arg;
	struct mcp_call mc = {
		.tool = S("t"), .on_question = on_question, .origin = o->origin, .arg = o->r
	};
	struct mcp_result result;

	assert_int_equal(mcp_calls_do(o->r->calls, &mc, &(struct mcp_limit){ TEST_MS, TEST_MS },
				      &a, &result, NULL, NULL),
			 OK);
	return NULL;
}

static void what_may_be_asked_of_one_or_of_another_is_asked_of_nobody(void **state)
{
	for (int same = 0; same < 2; same++) {
		SCOPED(rig_done) struct rig r;
		struct other o = { .r = &r, .origin = same ? S("turn 1") : S("turn 2") };
		struct mcp_frame *f;
		const char *why;

		begin_asked(&r);
		assert_int_equal(thread_start(&o.thread, "other", other_caller, &o, NULL), OK);
		wait_bell(mcp_calls_bell(r.calls));
		f = mcp_calls_next(r.calls);
		mcp_calls_wrote(r.calls, f->id);
		mcp_frame_free(f);
		assert_int_equal(ask(&r, "\"a\"", &why), same);
		if (!same)
			assert_string_equal(why,
					    "it cannot be known which of the open calls asks");
		r.about = 1;
		assert_true(ask(&r, "\"b\"", &why));
		answer(&r, 1, "{}");
		answer(&r, 2, "{}");
		thread_join(&r.thread);
		thread_join(&o.thread);
		assert_int_equal(r.rc, OK);
	}
}

static void a_call_is_not_asked_for_ever(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *why;

	begin_asked(&r);
	for (int i = 0; i < 32; i++) {
		assert_true(ask(&r, "\"a\"", &why));
		wait_bell(&r.asked);
		bell_ring(&r.go);
		expect_frame(&r,
			     "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"server\":\"srv\","
			     "\"kind\":0,\"message\":\"a\"}}\n");
	}
	assert_false(ask(&r, "\"a\"", &why));
	assert_string_equal(why, "too many questions in one call");
	answer(&r, 1, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
}

struct request {
	struct rig *r;
	const struct json *result;
};

static void *requester(void *arg)
{
	struct request *q = arg;
	const struct mcp_limit limit = { TEST_MS, TEST_MS };

	const struct mcp_request rq = { .method = "resources/read",
					.params = S("{\"uri\":\"x\"} ") };

	q->r->rc = mcp_calls_request(q->r->calls, &rq, &limit, &q->r->a, &q->result,
				     &q->r->cancel, &q->r->e);
	return NULL;
}

static void the_level_of_log_messages_goes_with_each_request_where_there_is_no_handshake(
	void **state)
{
	const char *_Atomic level = "notice";
	const struct mcp_session_opt opt = { .version = "1", .level = &level };
	struct mcp_session session = { .opt = &opt, .peer.caps.logging = true };
	static const char key[] = "\"io.modelcontextprotocol/logLevel\":";
	SCOPED(rig_done) struct rig r;
	struct mcp_frame *f;

	rig_init(&r);
	for (int i = 0; i < 4; i++) {
		session.peer.stateless = i > 0;
		session.peer.caps.logging = i < 3;
		mcp_calls_speak(r.calls, &session);
		if (i == 2) /* as it is when it is written */
			level = "alert";
		f = take(&r);
		assert_int_equal(str_has(f->text, str_of(key)), i == 1 || i == 2);
		if (i == 1)
			assert_true(str_has(f->text, S("logLevel\":\"notice\"}}}\n")));
		if (i == 2)
			assert_true(str_has(f->text, S("logLevel\":\"alert\"}}}\n")));
		mcp_calls_wrote(r.calls, f->id);
		answer(&r, f->id, "{}");
		mcp_frame_free(f);
		thread_join(&r.thread);
	}
}

static void any_request_is_answered_by_an_object_or_fails_with_its_reason(void **state)
{
	static const struct {
		const char *answer, *error;
		int rc;
		const char *why;
	} rows[] = {
		{ "{\"contents\":[1,{\"n\":9007199254740993}]}", NULL, OK, "" },
		{ "[]", NULL, E_PROTO, "server \"srv\": its answer is no object" },
		{ NULL, "{\"code\":-32002,\"message\":\"no such resource\"}", E_PROTO,
		  "server \"srv\": no such resource" },
	};
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct request q = { .r = &r };
		struct arena line = { 0 };
		struct mcp_event ev = { .kind = MCP_EVENT_ANSWER, .id = (int64_t)i + 1 };
		struct mcp_frame *f;
		struct json *v;

		assert_int_equal(thread_start(&r.thread, "requester", requester, &q, NULL), OK);
		wait_bell(mcp_calls_bell(r.calls));
		f = mcp_calls_next(r.calls);
		assert_true(
			str_has(f->text, S("\"method\":\"resources/read\",\"params\":{\"uri\":"
					   "\"x\",\"_meta\":{\"progressToken\":")));
		mcp_calls_wrote(r.calls, f->id);
		mcp_frame_free(f);
		assert_int_equal(
			json_read(&v, &line,
				  str_of(rows[i].answer ? rows[i].answer : rows[i].error),
				  NULL),
			OK);
		*(rows[i].answer ? &ev.result : &ev.error) = v;
		mcp_calls_answer(r.calls, &ev, &line);
		arena_free(&line);
		thread_join(&r.thread);
		assert_int_equal(r.rc, rows[i].rc);
		if (rows[i].rc == OK)
			assert_int_equal(
				json_i64(json_at(json_get(q.result, "contents"), 1), "n", 0),
				9007199254740993);
		else
			assert_string_equal(r.e.msg, rows[i].why);
	}
}

/* A carrier that always finds its server gone. */
struct lost {
	_Atomic int carried;
	struct mcp_calls *calls;
	bool word; /* of another life, each time */
	struct mcp_carrier self;
};

static int carry_nowhere(void *arg, struct mcp_load *load, struct err *e)
{
	struct lost *l = arg;

	if (++l->carried == 3)
		(void)atomic_fetch_add(&ahead_ms, TEST_MS);
	load->again = load->not_run = true;
	if (l->word)
		mcp_calls_carry(l->calls, &l->self);
	return err_set(e, E_IO, "it forgot us");
}

static void a_call_to_carry_again_waits_for_the_word(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct lost l = { 0 };

	rig_init(&r);
	r.timeout_ms = 200;
	l.self = (struct mcp_carrier){ carry_nowhere, &l };
	mcp_calls_carry(r.calls, &l.self);
	caller(&r);
	assert_int_equal(r.rc, E_TIMEOUT);
	assert_true(r.result.not_sent);
	assert_int_equal(l.carried, 1);
}

static void a_call_that_is_carried_again_and_again_ends_in_time(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct lost l = { .word = true };

	rig_init(&r);
	l.calls = r.calls;
	l.self = (struct mcp_carrier){ carry_nowhere, &l };
	mcp_calls_carry(r.calls, &l.self);
	caller(&r);
	assert_int_equal(r.rc, E_TIMEOUT);
	assert_true(r.result.not_sent);
	assert_true(l.carried >= 3);
}

static void a_call_that_the_server_does_not_take_fails_at_once(void **state)
{
	for (int not_run = 0; not_run < 2; not_run++) {
		SCOPED(rig_done) struct rig r;
		struct mcp_frame *f;

		rig_init(&r);
		f = take(&r);
		mcp_calls_wrote(r.calls, f->id);
		mcp_calls_refused(r.calls, f->id, E_PROTO, not_run, "status 500");
		thread_join(&r.thread);
		assert_int_equal(r.rc, E_PROTO);
		assert_int_equal(r.result.not_sent, not_run);
		assert_non_null(strstr(r.e.msg, "status 500"));
		mcp_frame_free(f);
	}
}

static void what_another_session_asked_is_not_answered_to_the_next(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *why;

	begin_asked(&r);
	assert_true(ask(&r, "\"a\"", &why));
	wait_bell(&r.asked);
	assert_true(ask(&r, "\"b\"", &why));
	mcp_calls_anew(r.calls);
	assert_true(ask(&r, "\"c\"", &why));
	wait_bell(&r.asked);
	bell_ring(&r.go);
	expect_frame(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"result\":{\"server\":\"srv\","
			 "\"kind\":0,\"message\":\"c\"}}\n");
	answer(&r, 1, "{}");
	thread_join(&r.thread);
	assert_int_equal(r.rc, OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_one_line_and_its_answer_reaches_the_caller),
		cmocka_unit_test(a_call_that_was_not_written_waits_for_the_next_life),
		cmocka_unit_test(a_call_that_was_written_fails_with_its_server),
		cmocka_unit_test(when_there_is_nothing_to_wait_for_calls_fail_unsent),
		cmocka_unit_test(a_cancelled_call_is_followed_by_its_notice),
		cmocka_unit_test(a_caller_writes_its_frame_itself_where_the_pipe_was_lent),
		cmocka_unit_test(
			a_pipe_that_is_full_closed_or_taken_back_is_left_to_the_thread),
		cmocka_unit_test(what_is_in_the_queue_goes_first),
		cmocka_unit_test(
			a_question_is_answered_by_the_caller_while_the_limit_of_its_call_stands_still),
		cmocka_unit_test(a_question_that_is_taken_back_is_neither_asked_nor_answered),
		cmocka_unit_test(a_question_ends_with_its_call),
		cmocka_unit_test(
			a_call_that_needs_a_link_first_is_made_again_once_that_is_done),
		cmocka_unit_test(between_two_looks_at_a_task_is_heard_what_is_said_of_it),
		cmocka_unit_test(
			what_a_link_was_for_is_accepted_when_the_server_says_that_it_is_done),
		cmocka_unit_test(a_caller_that_leaves_refuses_what_it_was_asked),
		cmocka_unit_test(progress_keeps_a_call_alive_up_to_a_limit),
		cmocka_unit_test(what_may_be_asked_of_one_or_of_another_is_asked_of_nobody),
		cmocka_unit_test(a_call_is_not_asked_for_ever),
		cmocka_unit_test(
			questions_go_to_the_last_call_that_answers_any_and_are_bounded),
		cmocka_unit_test(
			the_level_of_log_messages_goes_with_each_request_where_there_is_no_handshake),
		cmocka_unit_test(any_request_is_answered_by_an_object_or_fails_with_its_reason),
		cmocka_unit_test(notices_do_not_outlive_the_server_they_were_for),
		cmocka_unit_test(a_call_cancelled_in_the_queue_is_taken_out_of_it),
		cmocka_unit_test(more_open_calls_than_there_are_slots_are_refused),
		cmocka_unit_test(a_call_to_carry_again_waits_for_the_word),
		cmocka_unit_test(a_call_that_is_carried_again_and_again_ends_in_time),
		cmocka_unit_test(a_call_that_the_server_does_not_take_fails_at_once),
		cmocka_unit_test(what_another_session_asked_is_not_answered_to_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * One request to a server over HTTP, against a scripted one: what is sent, what is made of what
 * comes, what is tried again, and that every wait ends with a cancel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loopback.h"
#include "mcp/http_talk.h"
#include "os/seam.h"

#define READ                                                                                   \
	{                                                                                      \
		LB_READ, NULL, 0                                                               \
	}
#define SEND(text)                                                                             \
	{                                                                                      \
		LB_SEND, text, sizeof(text) - 1                                                \
	}
#define DO(op)                                                                                 \
	{                                                                                      \
		op, NULL, 0                                                                    \
	}
#define END                                                                                    \
	{                                                                                      \
		LB_END, NULL, 0                                                                \
	}

#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"
#define NOTICE "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}"
#define JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
#define EVENTS "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"
#define REFUSED(status, more) "HTTP/1.1 " status " No\r\n" more "Content-Length: 0\r\n\r\n"

/* While it is paced, time passes by waits alone, however fast the machine is. */
static atomic_bool pacing;
static _Atomic int64_t paced_ms;

int seam_clock(clockid_t id, struct timespec *out)
{
	int64_t ms = atomic_load(&paced_ms);

	if (!atomic_load(&pacing) || id == CLOCK_REALTIME)
		return clock_gettime(id, out);
	*out = (struct timespec){ .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000 * 1000000) };
	return 0;
}

int seam_slice(int ms)
{
	if (!atomic_load(&pacing))
		return ms;
	(void)atomic_fetch_add(&paced_ms, ms < 0 || ms > 5 ? 5 : ms);
	return ms ? 1 : 0;
}

static void paced(bool on)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	atomic_store(&paced_ms, (int64_t)now.tv_sec * 1000);
	atomic_store(&pacing, on);
}

static char dir[] = "/tmp/mcp-talk-XXXXXX";
static const char *const no_vars[] = { NULL };
static struct config config;

struct world {
	struct arena a;
	struct loopback s;
	struct http_pool *pool;
	struct mcp_auth *auth;
	struct cancel token;
	struct mcp_place at;
	struct mcp_wire wire;
	struct mcp_told told;
	struct buf heard;
	size_t heard_n;
	bool acts;
	int64_t max_ms;
	struct err e;
};

static int on_message(void *arg, struct arena *line, const struct mcp_msg *m, struct err *e)
{
	struct world *w = arg;
	int64_t id;

	(void)line;
	(void)e;
	buf_fmt(&w->heard, "%d ", m->kind);
	w->heard_n++;
	return m->kind == MCP_ANSWER && mcp_rpc_own_id(m->id, &id) && id == 7 ? 2 : 0;
}

static void begin(struct world *w, const struct lb_step *steps)
{
	struct mcp_server_cfg server = { .name = S("srv"),
					 .http.url = S("http://127.0.0.1:1/mcp") };

	*w = (struct world){ .acts = true, .max_ms = 15000 };
	assert_int_equal(cancel_init(&w->token, NULL, 0, NULL), OK);
	assert_int_equal(http_pool_open(&w->pool, &(struct http_opt){ 0 }, NULL), OK);
	assert_int_equal(mcp_auth_new(&w->auth,
				      &(struct mcp_auth_opt){ &server, &config,
							      &(struct env){ no_vars } },
				      NULL),
			 OK);
	w->heard = buf_in(&w->a, 4096);
	lb_start(&w->s, steps, &w->token);
	w->at = (struct mcp_place){ .url = lb_url(&w->s, &w->a, "/mcp?key=hush"),
				    .session = S("s-1"),
				    .revision = "2025-11-25",
				    .resumes = true };
	w->wire = (struct mcp_wire){
		.pool = w->pool, .auth = w->auth, .message_max = 65536, .connect_ms = 5000
	};
}

static void end(struct world *w)
{
	lb_stop(&w->s);
	mcp_auth_free(w->auth);
	http_pool_close(w->pool);
	lb_free(&w->s);
	cancel_done(&w->token);
	arena_free(&w->a);
}

static int post(struct world *w, bool asks)
{
	const struct mcp_talk t = {
		.wire = &w->wire,
		.at = &w->at,
		.label = "tools/call",
		.body = S("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}"),
		.asks = asks,
		.acts = w->acts,
		.call_ms = 15000,
		.max_ms = w->max_ms,
		.ears = { .on_message = on_message, .arg = w },
	};

	return mcp_talk_post(&t, &w->a, &w->told, &w->token, &w->e);
}

struct row {
	struct lb_step steps[8];
	int rc;
	bool not_run, lost;
	const char *says, *heard;
};

static const struct row rows[] = {
	/* answers of every shape */
	{ { READ, SEND(JSON "36\r\n\r\n" ANSWER), DO(LB_HOLD), END }, OK, 0, 0, "", "3 " },
	{ { READ, SEND(EVENTS "data: " NOTICE "\n\n: x\n\ndata: " ANSWER "\n\n"), DO(LB_CLOSE),
	    END },
	  OK,
	  0,
	  0,
	  "",
	  "2 3 " },
	{ { READ, SEND(JSON "69\r\n\r\n[" NOTICE "," ANSWER "]"), DO(LB_HOLD), END },
	  OK,
	  0,
	  0,
	  "",
	  "2 3 " },
	/* a refusal that is the answer */
	{ { READ,
	    SEND("HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: "
		 "36\r\n\r\n" ANSWER),
	    DO(LB_HOLD), END },
	  OK,
	  1,
	  0,
	  "",
	  "3 " },
	/* taken up again behind its last event */
	{ { READ, SEND(EVENTS "id: 4\nretry: 60\ndata:\n\n"), DO(LB_CLOSE), READ,
	    SEND(EVENTS "data: " ANSWER "\n\n"), DO(LB_CLOSE), END },
	  OK,
	  0,
	  0,
	  "",
	  "3 " },
	/* later */
	{ { READ, SEND(REFUSED("429", "Retry-After: 0\r\n")), READ,
	    SEND(JSON "36\r\n\r\n" ANSWER), DO(LB_HOLD), END },
	  OK,
	  0,
	  0,
	  "",
	  "3 " },
	{ { READ, SEND(REFUSED("429", "Retry-After: 86400\r\n")), DO(LB_HOLD), END },
	  E_PROTO,
	  1,
	  0,
	  "429",
	  "" },
	/* perhaps run, and so never sent again */
	{ { READ, SEND(REFUSED("503", "Retry-After: 0\r\n")), READ,
	    SEND(JSON "36\r\n\r\n" ANSWER), DO(LB_HOLD), END },
	  E_IO,
	  0,
	  0,
	  "503",
	  "" },
	{ { READ, SEND(REFUSED("409", "")), DO(LB_HOLD), END }, E_PROTO, 0, 0, "409", "" },
	{ { READ, SEND(REFUSED("501", "")), DO(LB_HOLD), END }, E_IO, 0, 0, "501", "" },
	{ { READ, SEND("HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nwrong way"), DO(LB_HOLD),
	    END },
	  E_PROTO,
	  0,
	  0,
	  "400",
	  "" },
	/* an answer that speaks of a session */
	{ { READ,
	    SEND("HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: "
		 "63\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,"
		 "\"message\":\"session\"}}"),
	    DO(LB_HOLD), END },
	  OK,
	  0,
	  0,
	  "",
	  "3 " },
	/* refusals */
	{ { READ, SEND(REFUSED("404", "")), DO(LB_HOLD), END }, E_PROTO, 1, 1, "404", "" },
	{ { READ, SEND("HTTP/1.1 400 No\r\nContent-Length: 15\r\n\r\nunknown session"),
	    DO(LB_HOLD), END },
	  E_PROTO,
	  1,
	  1,
	  "400",
	  "" },
	{ { READ, SEND(REFUSED("308", "Location: https://other.example/x?hush\r\n")),
	    DO(LB_HOLD), END },
	  E_PROTO,
	  0,
	  0,
	  "redirects to other.example",
	  "" },
	{ { READ, SEND(REFUSED("500", "")), DO(LB_HOLD), END }, E_IO, 0, 0, "500", "" },
	/* what may have been run */
	{ { READ, DO(LB_CLOSE), END }, E_IO, 0, 0, "closed", "" },
	{ { READ, SEND(EVENTS ": nothing\n\n"), DO(LB_CLOSE), END },
	  E_IO,
	  0,
	  0,
	  "stream ended",
	  "" },
	{ { READ, SEND("HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n"), DO(LB_HOLD), END },
	  E_PROTO,
	  0,
	  0,
	  "gave no answer",
	  "" },
	{ { READ,
	    SEND("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>"),
	    DO(LB_HOLD), END },
	  E_PROTO,
	  0,
	  0,
	  "text/html",
	  "" },
};

static void what_comes_back_is_taken_for_what_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		int rc;

		begin(&w, rows[i].steps);
		rc = post(&w, true);
		if (rc != rows[i].rc || !strstr(w.e.msg, rows[i].says))
			fail_msg("row %zu: %d %s", i, rc, w.e.msg);
		assert_null(strstr(w.e.msg, "hush"));
		assert_string_equal(buf_str(&w.heard).p, rows[i].heard);
		if (rc < 0 && w.told.not_run != rows[i].not_run)
			fail_msg("row %zu: not_run %d", i, w.told.not_run);
		assert_int_equal(w.told.lost, rows[i].lost);
		end(&w);
	}
}

static void a_request_says_who_it_is_for_and_where_it_goes_on(void **state)
{
	struct world w;
	const char *first, *again;

	(void)state;
	begin(&w, rows[4].steps);
	assert_int_equal(post(&w, true), OK);
	lb_stop(&w.s);
	first = w.s.request[0];
	again = w.s.request[1];
	assert_non_null(strstr(first, "POST /mcp?key=hush HTTP/1.1\r\n"));
	assert_non_null(strstr(first, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(first, "\r\nAccept: application/json, text/event-stream\r\n"));
	assert_non_null(strstr(first, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
	assert_non_null(strstr(first, "\r\nMcp-Session-Id: s-1\r\n"));
	assert_non_null(strstr(again, "GET /mcp?key=hush HTTP/1.1\r\n"));
	assert_non_null(strstr(again, "\r\nLast-Event-ID: 4\r\n"));
	assert_non_null(strstr(again, "\r\nMcp-Session-Id: s-1\r\n"));
	mcp_auth_free(w.auth);
	http_pool_close(w.pool);
	lb_free(&w.s);
	cancel_done(&w.token);
	arena_free(&w.a);
}

static void a_notice_needs_no_answer(void **state)
{
	const struct lb_step steps[] = { READ,
					 SEND("HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n"),
					 DO(LB_HOLD), END };
	struct world w;

	(void)state;
	begin(&w, steps);
	assert_int_equal(post(&w, false), OK);
	end(&w);
}

static void what_does_not_act_is_asked_again_after_a_503(void **state)
{
	const struct lb_step steps[] = {
		READ,        SEND(REFUSED("503", "Retry-After: 0\r\n")),
		READ,        SEND(JSON "36\r\n\r\n" ANSWER),
		DO(LB_HOLD), END
	};
	struct world w;

	(void)state;
	begin(&w, steps);
	w.acts = false;
	assert_int_equal(post(&w, true), OK);
	end(&w);
}

static void who_floods_us_is_read_slowly(void **state)
{
	static const char one[] = "data: " NOTICE "\n\n";
	const struct lb_step steps[] = {
		READ, SEND(EVENTS), { LB_FLOOD, one, sizeof(one) - 1 }, END
	};
	struct world w;
	int64_t began, took;

	(void)state;
	begin(&w, steps);
	w.max_ms = 1500;
	paced(true);
	began = paced_ms;
	assert_int_equal(post(&w, true), E_TIMEOUT);
	took = paced_ms - began;
	paced(false);
	/* What it may send at once, and a piece of what is read each time it was held back. */
	assert_true(w.heard_n > 0 && w.heard_n < 24000 + (size_t)took * 16);
	end(&w);
}

static void every_wait_ends_with_a_cancel(void **state)
{
	static const struct lb_step waits[][8] = {
		{ READ, DO(LB_PAUSE), DO(LB_FIRE), DO(LB_HOLD), END },
		{ READ, SEND(EVENTS "data: " NOTICE "\n\n"), DO(LB_PAUSE), DO(LB_FIRE),
		  DO(LB_HOLD), END },
		{ READ, SEND(JSON "36\r\n\r\n{"), DO(LB_PAUSE), DO(LB_FIRE), DO(LB_HOLD), END },
		/* in the pause before the stream is taken up, and before it is tried again */
		{ READ, SEND(EVENTS "id: 1\nretry: 5000\ndata:\n\n"), DO(LB_CLOSE),
		  DO(LB_PAUSE), DO(LB_FIRE), END },
		{ READ, SEND(REFUSED("429", "Retry-After: 5\r\n")), DO(LB_PAUSE), DO(LB_FIRE),
		  DO(LB_HOLD), END },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(waits); i++) {
		struct world w;

		begin(&w, waits[i]);
		if (i == 4)
			w.at.revision = NULL;
		assert_int_equal(post(&w, true), E_CANCELED);
		end(&w);
	}
}

static void a_message_over_the_limit_is_refused(void **state)
{
	const struct lb_step steps[] = {
		READ, SEND(EVENTS "data: "), { LB_FLOOD, "xxxxxxxxxxxxxxxx", 16 }, END
	};
	struct world w;

	(void)state;
	begin(&w, steps);
	assert_int_equal(post(&w, true), E_LIMIT);
	end(&w);
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	config.store.data_dir = str_of(dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir) && 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_back_is_taken_for_what_it_is),
		cmocka_unit_test(a_request_says_who_it_is_for_and_where_it_goes_on),
		cmocka_unit_test(a_notice_needs_no_answer),
		cmocka_unit_test(what_does_not_act_is_asked_again_after_a_503),
		cmocka_unit_test(who_floods_us_is_read_slowly),
		cmocka_unit_test(every_wait_ends_with_a_cancel),
		cmocka_unit_test(a_message_over_the_limit_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

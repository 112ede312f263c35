/*
 * HTTP over a scripted server: what arrives, what each phase does when it stalls, is
 * cancelled or is cut, and what is never done.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "loopback.h"
#include "os/clock.h"
#include "os/http.h"
#include "os/seam.h"
#include "os/wait.h"

#define READ                                                                                   \
	{                                                                                      \
		LB_READ, NULL, 0                                                               \
	}
#define SEND(text)                                                                             \
	{                                                                                      \
		LB_SEND, text, sizeof(text) - 1                                                \
	}
#define DRIP(text)                                                                             \
	{                                                                                      \
		LB_DRIP, text, sizeof(text) - 1                                                \
	}
#define FLOOD(text)                                                                            \
	{                                                                                      \
		LB_FLOOD, text, sizeof(text) - 1                                               \
	}
#define DO(op)                                                                                 \
	{                                                                                      \
		op, NULL, 0                                                                    \
	}
#define END                                                                                    \
	{                                                                                      \
		LB_END, NULL, 0                                                                \
	}

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-One:  first \r\n"
#define HELLO OK_HEAD "Content-Length: 5\r\n\r\nhello"
#define CHUNKED OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"

/* 300 000 zero bytes. */
static const char GZIP_BOMB[] =
	"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x01\x0d\x00\x00\x00\xc2\xa0\xf7"
	"\x4f\x6d\x0f\x07\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xfc\x18\xfb\xe2\xb2"
	"\xf6\xe0\x93\x04\x00";

/* One test's world: a server, a pool, a handle, a token. */
#define LONG_MS 10000 /* that no machine needs */

/* How far the clock is ahead, for what takes long. */
static _Atomic int64_t ahead_ms;

int seam_clock(clockid_t id, struct timespec *out)
{
	int rc = clock_gettime(id, out);

	out->tv_sec += (time_t)(atomic_load(&ahead_ms) / 1000);
	return rc;
}

int seam_slice(int ms)
{
	return ms;
}

struct world {
	struct arena a;
	struct loopback s;
	struct http_pool *pool;
	struct http *h;
	struct cancel token;
	struct http_resp r;
	struct err e;
	struct buf got; /* what the sink got */
	int sink_rc; /* what it says */
	int sink_calls;
	bool stopped;
	struct bell bell;
	int64_t wake_at_ms;
	int64_t wake_takes_ms;
	int wakes, wake_rc; /* how often so far; what the third time says */
};

static void begin(struct world *w, const struct lb_step *steps)
{
	memset(w, 0, sizeof *w);
	assert_int_equal(cancel_init(&w->token, NULL, 0, NULL), OK);
	assert_int_equal(http_pool_open(&w->pool, &(struct http_opt){ 0 }, NULL), OK);
	w->h = http_borrow(w->pool);
	w->got = buf_in(&w->a, 1 << 20);
	lb_start(&w->s, steps, &w->token);
}

/* The server ends; its requests can be read. */
static void stop(struct world *w)
{
	lb_stop(&w->s);
	w->stopped = true;
}

static void end(struct world *w)
{
	if (!w->stopped)
		stop(w);
	http_return(&w->h);
	http_pool_close(w->pool);
	lb_free(&w->s);
	cancel_done(&w->token);
	arena_free(&w->a);
}

static int sink(void *arg, str chunk, struct err *e)
{
	struct world *w = arg;

	w->sink_calls++;
	buf_add(&w->got, chunk);
	if (w->sink_rc < 0)
		return err_set(e, w->sink_rc, "sink says no");
	return w->sink_rc;
}

/* Run req against the server with the defaults of these tests filled in. */
static int run(struct world *w, struct http_req req)
{
	if (!req.url.n)
		req.url = lb_url(&w->s, &w->a, "/some/path?key=hush");
	req.label = "/label";
	req.arg = w;
	if (!req.total_ms)
		req.total_ms = 20000;
	return http_do(w->h, &req, &w->a, &w->r, &w->token, &w->e);
}

static void assert_str(str got, const char *want)
{
	char text[256];

	assert_true(got.n < sizeof text);
	memcpy(text, got.n ? got.p : "", got.n);
	text[got.n] = 0;
	assert_string_equal(text, want);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* The sentence of the failure says what happened and where, and nothing secret. */
static void assert_failed(struct world *w, int got, int want, const char *part)
{
	if (got != want)
		fail_msg("code %d, not %d: %s", got, want, w->e.msg);
	assert_int_equal(w->e.code, want);
	assert_has(w->e.msg, part);
	assert_has(w->e.msg, "/label");
	assert_null(strstr(w->e.msg, "hush"));
	assert_null(strstr(w->e.msg, "some/path"));
}

static void status_headers_and_body_arrive(void **state)
{
	const struct lb_step steps[] = { READ, SEND(HELLO), DO(LB_HOLD), END };
	struct http_header h[] = { { S("Authorization"), S("Bearer abc") },
				   { S("X-Empty"), S("") } };
	struct world w;

	begin(&w, steps);
	assert_int_equal(
		run(&w, (struct http_req){ .headers = h, .headers_n = 2, .body = S("{}") }),
		OK);
	assert_int_equal(w.r.status, 200);
	assert_true(w.r.maybe_sent);
	assert_str(w.r.body, "hello");
	assert_str(http_header(&w.r, "x-one"), "first");
	assert_str(http_header(&w.r, "content-type"), "text/plain");
	assert_str(http_header(&w.r, "x-none"), "");
	stop(&w);
	assert_has(w.s.request[0], "POST /some/path?key=hush HTTP/1.1\r\n");
	assert_has(w.s.request[0], "\r\nAuthorization: Bearer abc\r\n");
	assert_has(w.s.request[0], "\r\nX-Empty:");
	assert_has(w.s.request[0], "\r\nUser-Agent: gantry\r\n");
	assert_has(w.s.request[0], "\r\n\r\n{}");
	assert_null(strcasestr(w.s.request[0], "\r\nexpect:"));
	end(&w);
}

static void methods_are_sent_as_asked(void **state)
{
	static const struct {
		const char *method, *body, *line;
	} rows[] = {
		{ NULL, "", "GET /x HTTP/1.1\r\n" },
		{ NULL, "b", "POST /x HTTP/1.1\r\n" },
		{ "POST", "", "POST /x HTTP/1.1\r\n" },
		{ "DELETE", "", "DELETE /x HTTP/1.1\r\n" },
		{ "HEAD", "", "HEAD /x HTTP/1.1\r\n" },
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct lb_step steps[] = { READ,
						 SEND(OK_HEAD "Content-Length: 0\r\n\r\n"),
						 DO(LB_HOLD), END };
		struct world w;

		begin(&w, steps);
		assert_int_equal(run(&w, (struct http_req){ .method = rows[i].method,
							    .url = lb_url(&w.s, &w.a, "/x"),
							    .body = str_of(rows[i].body) }),
				 OK);
		assert_int_equal(w.r.status, 200);
		stop(&w);
		assert_has(w.s.request[0], rows[i].line);
		end(&w);
	}
}

static void stream_arrives_in_order_even_byte_by_byte(void **state)
{
	const struct lb_step steps[] = { READ,
					 DRIP(CHUNKED "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"),
					 DO(LB_HOLD), END };
	struct world w;

	begin(&w, steps);
	w.sink_rc = 1;
	assert_int_equal(run(&w, (struct http_req){ .sink = sink }), OK);
	assert_str(buf_str(&w.got), "abcdefg");
	assert_int_equal(w.r.body.n, 0);
	end(&w);
}

static void large_bodies_go_both_ways(void **state)
{
	static char big[1300000]; /* over what curl asks for leave to send */
	struct lb_step steps[] = { READ,
				   SEND(OK_HEAD "Content-Length: 1300000\r\n\r\n"),
				   { LB_SEND, big, sizeof big },
				   DO(LB_HOLD),
				   END };
	struct world w;

	memset(big, 'x', sizeof big);
	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ .body = { big, sizeof big } }), OK);
	assert_int_equal(w.r.body.n, sizeof big);
	assert_memory_equal(w.r.body.p, big, sizeof big);
	stop(&w);
	assert_memory_equal(strstr(w.s.request[0], "\r\n\r\n") + 4, big, sizeof big);
	assert_null(strcasestr(w.s.request[0], "\r\nexpect:"));
	end(&w);
}

static void informational_answers_and_trailers_are_passed_over(void **state)
{
	const struct lb_step steps[] = {
		READ,
		SEND("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n" CHUNKED
		     "1\r\na\r\n0\r\nX-Late: 1\r\n\r\n"),
		READ,
		SEND(CHUNKED "0\r\nX-Late: 1\r\n\r\n"),
		DO(LB_HOLD),
		END
	};
	struct world w;

	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	assert_int_equal(w.r.status, 200);
	assert_str(w.r.body, "a");
	assert_str(http_header(&w.r, "x-early"), "");
	assert_str(http_header(&w.r, "x-late"), "");
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	assert_int_equal(w.r.body.n, 0);
	assert_str(http_header(&w.r, "x-late"), "");
	end(&w);
}

static void connection_is_used_again(void **state)
{
	const struct lb_step steps[] = {
		READ, SEND(HELLO), READ, SEND(HELLO), DO(LB_HOLD), END
	};
	struct world w;

	begin(&w, steps);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run(&w, (struct http_req){ .body = S("{}") }), OK);
		assert_str(w.r.body, "hello");
		http_return(&w.h); /* the pool keeps it warm */
		w.h = http_borrow(w.pool);
	}
	assert_int_equal(w.s.connections, 1);
	assert_int_equal(w.s.requests, 2);
	end(&w);
}

static void connection_that_died_idle_is_replaced(void **state)
{
	const struct lb_step steps[] = { READ, SEND(HELLO), DO(LB_CLOSE), DO(LB_RING),
					 READ, SEND(HELLO), DO(LB_HOLD),  END };
	struct world w;

	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ .body = S("{}") }), OK);
	lb_wait(&w.s);
	assert_int_equal(run(&w, (struct http_req){ .body = S("{}") }), OK);
	assert_int_equal(w.s.connections, 2);
	assert_int_equal(w.s.requests, 2);
	end(&w);
}

static void request_written_to_a_dying_connection_is_not_sent_twice(void **state)
{
	const struct lb_step steps[] = { READ, SEND(HELLO), READ,        DO(LB_CLOSE),
					 READ, SEND(HELLO), DO(LB_HOLD), END };
	struct world w;
	int rc;

	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ .body = S("{}") }), OK);
	rc = run(&w, (struct http_req){ .body = S("{}") });
	assert_failed(&w, rc, E_IO, "closed before an answer");
	assert_true(w.r.maybe_sent);
	assert_int_equal(w.s.requests, 2);
	/* The handle is fine afterwards. */
	assert_int_equal(run(&w, (struct http_req){ .body = S("{}") }), OK);
	end(&w);
}

static void a_get_may_be_repeated_on_a_fresh_connection(void **state)
{
	const struct lb_step steps[] = { READ, SEND(HELLO), READ,        DO(LB_CLOSE),
					 READ, SEND(HELLO), DO(LB_HOLD), END };
	struct world w;

	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	assert_int_equal(w.s.requests, 3);
	end(&w);
}

/* ---- stalls ----------------------------------------------------------------------- */

/* A listening socket whose queue is full: connecting to it hangs. */
struct full_queue {
	int listen_fd, client_fd[4];
	struct sockaddr_in at;
};

static void full_queue_open(struct full_queue *q)
{
	socklen_t n = sizeof q->at;

	memset(q, 0, sizeof *q);
	q->at.sin_family = AF_INET;
	q->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	q->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(q->listen_fd, (struct sockaddr *)&q->at, n), 0);
	assert_int_equal(listen(q->listen_fd, 0), 0);
	assert_int_equal(getsockname(q->listen_fd, (struct sockaddr *)&q->at, &n), 0);
	for (size_t i = 0; i < COUNT(q->client_fd); i++) {
		q->client_fd[i] =
			socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(q->client_fd[i], (struct sockaddr *)&q->at, n);
	}
}

static void full_queue_close(struct full_queue *q)
{
	for (size_t i = 0; i < COUNT(q->client_fd); i++)
		close(q->client_fd[i]);
	close(q->listen_fd);
}

static void stalled_connect_ends_at_its_limit(void **state)
{
	const struct lb_step steps[] = { END };
	struct full_queue q;
	struct world w;
	int rc;

	full_queue_open(&q);
	begin(&w, steps);
	rc = run(&w, (struct http_req){ .connect_ms = 60,
					.url = arena_fmt(&w.a, "http://127.0.0.1:%d/?hush",
							 ntohs(q.at.sin_port)) });
	assert_failed(&w, rc, E_TIMEOUT, "no connection");
	assert_false(w.r.maybe_sent);
	end(&w);
	full_queue_close(&q);
}

static void stalled_connect_ends_with_the_deadline_of_the_token(void **state)
{
	const struct lb_step steps[] = { END };
	struct full_queue q;
	struct cancel outer;
	struct world w;
	int rc;

	full_queue_open(&q);
	begin(&w, steps);
	assert_int_equal(cancel_init(&outer, NULL, 60, NULL), OK);
	w.token.up = &outer;
	rc = run(&w, (struct http_req){ .url = arena_fmt(&w.a, "http://127.0.0.1:%d/",
							 ntohs(q.at.sin_port)) });
	assert_failed(&w, rc, E_TIMEOUT, "deadline");
	end(&w);
	cancel_done(&outer);
	full_queue_close(&q);
}

static void stalled_tls_handshake_counts_as_connecting(void **state)
{
	const struct lb_step steps[] = { DO(LB_ACCEPT), DO(LB_HOLD), END };
	struct world w;
	int rc;

	begin(&w, steps);
	rc = run(&w, (struct http_req){
			     .connect_ms = 60,
			     .url = arena_fmt(&w.a, "https://127.0.0.1:%d/", w.s.port) });
	assert_failed(&w, rc, E_TIMEOUT, "no connection");
	assert_false(w.r.maybe_sent);
	end(&w);
}

static void stalled_phases_end_at_their_limits(void **state)
{
	static const struct row {
		struct lb_step steps[6];
		struct http_req req;
		int sink_rc;
		const char *says;
	} rows[] = {
		/* not one byte */
		{ { READ, DO(LB_HOLD), END }, { .first_ms = 60 }, 1, "no answer within 60 ms" },
		/* headers, then nothing */
		{ { READ, SEND(CHUNKED), DO(LB_HOLD), END },
		  { .first_ms = 60 },
		  1,
		  "no answer within 60 ms" },
		/* bytes for ever, but none that the sink counts */
		{ { READ, SEND(CHUNKED), FLOOD("3\r\n: p\r\n"), END },
		  { .first_ms = 60 },
		  0,
		  "no answer within 60 ms" },
		/* a part, then nothing */
		{ { READ, SEND(CHUNKED "1\r\na\r\n"), DO(LB_HOLD), END },
		  { .idle_ms = 60, .first_ms = 15000 },
		  1,
		  "stalled within 60 ms" },
		/* the same of an error's body */
		{ { READ, SEND("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\na"), DO(LB_HOLD),
		    END },
		  { .idle_ms = 60 },
		  1,
		  "stalled within 60 ms" },
		/* never idle, never done */
		{ { READ, SEND(CHUNKED), FLOOD("1\r\na\r\n"), END },
		  { .total_ms = 60, .first_ms = 15000, .idle_ms = 15000, .body_max = SIZE_MAX },
		  1,
		  "not complete within 60 ms" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct http_req req = rows[i].req;
		struct world w;
		int rc;

		begin(&w, rows[i].steps);
		req.sink = sink;
		req.body = S("{}");
		w.sink_rc = rows[i].sink_rc;
		rc = run(&w, req);
		assert_failed(&w, rc, E_TIMEOUT, rows[i].says);
		assert_true(w.r.maybe_sent);
		end(&w);
	}
}

/* ---- cancel ----------------------------------------------------------------------- */

static void every_phase_ends_with_a_cancel(void **state)
{
	static const struct lb_step rows[][6] = {
		{ READ, DO(LB_PAUSE), DO(LB_FIRE), DO(LB_HOLD), END },
		{ READ, SEND(CHUNKED), DO(LB_PAUSE), DO(LB_FIRE), DO(LB_HOLD), END },
		{ READ, SEND(CHUNKED "1\r\na\r\n"), DO(LB_PAUSE), DO(LB_FIRE), DO(LB_HOLD),
		  END },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		int64_t best = INT64_MAX;
		/* The best of some, because the machine may be busy. */
		for (int round = 0; round < 6; round++) {
			struct world w;
			int64_t at = clock_mono_ms();
			int rc;

			begin(&w, rows[i]);
			w.sink_rc = 1;
			rc = run(&w, (struct http_req){ .sink = sink, .body = S("{}") });
			assert_failed(&w, rc, E_CANCELED, "canceled");
			assert_true(w.r.maybe_sent);
			if (clock_mono_ms() - at < best)
				best = clock_mono_ms() - at;
			end(&w);
		}
		assert_true(best < 130); /* libcurl itself would wake after 200 */
	}
}

static void *fire(void *arg)
{
	cancel_fire(arg, CANCEL_SHUTDOWN);
	return NULL;
}

static void cancel_of_a_token_above_ends_a_stuck_connect(void **state)
{
	const struct lb_step steps[] = { END };
	struct full_queue q;
	struct cancel outer;
	struct world w;
	pthread_t thread;
	int rc;

	full_queue_open(&q);
	begin(&w, steps);
	assert_int_equal(cancel_init(&outer, NULL, 0, NULL), OK);
	w.token.up = &outer;
	assert_int_equal(pthread_create(&thread, NULL, fire, &outer), 0);
	rc = run(&w, (struct http_req){ .url = arena_fmt(&w.a, "http://127.0.0.1:%d/",
							 ntohs(q.at.sin_port)) });
	assert_failed(&w, rc, E_CANCELED, "shutdown");
	assert_false(w.r.maybe_sent);
	pthread_join(thread, NULL);
	end(&w);
	cancel_done(&outer);
	full_queue_close(&q);
}

static void fired_token_sends_nothing(void **state)
{
	const struct lb_step steps[] = { END };
	struct world w;
	int rc;

	begin(&w, steps);
	cancel_fire(&w.token, CANCEL_USER);
	rc = run(&w, (struct http_req){ 0 });
	assert_failed(&w, rc, E_CANCELED, "canceled");
	assert_false(w.r.maybe_sent);
	assert_int_equal(w.s.connections, 0);
	end(&w);
}

/* ---- cut and broken answers --------------------------------------------------------- */

static void cut_and_broken_answers_are_errors(void **state)
{
	static const struct row {
		struct lb_step steps[6];
		int rc;
		const char *says;
		int status;
	} rows[] = {
		{ { READ, DO(LB_CLOSE), END }, E_IO, "closed before an answer", 0 },
		{ { READ, DO(LB_RESET), END }, E_IO, "connection lost", 0 },
		{ { READ, SEND("HTTP/1.1 200 OK\r\nX: "), DO(LB_CLOSE), END },
		  E_IO,
		  "clos",
		  200 },
		{ { READ, SEND(OK_HEAD "Content-Length: 9\r\n\r\nabc"), DO(LB_CLOSE), END },
		  E_IO,
		  "in the middle of the answer",
		  200 },
		{ { READ, SEND(CHUNKED "3\r\nabc\r\n"), DO(LB_CLOSE), END },
		  E_IO,
		  "in the middle of the answer",
		  200 },
		{ { READ, SEND(CHUNKED "3\r\nabc\r\nzz\r\n"), DO(LB_HOLD), END },
		  E_IO,
		  "connection lost",
		  200 },
		{ { READ, SEND("SSH-2.0-OpenSSH_9.2\r\n"), DO(LB_HOLD), END },
		  E_PROTO,
		  "not an HTTP answer",
		  0 },
		{ { READ,
		    SEND(OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope"),
		    DO(LB_HOLD), END },
		  E_PROTO,
		  "broken content encoding",
		  200 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		int rc;

		begin(&w, rows[i].steps);
		w.sink_rc = 1;
		rc = run(&w, (struct http_req){ .sink = sink, .body = S("{}") });
		assert_failed(&w, rc, rows[i].rc, rows[i].says);
		assert_true(w.r.maybe_sent);
		assert_int_equal(w.r.status, rows[i].status);
		end(&w);
	}
}

static void body_without_a_length_ends_with_the_connection(void **state)
{
	const struct lb_step steps[] = { READ, SEND(OK_HEAD "\r\nabc"), DO(LB_CLOSE), END };
	struct world w;

	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	assert_str(w.r.body, "abc");
	end(&w);
}

static void body_over_the_limit_is_refused_by_its_decoded_size(void **state)
{
	const struct lb_step plain[] = { READ,
					 SEND(OK_HEAD "Content-Length: 11\r\n\r\n0123456789a"),
					 DO(LB_HOLD), END };
	const struct lb_step flood[] = { READ, SEND(CHUNKED), FLOOD("1\r\na\r\n"), END };
	struct lb_step bomb[] = {
		READ,
		SEND(OK_HEAD "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"),
		SEND("145\r\n"),
		{ LB_SEND, GZIP_BOMB, sizeof GZIP_BOMB - 1 },
		SEND("\r\n0\r\n\r\n"),
		DO(LB_HOLD),
		END
	};
	const struct {
		const struct lb_step *steps;
		size_t max;
		bool fits;
	} rows[] = {
		{ plain, 10, false },    { plain, 11, true },     { flood, 100000, false },
		{ bomb, 100000, false }, { bomb, 299999, false }, { bomb, 300000, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (int with_sink = 0; with_sink < 2; with_sink++) {
			struct world w;
			int rc;

			begin(&w, rows[i].steps);
			w.sink_rc = 1;
			rc = run(&w, (struct http_req){ .body_max = rows[i].max,
							.sink = with_sink ? sink : NULL });
			if (rows[i].fits)
				assert_int_equal(rc, OK);
			else
				assert_failed(&w, rc, E_LIMIT, "answer over");
			assert_true((with_sink ? w.got.n : w.r.body.n) <= rows[i].max);
			end(&w);
		}
}

static void headers_without_end_are_refused(void **state)
{
	static const struct lb_step rows[][6] = {
		{ READ, SEND("HTTP/1.1 200 OK\r\n"), FLOOD("A: b\r\n"), END },
		{ READ, SEND("HTTP/1.1 200 OK\r\n"), FLOOD("HTTP/1.1: b\r\n"), END },
		{ READ, SEND("HTTP/1.1 200 OK\r\nA: "), FLOOD("bbbbbbbbbbbbbbbb"), END },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		int rc;

		begin(&w, rows[i]);
		rc = run(&w, (struct http_req){ 0 });
		assert_failed(&w, rc, E_LIMIT, "too many response headers");
		assert_true(w.a.used < (1 << 20));
		end(&w);
	}
}

static void error_body_is_kept_in_part_and_the_rest_not_awaited(void **state)
{
	const struct lb_step steps[] = { READ,
					 SEND("HTTP/1.1 503 Busy\r\nRetry-After: "
					      "2\r\nTransfer-Encoding: chunked\r\n\r\n"),
					 FLOOD("8\r\nno no no\r\n"), END };
	struct world w;

	begin(&w, steps);
	w.sink_rc = 1;
	assert_int_equal(run(&w, (struct http_req){ .sink = sink, .body_max = 100 }), OK);
	assert_int_equal(w.r.status, 503);
	assert_int_equal(w.r.body.n, 64 << 10);
	assert_true(str_starts(w.r.body, S("no no nono no no")));
	assert_str(http_header(&w.r, "retry-after"), "2");
	assert_int_equal(w.sink_calls, 0);
	end(&w);
}

/* ---- the sink's word ------------------------------------------------------------------ */

static void sink_can_stop_the_transfer(void **state)
{
	const struct lb_step steps[] = { READ, SEND(CHUNKED), FLOOD("1\r\na\r\n"), END };
	struct world w;
	int rc;

	begin(&w, steps);
	w.sink_rc = E_PROTO;
	rc = run(&w, (struct http_req){ .sink = sink });
	assert_failed(&w, rc, E_PROTO, "sink says no");
	assert_int_equal(w.sink_calls, 1);
	end(&w);
}

static void finished_sink_does_not_wait_for_the_end(void **state)
{
	static const struct lb_step rows[][6] = {
		{ READ, SEND(CHUNKED "3\r\nend\r\n"), DO(LB_HOLD), END },
		{ READ, SEND(CHUNKED "3\r\nend\r\n"), DO(LB_CLOSE), END }, /* nor mind a cut */
		{ READ, SEND(CHUNKED "3\r\nend\r\n"), DO(LB_RESET), END },
		{ READ, SEND(CHUNKED "3\r\nend\r\n0\r\n\r\n"), DO(LB_HOLD), END },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;

		begin(&w, rows[i]);
		w.sink_rc = 50;
		assert_int_equal(run(&w, (struct http_req){ .sink = sink }), OK);
		assert_int_equal(w.r.status, 200);
		assert_str(buf_str(&w.got), "end");
		end(&w);
	}
}

/* ---- other work meanwhile --------------------------------------------------------------- */

static int ringing_sink(void *arg, str chunk, struct err *e)
{
	struct world *w = arg;

	bell_ring(&w->bell);
	return sink(w, chunk, e);
}

static int on_wake(void *arg, struct err *e)
{
	struct world *w = arg;

	w->wake_at_ms = w->wake_at_ms ? clock_mono_ms() + 10 : 0;
	(void)atomic_fetch_add(&ahead_ms, w->wake_takes_ms);
	return ++w->wakes == 3 && w->wake_rc < 0 ? err_set(e, w->wake_rc, "woken") : OK;
}

static void a_bell_interrupts_a_stream_and_its_time_does_not_count(void **state)
{
	/* The third chunk comes when the server saw the client sleep. */
	const struct lb_step steps[] = { READ,         SEND(CHUNKED "1\r\na\r\n"),
					 DO(LB_PAUSE), SEND("1\r\nb\r\n"),
					 DO(LB_PAUSE), SEND("1\r\nc\r\n0\r\n\r\n"),
					 DO(LB_HOLD),  END };
	struct world w;

	begin(&w, steps);
	assert_int_equal(bell_init(&w.bell, NULL), OK);
	w.sink_rc = 1;
	w.wake_takes_ms = LONG_MS + 1000;
	assert_int_equal(run(&w, (struct http_req){ .sink = ringing_sink,
						    .on_wake = on_wake,
						    .wake = &w.bell,
						    .total_ms = LONG_MS,
						    .idle_ms = LONG_MS }),
			 OK);
	assert_str(buf_str(&w.got), "abc");
	assert_true(w.wakes >= 1 && w.wakes <= 3);
	bell_done(&w.bell);
	end(&w);
}

static void a_time_to_wake_is_kept_and_may_end_the_transfer(void **state)
{
	const struct lb_step steps[] = { READ, SEND(CHUNKED "1\r\na\r\n"), DO(LB_HOLD), END };
	int rc;
	struct world w;

	begin(&w, steps);
	w.sink_rc = 1;
	w.wake_rc = E_BUSY;
	w.wake_at_ms = clock_mono_ms() + 10;
	rc = run(&w, (struct http_req){
			     .sink = sink, .on_wake = on_wake, .wake_at_ms = &w.wake_at_ms });
	assert_failed(&w, rc, E_BUSY, "woken");
	assert_int_equal(w.wakes, 3);
	end(&w);
}

/* ---- what is never done --------------------------------------------------------------- */

static void redirects_are_not_followed(void **state)
{
	const struct lb_step steps[] = {
		READ,
		SEND("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"),
		READ, SEND(HELLO), END
	};
	struct world w;

	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	assert_int_equal(w.r.status, 302);
	assert_str(http_header(&w.r, "location"), "/other");
	assert_int_equal(w.s.requests, 1);
	end(&w);
}

static void only_http_urls_are_taken(void **state)
{
	static const char *const rows[] = { "file:///etc/hush",
					    "ftp://h/hush",
					    "hush",
					    "http://",
					    "gopher://h/hush",
					    "http://a b/hush",
					    "http://h:99999999/hush" };
	const struct lb_step steps[] = { END };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		int rc;

		begin(&w, steps);
		rc = run(&w, (struct http_req){ .url = str_of(rows[i]) });
		assert_failed(&w, rc, E_INVAL, "not an http or https URL");
		end(&w);
	}
}

static void this_machine_is_no_public_address_by_whatever_name(void **state)
{
	static const char *const hosts[] = {
		"127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1",         "127.1",
		"localhost", "0",          "[::1]",      "[::ffff:127.0.0.1]", "user:hush@127.1"
	};
	const struct lb_step steps[] = { READ, END };

	for (size_t i = 0; i < COUNT(hosts); i++) {
		struct world w;
		int rc;

		begin(&w, steps);
		rc = run(&w, (struct http_req){
				     .url = arena_fmt(&w.a, "http://%s:%d/some/path?key=hush",
						      hosts[i], w.s.port),
				     .public_only = true });
		assert_failed(&w, rc, E_DENIED, "which is not allowed");
		assert_false(w.r.maybe_sent);
		assert_int_equal(w.s.connections, 0);
		end(&w);
	}
}

static void a_warm_connection_to_a_private_address_is_not_used(void **state)
{
	const struct lb_step steps[] = { READ, SEND(HELLO), READ, END };
	struct world w;
	int rc;

	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	rc = run(&w, (struct http_req){ .public_only = true });
	assert_failed(&w, rc, E_DENIED, "which is not allowed");
	assert_int_equal(w.s.requests, 1);
	end(&w);
}

static void a_proxy_is_no_way_around_the_check(void **state)
{
	const struct lb_step steps[] = { READ, SEND(HELLO), END };
	struct http_pool *pool;
	struct http *own;
	struct world w;
	int rc;

	begin(&w, steps);
	assert_int_equal(
		http_pool_open(&pool,
			       &(struct http_opt){ .all_proxy = lb_url(&w.s, &w.a, "").p },
			       NULL),
		OK);
	own = w.h;
	w.h = http_borrow(pool);
	rc = run(&w, (struct http_req){ .url = S("http://10.0.0.1/some/path?key=hush"),
					.public_only = true });
	assert_failed(&w, rc, E_DENIED, "a private network, which is not allowed");
	assert_int_equal(w.s.connections, 0);
	http_return(&w.h);
	http_pool_close(pool);
	w.h = own;
	end(&w);
}

static void header_with_a_line_break_is_refused(void **state)
{
	const struct lb_step steps[] = { END };
	struct http_header h = { S("Authorization"), S("Bearer hush\r\nX: y") };
	struct world w;
	int rc;

	begin(&w, steps);
	rc = run(&w, (struct http_req){ .headers = &h, .headers_n = 1 });
	assert_failed(&w, rc, E_INVAL, "control character in header Authorization");
	assert_int_equal(w.s.connections, 0);
	end(&w);
}

static void refused_connection_was_never_sent(void **state)
{
	const struct lb_step steps[] = { END };
	struct world w;
	int rc, fd, port;
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;

	/* A bound port that does not listen refuses, and nobody else can take it. */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	port = ntohs(at.sin_port);
	begin(&w, steps);
	rc = run(&w, (struct http_req){
			     .url = arena_fmt(&w.a, "http://u:hush@127.0.0.1:%d/", port) });
	assert_failed(&w, rc, E_IO, "Connection refused");
	assert_has(w.e.msg, "127.0.0.1 /label: ");
	assert_false(w.r.maybe_sent);
	end(&w);
	close(fd);
}

static void plain_answer_to_a_tls_handshake_is_a_protocol_error(void **state)
{
	const struct lb_step steps[] = { DO(LB_ACCEPT), SEND("HTTP/1.1 400 Bad\r\n\r\n"),
					 DO(LB_HOLD), END };
	struct world w;
	int rc;

	begin(&w, steps);
	rc = run(&w, (struct http_req){
			     .url = arena_fmt(&w.a, "https://127.0.0.1:%d/", w.s.port) });
	assert_failed(&w, rc, E_PROTO, "TLS handshake failed");
	assert_false(w.r.maybe_sent);
	end(&w);
}

static void proxy_comes_from_the_options_and_never_from_the_environment(void **state)
{
	const struct lb_step steps[] = { READ, SEND(HELLO), DO(LB_HOLD), END };
	struct http_pool *pool;
	struct world w;
	str proxy;

	assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1/", 1), 0);
	assert_int_equal(setenv("all_proxy", "http://127.0.0.1:1/", 1), 0);
	begin(&w, steps);
	assert_int_equal(run(&w, (struct http_req){ 0 }), OK);
	end(&w);
	assert_int_equal(setenv("no_proxy", "*", 1), 0);

	begin(&w, steps);
	proxy = lb_url(&w.s, &w.a, "");
	assert_int_equal(
		http_pool_open(&pool, &(struct http_opt){ .all_proxy = proxy.p }, NULL), OK);
	http_return(&w.h);
	w.h = http_borrow(pool);
	assert_int_equal(run(&w, (struct http_req){ .url = S("http://far.invalid/x") }), OK);
	http_return(&w.h);
	http_pool_close(pool);
	stop(&w);
	assert_has(w.s.request[0], "GET http://far.invalid/x HTTP/1.1\r\n");
	end(&w);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("no_proxy");
}

static void proxy_that_refuses_is_named(void **state)
{
	const struct lb_step steps[] = {
		READ, SEND("HTTP/1.1 407 No\r\nX-Proxy: 1\r\nContent-Length: 0\r\n\r\n"),
		DO(LB_HOLD), END
	};
	struct http_pool *pool;
	struct world w;
	int rc;

	begin(&w, steps);
	assert_int_equal(
		http_pool_open(&pool,
			       &(struct http_opt){ .https_proxy = lb_url(&w.s, &w.a, "").p },
			       NULL),
		OK);
	http_return(&w.h);
	w.h = http_borrow(pool);
	rc = run(&w, (struct http_req){ .url = S("https://far.invalid/x"), .body = S("{}") });
	assert_failed(&w, rc, E_IO, "the proxy refused with status 407");
	assert_false(w.r.maybe_sent);
	assert_int_equal(w.r.headers_n, 0);
	http_return(&w.h);
	http_pool_close(pool);
	stop(&w);
	assert_has(w.s.request[0], "CONNECT far.invalid:443 HTTP/1.1\r\n");
	end(&w);
}

static void handles_are_lent_to_many_threads_at_once(void **state)
{
	struct http_pool *pool;
	struct http *h[40];

	assert_int_equal(http_pool_open(&pool, &(struct http_opt){ 0 }, NULL), OK);
	for (size_t i = 0; i < COUNT(h); i++) {
		h[i] = http_borrow(pool);
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(h[i], h[k]);
	}
	for (size_t i = 0; i < COUNT(h); i++) {
		http_return(&h[i]);
		assert_null(h[i]);
	}
	http_return(&h[0]);
	http_pool_close(pool);
	http_pool_close(NULL);
}

static size_t descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

static void handles_that_nobody_uses_are_closed(void **state)
{
	size_t before = descriptors(), kept;
	struct http_pool *pool;
	struct http *h[3];

	assert_int_equal(http_pool_open(&pool, &(struct http_opt){ 0 }, NULL), OK);
	for (size_t i = 0; i < COUNT(h); i++)
		h[i] = http_borrow(pool);
	kept = descriptors();
	assert_true(kept > before);
	for (size_t i = 0; i < COUNT(h) - 1; i++)
		http_return(&h[i]);
	http_pool_tidy(pool, 60000);
	assert_int_equal(descriptors(), kept);
	http_pool_tidy(pool, 0);
	assert_true(descriptors() < kept && descriptors() > before); /* one is out */
	http_return(&h[2]);
	http_pool_tidy(pool, 0);
	assert_int_equal(descriptors(), before);
	h[0] = http_borrow(pool);
	assert_non_null(h[0]);
	http_return(&h[0]);
	http_pool_close(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_headers_and_body_arrive),
		cmocka_unit_test(methods_are_sent_as_asked),
		cmocka_unit_test(stream_arrives_in_order_even_byte_by_byte),
		cmocka_unit_test(large_bodies_go_both_ways),
		cmocka_unit_test(informational_answers_and_trailers_are_passed_over),
		cmocka_unit_test(connection_is_used_again),
		cmocka_unit_test(connection_that_died_idle_is_replaced),
		cmocka_unit_test(request_written_to_a_dying_connection_is_not_sent_twice),
		cmocka_unit_test(a_get_may_be_repeated_on_a_fresh_connection),
		cmocka_unit_test(stalled_connect_ends_at_its_limit),
		cmocka_unit_test(stalled_connect_ends_with_the_deadline_of_the_token),
		cmocka_unit_test(stalled_tls_handshake_counts_as_connecting),
		cmocka_unit_test(stalled_phases_end_at_their_limits),
		cmocka_unit_test(every_phase_ends_with_a_cancel),
		cmocka_unit_test(cancel_of_a_token_above_ends_a_stuck_connect),
		cmocka_unit_test(fired_token_sends_nothing),
		cmocka_unit_test(cut_and_broken_answers_are_errors),
		cmocka_unit_test(body_without_a_length_ends_with_the_connection),
		cmocka_unit_test(body_over_the_limit_is_refused_by_its_decoded_size),
		cmocka_unit_test(headers_without_end_are_refused),
		cmocka_unit_test(error_body_is_kept_in_part_and_the_rest_not_awaited),
		cmocka_unit_test(sink_can_stop_the_transfer),
		cmocka_unit_test(finished_sink_does_not_wait_for_the_end),
		cmocka_unit_test(a_bell_interrupts_a_stream_and_its_time_does_not_count),
		cmocka_unit_test(a_time_to_wake_is_kept_and_may_end_the_transfer),
		cmocka_unit_test(redirects_are_not_followed),
		cmocka_unit_test(only_http_urls_are_taken),
		cmocka_unit_test(this_machine_is_no_public_address_by_whatever_name),
		cmocka_unit_test(a_warm_connection_to_a_private_address_is_not_used),
		cmocka_unit_test(a_proxy_is_no_way_around_the_check),
		cmocka_unit_test(header_with_a_line_break_is_refused),
		cmocka_unit_test(refused_connection_was_never_sent),
		cmocka_unit_test(plain_answer_to_a_tls_handshake_is_a_protocol_error),
		cmocka_unit_test(proxy_comes_from_the_options_and_never_from_the_environment),
		cmocka_unit_test(proxy_that_refuses_is_named),
		cmocka_unit_test(handles_are_lent_to_many_threads_at_once),
		cmocka_unit_test(handles_that_nobody_uses_are_closed),
	};

	return cmocka_run_group_tests_name("os/http", tests, NULL, NULL);
}

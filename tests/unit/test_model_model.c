/*
 * The model client against a scripted endpoint: answers, refusals it adapts to, what it
 * retries and what it does not, and that every wait ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "loopback.h"
#include "model/model.h"
#include "model/request.h"
#include "os/clock.h"

#define KEY "hush-hush-key"
#define USER_WIRE "{\"role\":\"user\",\"content\":\"hi\"}"
#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n\n"
#define FINISH "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define SSE_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
#define WHOLE                                                                                  \
	"{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"          \
	"\"Hello\"},"                                                                          \
	"\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}" \
	"}"

struct world {
	struct arena a;
	struct loopback s;
	struct lb_step steps[64];
	size_t steps_n;
	struct http_pool *pool;
	struct cancel token;
	struct model_cfg cfg;
	struct model *m;
	struct model_req req;
	struct model_msg msgs[4];
	struct model_reply r;
	struct model_failure fail;
	struct err e;
	struct buf heard; /* what on_event was told */
	struct model_quirks learnt[16];
	int learnt_n, learn_rc, requests_when_learnt[16];
	bool stopped;
	int64_t listen_ms; /* how long on_event takes */
};

static void on_event(void *arg, enum model_event ev, str piece)
{
	static const char *const signs[] = { "+", "~", "!" };
	struct world *w = arg;

	buf_fmt(&w->heard, "%s%.*s", signs[ev], STRF(piece));
	for (int64_t at = clock_mono_ms(); clock_mono_ms() < at + w->listen_ms;)
		;
}

static int on_learn(void *arg, const struct model_quirks *q, struct err *e)
{
	struct world *w = arg;

	w->requests_when_learnt[w->learnt_n] = w->s.requests;
	w->learnt[w->learnt_n++] = *q;
	return w->learn_rc < 0 ? err_set(e, w->learn_rc, "cannot store") : OK;
}

static void begin(struct world *w)
{
	memset(w, 0, sizeof *w);
	assert_int_equal(cancel_init(&w->token, NULL, 0, NULL), OK);
	assert_int_equal(http_pool_open(&w->pool, &(struct http_opt){ 0 }, NULL), OK);
	w->heard = buf_in(&w->a, 1 << 16);
	w->cfg = (struct model_cfg){ .name = S("m"), .api_key = S(KEY), .total_ms = 20000 };
	w->msgs[0] = (struct model_msg){ S("user"), S(USER_WIRE), S("") };
	w->req = (struct model_req){ .system = S("Be brief."),
				     .msgs = w->msgs,
				     .msgs_n = 1,
				     .stream = true,
				     .on_event = on_event,
				     .on_learn = on_learn,
				     .arg = w };
}

static void step(struct world *w, enum lb_op op, str data)
{
	assert_true(w->steps_n < COUNT(w->steps) - 1);
	w->steps[w->steps_n++] = (struct lb_step){ op, data.p, data.n };
}

/* One request will be answered with the status line, headers and body. */
static void answer(struct world *w, const char *head, const char *body)
{
	step(w, LB_READ, S(""));
	step(w, LB_SEND,
	     arena_fmt(&w->a, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", head,
		       strlen(body), body));
}

static void refuse(struct world *w, const char *message)
{
	answer(w, "400 Bad Request",
	       arena_fmt(&w->a, "{\"error\":{\"message\":\"%s\"}}", message).p);
}

/* A stream of unknown length; what follows is the test's business. */
static void stream(struct world *w, const char *body)
{
	step(w, LB_READ, S(""));
	step(w, LB_SEND, arena_fmt(&w->a, SSE_HEAD "Connection: close\r\n\r\n%s", body));
}

static int run(struct world *w)
{
	step(w, LB_HOLD, S(""));
	lb_start(&w->s, w->steps, &w->token);
	if (!w->cfg.base_url.n)
		w->cfg.base_url = lb_url(&w->s, &w->a, "/v1");
	assert_int_equal(model_open(&w->m, &w->cfg, w->pool, NULL), OK);
	return model_complete(w->m, &w->req, &w->a, &w->r, &w->fail, &w->token, &w->e);
}

static void stop(struct world *w)
{
	lb_stop(&w->s);
	w->stopped = true;
}

static void end(struct world *w)
{
	if (!w->stopped)
		stop(w);
	model_close(w->m);
	http_pool_close(w->pool);
	cancel_done(&w->token);
	lb_free(&w->s);
	arena_free(&w->a);
}

static void assert_text(str got, const char *want)
{
	if (!str_eq(got, str_of(want)))
		fail_msg("got \"%.*s\", not \"%s\"", STRF(got), want);
}

static void assert_has(const char *text, const char *part, bool has)
{
	if (!strstr(text, part) == has)
		fail_msg("\"%s\" is %sin \"%s\"", part, has ? "not " : "", text);
}

static void assert_ok(struct world *w, int rc)
{
	if (rc != OK)
		fail_msg("code %d: %s", rc, w->e.msg);
	assert_int_equal(w->fail.kind, MODEL_OK);
}

static void assert_failed(struct world *w, int rc, int want, enum model_kind kind)
{
	if (rc != want || w->fail.kind != kind)
		fail_msg("code %d kind %s: %s", rc, model_kind_word(w->fail.kind), w->e.msg);
	assert_int_equal(w->e.code, want);
	assert_null(strstr(w->e.msg, KEY));
}

/* ---- answers ------------------------------------------------------------------------ */

static void stream_is_told_piece_by_piece_and_replied_whole(void **state)
{
	struct world w;

	begin(&w);
	answer(&w, "200 OK\r\nContent-Type: text/event-stream",
	       ": wait\n\n" CHUNK("\"role\":\"assistant\",\"content\":\"\"")
		       CHUNK("\"reasoning_content\":\"hm\"") CHUNK("\"content\":\"Hel\"")
			       CHUNK("\"content\":\"lo\"") FINISH
	       "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,"
	       "\"prompt_tokens_details\":{\"cached_tokens\":6,\"cache_write_tokens\":3}}}"
	       "\n\n" DONE);
	assert_ok(&w, run(&w));
	assert_text(w.r.text, "Hello");
	assert_text(w.r.reasoning, "hm");
	assert_text(w.r.wire, "{\"role\":\"assistant\",\"content\":\"Hello\"}");
	assert_text(buf_str(&w.heard), "~hm+Hel+lo");
	assert_int_equal(w.r.finish, MODEL_STOP);
	assert_int_equal(w.r.usage.prompt, 7);
	assert_int_equal(w.r.usage.completion, 2);
	assert_int_equal(w.r.usage.cached, 6);
	assert_int_equal(w.r.usage.written, 3);
	assert_int_equal(w.r.retries, 0);
	assert_true(w.r.first_token_ms >= 0 && w.r.total_ms >= w.r.first_token_ms);
	assert_text(model_issuer(w.m), arena_fmt(&w.a, "%.*s|m", STRF(w.cfg.base_url)).p);
	stop(&w);
	assert_has(w.s.request[0], "POST /v1/chat/completions HTTP/1.1\r\n", true);
	assert_has(w.s.request[0], "\r\nAuthorization: Bearer " KEY "\r\n", true);
	assert_has(w.s.request[0], "\r\nContent-Type: application/json\r\n", true);
	assert_has(w.s.request[0], "\r\nAccept: text/event-stream\r\n", true);
	struct request r;
	assert_int_equal(request_write(&r, &w.a, &w.cfg, model_issuer(w.m), false, &w.req,
				       &w.req.quirks, NULL),
			 OK);
	assert_text(r.body, strstr(w.s.request[0], "\r\n\r\n") + 4);
	end(&w);
}

static void time_to_the_first_token_ends_with_it(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w;

		begin(&w);
		w.listen_ms = 40;
		answer(&w, "200 OK",
		       i ? CHUNK("\"content\":\"Hel\"") CHUNK("\"content\":\"lo\"") FINISH DONE
			 : CHUNK("\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"now\"}"
				 "}]") CHUNK("\"content\":\"lo\"") FINISH DONE);
		assert_ok(&w, run(&w));
		assert_true(w.r.total_ms >= 40);
		if (i)
			assert_true(w.r.first_token_ms <= w.r.total_ms - 40);
		end(&w);
	}
}

static void either_form_is_taken_whatever_was_asked_for(void **state)
{
	for (int stream_asked = 0; stream_asked < 2; stream_asked++)
		for (int stream_sent = 0; stream_sent < 2; stream_sent++) {
			struct world w;

			begin(&w);
			w.req.stream = stream_asked;
			answer(&w, "200 OK",
			       stream_sent ? CHUNK("\"content\":\"Hello\"") FINISH DONE
					   : WHOLE);
			assert_ok(&w, run(&w));
			assert_text(w.r.text, "Hello");
			assert_text(buf_str(&w.heard), "+Hello");
			end(&w);
		}
}

static void stream_in_single_bytes_is_the_same(void **state)
{
	struct world w;

	begin(&w);
	step(&w, LB_READ, S(""));
	step(&w, LB_DRIP,
	     S(SSE_HEAD "Connection: close\r\n\r\n: x\r\n\r\ndata:{\"choices\":[{\"delta\":"
			"{\"content\":\"那个\"}}]}\r\n\r\n" FINISH));
	step(&w, LB_CLOSE, S(""));
	assert_ok(&w, run(&w));
	assert_text(w.r.text, "那个");
	end(&w);
}

static void finished_answer_survives_what_follows(void **state)
{
	for (int i = 0; i < 3; i++) {
		static const enum lb_op then[] = { LB_HOLD, LB_CLOSE, LB_RESET };
		struct world w;

		begin(&w);
		step(&w, LB_READ, S(""));
		step(&w, LB_SEND,
		     arena_fmt(&w.a, SSE_HEAD "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n",
			       strlen(CHUNK("\"content\":\"Hello\"") FINISH DONE),
			       CHUNK("\"content\":\"Hello\"") FINISH DONE));
		step(&w, then[i], S(""));
		assert_ok(&w, run(&w));
		assert_text(w.r.text, "Hello");
		end(&w);
	}
}

static void connection_stays_warm_between_rounds(void **state)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 3; i++)
		answer(&w, "200 OK", CHUNK("\"content\":\"Hello\"") FINISH DONE);
	assert_ok(&w, run(&w));
	for (int i = 0; i < 2; i++)
		assert_ok(&w, model_complete(w.m, &w.req, &w.a, &w.r, &w.fail, &w.token, &w.e));
	assert_int_equal(w.s.connections, 1);
	end(&w);
}

static void keyless_endpoint_gets_no_authorization(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w;

		begin(&w);
		w.cfg.no_key = i == 0;
		if (i == 1)
			w.cfg.api_key = S("");
		answer(&w, "200 OK", WHOLE);
		assert_ok(&w, run(&w));
		stop(&w);
		assert_null(strcasestr(w.s.request[0], "authorization"));
		end(&w);
	}
}

static void base_url_may_end_as_people_write_it(void **state)
{
	static const struct {
		const char *base, *path;
	} rows[] = {
		{ "", "/chat/completions" },
		{ "/", "/chat/completions" },
		{ "/v1//", "/v1/chat/completions" },
		{ "/v1/chat/completions", "/v1/chat/completions" },
		{ "/v1/chat/completions/", "/v1/chat/completions" },
		{ "/d?api-version=1", "/d/chat/completions?api-version=1" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		struct model *m;
		str line = { 0 };

		begin(&w);
		answer(&w, "200 OK", WHOLE);
		step(&w, LB_HOLD, S(""));
		lb_start(&w.s, w.steps, NULL);
		w.cfg.base_url = lb_url(&w.s, &w.a, rows[i].base);
		assert_int_equal(model_open(&m, &w.cfg, w.pool, NULL), OK);
		assert_ok(&w, model_complete(m, &w.req, &w.a, &w.r, &w.fail, &w.token, &w.e));
		model_close(m);
		stop(&w);
		line = arena_fmt(&w.a, "POST %s HTTP/1.1\r\n", rows[i].path);
		assert_has(w.s.request[0], line.p, true);
		end(&w);
	}
}

/* ---- adapting ----------------------------------------------------------------------- */

static void refused_parameters_are_adapted_one_after_the_other(void **state)
{
	struct world w;

	begin(&w);
	w.cfg.max_tokens = 256;
	w.cfg.has_temperature = true;
	w.cfg.temperature = 0.7;
	answer(&w, "400 Bad Request",
	       "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support "
	       "0.7 with "
	       "this model. Only the default (1) value is supported.\",\"type\":"
	       "\"invalid_request_error\",\"param\":\"temperature\",\"code\":\"unsupported_"
	       "value\"}}");
	answer(&w, "400 Bad Request",
	       "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported "
	       "with "
	       "this model. Use 'max_completion_tokens' instead.\",\"type\":"
	       "\"invalid_request_error\",\"param\":\"max_tokens\",\"code\":"
	       "\"unsupported_parameter\"}}");
	answer(&w, "200 OK", WHOLE);
	assert_ok(&w, run(&w));
	assert_text(w.r.text, "Hello");
	assert_int_equal(w.learnt_n, 2);
	assert_int_equal(w.learnt[0].flags, QUIRK_NO_TEMPERATURE);
	assert_int_equal(w.learnt[1].flags, QUIRK_NO_TEMPERATURE | QUIRK_MAX_COMPLETION);
	assert_int_equal(w.requests_when_learnt[0], 1); /* stored before it is used */
	assert_int_equal(w.requests_when_learnt[1], 2);
	assert_int_equal(w.r.quirks.flags, w.learnt[1].flags);
	assert_int_equal(w.r.retries, 0);
	stop(&w);
	assert_int_equal(w.s.requests, 3);
	assert_has(w.s.request[0], "\"temperature\":0.7", true);
	assert_has(w.s.request[1], "\"temperature\"", false);
	assert_has(w.s.request[1], "\"max_tokens\":256", true);
	assert_has(w.s.request[2], "\"max_completion_tokens\":256", true);
	assert_has(w.s.request[2], "\"max_tokens\"", false);
	end(&w);
}

static void known_quirks_are_used_from_the_start(void **state)
{
	struct world w;

	begin(&w);
	w.cfg.has_temperature = true;
	w.req.quirks.flags = QUIRK_NO_TEMPERATURE | QUIRK_NO_STREAM;
	w.req.quirks.context_window = 8192;
	answer(&w, "200 OK", WHOLE);
	assert_ok(&w, run(&w));
	assert_int_equal(w.learnt_n, 0);
	assert_int_equal(w.r.quirks.flags, w.req.quirks.flags);
	assert_int_equal(w.r.quirks.context_window, 8192);
	stop(&w);
	assert_has(w.s.request[0], "temperature", false);
	assert_has(w.s.request[0], "\"stream\"", false);
	end(&w);
}

static void nothing_is_sent_when_a_lesson_cannot_be_stored(void **state)
{
	struct world w;
	int rc;

	begin(&w);
	w.cfg.has_temperature = true;
	w.learn_rc = E_FULL;
	refuse(&w, "temperature is not supported");
	answer(&w, "200 OK", WHOLE);
	rc = run(&w);
	assert_int_equal(rc, E_FULL);
	assert_string_equal(w.e.msg, "cannot store");
	assert_int_equal(w.s.requests, 1);
	end(&w);
}

static void adapting_comes_to_an_end(void **state)
{
	static const char *const words[] = {
		"temperature is not supported",
		"max_tokens is not supported, use max_completion_tokens",
		"max_completion_tokens is not supported",
		"stream_options is not supported",
		"reasoning_effort is not supported",
		"stream is not supported",
		"this model does not support tools",
		"System role not supported",
	};
	struct model_tool tool = { S("now"), S(""), S("") };
	struct world w;
	int rc;

	begin(&w);
	w.cfg.has_temperature = true;
	w.cfg.max_tokens = 9;
	w.cfg.reasoning_effort = S("low");
	w.cfg.max_retries = 3;
	w.req.tools = &tool;
	w.req.tools_n = 1;
	for (size_t i = 0; i < COUNT(words); i++)
		refuse(&w, words[i]);
	rc = run(&w);
	assert_failed(&w, rc, E_INVAL, MODEL_BAD_REQUEST);
	assert_has(w.e.msg, "bad_request (400): this model does not support tools", true);
	assert_int_equal(w.s.requests, 7);
	end(&w);
}

static void opaque_fields_go_back_to_their_issuer_until_it_refuses(void **state)
{
	struct world w;

	begin(&w);
	answer(&w, "200 OK",
	       CHUNK("\"reasoning_content\":\"plan\"") CHUNK(
		       "\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":"
		       "\"now\",\"arguments\":\"\"},\"extra_content\":{\"google\":"
		       "{\"thought_signature\":\"c2ln\"}}}]") FINISH DONE);
	refuse(&w, "Unrecognized request argument");
	answer(&w, "200 OK", WHOLE);
	assert_ok(&w, run(&w));
	assert_int_equal(w.r.calls_n, 1);
	assert_int_equal(w.r.finish, MODEL_TOOLS);
	w.msgs[1] = (struct model_msg){ S("assistant"), w.r.wire, model_issuer(w.m) };
	w.msgs[2] = (struct model_msg){ S("tool"), model_tool_wire(&w.a, S("c1"), S("12:00")),
					S("") };
	w.req.msgs_n = 3;
	assert_ok(&w, model_complete(w.m, &w.req, &w.a, &w.r, &w.fail, &w.token, &w.e));
	assert_int_equal(w.r.quirks.flags, QUIRK_NO_OPAQUE);
	stop(&w);
	assert_has(w.s.request[1], "\"thought_signature\":\"c2ln\"", true);
	assert_has(w.s.request[1], "\"reasoning_content\":\"plan\"", true);
	assert_has(w.s.request[2], "c2ln", false);
	assert_has(w.s.request[2], "plan", false);
	assert_has(w.s.request[2], "\"arguments\":\"{}\"", true);
	end(&w);
}

static void content_of_a_mere_call_takes_the_shape_that_is_taken(void **state)
{
	static const struct {
		const char *refusal;
		const char *sent; /* in the request that is answered */
		int requests;
	} rows[] = {
		{ "invalid message content type: <nil>", "\"content\":\"\"", 2 },
		{ "messages.1.content: Field required", "\"content\":\"\"", 2 },
		{ "content: String should have at least 1 character", "\"content\":null", 3 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct model_call call = { S("c1"), S("now"), S("{}") };
		struct world w;

		begin(&w);
		w.msgs[1] =
			(struct model_msg){ S("assistant"),
					    model_calls_wire(&w.a, S(""), &call, 1), S("") };
		w.msgs[2] = (struct model_msg){ S("tool"),
						model_tool_wire(&w.a, S("c1"), S("x")), S("") };
		w.req.msgs_n = 3;
		for (int k = 1; k < rows[i].requests; k++)
			refuse(&w, rows[i].refusal);
		answer(&w, "200 OK", WHOLE);
		assert_ok(&w, run(&w));
		stop(&w);
		assert_int_equal(w.s.requests, rows[i].requests);
		assert_has(w.s.request[w.s.requests - 1], rows[i].sent, true);
		end(&w);
	}
}

static void learnt_context_window_is_handed_on(void **state)
{
	struct world w;
	int rc;

	begin(&w);
	w.cfg.max_retries = 3;
	refuse(&w, "This model's maximum context length is 8192 tokens. However, you requested "
		   "9000");
	rc = run(&w);
	assert_failed(&w, rc, E_LIMIT, MODEL_CONTEXT_LENGTH);
	assert_int_equal(w.learnt_n, 1);
	assert_int_equal(w.learnt[0].context_window, 8192);
	assert_int_equal(w.s.requests, 1);
	end(&w);
}

/* ---- failing ------------------------------------------------------------------------ */

static void failures_have_their_kind_and_are_not_repeated_in_vain(void **state)
{
	static const struct {
		const char *head, *body;
		int rc;
		enum model_kind kind;
		int status;
		int64_t retry_after_ms;
		const char *says;
	} rows[] = {
		{ "401 Unauthorized",
		  "{\"error\":{\"message\":\"Incorrect API key provided: " KEY "\"}}", E_DENIED,
		  MODEL_AUTH, 401, 0, "auth (401): Incorrect API key provided: [REDACTED]" },
		{ "400 Bad Request", "{\"error\":\"odd\"}", E_INVAL, MODEL_BAD_REQUEST, 400, 0,
		  "bad_request (400): odd" },
		{ "400 Bad Request\r\nx-should-retry: true", "odd", E_INVAL, MODEL_BAD_REQUEST,
		  400, 0, "odd" },
		{ "404 Not Found", "{\"error\":{\"message\":\"no model m\"}}", E_INVAL,
		  MODEL_BAD_REQUEST, 404, 0, "no model m" },
		{ "302 Found\r\nLocation: http://elsewhere/", "", E_INVAL, MODEL_BAD_REQUEST,
		  302, 0, "302" },
		{ "413 Too Large", "", E_LIMIT, MODEL_CONTEXT_LENGTH, 413, 0, "413" },
		{ "429 Slow\r\nRetry-After: 3600", "{\"error\":\"slow\"}", E_BUSY,
		  MODEL_RATE_LIMIT, 429, 3600000, "rate_limit (429): slow" },
		{ "429 Slow",
		  "[{\"error\":{\"code\":429,\"message\":\"q\",\"details\":[{\"@type\":"
		  "\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"61s\"}]}}]",
		  E_BUSY, MODEL_RATE_LIMIT, 429, 61000, "q" },
		{ "429 Slow",
		  "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}", E_BUSY,
		  MODEL_RATE_LIMIT, 429, 0, "pay" },
		{ "503 Busy\r\nx-should-retry: false", "{\"error\":\"busy\"}", E_PROTO,
		  MODEL_TRANSIENT, 503, 0, "transient (503): busy" },
		{ "503 Busy\r\nRetry-After: 61", "", E_PROTO, MODEL_TRANSIENT, 503, 61000,
		  "503" },
		{ "200 OK\r\nContent-Type: text/html", "<html>welcome</html>", E_INVAL,
		  MODEL_BAD_REQUEST, 0, 0, "base URL" },
		{ "200 OK", "{\"choices\":[]}", E_INVAL, MODEL_BAD_REQUEST, 0, 0,
		  "no choices" },
		{ "200 OK", CHUNK("\"content\":\"Hel\"") "data: {\"error\":{\"code\":401}}\n\n",
		  E_DENIED, MODEL_AUTH, 401, 0, "auth (401)" },
		{ "200 OK",
		  "{\"error\":{\"message\":\"bad\",\"type\":\"invalid_request_error\"}}",
		  E_INVAL, MODEL_BAD_REQUEST, 0, 0, "bad_request: bad" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		int rc;

		begin(&w);
		w.cfg.max_retries = 3;
		answer(&w, rows[i].head, rows[i].body);
		rc = run(&w);
		assert_failed(&w, rc, rows[i].rc, rows[i].kind);
		assert_has(w.e.msg, rows[i].says, true);
		assert_int_equal(w.fail.status, rows[i].status);
		assert_int_equal(w.fail.retry_after_ms, rows[i].retry_after_ms);
		assert_false(w.fail.no_images);
		assert_int_equal(w.s.requests, 1);
		end(&w);
	}
}

static void refused_pictures_are_reported(void **state)
{
	struct world w;
	int rc;

	begin(&w);
	refuse(&w, "unknown variant `image_url`, expected `text`");
	rc = run(&w);
	assert_failed(&w, rc, E_INVAL, MODEL_BAD_REQUEST);
	assert_true(w.fail.no_images);
	assert_int_equal(w.learnt_n, 0);
	end(&w);
}

static void broken_answers_are_transient_and_leave_nothing(void **state)
{
	static const char *const bodies[] = {
		"",
		CHUNK("\"content\":\"Hel\""),
		CHUNK("\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"rm\","
		      "\"arguments\":\"{}\"}}]"),
		CHUNK("\"content\":\"Hel\"") "data: "
					     "{\"error\":{\"code\":502,\"message\":\"gone\"}}"
					     "\n\n" DONE,
		CHUNK("\"content\":\"Hel\"") "data: {\"cho\n\n",
		"{\"choices\":[{\"message\":{\"content\":\"Hel",
	};

	for (size_t i = 0; i < COUNT(bodies); i++) {
		struct world w;
		int rc;

		begin(&w);
		stream(&w, bodies[i]);
		step(&w, LB_CLOSE, S(""));
		rc = run(&w);
		assert_failed(&w, rc, E_PROTO, MODEL_TRANSIENT);
		assert_int_equal(w.r.calls_n, 0);
		assert_int_equal(w.r.wire.n, 0);
		end(&w);
	}
}

static void unreachable_endpoint_is_transient(void **state)
{
	struct world w;
	int rc;

	begin(&w);
	w.cfg.base_url = S("http://127.0.0.1:1/v1");
	rc = run(&w);
	assert_failed(&w, rc, E_IO, MODEL_TRANSIENT);
	assert_has(w.e.msg, "transient: 127.0.0.1 /chat/completions: cannot connect", true);
	end(&w);
}

static void endless_answer_is_cut_off(void **state)
{
	struct world w;
	int rc;

	begin(&w);
	w.cfg.response_max = 100000;
	w.cfg.max_retries = 3;
	stream(&w, "");
	step(&w, LB_FLOOD, S(CHUNK("\"content\":\"and on \"")));
	rc = run(&w);
	assert_failed(&w, rc, E_INVAL, MODEL_BAD_REQUEST);
	assert_has(w.e.msg, "answer over 100000 bytes", true);
	assert_int_equal(w.s.requests, 1);
	end(&w);
}

/* ---- retrying ----------------------------------------------------------------------- */

static void told_waits_are_kept(void **state)
{
	static const char *const heads[] = { "429 Slow\r\nretry-after-ms: 40",
					     "503 Busy\r\nRetry-After: 0.04" };

	for (size_t i = 0; i < COUNT(heads); i++) {
		struct world w;
		int64_t at = clock_mono_ms();

		begin(&w);
		w.cfg.max_retries = 1;
		answer(&w, heads[i], "{\"error\":\"later\"}");
		answer(&w, "200 OK", WHOLE);
		assert_ok(&w, run(&w));
		assert_true(clock_mono_ms() - at >= 40);
		assert_int_equal(w.r.retries, 1);
		assert_text(buf_str(&w.heard), "+Hello"); /* nothing to take back */
		end(&w);
	}
}

static void retries_are_counted_and_then_given_up(void **state)
{
	struct world w;
	int rc;

	begin(&w);
	w.cfg.max_retries = 2;
	for (int i = 0; i < 4; i++)
		answer(&w, "500 No\r\nretry-after-ms: 1", "{\"error\":\"no\"}");
	rc = run(&w);
	assert_failed(&w, rc, E_PROTO, MODEL_TRANSIENT);
	assert_int_equal(w.s.requests, 3);
	end(&w);
}

static void cut_stream_is_asked_for_again_and_its_pieces_taken_back(void **state)
{
	struct world w;

	begin(&w);
	w.cfg.max_retries = 1;
	stream(&w, CHUNK("\"content\":\"Hel\""));
	step(&w, LB_CLOSE, S(""));
	answer(&w, "200 OK", WHOLE);
	assert_ok(&w, run(&w));
	assert_text(w.r.text, "Hello");
	assert_text(buf_str(&w.heard), "+Hel!+Hello");
	end(&w);

	/* What was taken back once is not taken back again. */
	begin(&w);
	w.cfg.max_retries = 2;
	stream(&w, CHUNK("\"content\":\"Hel\""));
	step(&w, LB_CLOSE, S(""));
	answer(&w, "500 No\r\nretry-after-ms: 1", "");
	answer(&w, "200 OK", WHOLE);
	assert_ok(&w, run(&w));
	assert_int_equal(w.r.retries, 2);
	assert_text(buf_str(&w.heard), "+Hel!+Hello");
	end(&w);
}

/* ---- waiting ------------------------------------------------------------------------ */

static void stalled_streams_end_at_their_limits(void **state)
{
	static const struct {
		const char *body;
		enum lb_op then;
		const char *data, *says;
	} rows[] = {
		{ "", LB_HOLD, "", "no answer within 60 ms" },
		{ CHUNK("\"role\":\"assistant\""), LB_HOLD, "", "no answer within 60 ms" },
		{ "", LB_FLOOD, ": still here\n\n", "no answer within 60 ms" },
		{ CHUNK("\"content\":\"Hel\""), LB_HOLD, "", "stalled within 60 ms" },
		{ CHUNK("\"content\":\"Hel\""), LB_FLOOD, ": still here\n\n",
		  "stalled within 60 ms" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world w;
		int rc;

		begin(&w);
		w.cfg.first_token_ms = 60;
		w.cfg.idle_ms = 60;
		w.cfg.response_max = INT64_MAX / 2;
		stream(&w, rows[i].body);
		step(&w, rows[i].then, str_of(rows[i].data));
		rc = run(&w);
		assert_failed(&w, rc, E_TIMEOUT, MODEL_TRANSIENT);
		assert_has(w.e.msg, rows[i].says, true);
		end(&w);
	}
}

static void answer_that_takes_all_the_time_is_not_asked_for_again(void **state)
{
	struct world w;
	int rc;

	begin(&w);
	w.cfg.total_ms = 60;
	w.cfg.response_max = INT64_MAX / 2;
	w.cfg.max_retries = 3;
	stream(&w, "");
	step(&w, LB_FLOOD, S(CHUNK("\"content\":\"and on \"")));
	rc = run(&w);
	assert_failed(&w, rc, E_TIMEOUT, MODEL_TRANSIENT);
	assert_has(w.e.msg, "not complete within 60 ms", true);
	assert_int_equal(w.s.requests, 1);
	end(&w);
}

static void cancel_ends_every_wait(void **state)
{
	for (int i = 0; i < 7; i++) {
		struct world w;
		int64_t at = clock_mono_ms();
		int rc;

		begin(&w);
		w.cfg.max_retries = i < 4 ? 5 : 0;
		if (i % 4 == 0) { /* before a byte */
			step(&w, LB_READ, S(""));
		} else if (i % 4 == 1) { /* before a token */
			stream(&w, ": hm\n\n");
		} else if (i % 4 == 2) { /* in the middle */
			stream(&w, CHUNK("\"content\":\"Hel\""));
		} else { /* while waiting to ask again */
			answer(&w, "429 Slow\r\nRetry-After: 30", "");
		}
		step(&w, LB_FIRE, S(""));
		rc = run(&w);
		assert_failed(&w, rc, E_CANCELED, MODEL_CANCELED);
		assert_true(clock_mono_ms() - at < 5000);
		assert_int_equal(w.s.requests, 1);
		end(&w);
	}
}

static void deadline_of_the_turn_is_no_reason_to_ask_again(void **state)
{
	struct cancel turn;
	struct world w;
	int rc;

	begin(&w);
	assert_int_equal(cancel_init(&turn, NULL, 60, NULL), OK);
	w.token.up = &turn;
	w.cfg.max_retries = 5;
	step(&w, LB_READ, S(""));
	rc = run(&w);
	assert_failed(&w, rc, E_TIMEOUT, MODEL_CANCELED);
	assert_int_equal(w.s.requests, 1);
	end(&w);
	cancel_done(&turn);
}

static void model_needs_a_name_and_a_place(void **state)
{
	struct model_cfg cfg = { .base_url = S("http://x") };
	struct model *m;

	assert_int_equal(model_open(&m, &cfg, NULL, NULL), E_INVAL);
	cfg = (struct model_cfg){ .name = S("m") };
	assert_int_equal(model_open(&m, &cfg, NULL, NULL), E_INVAL);
	model_close(NULL);
	assert_string_equal(model_kind_word(MODEL_CONTEXT_LENGTH), "context_length");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_is_told_piece_by_piece_and_replied_whole),
		cmocka_unit_test(time_to_the_first_token_ends_with_it),
		cmocka_unit_test(either_form_is_taken_whatever_was_asked_for),
		cmocka_unit_test(stream_in_single_bytes_is_the_same),
		cmocka_unit_test(finished_answer_survives_what_follows),
		cmocka_unit_test(connection_stays_warm_between_rounds),
		cmocka_unit_test(keyless_endpoint_gets_no_authorization),
		cmocka_unit_test(base_url_may_end_as_people_write_it),
		cmocka_unit_test(refused_parameters_are_adapted_one_after_the_other),
		cmocka_unit_test(known_quirks_are_used_from_the_start),
		cmocka_unit_test(nothing_is_sent_when_a_lesson_cannot_be_stored),
		cmocka_unit_test(adapting_comes_to_an_end),
		cmocka_unit_test(opaque_fields_go_back_to_their_issuer_until_it_refuses),
		cmocka_unit_test(content_of_a_mere_call_takes_the_shape_that_is_taken),
		cmocka_unit_test(learnt_context_window_is_handed_on),
		cmocka_unit_test(failures_have_their_kind_and_are_not_repeated_in_vain),
		cmocka_unit_test(refused_pictures_are_reported),
		cmocka_unit_test(broken_answers_are_transient_and_leave_nothing),
		cmocka_unit_test(unreachable_endpoint_is_transient),
		cmocka_unit_test(endless_answer_is_cut_off),
		cmocka_unit_test(told_waits_are_kept),
		cmocka_unit_test(retries_are_counted_and_then_given_up),
		cmocka_unit_test(cut_stream_is_asked_for_again_and_its_pieces_taken_back),
		cmocka_unit_test(stalled_streams_end_at_their_limits),
		cmocka_unit_test(answer_that_takes_all_the_time_is_not_asked_for_again),
		cmocka_unit_test(cancel_ends_every_wait),
		cmocka_unit_test(deadline_of_the_turn_is_no_reason_to_ask_again),
		cmocka_unit_test(model_needs_a_name_and_a_place),
	};

	return cmocka_run_group_tests_name("model/model", tests, NULL, NULL);
}

/*
 * One call of the Bot API: what each kind of answer means, that the token is nowhere but in the
 * request, and that a call ends.
 */
#include "chan/telegram_api.h"

#include "os/clock.h"
#include "unit/loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

#define TOKEN "123456:AAxyz-Secret_token"
#define ENCODED "123456%3AAAxyz-Secret_token"

static const struct {
	int status;
	const char *body, *header;
	enum telegram_end want;
	int64_t wait_ms, moved_to;
} answers[] = {
	{ 200, "{\"ok\":true,\"result\":true}", "", TELEGRAM_OK, 0, 0 },
	{ 200, "{\"ok\":true,\"result\":", "", TELEGRAM_UNKNOWN, 0, 0 },
	{ 200, "<html>login</html>", "", TELEGRAM_UNKNOWN, 0, 0 },
	{ 200, "", "", TELEGRAM_UNKNOWN, 0, 0 },
	{ 200, "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: no\"}", "",
	  TELEGRAM_REFUSED, 0, 0 },
	{ 400,
	  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: message is not "
	  "modified: specified new message content\"}",
	  "", TELEGRAM_SAME, 0, 0 },
	{ 400,
	  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: can't parse "
	  "entities: Unsupported start tag \\\"x\\\" at byte offset 0\"}",
	  "", TELEGRAM_MARKUP, 0, 0 },
	{ 400,
	  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: message thread not "
	  "found\"}",
	  "", TELEGRAM_NO_THREAD, 0, 0 },
	{ 400,
	  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: message to be "
	  "replied not found\"}",
	  "", TELEGRAM_NO_REPLY, 0, 0 },
	{ 400,
	  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: group chat was "
	  "upgraded to a supergroup chat\",\"parameters\":{\"migrate_to_chat_id\":"
	  "-1001557912345}}",
	  "", TELEGRAM_MIGRATED, 0, -1001557912345 },
	{ 400,
	  "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: message is too "
	  "long\"}",
	  "", TELEGRAM_REFUSED, 0, 0 },
	{ 400, "nonsense", "", TELEGRAM_REFUSED, 0, 0 },
	{ 403,
	  "{\"ok\":false,\"error_code\":403,\"description\":\"Forbidden: bot was blocked by "
	  "the user\"}",
	  "", TELEGRAM_REFUSED, 0, 0 },
	{ 413, "", "", TELEGRAM_REFUSED, 0, 0 },
	{ 302, "<html>moved</html>", "", TELEGRAM_REFUSED, 0, 0 },
	{ 401, "{\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}", "",
	  TELEGRAM_TOKEN, 0, 0 },
	{ 404, "{\"ok\":false,\"error_code\":404,\"description\":\"Not Found\"}", "",
	  TELEGRAM_TOKEN, 0, 0 },
	{ 409,
	  "{\"ok\":false,\"error_code\":409,\"description\":\"Conflict: terminated by other "
	  "getUpdates request; make sure that only one bot instance is running\"}",
	  "", TELEGRAM_RIVAL, 0, 0 },
	{ 409,
	  "{\"ok\":false,\"error_code\":409,\"description\":\"Conflict: can't use getUpdates "
	  "method while webhook is active; use deleteWebhook to delete the webhook first\"}",
	  "", TELEGRAM_WEBHOOK, 0, 0 },
	{ 429,
	  "{\"ok\":false,\"error_code\":429,\"description\":\"Too Many Requests: retry after "
	  "7\",\"parameters\":{\"retry_after\":7}}",
	  "", TELEGRAM_FLOOD, 7000, 0 },
	{ 429, "{\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":13938}}", "",
	  TELEGRAM_FLOOD, 13938000, 0 },
	{ 429, "slow down", "5", TELEGRAM_FLOOD, 5000, 0 },
	{ 429, "slow down", "", TELEGRAM_FLOOD, 1000, 0 },
	{ 429, "{\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":-3}}", "",
	  TELEGRAM_FLOOD, 1000, 0 },
	{ 500, "{\"ok\":false,\"error_code\":500,\"description\":\"Internal Server Error\"}",
	  "", TELEGRAM_SERVER, 0, 0 },
	{ 502, "<html><h1>Bad Gateway</h1></html>", "", TELEGRAM_SERVER, 0, 0 },
};

static void each_answer_has_its_meaning(void **state)
{
	for (size_t i = 0; i < COUNT(answers); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct telegram_reply r;

		telegram_api_read(&a, S(TOKEN), answers[i].status, str_of(answers[i].body),
				  str_of(answers[i].header), &r);
		if (r.end != answers[i].want || r.retry_after_ms != answers[i].wait_ms ||
		    r.moved_to != answers[i].moved_to)
			fail_msg("case %zu %s: end %d wait %lld", i, answers[i].body, r.end,
				 (long long)r.retry_after_ms);
		assert_int_equal(r.error.n > 0, r.end != TELEGRAM_OK);
	}
}

static void the_token_is_hidden_in_what_a_server_says(void **state)
{
	static const char *const bodies[] = {
		"{\"ok\":false,\"error_code\":500,\"description\":\"at /bot" TOKEN "/x\"}",
		"{\"ok\":false,\"error_code\":500,\"description\":\"at /bot" ENCODED "/x\"}",
		"<h1>/bot" TOKEN "/getUpdates</h1>",
		"<h1>/bot" ENCODED "/getUpdates</h1>",
	};

	for (size_t i = 0; i < COUNT(bodies); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct telegram_reply r;

		telegram_api_read(&a, S(TOKEN), 500, str_of(bodies[i]), S(""), &r);
		assert_true(str_has(r.error, S("/bot[REDACTED]")));
		assert_false(str_has(r.error, S("Secret")));
	}
}

/* --- over a connection ------------------------------------------------------------------ */

struct world {
	struct arena a;
	struct loopback server;
	struct http_pool *pool;
	struct telegram_api api;
};

static void serve(struct world *w, const struct lb_step *steps, struct cancel *token)
{
	*w = (struct world){ 0 };
	lb_start(&w->server, steps, token);
	assert_int_equal(http_pool_open(&w->pool, &(struct http_opt){ 0 }, NULL), OK);
	w->api = (struct telegram_api){ .pool = w->pool,
					.base_url = lb_url(&w->server, &w->a, ""),
					.token = S(TOKEN) };
}

static void done(struct world *w)
{
	lb_stop(&w->server);
	http_pool_close(w->pool);
	lb_free(&w->server);
	arena_free(&w->a);
}

static struct telegram_reply call(struct world *w, const struct telegram_call *call,
				  const struct cancel *c)
{
	struct telegram_reply r;

	telegram_api_call(&w->api, call, &w->a, &r, c);
	assert_false(str_has(r.error, S("Secret")));
	return r;
}

#define OK_ANSWER(body, n)                                                                     \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " #n             \
	"\r\n\r\n" body

static void a_call_is_a_post_of_json_to_the_method(void **state)
{
	static const struct lb_step steps[] = {
		{ LB_READ, NULL, 0 },
		{ LB_SEND, OK_ANSWER("{\"ok\":true,\"result\":{\"message_id\":7}}", 37), 0 },
		{ LB_END, NULL, 0 },
	};
	struct world w;

	serve(&w, steps, NULL);
	struct telegram_reply r = call(
		&w, &(struct telegram_call){ "sendMessage", S("{\"chat_id\":1}"), NULL, 0 },
		NULL);
	assert_int_equal(r.end, TELEGRAM_OK);
	assert_int_equal(json_i64(r.result, "message_id", 0), 7);
	lb_stop(&w.server);
	assert_non_null(
		strstr(w.server.request[0], "POST /bot" TOKEN "/sendMessage HTTP/1.1\r\n"));
	assert_non_null(strstr(w.server.request[0], "Content-Type: application/json\r\n"));
	assert_non_null(strstr(w.server.request[0], "\r\n\r\n{\"chat_id\":1}"));
	http_pool_close(w.pool);
	lb_free(&w.server);
	arena_free(&w.a);
}

static const struct {
	const char *what;
	struct lb_step steps[4];
	enum telegram_end want;
} faults[] = {
	{ "a reset before the answer",
	  { { LB_READ, NULL, 0 }, { LB_RESET, NULL, 0 } },
	  TELEGRAM_UNKNOWN },
	{ "half a body",
	  { { LB_READ, NULL, 0 },
	    { LB_SEND, "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"ok\":tr", 0 },
	    { LB_CLOSE, NULL, 0 } },
	  TELEGRAM_UNKNOWN },
	{ "an answer that is no HTTP",
	  { { LB_READ, NULL, 0 }, { LB_SEND, "nonsense\r\n\r\n", 0 }, { LB_CLOSE, NULL, 0 } },
	  TELEGRAM_UNKNOWN },
	{ "headers and then silence",
	  { { LB_READ, NULL, 0 },
	    { LB_SEND, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0 },
	    { LB_HOLD, NULL, 0 } },
	  TELEGRAM_UNKNOWN },
	{ "a cut JSON of the right length",
	  { { LB_READ, NULL, 0 }, { LB_SEND, OK_ANSWER("{\"ok\":tr", 8), 0 } },
	  TELEGRAM_UNKNOWN },
};

static void a_call_without_a_whole_answer_may_have_been_done(void **state)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		struct world w;

		serve(&w, faults[i].steps, NULL);
		struct telegram_reply r = call(
			&w, &(struct telegram_call){ "sendMessage", S("{}"), NULL, 300 }, NULL);
		if (r.end != faults[i].want || !str_has(r.error, S("/bot***/sendMessage")))
			fail_msg("%s: end %d, %.*s", faults[i].what, r.end, STRF(r.error));
		done(&w);
	}
}

static void a_refused_connection_is_unsent(void **state)
{
	static const struct lb_step steps[] = { { LB_END, NULL, 0 } };
	struct world w;

	serve(&w, steps, NULL);
	lb_stop(&w.server);
	struct telegram_reply r =
		call(&w, &(struct telegram_call){ "sendMessage", S("{}"), NULL, 0 }, NULL);
	assert_int_equal(r.end, TELEGRAM_UNSENT);
	assert_true(str_has(r.error, S("/bot***/sendMessage")));
	http_pool_close(w.pool);
	arena_free(&w.a);
}

static void a_cancel_ends_a_call_that_hangs(void **state)
{
	static const struct lb_step steps[] = {
		{ LB_READ, NULL, 0 },
		{ LB_FIRE, NULL, 0 },
		{ LB_HOLD, NULL, 0 },
		{ LB_END, NULL, 0 },
	};
	SCOPED(cancel_done) struct cancel token;
	struct world w;

	assert_int_equal(cancel_init(&token, NULL, 0, NULL), OK);
	serve(&w, steps, &token);
	struct telegram_reply r =
		call(&w, &(struct telegram_call){ "getUpdates", S("{}"), NULL, 0 }, &token);
	assert_int_equal(r.end, TELEGRAM_UNKNOWN);
	assert_true(r.canceled);
	done(&w);
}

static void a_file_is_fetched_and_its_path_is_not_trusted(void **state)
{
	static const struct lb_step steps[] = {
		{ LB_READ, NULL, 0 },
		{ LB_SEND,
		  "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\nabc",
		  0 },
		{ LB_READ, NULL, 0 },
		{ LB_SEND, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 0 },
		{ LB_END, NULL, 0 },
	};
	static const char *const bad[] = { "",    "/etc/passwd", "../x", "a b",
					   "a?b", "a#b",         "a\nb" };
	struct err e = { 0 };
	struct world w;
	str body;

	serve(&w, steps, NULL);
	assert_int_equal(telegram_api_download(&w.api, S("photos/file_0.jpg"), 100, 2000, &w.a,
					       &body, NULL, &e),
			 OK);
	assert_true(str_eq(body, S("abc")));
	assert_int_equal(
		telegram_api_download(&w.api, S("gone"), 100, 2000, &w.a, &body, NULL, &e),
		E_IO);
	assert_null(strstr(e.msg, "Secret"));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(telegram_api_download(&w.api, str_of(bad[i]), 100, 2000, &w.a,
						       &body, NULL, &e),
				 E_PROTO);
	done(&w);
}

static void a_form_holds_the_parameters_and_the_file(void **state)
{
	static const char want[] =
		"--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n-5\r\n"
		"--B\r\nContent-Disposition: form-data; name=\"caption\"\r\n\r\na \"b\"\r\n"
		"--B\r\nContent-Disposition: form-data; name=\"reply_markup\"\r\n\r\n"
		"{\"x\":[1]}\r\n"
		"--B\r\nContent-Disposition: form-data; name=\"document\"; "
		"filename=\"a_b_.txt\"\r\n"
		"Content-Type: text/plain\r\n\r\nraw\r\nbytes\r\n--B--\r\n";
	SCOPED(arena_free) struct arena a = { 0 };
	const struct telegram_file file = { "document", S("a\"b\n.txt"), S("text/plain"),
					    S("raw\r\nbytes") };
	str out;

	assert_int_equal(telegram_api_form(&a, S("B"),
					   S("{\"chat_id\":-5,\"caption\":\"a \\\"b\\\"\","
					     "\"reply_markup\":{\"x\":[1]}}"),
					   &file, &out, NULL),
			 OK);
	assert_string_equal(out.p, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer_has_its_meaning),
		cmocka_unit_test(the_token_is_hidden_in_what_a_server_says),
		cmocka_unit_test(a_call_is_a_post_of_json_to_the_method),
		cmocka_unit_test(a_call_without_a_whole_answer_may_have_been_done),
		cmocka_unit_test(a_refused_connection_is_unsent),
		cmocka_unit_test(a_cancel_ends_a_call_that_hangs),
		cmocka_unit_test(a_file_is_fetched_and_its_path_is_not_trusted),
		cmocka_unit_test(a_form_holds_the_parameters_and_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A piece becomes a call, and the answer its fate.
 */
#include "chan/telegram_internal.h"

#include "unit/loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define TOKEN "123456:AAxyz-Secret_token"
#define ID "0123456789abcdef0123456789abcdef"
#define SENT "{\"ok\":true,\"result\":{\"message_id\":7}}"
#define BAD(what) "{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: " what "\"}"

struct desk {
	struct arena a;
	struct loopback server;
	struct telegram_cfg cfg;
	struct channel *c;
	char answers[4][600];
	struct lb_step steps[16];
};

/* A server that gives these answers: "STATUS BODY" each. */
static void serve(struct desk *d, const char *const *answers, size_t n)
{
	*d = (struct desk){ 0 };
	for (size_t i = 0; i < n; i++) {
		const char *body = answers[i] + 4;
		(void)snprintf(d->answers[i], sizeof d->answers[i],
			       "HTTP/1.1 %.3s X\r\nContent-Length: %zu\r\n\r\n%s", answers[i],
			       strlen(body), body);
		d->steps[2 * i] = (struct lb_step){ LB_READ, NULL, 0 };
		d->steps[2 * i + 1] = (struct lb_step){ LB_SEND, d->answers[i], 0 };
	}
	lb_start(&d->server, d->steps, NULL);
	d->cfg = (struct telegram_cfg){ .token = S(TOKEN),
					.api_base_url = lb_url(&d->server, &d->a, "/") };
	assert_int_equal(telegram_open(&d->c, &(struct telegram_opt){ .cfg = &d->cfg }, NULL),
			 OK);
}

static void done(struct desk *d)
{
	lb_stop(&d->server);
}

static void over(struct desk *d)
{
	telegram_close(d->c);
	lb_free(&d->server);
	arena_free(&d->a);
}

static struct send_result send_piece(struct desk *d, const struct outbox_row *row,
				     struct piece p)
{
	struct send_result r;

	p.order = p.order ? p.order : 1;
	p.attempts = p.attempts ? p.attempts : 1;
	d->c->send(d->c, row, &p, &d->a, &r, NULL);
	assert_false(str_has(r.error, S("Secret")));
	return r;
}

/* The n-th call: its method, and the JSON of its body. */
static const struct json *sent(struct desk *d, int n, const char *method)
{
	const char *text = d->server.request[n], *body = strstr(text, "\r\n\r\n");
	char line[100];
	struct json *v;

	(void)snprintf(line, sizeof line, "POST /bot" TOKEN "/%s HTTP/1.1\r\n", method);
	if (strncmp(text, line, strlen(line)) != 0)
		fail_msg("not %s: %.60s", method, text);
	assert_int_equal(json_read(&v, &d->a, str_of(body + 4), NULL), OK);
	return v;
}

static const struct outbox_row in_topic = { .address = { "-1001:42", 8 },
					    .kind = { "reply", 5 },
					    .reply_to = { "9", 1 } };
static const struct piece text = { .method = { "send", 4 },
				   .body = { "<b>x</b>", 8 },
				   .plain = { "**x**", 5 } };

static void a_message_goes_to_its_topic_and_says_what_it_answers(void **state)
{
	static const char *const answers[] = { "200 " SENT, "200 " SENT };
	struct desk d;

	serve(&d, answers, 2);
	struct send_result r = send_piece(&d, &in_topic, text);
	struct piece second = text;
	second.order = 2;
	(void)send_piece(&d, &in_topic, second);
	done(&d);
	assert_int_equal(r.end, SEND_OK);
	assert_true(str_eq(r.remote_id, S("7")));
	const struct json *v = sent(&d, 0, "sendMessage");
	assert_int_equal(json_i64(v, "chat_id", 0), -1001);
	assert_int_equal(json_i64(v, "message_thread_id", 0), 42);
	assert_true(str_eq(json_str(v, "text"), S("<b>x</b>")));
	assert_true(str_eq(json_str(v, "parse_mode"), S("HTML")));
	assert_int_equal(json_i64(json_get(v, "reply_parameters"), "message_id", 0), 9);
	assert_true(json_bool(json_get(v, "reply_parameters"), "allow_sending_without_reply",
			      false));
	assert_null(json_get(sent(&d, 1, "sendMessage"), "reply_parameters"));
	over(&d);
}

static const struct {
	const char *method; /* of the piece */
	const char *answer;
	int attempts;
	enum send_end want;
	int64_t least_ms, most_ms;
} fates[] = {
	{ "send", "200 " SENT, 1, SEND_OK, 0, 0 },
	{ "send", "200 {\"ok\":tr", 1, SEND_UNKNOWN, 0, 0 },
	{ "send", "500 oops", 1, SEND_FAULT, 1000, 1000 },
	{ "send", "502 <html>", 1, SEND_FAULT, 1000, 1000 },
	{ "send", "429 {\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":7}}", 1,
	  SEND_RETRY, 7000, 7000 },
	{ "send", "429 {\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":60}}",
	  1, SEND_RETRY, 60000, 60000 },
	{ "send", "429 {\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":61}}",
	  1, SEND_DEAD, 61000, 61000 },
	{ "send",
	  "403 {\"ok\":false,\"error_code\":403,\"description\":\"Forbidden: bot was "
	  "blocked by the user\"}",
	  1, SEND_DEAD, 0, 0 },
	{ "send", "400 " BAD("chat not found"), 1, SEND_DEAD, 0, 0 },
	{ "send", "400 " BAD("message is too long"), 1, SEND_DEAD, 0, 0 },
	{ "send", "401 {\"ok\":false,\"error_code\":401}", 1, SEND_RETRY, 60000, 60000 },
	{ "edit", "200 " SENT, 1, SEND_OK, 0, 0 },
	{ "edit", "200 {\"ok\":true,\"result\":true}", 1, SEND_OK, 0, 0 },
	{ "edit", "400 " BAD("message is not modified: same"), 1, SEND_OK, 0, 0 },
	/* The same edit twice does no harm. */
	{ "edit", "200 {\"ok\":tr", 1, SEND_RETRY, 1, 1000 },
	{ "edit", "200 {\"ok\":tr", 5, SEND_UNKNOWN, 0, 0 },
};

static void each_answer_decides_the_fate_of_its_piece(void **state)
{
	for (size_t i = 0; i < COUNT(fates); i++) {
		struct piece p = { .method = str_of(fates[i].method),
				   .body = S("x"),
				   .plain = S("x"),
				   .remote_id = S("7"),
				   .attempts = fates[i].attempts };
		struct desk d;

		serve(&d, &fates[i].answer, 1);
		struct send_result r = send_piece(&d, &in_topic, p);
		done(&d);
		if (r.end != fates[i].want || r.retry_after_ms < fates[i].least_ms ||
		    r.retry_after_ms > fates[i].most_ms || d.server.requests != 1)
			fail_msg("case %zu %s: end %d, %lld ms, %d calls", i, fates[i].answer,
				 r.end, (long long)r.retry_after_ms, d.server.requests);
		if (r.end == SEND_OK)
			assert_true(str_eq(r.remote_id, S("7")));
		over(&d);
	}
}

static const struct {
	const char *method, *body, *answer; /* refused first */
	const char *then; /* the method of the second call */
	const char *key, *value; /* and a member of it; value NULL: not there */
} seconds[] = {
	{ "send", "<b>x</b>", BAD("can't parse entities: x"), "sendMessage", "text", "**x**" },
	{ "send", "<b>x</b>", BAD("can't parse entities: x"), "sendMessage", "parse_mode",
	  NULL },
	{ "send", "<b>x</b>", BAD("message thread not found"), "sendMessage",
	  "message_thread_id", NULL },
	{ "send", "<b>x</b>", BAD("message to be replied not found"), "sendMessage",
	  "reply_parameters", NULL },
	{ "edit", "<b>x</b>", BAD("can't parse entities: x"), "editMessageText", "text",
	  "**x**" },
	{ "edit", "<b>x</b>", BAD("message to edit not found"), "sendMessage", "text",
	  "<b>x</b>" },
	{ "photo", "https://e.x/a.png\n<b>x</b>",
	  BAD("wrong file identifier/HTTP URL specified"), "sendMessage", "text",
	  "<b>x</b>\nhttps://e.x/a.png" },
	{ "photo", "https://e.x/a.png?a=1&b\n", BAD("failed to get HTTP URL content"),
	  "sendMessage", "text", "https://e.x/a.png?a=1&amp;b" },
	{ "photo", "https://e.x/a.png\n<b>x</b>", BAD("can't parse entities: x"), "sendPhoto",
	  "caption", "**x**" },
};

static void what_is_refused_for_its_form_goes_once_more_in_another(void **state)
{
	for (size_t i = 0; i < COUNT(seconds); i++) {
		struct piece p = { .method = str_of(seconds[i].method),
				   .body = str_of(seconds[i].body),
				   .plain = S("**x**"),
				   .remote_id = S("7") };
		char first[300];
		struct desk d;

		(void)snprintf(first, sizeof first, "400 %s", seconds[i].answer);
		serve(&d, (const char *const[]){ first, "200 " SENT }, 2);
		struct send_result r = send_piece(&d, &in_topic, p);
		done(&d);
		assert_int_equal(r.end, SEND_OK);
		assert_int_equal(d.server.requests, 2);
		const struct json *v = json_get(sent(&d, 1, seconds[i].then), seconds[i].key);
		if (!seconds[i].value ? v != NULL
				      : !str_eq(json_text(v), str_of(seconds[i].value)))
			fail_msg("case %zu: %s is \"%.*s\"", i, seconds[i].key,
				 STRF(json_text(v)));
		over(&d);
	}
}

static void a_form_is_tried_once_only(void **state)
{
	static const char *const answers[] = { "400 " BAD("can't parse entities: x"),
					       "400 " BAD("can't parse entities: x") };
	struct desk d;

	serve(&d, answers, 2);
	assert_int_equal(send_piece(&d, &in_topic, text).end, SEND_DEAD);
	done(&d);
	over(&d);
}

static void a_group_that_moved_is_followed(void **state)
{
	static const char *const answers[] = {
		"400 {\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: group "
		"chat was "
		"upgraded to a supergroup chat\",\"parameters\":{\"migrate_to_chat_id\":"
		"-1001557912345}}"
	};
	struct desk d;

	serve(&d, answers, 1);
	struct send_result r = send_piece(&d, &in_topic, text);
	done(&d);
	assert_int_equal(r.end, SEND_RETRY);
	assert_true(str_eq(r.moved_to, S("-1001557912345:42")));
	over(&d);
}

static void a_chat_that_must_wait_is_left_alone_and_others_are_not(void **state)
{
	static const char *const answers[] = {
		"429 {\"ok\":false,\"error_code\":429,\"parameters\":{\"retry_after\":30}}",
		"200 " SENT
	};
	static const struct outbox_row other = { .address = { "111", 3 } };
	struct desk d;

	serve(&d, answers, 2);
	assert_int_equal(send_piece(&d, &in_topic, text).end, SEND_RETRY);
	struct send_result r = send_piece(&d, &in_topic, text);
	assert_int_equal(r.end, SEND_RETRY);
	assert_in_range(r.retry_after_ms, 20000, 30000);
	assert_int_equal(d.server.requests, 1);
	assert_int_equal(send_piece(&d, &other, text).end, SEND_OK);
	done(&d);
	over(&d);
}

static void nothing_listens_and_the_piece_waits_longer_each_time(void **state)
{
	struct desk d;

	serve(&d, NULL, 0);
	done(&d);
	for (int i = 1; i < 10; i++) {
		struct piece p = text;
		p.attempts = i;
		struct send_result r = send_piece(&d, &in_topic, p);
		int64_t full = i < 7 ? 1000 << (i - 1) : 60000;
		assert_int_equal(r.end, SEND_RETRY);
		assert_in_range(r.retry_after_ms, (full > 60000 ? 60000 : full) / 2, full);
	}
	over(&d);
}

static void a_question_carries_its_buttons_and_a_file_goes_as_a_form(void **state)
{
	static const char *const answers[] = { "200 " SENT, "200 " SENT };
	static const struct outbox_row ask = { .address = { "111", 3 },
					       .kind = { "approval", 8 },
					       .approval_id = { ID, 32 } };
	struct desk d;

	serve(&d, answers, 2);
	assert_int_equal(send_piece(&d, &ask,
				    (struct piece){ .method = S("document"),
						    .body = S("all of it"),
						    .plain = S("caption") })
				 .end,
			 SEND_OK);
	struct piece p = text;
	p.order = 2;
	assert_int_equal(send_piece(&d, &ask, p).end, SEND_OK);
	done(&d);
	assert_non_null(strstr(d.server.request[0], "/sendDocument HTTP/1.1\r\n"));
	assert_non_null(strstr(d.server.request[0], "multipart/form-data; boundary="));
	assert_non_null(strstr(d.server.request[0], "all of it"));
	const struct json *v = sent(&d, 1, "sendMessage");
	assert_int_equal(json_get(json_get(v, "reply_markup"), "inline_keyboard")->n, 2);
	over(&d);
}

static void an_address_that_is_no_chat_is_dead(void **state)
{
	static const struct outbox_row bad = { .address = { "local", 5 } };
	struct desk d;

	serve(&d, NULL, 0);
	assert_int_equal(send_piece(&d, &bad, text).end, SEND_DEAD);
	done(&d);
	over(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_goes_to_its_topic_and_says_what_it_answers),
		cmocka_unit_test(each_answer_decides_the_fate_of_its_piece),
		cmocka_unit_test(what_is_refused_for_its_form_goes_once_more_in_another),
		cmocka_unit_test(a_form_is_tried_once_only),
		cmocka_unit_test(a_group_that_moved_is_followed),
		cmocka_unit_test(a_chat_that_must_wait_is_left_alone_and_others_are_not),
		cmocka_unit_test(nothing_listens_and_the_piece_waits_longer_each_time),
		cmocka_unit_test(a_question_carries_its_buttons_and_a_file_goes_as_a_form),
		cmocka_unit_test(an_address_that_is_no_chat_is_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The poll: who we are, what is asked for, and what a fault costs.
 */
#include "store_world.h"

#include "chan/telegram_internal.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/wait.h"
#include "unit/loopback.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define TOKEN "1:token-token"
#define ME "200 {\"ok\":true,\"result\":{\"id\":4242,\"is_bot\":true,\"username\":\"mybot\"}}"
#define YES "200 {\"ok\":true,\"result\":true}"
#define NONE "200 {\"ok\":true,\"result\":[]}"
#define ONE                                                                                    \
	"200 "                                                                                 \
	"{\"ok\":true,\"result\":[{\"update_id\":9,\"message\":{\"message_id\":1,\"date\":1,"  \
	"\"from\":{\"id\":111,\"is_bot\":false},\"chat\":{\"id\":111,\"type\":\"private\"},"   \
	"\"text\":\"hi\"}}]}"
#define RIVAL                                                                                  \
	"409 {\"ok\":false,\"error_code\":409,\"description\":\"Conflict: terminated by "      \
	"other "                                                                               \
	"getUpdates request\"}"
#define HOOKED                                                                                 \
	"409 {\"ok\":false,\"error_code\":409,\"description\":\"Conflict: can't use "          \
	"getUpdates "                                                                          \
	"method while webhook is active\"}"
#define HOOK "200 {\"ok\":true,\"result\":{\"url\":\"https://h.example/secret/path\"}}"

struct line {
	struct world *w;
	struct telegram_cfg cfg;
	struct loopback server;
	struct lb_step steps[40];
	char answers[12][400];
	struct channel *c;
	_Atomic int polls, fatal;
	struct bell polled;
};

static const int64_t allowed[] = { 111 };

static void on_row(void *arg)
{
}

static void on_control(void *arg, enum control what, str channel, str address, str turn_id)
{
}

static bool command(void *arg, str channel, str address, str sender, str text, struct arena *a,
		    str *reply, const struct cancel *c)
{
	(void)c;
	return false;
}

static int control(str text, struct arena *a, enum control *what)
{
	return E_NOENT;
}

static void on_poll(void *arg)
{
	struct line *l = arg;

	atomic_fetch_add(&l->polls, 1);
	bell_ring(&l->polled);
}

static void on_fatal(void *arg, int code)
{
	struct line *l = arg;

	atomic_store(&l->fatal, code);
	bell_ring(&l->polled);
}

/* Start a channel before a server that gives these answers, and then none. */
static void start(struct line *l, void **state, const char *const *answers, size_t n)
{
	static const struct telegram_command menu[] = { { S("help"), S("this list") } };
	const struct chan_up up = { .arg = l,
				    .on_inbox = on_row,
				    .on_outbox = on_row,
				    .on_control = on_control,
				    .command = command,
				    .control = control,
				    .on_poll = on_poll,
				    .on_fatal = on_fatal };

	*l = (struct line){ .w = *state };
	ok(l->w, bell_init(&l->polled, &l->w->e));
	for (size_t i = 0; i < n; i++) {
		const char *body = answers[i] + 4;
		(void)snprintf(l->answers[i], sizeof l->answers[i],
			       "HTTP/1.1 %.3s X\r\nContent-Length: %zu\r\n\r\n%s", answers[i],
			       strlen(body), body);
		l->steps[2 * i] = (struct lb_step){ LB_READ, NULL, 0 };
		l->steps[2 * i + 1] = (struct lb_step){ LB_SEND, l->answers[i], 0 };
	}
	l->steps[2 * n] = (struct lb_step){ LB_READ, NULL, 0 };
	l->steps[2 * n + 1] = (struct lb_step){ LB_RING, NULL, 0 };
	l->steps[2 * n + 2] = (struct lb_step){ LB_HOLD, NULL, 0 };
	lb_start(&l->server, l->steps, NULL);
	l->cfg = (struct telegram_cfg){ .token = S(TOKEN),
					.api_base_url = lb_url(&l->server, &l->w->a, ""),
					.allow_from = { allowed, 1 } };
	const struct telegram_opt opt = { .cfg = &l->cfg,
					  .store = l->w->s,
					  .input_max = 65536,
					  .commands = menu,
					  .commands_n = 1 };
	ok(l->w, telegram_open(&l->c, &opt, &l->w->e));
	ok(l->w, l->c->start(l->c, l->w->s, &up, NULL, &l->w->e));
}

static void stop(struct line *l)
{
	l->c->stop(l->c);
	lb_stop(&l->server);
	telegram_close(l->c);
	bell_done(&l->polled);
}

static bool asked(struct line *l, int n, const char *method, const char *with)
{
	char line[100];

	(void)snprintf(line, sizeof line, "POST /bot" TOKEN "/%s HTTP/1.1\r\n", method);
	return n < l->server.requests &&
	       strncmp(l->server.request[n], line, strlen(line)) == 0 &&
	       strstr(l->server.request[n], with);
}

static void it_says_who_it_is_then_polls_and_confirms_what_it_kept(void **state)
{
	static const char *const answers[] = { ME, YES, ONE };
	struct line l;

	start(&l, state, answers, 3);
	lb_wait(&l.server);
	stop(&l);
	assert_true(asked(&l, 0, "getMe", "{}"));
	assert_true(
		asked(&l, 1, "setMyCommands",
		      "{\"commands\":[{\"command\":\"help\",\"description\":\"this list\"}]}"));
	assert_true(asked(&l, 2, "getUpdates", "\"timeout\":0"));
	assert_true(asked(&l, 2, "getUpdates",
			  "\"allowed_updates\":[\"message\",\"callback_query\"]"));
	assert_null(strstr(l.server.request[2], "offset"));
	assert_true(asked(&l, 3, "getUpdates", "\"offset\":10,\"timeout\":30"));
	assert_true(str_eq(world_text(l.w, "SELECT text FROM inbox"), S("hi")));
	assert_int_equal(atomic_load(&l.polls), 1);
	lb_free(&l.server);
}

static void the_place_is_kept_per_server_and_bot(void **state)
{
	static const char *const answers[] = { ME, YES, ONE };
	struct line l;

	start(&l, state, answers, 3);
	lb_wait(&l.server);
	stop(&l);
	lb_free(&l.server);
	/* The same bot on another server begins anew. */
	start(&l, state, answers, 2);
	lb_wait(&l.server);
	stop(&l);
	assert_null(strstr(l.server.request[2], "offset"));
	lb_free(&l.server);
}

static void a_token_nobody_knows_ends_the_daemon(void **state)
{
	static const char *const answers[] = {
		"401 {\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}"
	};
	struct line l;

	start(&l, state, answers, 1);
	assert_int_equal(wait_fd(l.polled.fd, POLLIN, clock_mono_ms() + 10000, NULL, NULL), OK);
	assert_int_equal(atomic_load(&l.fatal), E_DENIED);
	stop(&l);
	assert_int_equal(l.server.requests, 1);
	lb_free(&l.server);
}

static void faults_are_waited_out_and_nothing_is_lost(void **state)
{
	static const char *const answers[] = { "502 <html>",
					       ME,
					       "500 x",
					       RIVAL,
					       "200 {\"ok\":tr",
					       "200 {\"ok\":true,\"result\":{}}",
					       ONE };
	struct line l;

	start(&l, state, answers, 7);
	lb_wait(&l.server);
	stop(&l);
	assert_int_equal(atomic_load(&l.fatal), 0);
	assert_true(asked(&l, 1, "getMe", ""));
	assert_true(asked(&l, 2, "setMyCommands", ""));
	for (int i = 3; i < 7; i++)
		assert_true(asked(&l, i, "getUpdates", "\"timeout\":0"));
	assert_true(asked(&l, 7, "getUpdates", "\"offset\":10"));
	assert_int_equal(atomic_load(&l.polls), 1);
	lb_free(&l.server);
}

static void a_webhook_is_removed_once_and_nothing_dropped(void **state)
{
	static const char *const answers[] = { ME, YES, HOOKED, HOOK, YES, NONE, HOOKED };
	struct line l;

	start(&l, state, answers, 7);
	lb_wait(&l.server);
	stop(&l);
	assert_true(asked(&l, 3, "getWebhookInfo", ""));
	assert_true(asked(&l, 4, "deleteWebhook", "{\"drop_pending_updates\":false}"));
	assert_true(asked(&l, 5, "getUpdates", ""));
	assert_true(asked(&l, 6, "getUpdates", ""));
	assert_true(asked(&l, 7, "getUpdates", ""));
	lb_free(&l.server);
}

static void a_poll_that_hangs_is_left_at_once_when_asked(void **state)
{
	static const char *const answers[] = { ME, YES };
	struct line l;
	int64_t before;

	start(&l, state, answers, 2);
	lb_wait(&l.server);
	before = clock_mono_ms();
	l.c->stop(l.c);
	assert_true(clock_mono_ms() - before < 5000);
	stop(&l);
	lb_free(&l.server);
}

static void nothing_more_is_fetched_while_too_much_waits(void **state)
{
	static const char *const answers[] = { ME, YES };
	struct line l;

	(void)world_add(*state, "1", "x");
	world_sql(*state, "INSERT INTO inbox (session_id, channel, address, kind, text, "
			  "created_at_ms) WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL "
			  "SELECT n + 1 FROM c WHERE n < 20000) SELECT session_id, channel, "
			  "address, kind, text, n FROM inbox, c");
	start(&l, state, answers, COUNT(answers));
	while (l.server.requests < 2)
		assert_int_equal(wait_ms(5, NULL, NULL), OK);
	/* It would ask at once. */
	assert_int_equal(wait_fd(l.server.ring_fd, POLLIN, clock_mono_ms() + 300, NULL, NULL),
			 E_TIMEOUT);
	assert_int_equal(l.server.requests, 2);
	world_sql(*state, "UPDATE inbox SET state = 'done' WHERE id = 1");
	lb_wait(&l.server);
	stop(&l);
	assert_true(asked(&l, 2, "getUpdates", ""));
	lb_free(&l.server);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(it_says_who_it_is_then_polls_and_confirms_what_it_kept),
		T(the_place_is_kept_per_server_and_bot),
		T(a_token_nobody_knows_ends_the_daemon),
		T(faults_are_waited_out_and_nothing_is_lost),
		T(a_webhook_is_removed_once_and_nothing_dropped),
		T(a_poll_that_hangs_is_left_at_once_when_asked),
		T(nothing_more_is_fetched_while_too_much_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

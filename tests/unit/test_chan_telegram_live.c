/*
 * What a chat sees while a turn works: the first message and its reservation, edits, typing,
 * and that nothing of a turn is on its way when its answer goes out.
 */
#include "store_world.h"

#include "chan/telegram_internal.h"
#include "os/clock.h"
#include "unit/loopback.h"

#include <stdio.h>
#include <string.h>

#define SENT(id) "{\"ok\":true,\"result\":{\"message_id\":" #id "}}"
#define YES "{\"ok\":true,\"result\":true}"

struct stage {
	struct world *w;
	struct telegram_cfg cfg;
	struct loopback server;
	struct lb_step steps[24];
	char answers[8][200];
	struct channel *c;
	struct telegram *t;
	struct turn turn;
};

/* A turn that runs, and a server that gives these answers and rings after each. */
static void open_stage(struct stage *s, void **state, const char *const *bodies, size_t n)
{
	struct world *w = *state;
	struct inbox_new row = { .channel = S(TELEGRAM_CHANNEL),
				 .address = S("111"),
				 .kind = S("message"),
				 .text = S("go") };
	struct tx tx = world_begin(w);
	int64_t id;

	*s = (struct stage){ .w = w };
	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	s->turn = world_claim(w);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(s->answers[i], sizeof s->answers[i],
			       "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
			       strlen(bodies[i]), bodies[i]);
		s->steps[3 * i] = (struct lb_step){ LB_READ, NULL, 0 };
		s->steps[3 * i + 1] = (struct lb_step){ LB_SEND, s->answers[i], 0 };
		s->steps[3 * i + 2] = (struct lb_step){ LB_RING, NULL, 0 };
	}
	lb_start(&s->server, s->steps, NULL);
	s->cfg = (struct telegram_cfg){ .token = S("1:token-token"),
					.api_base_url = lb_url(&s->server, &w->a, "") };
	const struct telegram_opt opt = { .cfg = &s->cfg, .store = w->s, .stream = true };
	ok(w, telegram_open(&s->c, &opt, &w->e));
	s->t = (struct telegram *)s->c;
	ok(w, cancel_init(&s->t->stop, NULL, 0, &w->e));
	ok(w, telegram_live_start(s->t, &w->e));
}

static void close_stage(struct stage *s)
{
	cancel_fire(&s->t->stop, CANCEL_SHUTDOWN);
	telegram_live_stop(s->t);
	cancel_done(&s->t->stop);
	lb_stop(&s->server);
}

static void free_stage(struct stage *s)
{
	telegram_close(s->c);
	lb_free(&s->server);
}

static void live(struct stage *s, enum live_kind kind, const char *text)
{
	s->c->live(s->c, s->turn.id, S("111"), kind, str_of(text));
}

static bool called(struct stage *s, int n, const char *method, const char *with)
{
	char line[64];

	(void)snprintf(line, sizeof line, "/%s HTTP/1.1\r\n", method);
	return n < s->server.requests && strstr(s->server.request[n], line) &&
	       strstr(s->server.request[n], with);
}

static void the_first_message_is_reserved_for_the_answer(void **state)
{
	static const char *const answers[] = { YES, SENT(77) };
	struct stage s;

	open_stage(&s, state, answers, 2);
	live(&s, LIVE_START, "");
	lb_wait(&s.server);
	live(&s, LIVE_TRACE, "✓ srv__echo");
	lb_wait(&s.server);
	telegram_live_end(s.t, s.turn.id, NULL);
	assert_true(str_eq(world_text(s.w, "SELECT state || ' ' || live_id FROM outbox"),
			   S("reserved 77")));
	assert_true(telegram_live_shows(s.t, 111, 77, S("<i>✓ srv__echo</i>")));
	assert_false(telegram_live_shows(s.t, 111, 77, S("other")));
	close_stage(&s);
	assert_true(called(&s, 0, "sendChatAction", "\"action\":\"typing\""));
	assert_true(called(&s, 1, "sendMessage", "<i>✓ srv__echo</i>"));
	free_stage(&s);
}

static void a_turn_begun_by_an_earlier_process_goes_on_in_its_message(void **state)
{
	static const char *const answers[] = { YES, SENT(66) };
	struct stage s;
	struct tx tx;

	open_stage(&s, state, answers, 2);
	tx = world_begin(s.w);
	ok(s.w, store_outbox_reserve(&tx, CHANNEL, S("111"), s.turn.id, s.turn.session.id,
				     S("66"), &s.w->e));
	world_commit(s.w, &tx);
	live(&s, LIVE_START, "");
	lb_wait(&s.server);
	live(&s, LIVE_TEXT, "**a**");
	lb_wait(&s.server);
	telegram_live_end(s.t, s.turn.id, NULL);
	close_stage(&s);
	assert_true(called(&s, 1, "editMessageText", "\"message_id\":66"));
	assert_true(called(&s, 1, "editMessageText", "<b>a</b>"));
	free_stage(&s);
}

static void a_first_message_that_comes_too_late_is_taken_back(void **state)
{
	static const char *const answers[] = { YES, SENT(77), YES };
	struct stage s;

	open_stage(&s, state, answers, 3);
	live(&s, LIVE_START, "");
	lb_wait(&s.server);
	/* The turn is over, with an answer that is on its way. */
	world_finish(s.w, &s.turn);
	world_sql(s.w,
		  "INSERT INTO outbox (session_id, turn_id, channel, address, kind, text, "
		  "state, created_at_ms) SELECT session_id, id, 'telegram', '111', 'reply', "
		  "'x', 'done', 1 FROM turns");
	live(&s, LIVE_TEXT, "late");
	lb_wait(&s.server);
	lb_wait(&s.server);
	close_stage(&s);
	assert_true(called(&s, 2, "deleteMessage", "\"message_id\":77"));
	free_stage(&s);
}

static void nothing_is_shown_of_a_turn_that_ended(void **state)
{
	static const char *const answers[] = { YES };
	struct stage s;

	open_stage(&s, state, answers, 1);
	live(&s, LIVE_START, "");
	lb_wait(&s.server);
	live(&s, LIVE_STOP, "");
	live(&s, LIVE_TEXT, "too late");
	live(&s, LIVE_TRACE, "too late");
	telegram_live_end(s.t, s.turn.id, NULL);
	close_stage(&s);
	assert_int_equal(s.server.requests, 1);
	free_stage(&s);
}

static void a_press_is_answered(void **state)
{
	static const char *const answers[] = { YES };
	struct stage s;
	struct telegram_event ev = { .press_id = S("4711"), .chat = 111, .message_id = 7 };
	struct telegram_press p = { .answer = S("Not \"you\".") };

	open_stage(&s, state, answers, 1);
	telegram_live_answer(s.t, &ev, &p);
	lb_wait(&s.server);
	close_stage(&s);
	assert_true(called(&s, 0, "answerCallbackQuery", "\"callback_query_id\":\"4711\""));
	assert_true(called(&s, 0, "answerCallbackQuery", "\"text\":\"Not \\\"you\\\".\""));
	free_stage(&s);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(the_first_message_is_reserved_for_the_answer),
		T(a_turn_begun_by_an_earlier_process_goes_on_in_its_message),
		T(a_first_message_that_comes_too_late_is_taken_back),
		T(nothing_is_shown_of_a_turn_that_ended),
		T(a_press_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

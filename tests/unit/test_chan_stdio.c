/*
 * The terminal or a pipe as a channel: what becomes of lines, and how answers are printed.
 */
#include "store_world.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "chan/stdio.h"
#include "os/file.h"
#include "os/thread.h"

/* A channel with pipes around it; what it tells the layers above is counted. */
struct booth {
	struct world *w;
	int in[2], out[2];
	struct stdio_opt opt;
	struct channel *c;
	struct bell inbox, outbox, end;
	_Atomic int inboxes, outboxes, ends, controls, fatal;
	char fired[64];
};

static void on_inbox(void *arg)
{
	struct booth *b = arg;

	atomic_fetch_add(&b->inboxes, 1);
	bell_ring(&b->inbox);
}

static void on_outbox(void *arg)
{
	struct booth *b = arg;

	atomic_fetch_add(&b->outboxes, 1);
	bell_ring(&b->outbox);
}

static void on_control(void *arg, enum control what, str channel, str address, str turn_id)
{
	struct booth *b = arg;

	(void)snprintf(b->fired, sizeof b->fired, "%.*s", STRF(turn_id));
	atomic_fetch_add(&b->controls, 1);
}

static void on_end(void *arg)
{
	struct booth *b = arg;

	atomic_fetch_add(&b->ends, 1);
	bell_ring(&b->end);
}

static bool command(void *arg, str channel, str address, str sender, str text, struct arena *a,
		    str *reply, const struct cancel *c)
{
	(void)c;
	if (!str_eq(text, S("/status")))
		return false;
	*reply = arena_fmt(a, "fine at %.*s:%.*s", STRF(channel), STRF(address));
	return true;
}

static int control(str text, struct arena *a, enum control *what)
{
	if (!str_eq(text, S("/stop")) && !str_eq(text, S("/new")))
		return E_NOENT;
	*what = str_eq(text, S("/new")) ? CONTROL_NEW : CONTROL_STOP;
	return OK;
}

static str control_reply(void *arg, str channel, str address, struct arena *a,
			 enum control what, const struct control_effect *ef)
{
	return arena_fmt(a, "%s, %lld dropped", what == CONTROL_NEW ? "new" : "stopped",
			 (long long)ef->dropped);
}

static void booth_up(struct booth *b, struct world *w)
{
	*b = (struct booth){ .w = w };
	assert_int_equal(pipe2(b->in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(b->out, O_CLOEXEC), 0);
	ok(w, bell_init(&b->inbox, &w->e));
	ok(w, bell_init(&b->outbox, &w->e));
	ok(w, bell_init(&b->end, &w->e));
	b->opt = (struct stdio_opt){ .in = b->in[0], .out = b->out[1], .input_max = 1000 };
	ok(w, stdio_open(&b->c, &b->opt, &w->e));
}

static void on_fatal(void *arg, int code)
{
	assert_true(code < 0);
	((struct booth *)arg)->fatal++;
}

static void booth_start(struct booth *b)
{
	const struct chan_up up = { .arg = b,
				    .on_inbox = on_inbox,
				    .on_outbox = on_outbox,
				    .on_control = on_control,
				    .command = command,
				    .control = control,
				    .control_reply = control_reply,
				    .on_end = on_end,
				    .on_fatal = on_fatal };

	ok(b->w, b->c->start(b->c, b->w->s, &up, NULL, &b->w->e));
}

static void booth_drop(struct booth *b)
{
	stdio_close(b->c);
	bell_done(&b->inbox);
	bell_done(&b->outbox);
	bell_done(&b->end);
	for (int i = 0; i < 2; i++) {
		fd_drop(&b->in[i]);
		fd_drop(&b->out[i]);
	}
}

static void type(struct booth *b, str text)
{
	assert_int_equal(write(b->in[1], text.p, text.n), text.n);
}

/* Type it and the end of the input, and wait until the channel has it all. */
static void type_all(struct booth *b, str text)
{
	type(b, text);
	fd_drop(&b->in[1]);
	assert_int_equal(wait_fd(b->end.fd, POLLIN, 0, NULL, NULL), OK);
}

static void heard(const struct bell *bell)
{
	assert_int_equal(wait_fd(bell->fd, POLLIN, 0, NULL, NULL), OK);
	bell_hear(bell);
}

/* All that is on the output now. */
static str printed(struct booth *b)
{
	struct buf all = buf_in(&b->w->a, 1 << 20);

	while (wait_fd(b->out[0], POLLIN, 1, NULL, NULL) == OK) {
		char *p = buf_room(&all, 4096);
		ssize_t n = read(b->out[0], p, 4096);
		if (n <= 0)
			break;
		buf_filled(&all, (size_t)n);
	}
	return buf_str(&all);
}

#define TEXTS "SELECT group_concat(text, '|') FROM (SELECT text FROM inbox ORDER BY id)"

static void each_line_is_a_row_and_the_end_is_told_once(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;

	booth_up(&b, w);
	booth_start(&b);
	type_all(&b, S("hello\r\n\n   \nsecond \xff line\na\0b\nlast"));
	str texts = world_text(w, TEXTS);
	if (!str_eq(texts, S("hello|second \xef\xbf\xbd line|ab|last")))
		fail_msg("%.*s", STRF(texts));
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox WHERE channel = 'stdio' AND "
				      "address = 'local' AND kind = 'message'"),
			 4);
	b.c->stop(b.c);
	assert_int_equal(b.ends, 1);
	assert_int_equal(printed(&b).n, 0);
}

static void lines_that_come_together_are_one_commit(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;
	int64_t before = store_commits(w->s);

	booth_up(&b, w);
	type(&b, S("one\ntwo\n/status\nthree\n"));
	booth_start(&b);
	heard(&b.inbox);
	heard(&b.outbox);
	b.c->stop(b.c);
	assert_int_equal(store_commits(w->s) - before, 1);
	assert_int_equal(b.inboxes, 1);
	assert_int_equal(b.outboxes, 1);
	assert_int_equal(b.ends, 0);
	assert_true(str_eq(world_text(w, TEXTS), S("one|two|three")));
	assert_true(str_eq(world_text(w, "SELECT text FROM outbox"), S("fine at stdio:local")));
}

static void goodbye_ends_it_and_what_follows_is_not_taken(void **state)
{
	static const char *const words[] = { "/quit\n", "/EXIT\n", " /q\n" };

	for (size_t i = 0; i < COUNT(words); i++) {
		struct world *w = *state;
		SCOPED(booth_drop) struct booth b;
		world_sql(w, "DELETE FROM inbox");
		booth_up(&b, w);
		booth_start(&b);
		type(&b, arena_fmt(&w->a, "before\n%safter\n", words[i]));
		heard(&b.end);
		b.c->stop(b.c);
		assert_int_equal(b.ends, 1);
		assert_true(str_eq(world_text(w, TEXTS), S("before")));
	}
}

static void a_control_word_drops_what_waits_and_names_the_turn(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;

	booth_up(&b, w);
	booth_start(&b);
	type(&b, S("work\n"));
	heard(&b.inbox);
	struct turn t = world_claim(w);
	type(&b, S("more\n"));
	heard(&b.inbox);
	type(&b, S("/stop\n"));
	heard(&b.outbox);
	b.c->stop(b.c);
	assert_int_equal(b.controls, 1);
	assert_true(str_eq(str_of(b.fired), t.id));
	bool canceled = false;
	ok(w, store_turn_canceled(w->s, t.id, &canceled, &w->e));
	assert_true(canceled);
	assert_true(str_eq(world_text(w, "SELECT text FROM outbox"), S("stopped, 1 dropped")));
	assert_true(world_idle(w));
}

static void a_line_that_is_too_long_is_left_out_alone(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;
	char *big = arena_alloc(&w->a, 1, 3000);

	memset(big, 'x', 3000);
	booth_up(&b, w);
	booth_start(&b);
	type(&b, S("before\n"));
	type(&b, (str){ big, 3000 });
	type_all(&b, S("xx\nafter\n"));
	assert_true(str_eq(world_text(w, TEXTS), S("before|after")));
}

static void stopping_does_not_wait_for_input(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;

	booth_up(&b, w);
	booth_start(&b);
	type(&b, S("half a line"));
	b.c->stop(b.c);
	b.c->stop(b.c);
	assert_int_equal(b.ends, 0);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox"), 0);
}

static struct send_result send_as(struct booth *b, const char *kind, str text,
				  const struct cancel *c)
{
	const struct outbox_row row = { .kind = str_of(kind), .text = text };
	struct piece_new *pieces = NULL;
	struct send_result r = { .end = SEND_DEAD };
	size_t n = 9;

	ok(b->w, b->c->render(b->c, &row, &b->w->a, &pieces, &n, &b->w->e));
	assert_true(n <= 1);
	if (n == 0)
		return (struct send_result){ .end = SEND_OK };
	const struct piece piece = { .method = pieces->method, .body = pieces->body };
	b->c->send(b->c, &row, &piece, &b->w->a, &r, c);
	return r;
}

static enum send_end answer(struct booth *b, const char *text)
{
	return send_as(b, "reply", str_of(text), NULL).end;
}

static void live(struct booth *b, enum live_kind kind, const char *text)
{
	b->c->live(b->c, S("turn"), S("local"), kind, str_of(text));
}

static void expect(struct booth *b, const char *text)
{
	str got = printed(b);

	if (!str_eq(got, str_of(text)))
		fail_msg("\"%.*s\" and not \"%s\"", STRF(got), text);
}

static void without_streaming_only_the_answer_is_printed(void **state)
{
	SCOPED(booth_drop) struct booth b;

	booth_up(&b, *state);
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "Hel");
	live(&b, LIVE_TEXT, "Hello");
	live(&b, LIVE_STOP, "");
	expect(&b, "");
	assert_int_equal(answer(&b, "Hello\nthere\n"), SEND_OK);
	expect(&b, "Hello\nthere\n");
	assert_int_equal(answer(&b, "  \n"), SEND_OK);
	expect(&b, "");
	assert_int_equal(send_as(&b, "notice", S("note"), NULL).end, SEND_OK);
	/* Bytes are bytes in a pipe. */
	assert_int_equal(answer(&b, "\x1b[1mx"), SEND_OK);
	expect(&b, "note\n\x1b[1mx\n");
}

static void streaming_up(struct booth *b, struct world *w)
{
	booth_up(b, w);
	stdio_close(b->c);
	b->opt.stream = true;
	ok(w, stdio_open(&b->c, &b->opt, &w->e));
}

static void a_streamed_answer_is_completed_and_not_repeated(void **state)
{
	SCOPED(booth_drop) struct booth b;

	streaming_up(&b, *state);
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "\n Hi");
	expect(&b, "Hi");
	live(&b, LIVE_TEXT, "\n Hi the");
	live(&b, LIVE_TEXT, "\n Hi there \n\n");
	live(&b, LIVE_TEXT, "\n Hi there \n\nyou \xe2\x82");
	expect(&b, " there \n\nyou");
	live(&b, LIVE_STOP, "");
	assert_int_equal(answer(&b, "Hi there \n\nyou \xe2\x82\xac."), SEND_OK);
	expect(&b, " \xe2\x82\xac.\n");
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "all of it");
	assert_int_equal(answer(&b, "all of it"), SEND_OK);
	expect(&b, "all of it\n");
}

static void an_answer_that_changed_is_printed_whole_below(void **state)
{
	SCOPED(booth_drop) struct booth b;

	streaming_up(&b, *state);
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "Let me see");
	live(&b, LIVE_TEXT, "");
	live(&b, LIVE_TEXT, "It is");
	expect(&b, "Let me see\nIt is");
	assert_int_equal(answer(&b, "No."), SEND_OK);
	expect(&b, "\nNo.\n");
}

static void the_next_turn_waits_with_its_text_for_the_last_answer(void **state)
{
	SCOPED(booth_drop) struct booth b;

	streaming_up(&b, *state);
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "first answ");
	live(&b, LIVE_STOP, "");
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "second");
	expect(&b, "first answ");
	assert_int_equal(answer(&b, "first answer"), SEND_OK);
	expect(&b, "er\n");
	live(&b, LIVE_TEXT, "second answ");
	expect(&b, "second answ");
	assert_int_equal(answer(&b, "second answer"), SEND_OK);
	expect(&b, "er\n");
	/* One that never comes (a cancelled turn) takes nothing from the next. */
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "given up");
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "thi");
	assert_int_equal(answer(&b, "third"), SEND_OK);
	expect(&b, "given up\nthird\n");
}

static void a_notice_in_between_gets_a_line_of_its_own(void **state)
{
	SCOPED(booth_drop) struct booth b;

	streaming_up(&b, *state);
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "one");
	assert_int_equal(send_as(&b, "notice", S("still working"), NULL).end, SEND_OK);
	live(&b, LIVE_TEXT, "one two");
	assert_int_equal(answer(&b, "one two three"), SEND_OK);
	expect(&b, "one\nstill working\n two three\n");
}

static void a_long_text_streams_in_parts_and_arrives_whole(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;
	char *big = arena_alloc(&w->a, 1, 20001);

	memset(big, 'a', 20000);
	streaming_up(&b, w);
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, big);
	str first = printed(&b);
	assert_true(first.n > 0 && first.n <= 4096);
	assert_int_equal(answer(&b, big), SEND_OK);
	assert_int_equal(first.n + printed(&b).n, 20001);
}

struct sender {
	struct booth *b;
	const struct cancel *c;
	str text;
	struct send_result r;
};

static void *send_main(void *arg)
{
	struct sender *s = arg;
	struct arena a = { 0 };
	const struct outbox_row row = { .kind = S("reply"), .text = s->text };
	const struct piece piece = { .body = s->text };

	s->b->c->send(s->b->c, &row, &piece, &a, &s->r, s->c);
	arena_free(&a);
	return NULL;
}

static void a_full_pipe_is_waited_for_and_the_wait_can_be_cancelled(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };
	char *big = arena_alloc(&w->a, 1, 300001);
	struct sender s = { .b = &b, .c = &c, .text = { big, 300000 } };
	struct thread t = { 0 };
	size_t got = 0;

	memset(big, 'a', 300000);
	streaming_up(&b, w);
	ok(w, cancel_init(&c, NULL, 0, &w->e));
	assert_int_equal(thread_start(&t, "send", send_main, &s, NULL), OK);
	while (got < 300001) {
		char part[8192];
		ssize_t n = read(b.out[0], part, sizeof part);
		assert_true(n > 0);
		got += (size_t)n;
	}
	thread_join(&t);
	assert_int_equal(s.r.end, SEND_OK);
	/* Nobody reads: the turn's text is left out, the answer waits, then is told to end. */
	assert_int_equal(thread_start(&t, "send", send_main, &s, NULL), OK);
	while (wait_fd(b.out[1], POLLOUT, 1, NULL, NULL) == OK)
		;
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "next");
	live(&b, LIVE_TRACE, "");
	cancel_fire(&c, CANCEL_SHUTDOWN);
	thread_join(&t);
	assert_int_equal(s.r.end, SEND_RETRY);
	assert_int_equal(send_as(&b, "notice", S("x"), &c).end, SEND_RETRY);
}

static void nobody_reading_any_more_ends_the_daemon_and_keeps_the_answer(void **state)
{
	SCOPED(booth_drop) struct booth b;

	booth_up(&b, *state);
	booth_start(&b);
	fd_drop(&b.out[0]);
	struct send_result r = send_as(&b, "reply", S("x"), NULL);
	assert_int_equal(r.end, SEND_RETRY);
	assert_true(str_has(r.error, S("standard output")));
	assert_int_equal(send_as(&b, "reply", S("x"), NULL).end, SEND_RETRY);
	assert_int_equal(b.fatal, 1);
}

static void a_device_that_is_full_will_have_no_room_later(void **state)
{
	SCOPED(booth_drop) struct booth b;
	SCOPED(fd_drop) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	booth_up(&b, *state);
	booth_start(&b);
	assert_true(dup2(full, b.out[1]) >= 0);
	assert_int_equal(send_as(&b, "reply", S("x"), NULL).end, SEND_RETRY);
	assert_int_equal(b.fatal, 1);
}

static void a_terminal_is_not_controlled_by_the_text(void **state)
{
	struct world *w = *state;
	SCOPED(fd_drop) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	SCOPED(fd_drop) int tty = -1;
	SCOPED(booth_drop) struct booth b;
	char got[256] = "";
	size_t n = 0;

	assert_int_equal(grantpt(master) | unlockpt(master), 0);
	tty = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(tty >= 0);
	booth_up(&b, w);
	stdio_close(b.c);
	b.opt.out = tty;
	b.opt.stream = true;
	ok(w, stdio_open(&b.c, &b.opt, &w->e));
	live(&b, LIVE_START, "");
	live(&b, LIVE_TEXT, "a\x1b[2J");
	assert_int_equal(answer(&b, "a\x1b[2J\x07"), SEND_OK);
	while (!strchr(got, '\n')) {
		ssize_t k = read(master, got + n, sizeof got - 1 - n);
		assert_true(k > 0);
		n += (size_t)k;
		got[n] = '\0';
	}
	assert_string_equal(got, "a\\x1b[2J\\x07\r\n");
}

/* Standard error through a pipe while a test asks. */
struct errors {
	int saved, pipe[2];
};

static void errors_up(struct errors *x)
{
	x->saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	assert_int_equal(pipe2(x->pipe, O_CLOEXEC), 0);
	assert_true(x->saved >= 0 && dup2(x->pipe[1], STDERR_FILENO) >= 0);
}

static void errors_drop(struct errors *x)
{
	(void)dup2(x->saved, STDERR_FILENO);
	fd_drop(&x->saved);
	fd_drop(&x->pipe[0]);
	fd_drop(&x->pipe[1]);
}

static void said(struct errors *x, const char *what)
{
	char got[4096] = "";
	size_t n = 0;

	while (!strstr(got, what)) {
		ssize_t k = read(x->pipe[0], got + n, sizeof got - 1 - n);
		assert_true(k > 0);
		n += (size_t)k;
		got[n] = '\0';
	}
}

struct asker {
	struct booth *b;
	const struct cancel *c;
	int64_t timeout_ms;
	int rc;
	bool yes;
};

static void *ask_main(void *arg)
{
	struct asker *a = arg;
	struct approver *by = stdio_approver(a->b->c);
	const struct approval_ask ask = { .tool = S("mail__send"),
					  .display = S("{}"),
					  .timeout_ms = a->timeout_ms };

	a->rc = by->ask(by, &ask, &a->yes, a->c, NULL);
	return NULL;
}

static void a_line_typed_at_a_question_answers_it_and_is_no_message(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;
	SCOPED(errors_drop) struct errors x;
	struct asker one = { .b = &b }, two = { .b = &b };
	struct thread t[2] = { 0 };

	booth_up(&b, w);
	stdio_close(b.c);
	b.opt.prompt = true;
	ok(w, stdio_open(&b.c, &b.opt, &w->e));
	errors_up(&x);
	booth_start(&b);
	type(&b, S("y\n")); /* before the question: a message */
	heard(&b.inbox);
	assert_int_equal(thread_start(&t[0], "ask", ask_main, &one, NULL), OK);
	said(&x, "mail__send\n    {}\nAllow it? [y/N] ");
	assert_int_equal(thread_start(&t[1], "ask", ask_main, &two, NULL), OK);
	/* Written before it is asked: wait for the second question to know of the first. */
	type(&b, S("yes\n"));
	said(&x, "Allow it? [y/N] ");
	type(&b, S("n\nnext\n"));
	thread_join(&t[0]);
	thread_join(&t[1]);
	type_all(&b, S("last\n"));
	assert_int_equal(one.rc | two.rc, OK);
	assert_int_equal(one.yes + two.yes, 1);
	assert_true(str_eq(world_text(w, TEXTS), S("y|next|last")));
}

static void a_question_ends_by_time_and_by_cancel(void **state)
{
	struct world *w = *state;
	SCOPED(booth_drop) struct booth b;
	SCOPED(errors_drop) struct errors x;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };
	struct asker a = { .b = &b, .c = &c, .timeout_ms = 10 };

	booth_up(&b, w);
	ok(w, cancel_init(&c, NULL, 0, &w->e));
	(void)ask_main(&a);
	assert_int_equal(a.rc, E_DENIED); /* a pipe has nobody who could answer */
	stdio_close(b.c);
	b.opt.prompt = true;
	ok(w, stdio_open(&b.c, &b.opt, &w->e));
	errors_up(&x);
	booth_start(&b);
	(void)ask_main(&a);
	assert_int_equal(a.rc, E_TIMEOUT);
	cancel_fire(&c, CANCEL_USER);
	(void)ask_main(&a);
	assert_int_equal(a.rc, E_CANCELED);
	type_all(&b, S("y\n")); /* too late: a message */
	assert_true(str_eq(world_text(w, TEXTS), S("y")));
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(each_line_is_a_row_and_the_end_is_told_once),
		T(lines_that_come_together_are_one_commit),
		T(goodbye_ends_it_and_what_follows_is_not_taken),
		T(a_control_word_drops_what_waits_and_names_the_turn),
		T(a_line_that_is_too_long_is_left_out_alone),
		T(stopping_does_not_wait_for_input),
		T(without_streaming_only_the_answer_is_printed),
		T(a_streamed_answer_is_completed_and_not_repeated),
		T(an_answer_that_changed_is_printed_whole_below),
		T(the_next_turn_waits_with_its_text_for_the_last_answer),
		T(a_notice_in_between_gets_a_line_of_its_own),
		T(a_long_text_streams_in_parts_and_arrives_whole),
		T(a_full_pipe_is_waited_for_and_the_wait_can_be_cancelled),
		T(nobody_reading_any_more_ends_the_daemon_and_keeps_the_answer),
		T(a_device_that_is_full_will_have_no_room_later),
		T(a_terminal_is_not_controlled_by_the_text),
		T(a_line_typed_at_a_question_answers_it_and_is_no_message),
		T(a_question_ends_by_time_and_by_cancel),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

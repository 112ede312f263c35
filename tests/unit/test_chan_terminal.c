/*
 * Asking the person at the terminal: over pipes, and on a terminal of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chan/terminal.h"
#include "os/file.h"
#include "os/thread.h"
#include "os/wait.h"

struct desk {
	int in[2], err[2];
	struct approver *by;
};

static void desk_up(struct desk *d)
{
	assert_int_equal(pipe2(d->in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(d->err, O_CLOEXEC), 0);
	assert_int_equal(terminal_approver_open(&d->by, d->in[0], d->err[1], NULL), OK);
}

static void desk_drop(struct desk *d)
{
	terminal_approver_close(d->by);
	for (int i = 0; i < 2; i++) {
		fd_drop(&d->in[i]);
		fd_drop(&d->err[i]);
	}
}

static void type(const struct desk *d, const char *s)
{
	assert_int_equal(write(d->in[1], s, strlen(s)), strlen(s));
}

/* 1 yes, 0 no, or a code. */
static int ask(const struct desk *d, int64_t timeout_ms, const struct cancel *c)
{
	struct approval_ask q = { .tool = S("mail__send"),
				  .display = S("{\"to\":\"x\"}\nmore"),
				  .reason = S("rule \"mail__*\" asks"),
				  .timeout_ms = timeout_ms };
	bool yes = false;
	int rc = d->by->ask(d->by, &q, &yes, c, NULL);

	return rc < 0 ? rc : yes;
}

static void only_y_and_yes_approve(void **state)
{
	static const struct {
		const char *line;
		int yes;
	} rows[] = {
		{ "y\n", 1 },  { "yes\n", 1 },  { " YES \r\n", 1 }, { "Y\n", 1 },
		{ "n\n", 0 },  { "\n", 0 },     { "yy\n", 0 },      { "yes please\n", 0 },
		{ "ja\n", 0 }, { "\xff\n", 0 },
	};
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	for (size_t i = 0; i < COUNT(rows); i++) {
		type(&d, rows[i].line);
		if (ask(&d, 0, NULL) != rows[i].yes)
			fail_msg("%s", rows[i].line);
	}
}

static void the_question_shows_what_there_is_to_decide(void **state)
{
	SCOPED(desk_drop) struct desk d;
	char said[1024] = "";

	desk_up(&d);
	type(&d, "y\n");
	assert_int_equal(ask(&d, 90000, NULL), 1);
	assert_true(read(d.err[0], said, sizeof said - 1) > 0);
	assert_non_null(strstr(said, "mail__send\n    {\"to\":\"x\"}\n    more\n"));
	assert_non_null(strstr(said, "rule \"mail__*\" asks"));
	assert_non_null(strstr(said, "90 s"));
	assert_non_null(strstr(said, "[y/N] "));
}

static void what_is_shown_cannot_draw_on_the_terminal(void **state)
{
	SCOPED(desk_drop) struct desk d;
	struct approval_ask q = { .tool = S("a\nb"), .display = S("\x1b[2J\r\xe2\x80\xaex") };
	char said[1024] = "";
	bool yes;

	desk_up(&d);
	type(&d, "y\n");
	assert_int_equal(d.by->ask(d.by, &q, &yes, NULL, NULL), OK);
	assert_true(read(d.err[0], said, sizeof said - 1) > 0);
	assert_null(strchr(said, '\x1b'));
	assert_null(strchr(said, '\r'));
	assert_null(strstr(said, "\xe2\x80\xae"));
	assert_non_null(strstr(said, "a\\nb"));
}

static void answers_in_a_pipe_are_taken_in_turn_until_it_ends(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	type(&d, "y\nn\ny");
	fd_drop(&d.in[1]);
	assert_int_equal(ask(&d, 0, NULL), 1);
	assert_int_equal(ask(&d, 0, NULL), 0);
	assert_int_equal(ask(&d, 0, NULL), 1);
	assert_int_equal(ask(&d, 0, NULL), E_DENIED);
	assert_int_equal(ask(&d, 0, NULL), E_DENIED);
}

static void a_very_long_answer_is_one_no(void **state)
{
	SCOPED(desk_drop) struct desk d;
	char big[10001];

	memset(big, 'y', sizeof big);
	big[10000] = '\n';
	desk_up(&d);
	assert_int_equal(write(d.in[1], big, sizeof big), sizeof big);
	type(&d, "y\n");
	assert_int_equal(ask(&d, 0, NULL), 0);
	assert_int_equal(ask(&d, 0, NULL), 1);
	/* Not even when its end would be a yes. */
	memset(big, ' ', sizeof big);
	memcpy(big + 8290, "y\n", 2);
	assert_int_equal(write(d.in[1], big, 8292), 8292);
	assert_int_equal(ask(&d, 0, NULL), 0);
}

static void no_answer_in_time_is_a_timeout_and_late_lines_are_dropped(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	type(&d, "half");
	assert_int_equal(ask(&d, 10, NULL), E_TIMEOUT);
	type(&d, "y\ny\n"); /* too late, and no answer to the next question */
	assert_int_equal(ask(&d, 10, NULL), E_TIMEOUT);
}

static void a_cancel_ends_the_question(void **state)
{
	SCOPED(desk_drop) struct desk d;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };

	desk_up(&d);
	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(ask(&d, 0, &c), E_CANCELED);
	type(&d, "y\n");
	assert_int_equal(ask(&d, 0, &c), E_CANCELED);
}

struct asker {
	const struct desk *d;
	int got;
};

static void *ask_once(void *arg)
{
	struct asker *a = arg;

	a->got = ask(a->d, 0, NULL);
	return NULL;
}

static void two_threads_get_one_answer_each(void **state)
{
	SCOPED(desk_drop) struct desk d;
	struct asker one, two;
	struct thread t[2] = { 0 };

	desk_up(&d);
	one = two = (struct asker){ .d = &d };
	assert_int_equal(thread_start(&t[0], "one", ask_once, &one, NULL), OK);
	assert_int_equal(thread_start(&t[1], "two", ask_once, &two, NULL), OK);
	type(&d, "y\nn\n");
	thread_join(&t[0]);
	thread_join(&t[1]);
	assert_int_equal(one.got + two.got, 1);
}

static void on_a_terminal_lines_typed_before_the_question_do_not_count(void **state)
{
	SCOPED(fd_drop) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	SCOPED(fd_drop) int tty = -1;
	SCOPED(desk_drop) struct desk d;
	struct asker a = { .d = &d };
	struct thread t = { 0 };
	char said[1024];
	size_t n = 0;

	assert_true(master >= 0);
	assert_int_equal(grantpt(master) | unlockpt(master), 0);
	tty = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(tty >= 0);
	desk_up(&d);
	terminal_approver_close(d.by);
	assert_int_equal(terminal_approver_open(&d.by, tty, d.err[1], NULL), OK);
	assert_int_equal(write(master, "y\n", 2), 2);
	assert_int_equal(wait_fd(tty, POLLIN, 0, NULL, NULL), OK);
	assert_int_equal(thread_start(&t, "ask", ask_once, &a, NULL), OK);
	/* The answer is typed once the question stands there. */
	do {
		ssize_t got = read(d.err[0], said + n, sizeof said - 1 - n);
		assert_true(got > 0);
		n += (size_t)got;
		said[n] = '\0';
	} while (!strstr(said, "[y/N]"));
	assert_int_equal(write(master, "n\n", 2), 2);
	thread_join(&t);
	assert_int_equal(a.got, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_y_and_yes_approve),
		cmocka_unit_test(the_question_shows_what_there_is_to_decide),
		cmocka_unit_test(what_is_shown_cannot_draw_on_the_terminal),
		cmocka_unit_test(answers_in_a_pipe_are_taken_in_turn_until_it_ends),
		cmocka_unit_test(a_very_long_answer_is_one_no),
		cmocka_unit_test(no_answer_in_time_is_a_timeout_and_late_lines_are_dropped),
		cmocka_unit_test(a_cancel_ends_the_question),
		cmocka_unit_test(two_threads_get_one_answer_each),
		cmocka_unit_test(on_a_terminal_lines_typed_before_the_question_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

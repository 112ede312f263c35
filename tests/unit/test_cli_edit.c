/*
 * cli/edit.c with os/tty.c below it, on a terminal of its own, and where there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/edit.h"
#include "cli/edit_history.h"
#include "os/file.h"
#include "os/thread.h"
#include "os/wait.h"

#define READY "\x1b[?2004h" /* the editor reads keys from here on */

struct desk {
	struct arena a;
	int master, tty;
	struct edit *ed;
	struct edit_opt opt;
	struct termios before;
	char dir[40];
	/* of one edit_line() in a thread of its own */
	struct cancel cancel;
	struct bell done;
	struct thread thread;
	struct buf shown; /* by the terminal, since it began */
	struct arena line_arena;
	str line;
	int rc;
};

static void desk_up(struct desk *d)
{
	*d = (struct desk){ .dir = "/tmp/gantry-edit-XXXXXX" };
	assert_non_null(mkdtemp(d->dir));
	d->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_int_equal(grantpt(d->master) | unlockpt(d->master), 0);
	d->tty = open(ptsname(d->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(d->tty >= 0);
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	assert_int_equal(ioctl(d->tty, TIOCSWINSZ, &size), 0);
	assert_int_equal(tcgetattr(d->tty, &d->before), 0);
	d->opt = (struct edit_opt){ .in = d->tty, .out = d->tty };
	d->opt.history = arena_fmt(&d->a, "%s/history", d->dir).p;
	assert_int_equal(edit_open(&d->ed, &d->opt, NULL), OK);
	assert_int_equal(bell_init(&d->done, NULL), OK);
	assert_int_equal(cancel_init(&d->cancel, NULL, 0, NULL), OK);
}

static void desk_drop(struct desk *d)
{
	edit_close(d->ed);
	(void)unlink(d->opt.history);
	(void)rmdir(d->dir);
	bell_done(&d->done);
	cancel_done(&d->cancel);
	fd_drop(&d->master);
	fd_drop(&d->tty);
	arena_free(&d->line_arena);
	arena_free(&d->a);
}

static void *line_main(void *arg)
{
	struct desk *d = arg;

	d->rc = edit_line(d->ed, "> ", &d->line_arena, &d->line, &d->cancel, NULL);
	bell_ring(&d->done);
	return NULL;
}

static void type(const struct desk *d, str keys)
{
	assert_int_equal(write(d->master, keys.p, keys.n), keys.n);
}

static void see(struct desk *d)
{
	char *p = buf_room(&d->shown, 4096);
	ssize_t n = read(d->master, p, 4096);

	assert_true(n > 0);
	buf_filled(&d->shown, (size_t)n);
}

/* Read the screen until it has shown what. */
static void until_shown(struct desk *d, const char *what)
{
	while (!str_has(buf_str(&d->shown), str_of(what)))
		see(d);
}

static void start_unready(struct desk *d)
{
	d->shown = buf_in(&d->a, 4 << 20);
	assert_int_equal(thread_start(&d->thread, "line", line_main, d, NULL), OK);
}

static void start(struct desk *d)
{
	start_unready(d);
	until_shown(d, READY);
}

/* Until edit_line() is back. */
static void finish(struct desk *d)
{
	struct pollfd fds[] = { { .fd = d->done.fd, .events = POLLIN },
				{ .fd = d->master, .events = POLLIN } };
	struct termios now;

	do {
		assert_int_equal(wait_fds(fds, 2, 0, NULL, NULL), OK);
		if (fds[1].revents)
			see(d);
	} while (!fds[0].revents || fds[1].revents);
	bell_hear(&d->done);
	thread_join(&d->thread);
	/* The terminal is as it was, whatever happened. */
	assert_int_equal(tcgetattr(d->tty, &now), 0);
	assert_int_equal(now.c_lflag, d->before.c_lflag);
	assert_int_equal(now.c_iflag, d->before.c_iflag);
	if (!d->opt.dumb)
		assert_true(str_has(buf_str(&d->shown), S("\x1b[?2004l")));
}

static int enter(struct desk *d, str keys)
{
	start(d);
	type(d, keys);
	finish(d);
	return d->rc;
}

static void expect(struct desk *d, str keys, const char *line)
{
	int rc = enter(d, keys);

	if (rc != OK || !str_eq(d->line, str_of(line)))
		fail_msg("wanted \"%s\": %d, \"%.*s\"", line, rc, STRF(d->line));
}

static void a_line_is_typed_and_mended(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	expect(&d, S("hello\r"), "hello");
	expect(&d, S("helo\x1b[Dl\r"), "hello");
	expect(&d, S("bad\x15good\n"), "good");
	expect(&d, S("\xd0\x9f\xe6\x97\xa5\xf0\x9f\x98\x80\x7f!\r"), "\xd0\x9f\xe6\x97\xa5!");
	expect(&d, S("one two\x17three\x01zero \x05!\r"), "zero one three!");
	expect(&d, S("a\x1b\rb\r"), "a\nb");
	expect(&d, S("\r"), "");
	/* unknown sequences and bad bytes are nothing */
	expect(&d,
	       S("a\x1b[99zb\xff\x1b[5~c\x0c"
		 "d\r"),
	       "abcd");
}

static void what_is_typed_ahead_is_the_next_line(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	expect(&d, S("one\rtwo\rthr"), "one");
	start(&d);
	finish(&d);
	assert_true(str_eq(d.line, S("two")));
	expect(&d, S("ee\r"), "three");
}

static void what_is_pasted_is_one_message(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	expect(&d, S("see: \x1b[200~line one\rline two\r\nfake \x1b[31m\x03\x1b[201~ end\r"),
	       "see: line one\nline two\nfake [31m end");
	/* The end mark may come in pieces. */
	start(&d);
	type(&d, S("\x1b[200~par"));
	type(&d, S("t\r\x1b[20"));
	type(&d, S("1~!"));
	until_shown(&d, "!");
	type(&d, S("\r"));
	finish(&d);
	assert_true(str_eq(d.line, S("part\n!")));
}

static void a_large_paste_is_kept_and_too_large_a_one_is_not(void **state)
{
	SCOPED(desk_drop) struct desk d;
	struct buf b;

	desk_up(&d);
	b = buf_in(&d.a, 1 << 20);
	for (int i = 0; i < 3000; i++)
		buf_fmt(&b, "line %d\r", i);
	for (int round = 0; round < 2; round++) {
		start(&d);
		type(&d, S("\x1b[200~"));
		for (size_t i = 0; i < b.n; i += 1000)
			type(&d, str_sub(buf_str(&b), i, i + 1000));
		type(&d, S("\x1b[201~.\r"));
		finish(&d);
		assert_int_equal(d.rc, OK);
		assert_int_equal(d.line.n, round == 0 ? b.n + 1 : 1);
		edit_close(d.ed);
		d.opt.max = 1000;
		assert_int_equal(edit_open(&d.ed, &d.opt, NULL), OK);
	}
}

static void the_end_and_the_interrupt_are_told_apart(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	assert_int_equal(enter(&d, S("\x04")), E_NOENT);
	expect(&d, S("ab\x01\x04\r"), "b");
	assert_int_equal(enter(&d, S("half\x03")), E_CANCELED);
	expect(&d, S("next\r"), "next");
}

static void a_hung_up_terminal_is_the_end(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	start(&d);
	fd_drop(&d.master);
	assert_int_equal(wait_fd(d.done.fd, POLLIN, 0, NULL, NULL), OK);
	thread_join(&d.thread);
	assert_true(d.rc == E_NOENT || d.rc == E_IO);
}

static void a_cancel_ends_the_wait_and_restores_the_terminal(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	start(&d);
	type(&d, S("half"));
	until_shown(&d, "half");
	cancel_fire(&d.cancel, CANCEL_SHUTDOWN);
	finish(&d);
	assert_int_equal(d.rc, E_CANCELED);
}

static void a_lone_escape_is_nothing_after_a_moment(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	start(&d);
	type(&d, S("a\x1b"));
	until_shown(&d, "\a");
	type(&d, S("[D!\r"));
	finish(&d);
	assert_true(str_eq(d.line, S("a[D!")));
}

static void a_new_size_is_drawn_at_once(void **state)
{
	SCOPED(desk_drop) struct desk d;
	struct winsize size = { .ws_row = 24, .ws_col = 10 };

	desk_up(&d);
	start(&d);
	type(&d, S("0123456789abc"));
	until_shown(&d, "abc");
	assert_int_equal(ioctl(d.tty, TIOCSWINSZ, &size), 0);
	edit_resized(d.ed);
	until_shown(&d, "01234567\r\r\n89abc");
	type(&d, S("\r"));
	finish(&d);
	assert_true(str_eq(d.line, S("0123456789abc")));
}

#define UP "\x1b[A"
#define DOWN "\x1b[B"

static void the_history_is_walked_and_the_draft_comes_back(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	expect(&d, S("first\r"), "first");
	expect(&d, S("two\x1b\rlines\\n\r"), "two\nlines\\n");
	expect(&d, S(UP "\x1b[A\x1b[A!\r"), "first!");
	expect(&d, S("draft" UP UP DOWN DOWN DOWN " kept\r"), "draft kept");
	/* It outlives the editor, and is nobody else's to read. */
	edit_close(d.ed);
	assert_int_equal(edit_open(&d.ed, &d.opt, NULL), OK);
	expect(&d, S(UP UP UP "\r"), "two\nlines\\n");
	struct stat st;
	assert_int_equal(stat(d.opt.history, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void the_history_is_bounded(void **state)
{
	SCOPED(desk_drop) struct desk d;
	struct edit_history *h;
	str text;

	desk_up(&d);
	h = NEW(&d.a, struct edit_history);
	edit_history_open(h, d.opt.history);
	for (int i = 0; i < 2500; i++)
		edit_history_add(h, arena_fmt(&d.a, "entry %d", i));
	edit_history_add(h, S("entry 2499"));
	edit_history_add(h, S("  \n"));
	assert_int_equal(h->n, HISTORY_MAX);
	assert_true(str_eq(h->v[0], S("entry 1500")));
	assert_true(str_eq(h->v[999], S("entry 2499")));
	edit_history_close(h);
	edit_history_open(h, d.opt.history);
	assert_int_equal(h->n, HISTORY_MAX);
	assert_true(str_eq(h->v[0], S("entry 1500")));
	edit_history_close(h);
	assert_int_equal(file_read(&text, &d.a, d.opt.history, 1 << 20, NULL), OK);
	assert_true(str_starts(text, S("entry 1500\n")));
	/* A file that cannot be is no error. */
	edit_history_open(h, "/nonexistent/dir/history");
	edit_history_add(h, S("x"));
	assert_int_equal(h->n, 1);
	edit_history_close(h);
}

struct pipes {
	int in[2], out[2];
	struct edit *ed;
};

static void without_a_terminal_lines_are_read_as_they_come(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct pipes p;
	struct edit_opt opt;
	str line;

	assert_int_equal(pipe2(p.in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(p.out, O_CLOEXEC), 0);
	opt = (struct edit_opt){ .in = p.in[0], .out = p.out[1], .max = 20 };
	assert_int_equal(edit_open(&p.ed, &opt, NULL), OK);
	str all = S("one\r\n\nbad\xff\0\x1b[A\n123456789012345678901\nlast");
	assert_int_equal(write(p.in[1], all.p, all.n), all.n);
	fd_drop(&p.in[1]);
	static const struct {
		int rc;
		const char *line;
	} want[] = {
		{ OK, "one" },     { OK, "" },     { OK, "bad\xef\xbf\xbd[A" },
		{ E_LIMIT, NULL }, { OK, "last" }, { E_NOENT, NULL },
		{ E_NOENT, NULL },
	};
	for (size_t i = 0; i < COUNT(want); i++) {
		int rc = edit_line(p.ed, "> ", &a, &line, NULL, NULL);
		if (rc != want[i].rc || (rc == OK && !str_eq(line, str_of(want[i].line))))
			fail_msg("line %zu: %d %.*s", i, rc, STRF(line));
	}
	edit_close(p.ed);
	fd_drop(&p.out[1]);
	char said;
	assert_int_equal(read(p.out[0], &said, 1), 0);
	fd_drop(&p.out[0]);
	fd_drop(&p.in[0]);
}

static void a_dumb_terminal_gets_a_prompt_and_nothing_else(void **state)
{
	SCOPED(desk_drop) struct desk d;

	desk_up(&d);
	edit_close(d.ed);
	d.opt.dumb = true;
	assert_int_equal(edit_open(&d.ed, &d.opt, NULL), OK);
	start_unready(&d);
	until_shown(&d, "> ");
	type(&d, S("hi\n"));
	finish(&d);
	assert_false(str_has(buf_str(&d.shown), S("\x1b")));
	assert_int_equal(d.rc, OK);
	assert_true(str_eq(d.line, S("hi")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_typed_and_mended),
		cmocka_unit_test(what_is_typed_ahead_is_the_next_line),
		cmocka_unit_test(what_is_pasted_is_one_message),
		cmocka_unit_test(a_large_paste_is_kept_and_too_large_a_one_is_not),
		cmocka_unit_test(the_end_and_the_interrupt_are_told_apart),
		cmocka_unit_test(a_hung_up_terminal_is_the_end),
		cmocka_unit_test(a_cancel_ends_the_wait_and_restores_the_terminal),
		cmocka_unit_test(a_lone_escape_is_nothing_after_a_moment),
		cmocka_unit_test(a_new_size_is_drawn_at_once),
		cmocka_unit_test(the_history_is_walked_and_the_draft_comes_back),
		cmocka_unit_test(the_history_is_bounded),
		cmocka_unit_test(without_a_terminal_lines_are_read_as_they_come),
		cmocka_unit_test(a_dumb_terminal_gets_a_prompt_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

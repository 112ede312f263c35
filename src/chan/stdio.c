/*
 * The terminal or a pipe as a channel.
 *
 * Input is a thread that turns complete lines into rows, all that came at once in one
 * transaction.  Output is written by deliver threads (send) and, when streaming, by turns
 * (live); only one of them has the turn to write at a time, and live, which must not wait,
 * leaves out what the next call will bring anyway.
 */
#include "chan/stdio.h"

#include "base/utf.h"
#include "chan/lines.h"
#include "chan/stdio_asking.h"
#include "chan/trace.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/permit.h"
#include "os/thread.h"
#include "store/inbox.h"
#include "text/text.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP 65536
#define LINE_BYTES (1 << 20)
#define RETRY_MS 1000
#define FULL_RETRY_MS 5000
#define ANSWER_MAX ((size_t)8 << 20)
#define PROMPT S("> ")

struct stdio {
	struct channel base;
	struct arena arena; /* owns this struct */
	struct stdio_opt opt;
	bool terminal; /* out is one: nothing foreign may control it */

	struct store *store;
	struct chan_up up;
	struct cancel stop;
	struct thread reader;

	struct permit writing; /* whose holder owns what follows */
	struct arena shown_arena;
	struct buf shown; /* of the answer that is being made, what is on out already */
	bool held; /* an earlier answer is on its way: do not stream before it */

	_Atomic int64_t passed_ms; /* for trace_too_soon() */
	_Atomic bool given_up; /* out takes nothing any more */
	_Atomic bool begun; /* a turn began since the last text of one */

	struct asking asking;
};

/* --- output -------------------------------------------------------------------------- */

static str printable(const struct stdio *s, struct arena *a, str text)
{
	return s->terminal ? text_visible(a, text, false) : text;
}

/* To the person, beside the answer.  A terminal that takes nothing now misses it. */
static void say(str line)
{
	if (wait_fd(STDERR_FILENO, POLLOUT, 1, NULL, NULL) == OK)
		(void)!write(STDERR_FILENO, line.p, line.n);
}

static void prompt(const struct stdio *s)
{
	if (s->opt.prompt)
		say(PROMPT);
}

/* The part of text that is final: no white space at its ends, no half character. */
static str settled(str text)
{
	return str_trim(utf_whole(str_trim(text)));
}

/* What has to be written so that text stands there, given what does. */
static str missing(struct stdio *s, struct arena *a, str text)
{
	str shown = buf_str(&s->shown);

	if (str_starts(text, shown))
		return printable(s, a, str_sub(text, shown.n, text.n));
	return arena_cat(a, S("\n"), printable(s, a, text));
}

/* The answer so far.  Written only as far as out takes it at once. */
static void stream(struct stdio *s, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str now = settled(text), more = missing(s, &a, now);

	if (s->held || more.n == 0 || wait_fd(s->opt.out, POLLOUT, 1, NULL, NULL) < 0)
		return;
	if (more.n > PIPE_BUF) {
		/* The next call brings the rest; until then the text ends earlier. */
		size_t over = more.n - PIPE_BUF;
		now = settled(str_sub(now, 0, now.n > over ? now.n - over : 0));
		more = missing(s, &a, now);
	}
	if (more.n > PIPE_BUF || more.n == 0 || fd_write_all(s->opt.out, more, NULL, NULL) < 0)
		return;
	buf_reset(&s->shown);
	buf_add(&s->shown, now);
}

static void trace(struct stdio *s, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool midline = false;

	if (trace_too_soon(&s->passed_ms, text, clock_mono_ms()))
		return;
	if (s->opt.prompt && s->opt.stream && permit_try(&s->writing)) {
		midline = s->shown.n > 0;
		permit_give(&s->writing);
	}
	str line = text_visible(&a, text_line(&a, text, 500), false);
	say(arena_fmt(&a, "%s%.*s\n", midline ? "\n" : "", STRF(line)));
}

static void on_live(struct channel *self, str turn_id, str address, enum live_kind kind,
		    str text)
{
	struct stdio *s = (struct stdio *)self;

	(void)turn_id;
	(void)address; /* there is one */
	if (kind == LIVE_TRACE)
		trace(s, text);
	if (kind == LIVE_START)
		atomic_store(&s->begun, true);
	if (kind != LIVE_TEXT || !s->opt.stream || !permit_try(&s->writing))
		return;
	if (atomic_exchange(&s->begun, false))
		s->held = s->shown.n > 0;
	stream(s, text);
	permit_give(&s->writing);
}

static void on_notice(struct channel *self, str address, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)self;
	(void)address;
	say(arena_fmt(&a, "gantry: %.*s\n", STRF(text)));
}

static int on_render(struct channel *self, const struct outbox_row *row, struct arena *a,
		     struct piece_new **out, size_t *n, struct err *e)
{
	str text = str_trim(row->text);

	(void)self;
	(void)e;
	*out = NEW(a, struct piece_new);
	**out = (struct piece_new){ .method = S("send"), .body = text, .plain = text };
	*n = text.n > 0;
	return OK;
}

/* Nobody will ever read what is written there: the daemon ends, and what it has to say waits
 * for one that can.  A file on a full disk may find room. */
static bool is_hopeless(const struct stdio *s, int rc)
{
	struct stat st;

	if (rc == E_CANCELED || rc == E_TIMEOUT)
		return false;
	return rc != E_FULL || fstat(s->opt.out, &st) < 0 || !S_ISREG(st.st_mode);
}

static void give_up(struct stdio *s, int rc, str why)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (atomic_exchange(&s->given_up, true))
		return;
	say(arena_fmt(&a,
		      "gantry: %.*s; nobody can read the answers, so this ends here; they "
		      "are kept for the next start\n",
		      STRF(why)));
	if (s->up.on_fatal)
		s->up.on_fatal(s->up.arg, rc);
}

static void print(struct stdio *s, bool reply, str text, struct arena *a,
		  struct send_result *out, const struct cancel *c)
{
	struct err e = { 0 };
	str all = printable(s, a, text);

	if (reply)
		all = missing(s, a, text);
	else if (s->shown.n)
		all = arena_cat(a, S("\n"), all);
	int rc = fd_write_all(s->opt.out, arena_cat(a, all, S("\n")), c, &e);
	if (rc == OK) {
		if (reply) {
			buf_reset(&s->shown);
			s->held = false;
		}
		prompt(s);
		return;
	}
	/* It begins anew when there is room, or after a restart. */
	out->end = SEND_RETRY;
	out->error = arena_fmt(a, "standard output: %s", e.msg);
	out->retry_after_ms = rc == E_FULL ? FULL_RETRY_MS : 0;
	if (is_hopeless(s, rc)) {
		out->retry_after_ms = RETRY_MS;
		give_up(s, rc, out->error);
	}
}

static void on_send(struct channel *self, const struct outbox_row *row,
		    const struct piece *piece, struct arena *a, struct send_result *out,
		    const struct cancel *c)
{
	struct stdio *s = (struct stdio *)self;
	struct err e = { 0 };

	*out = (struct send_result){ .end = SEND_OK };
	if (permit_take(&s->writing, c, &e) < 0) {
		out->end = SEND_RETRY;
		out->error = arena_fmt(a, "%s", e.msg);
		return;
	}
	print(s, str_eq(row->kind, S("reply")), piece->body, a, out, c);
	permit_give(&s->writing);
}

/* --- input --------------------------------------------------------------------------- */

/* One line of a batch, and what it asks for. */
struct entry {
	str text;
	enum { ENTRY_MESSAGE, ENTRY_CONTROL, ENTRY_COMMAND } kind;
	enum control what;
	str reply;
	struct control_effect effect;
};

static int add_notice(struct tx *tx, str text, struct err *e)
{
	const struct outbox_new row = {
		.channel = S(STDIO_CHANNEL),
		.address = S(STDIO_ADDRESS),
		.kind = S("notice"),
		.text = text,
	};
	int64_t id;

	return text.n ? store_outbox_add(tx, &row, &id, e) : OK;
}

static int add_entry(struct stdio *s, struct tx *tx, struct entry *x, struct arena *a,
		     struct err *e)
{
	const struct inbox_new row = {
		.channel = S(STDIO_CHANNEL),
		.address = S(STDIO_ADDRESS),
		.kind = S("message"),
		.sender = S("local"),
		.text = x->text,
	};
	int64_t id;
	int rc;

	switch (x->kind) {
	case ENTRY_MESSAGE:
		return store_inbox_add(tx, &row, &id, e);
	case ENTRY_COMMAND:
		return add_notice(tx, x->reply, e);
	case ENTRY_CONTROL:
		break;
	}
	rc = store_control(tx, x->what, row.channel, row.address, S(""), a, &x->effect, e);
	return rc < 0 ? rc
		      : add_notice(tx,
				   s->up.control_reply(s->up.arg, row.channel, row.address, a,
						       x->what, &x->effect),
				   e);
}

static int commit_batch(struct stdio *s, struct entry *v, size_t n, struct arena *a,
			struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, s->store, &s->stop, e);

	for (size_t i = 0; i < n && rc == OK; i++)
		rc = add_entry(s, &tx, &v[i], a, e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

static void classify(struct stdio *s, struct entry *x, struct arena *a)
{
	const struct chan_up *up = &s->up;

	if (up->control && up->control(x->text, a, &x->what) == OK)
		x->kind = ENTRY_CONTROL;
	else if (up->command && up->command(up->arg, S(STDIO_CHANNEL), S(STDIO_ADDRESS),
					    S("local"), x->text, a, &x->reply, &s->stop))
		x->kind = ENTRY_COMMAND;
}

static void announce(const struct stdio *s, const struct entry *v, size_t n)
{
	size_t messages = 0, others = 0;

	for (size_t i = 0; i < n; i++) {
		messages += v[i].kind == ENTRY_MESSAGE;
		others += v[i].kind != ENTRY_MESSAGE;
		if (v[i].kind == ENTRY_CONTROL)
			s->up.on_control(s->up.arg, v[i].what, S(STDIO_CHANNEL),
					 S(STDIO_ADDRESS), v[i].effect.turn_id);
	}
	if (messages)
		s->up.on_inbox(s->up.arg);
	if (others)
		s->up.on_outbox(s->up.arg);
}

/* Into the database, however long that takes; the person is told when it does. */
static int store_batch(struct stdio *s, struct entry *v, size_t n, struct arena *a)
{
	struct err e = { 0 };
	int rc, last = OK;

	while ((rc = commit_batch(s, v, n, a, &e)) < 0) {
		if (rc == E_CANCELED || cancel_check(&s->stop, NULL) < 0)
			return rc;
		if (rc == E_FULL)
			chan_notice(&s->base, S(STDIO_ADDRESS));
		else if (rc != last)
			say(arena_fmt(a, "gantry: cannot keep your message: %s%s\n", e.msg,
				      rc == E_CORRUPT ? "" : "; trying again"));
		if (rc == E_CORRUPT)
			return rc;
		last = rc;
		if (wait_ms(RETRY_MS, &s->stop, &e) < 0)
			return E_CANCELED;
	}
	announce(s, v, n);
	return OK;
}

/* Everything complete that lines holds.  E_NOENT: the person said goodbye. */
static int take_lines(struct stdio *s, struct lines *lines, struct arena *a)
{
	struct entry *v = NULL;
	size_t n = 0, room = 0;
	enum line_kind kind;
	str text;

	while ((kind = lines_next(lines, a, &text)) == LINE_TEXT || kind == LINE_LONG) {
		if (kind == LINE_LONG) {
			say(arena_fmt(a,
				      "gantry: that line is longer than %zu bytes and "
				      "was left out\n",
				      lines->max));
			continue;
		}
		if (asking_takes(&s->asking, text, a))
			continue;
		if (n == room) {
			size_t more = room ? room * 2 : 8;
			v = arena_grow(a, v, room * sizeof *v, more * sizeof *v);
			room = more;
		}
		v[n] = (struct entry){ .text = text };
		classify(s, &v[n++], a);
	}
	int rc = n ? store_batch(s, v, n, a) : OK;
	if (n == 0 && kind == LINE_NONE)
		prompt(s);
	return rc < 0 ? rc : kind == LINE_QUIT ? E_NOENT : OK;
}

static size_t line_max(const struct stdio *s)
{
	int64_t max = s->opt.input_max;

	return max > 0 && max < LINE_BYTES ? (size_t)max : LINE_BYTES;
}

static void *reader_main(void *arg)
{
	struct stdio *s = arg;
	SCOPED(arena_free) struct arena all = { 0 };
	struct lines lines = lines_in(&all, line_max(s), READ_STEP);
	char *p = arena_alloc(&all, 1, READ_STEP);
	struct err e = { 0 };
	bool more = true;

	prompt(s);
	while (more && wait_fd(s->opt.in, POLLIN, 0, &s->stop, &e) == OK) {
		SCOPED(arena_free) struct arena a = { 0 };
		ssize_t n = read(s->opt.in, p, READ_STEP);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0) {
			(void)err_sys(&e, "standard input");
			say(arena_fmt(&a, "gantry: %s\n", e.msg));
		}
		more = n > 0;
		if (n > 0)
			lines_add(&lines, (str){ p, (size_t)n });
		else
			lines_end(&lines);
		int rc = take_lines(s, &lines, &a);
		if (rc == E_CANCELED)
			return NULL;
		more = more && rc == OK;
	}
	if (cancel_check(&s->stop, NULL) == OK)
		s->up.on_end(s->up.arg);
	return NULL;
}

struct approver *stdio_approver(struct channel *c)
{
	return &((struct stdio *)c)->asking.base;
}

/* --- life ---------------------------------------------------------------------------- */

static int on_start(struct channel *self, struct store *store, const struct chan_up *up,
		    const struct cancel *c, struct err *e)
{
	struct stdio *s = (struct stdio *)self;
	int rc = cancel_init(&s->stop, c, 0, e);

	if (rc < 0)
		return rc;
	s->store = store;
	s->up = *up;
	s->asking.control = up->control;
	rc = thread_start(&s->reader, "stdio", reader_main, s, e);
	if (rc < 0)
		cancel_done(&s->stop);
	return rc;
}

static void on_stop(struct channel *self)
{
	struct stdio *s = (struct stdio *)self;

	if (!s->reader.running)
		return;
	cancel_fire(&s->stop, CANCEL_SHUTDOWN);
	thread_join(&s->reader);
	cancel_done(&s->stop);
}

int stdio_open(struct channel **out, const struct stdio_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct stdio *s = NEW(&a, struct stdio);
	int rc;

	s->writing.fd = s->asking.turn.fd = s->asking.answered.fd = -1;
	s->base = (struct channel){
		.name = STDIO_CHANNEL,
		.start = on_start,
		.stop = on_stop,
		.render = on_render,
		.send = on_send,
		.live = on_live,
		.notice = on_notice,
	};
	s->opt = *opt;
	s->terminal = isatty(opt->out) == 1;
	s->shown = buf_in(&s->shown_arena, ANSWER_MAX);
	s->arena = a;
	if ((rc = permit_init(&s->writing, e)) < 0 ||
	    (rc = asking_open(&s->asking, opt->prompt, e)) < 0) {
		stdio_close(&s->base);
		return rc;
	}
	*out = &s->base;
	return OK;
}

void stdio_close(struct channel *c)
{
	struct stdio *s = (struct stdio *)c;

	if (!s)
		return;
	on_stop(c);
	permit_done(&s->writing);
	asking_close(&s->asking);
	arena_free(&s->shown_arena);
	struct arena a = s->arena;
	arena_free(&a);
}

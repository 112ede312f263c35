/*
 * The look of a chat.  Answers go to standard output, everything else to standard error; on
 * a terminal both are the same screen, so one writer at a time.
 */
#include "cli/face.h"

#include "chan/trace.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/tty.h"
#include "text/text.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define DIM "\033[2m"
#define PLAIN "\033[0m"
#define ERASE "\r\033[K"

static size_t columns(void)
{
	size_t wide, high;

	tty_size(STDOUT_FILENO, &wide, &high);
	return wide;
}

/* A screen that takes nothing (Ctrl-S) holds the chat up; that is what the person wants. */
static void put(struct face *f, int fd, str s)
{
	if (s.n && fd_write_all(fd, s, NULL, NULL) < 0 && fd == STDOUT_FILENO)
		atomic_store(&f->failed, true);
}

static void clear_spinner(struct face *f)
{
	if (f->spinning)
		put(f, STDERR_FILENO, S(ERASE));
	f->spinning = false;
}

/* End what streams; the next text begins anew. */
static void end_stream(struct face *f)
{
	if (f->fed.n)
		put(f, STDOUT_FILENO, ansi_stream_end(&f->stream, &f->arena, f->fed));
	arena_free(&f->arena);
	f->fed = (str){ 0 };
	f->stream = (struct ansi_stream){ .columns = columns() };
}

static void show_text(struct face *f, str so_far)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (f->fed.n && !str_starts(so_far, f->fed))
		end_stream(f);
	put(f, STDOUT_FILENO, ansi_stream_feed(&f->stream, &a, so_far));
	/* Only what is new is copied: the arena's last block grows in place. */
	char *p = arena_grow(&f->arena, (char *)f->fed.p, f->fed.n, so_far.n + 1);
	for (size_t i = f->fed.n; i < so_far.n; i++)
		p[i] = so_far.p[i];
	f->fed = (str){ p, so_far.n };
}

/* How far a call is stands on the spinner's line, and goes with it. */
static void show_passing(struct face *f, str text, struct arena *a)
{
	size_t wide = columns();
	str line = text_line(a, text, wide > 8 ? wide - 6 : 2);

	if (f->fed.n || line.n >= sizeof f->passing)
		return;
	memcpy(f->passing, line.p, line.n);
	f->passing[line.n] = '\0';
	put(f, STDERR_FILENO, arena_fmt(a, ERASE DIM "  %s" PLAIN, f->passing));
	f->spinning = true;
}

static void live(struct channel *self, str turn_id, str address, enum live_kind kind, str text)
{
	struct face *f = (struct face *)self;
	SCOPED(arena_free) struct arena a = { 0 };

	(void)turn_id;
	(void)address;
	if (permit_take(&f->writing, NULL, NULL) < 0)
		return;
	clear_spinner(f);
	f->working = kind != LIVE_STOP;
	if (kind == LIVE_START || kind == LIVE_STOP)
		f->passing[0] = '\0';
	if (kind == LIVE_START) {
		f->fed = (str){ 0 };
		end_stream(f);
	} else if (kind == LIVE_TEXT && f->terminal) {
		show_text(f, text);
	} else if (kind == LIVE_TRACE && f->trace && f->terminal && trace_passing(text)) {
		show_passing(f, text, &a);
	} else if (kind == LIVE_TRACE && f->trace &&
		   !trace_too_soon(&f->passed_ms, text, clock_mono_ms())) {
		if (f->terminal)
			end_stream(f);
		f->passing[0] = '\0';
		text = text_line(&a, text, 200);
		put(f, STDERR_FILENO,
		    arena_fmt(&a, f->terminal ? DIM "  %.*s" PLAIN "\n" : "%.*s\n",
			      STRF(text)));
	}
	permit_give(&f->writing);
}

/* The answer is there: show what of it is missing on the screen. */
static void show_answer(struct face *f, str text, struct arena *a)
{
	clear_spinner(f);
	if (!f->terminal) {
		put(f, STDOUT_FILENO, arena_fmt(a, "%.*s\n", STRF(text)));
		return;
	}
	if (f->fed.n && str_starts(text, str_trim(f->fed))) {
		if (str_starts(text, f->fed))
			show_text(f, text);
		end_stream(f);
		return;
	}
	end_stream(f);
	put(f, STDOUT_FILENO, text_ansi(a, text, columns()));
}

static void send_piece(struct channel *self, const struct outbox_row *row,
		       const struct piece *piece, struct arena *a, struct send_result *out,
		       const struct cancel *c)
{
	struct face *f = (struct face *)self;

	(void)row;
	*out = (struct send_result){ .end = SEND_RETRY, .retry_after_ms = 1000 };
	if (permit_take(&f->writing, c, NULL) < 0)
		return;
	show_answer(f, piece->body, a);
	permit_give(&f->writing);
	out->end = SEND_OK;
}

static struct face *face_of(struct approver *self)
{
	return (struct face *)((char *)self - offsetof(struct face, approver));
}

/* A question begins on a line of its own, below what streams, and without a spinner. */
static int begin_question(struct face *f, bool *working, const struct cancel *c, struct err *e)
{
	int rc = permit_take(&f->writing, c, e);

	if (rc < 0)
		return rc;
	clear_spinner(f);
	end_stream(f);
	*working = f->working;
	f->working = false;
	permit_give(&f->writing);
	return OK;
}

static void end_question(struct face *f, bool working)
{
	if (permit_take(&f->writing, NULL, NULL) < 0)
		return;
	f->working = working;
	permit_give(&f->writing);
}

static int ask(struct approver *self, const struct approval_ask *what, bool *yes,
	       const struct cancel *c, struct err *e)
{
	struct face *f = face_of(self);
	bool working;
	int rc = begin_question(f, &working, c, e);

	if (rc < 0)
		return rc;
	rc = f->asked->ask(f->asked, what, yes, c, e);
	end_question(f, working);
	return rc;
}

static int ask_line(struct approver *self, const struct line_ask *what, struct arena *a,
		    str *line, const struct cancel *c, struct err *e)
{
	struct face *f = face_of(self);
	bool working;
	int rc = begin_question(f, &working, c, e);

	if (rc < 0)
		return rc;
	rc = f->asked->line(f->asked, what, a, line, c, e);
	end_question(f, working);
	return rc;
}

struct approver *face_approver(struct face *f, struct approver *by)
{
	if (!by)
		return NULL;
	f->asked = by;
	f->approver = (struct approver){ .ask = ask,
					 .line = by->line ? ask_line : NULL,
					 .decider = by->decider };
	return &f->approver;
}

int face_open(struct face *f, const char *name, bool terminal, bool trace, struct err *e)
{
	*f = (struct face){ .terminal = terminal, .trace = trace };
	f->channel = (struct channel){
		.name = name, .render = chan_render_whole, .send = send_piece, .live = live
	};
	return permit_init(&f->writing, e);
}

void face_close(struct face *f)
{
	permit_done(&f->writing);
	arena_free(&f->arena);
}

void face_tick(struct face *f)
{
	static const char *const frames[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧" };
	char line[64 + sizeof f->passing];

	if (!f->terminal || !permit_try(&f->writing))
		return;
	if (f->working && f->fed.n == 0) {
		int n = snprintf(line, sizeof line, ERASE DIM "%s%s%s" PLAIN,
				 frames[f->frame++ % COUNT(frames)], f->passing[0] ? " " : "",
				 f->passing);
		put(f, STDERR_FILENO, (str){ line, (size_t)n });
		f->spinning = true;
	}
	permit_give(&f->writing);
}

void face_say(struct face *f, str markdown)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (permit_take(&f->writing, NULL, NULL) < 0)
		return;
	show_answer(f, markdown, &a);
	permit_give(&f->writing);
}

/*
 * The line editor: waits for bytes, makes keys of them (edit_keys), lets them work on the
 * text (edit_text) and draws it (screen).
 */
#include "cli/edit.h"

#include "base/buf.h"
#include "base/utf.h"
#include "cli/edit_history.h"
#include "cli/edit_text.h"
#include "cli/screen.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/tty.h"
#include "os/wait.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)1 << 20)
#define INPUT_MAX 65536
#define LONE_ESCAPE_MS 50 /* how long the rest of a sequence may take */
#define LEAVE_MS 30
#define PASTE_ON S("\x1b[?2004h")
#define PASTE_OFF S("\x1b[?2004l")

struct edit {
	struct arena arena; /* owns this struct */
	struct edit_opt opt;
	bool plain; /* no editing */
	struct bell resized;
	struct edit_history history;
	char *input; /* read and not yet used */
	size_t n;
	bool ended;
	bool fresh; /* what waited when the terminal became raw was not read yet */
};

/* One call of edit_line(). */
struct session {
	struct edit *ed;
	struct arena *a;
	str prompt;
	struct edit_text text;
	struct screen screen;
	size_t at; /* in the history; history.n is the draft */
	str draft;
	bool pasting, dirty;
	bool secret; /* nothing of the text is drawn */
	struct buf paste;
};

int edit_open(struct edit **out, const struct edit_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct edit *ed = NEW(&a, struct edit);
	int rc = bell_init(&ed->resized, e);

	if (rc < 0) {
		arena_free(&a);
		return rc;
	}
	ed->opt = *opt;
	ed->opt.max = opt->max ? opt->max : MESSAGE_MAX;
	ed->plain = opt->dumb || !tty_is(opt->in) || !tty_is(opt->out);
	ed->input = arena_alloc(&a, 1, INPUT_MAX);
	edit_history_open(&ed->history, ed->plain ? NULL : opt->history);
	ed->arena = a;
	*out = ed;
	return OK;
}

void edit_close(struct edit *ed)
{
	if (!ed)
		return;
	edit_history_close(&ed->history);
	bell_done(&ed->resized);
	struct arena a = ed->arena;
	arena_free(&a);
}

void edit_resized(struct edit *ed)
{
	bell_ring(&ed->resized);
}

static void use(struct edit *ed, size_t n)
{
	memmove(ed->input, ed->input + n, ed->n - n);
	ed->n -= n;
}

/* What was typed before the terminal became raw was buffered as lines; the kernel keeps a
 * Ctrl-D of that time as a NUL. */
static void take_early_end(struct edit *ed, size_t got)
{
	for (size_t i = ed->n; ed->fresh && i < ed->n + got; i++)
		if (ed->input[i] == '\0')
			ed->input[i] = '\x04';
	ed->fresh = false;
}

/* More bytes, or the end.  E_TIMEOUT: none until until_ms; the bell may have rung as well. */
static int more_input(struct edit *ed, int64_t until_ms, const struct cancel *c, struct err *e)
{
	struct pollfd fds[] = {
		{ .fd = ed->opt.in, .events = POLLIN },
		{ .fd = ed->resized.fd, .events = POLLIN },
	};
	int rc = wait_fds(fds, COUNT(fds), until_ms, c, e);

	if (rc < 0 || !fds[0].revents)
		return rc;
	ssize_t got = read(ed->opt.in, ed->input + ed->n, INPUT_MAX - ed->n);
	if (got > 0) {
		take_early_end(ed, (size_t)got);
		ed->n += (size_t)got;
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		ed->ended = true;
	}
	return OK;
}

/* --- without a terminal -------------------------------------------------------------- */

static int plain_line(struct edit *ed, const char *prompt, struct arena *a, str *out,
		      const struct cancel *c, struct err *e)
{
	struct buf line = buf_in(a, ed->opt.max);
	const char *end = NULL;

	bool person = tty_is(ed->opt.in) && tty_is(ed->opt.out);
	int rc = fd_write_all(ed->opt.out, person ? str_of(prompt) : S(""), c, e);
	while (rc == OK && !end) {
		end = memchr(ed->input, '\n', ed->n);
		size_t len = end ? (size_t)(end - ed->input) : ed->n;
		buf_add(&line, (str){ ed->input, len });
		use(ed, end ? len + 1 : len);
		if (!end && ed->ended)
			break;
		if (!end)
			rc = more_input(ed, 0, c, e);
	}
	if (rc < 0)
		return rc;
	if (line.full)
		return err_set(e, E_LIMIT, "that line is longer than %zu bytes", ed->opt.max);
	if (!end && line.n == 0)
		return err_set(e, E_NOENT, "end of input");
	struct edit_text t = { .a = a, .max = ed->opt.max * 3 };
	edit_text_set(&t, buf_str(&line));
	*out = edit_text_str(&t);
	if (str_ends(*out, S("\n")))
		out->n--;
	return OK;
}

/* --- on a terminal ------------------------------------------------------------------- */

static int put(struct session *s, str bytes, const struct cancel *c, struct err *e)
{
	return fd_write_all(s->ed->opt.out, bytes, c, e);
}

static str drawn(struct session *s)
{
	return s->secret ? S("") : edit_text_str(&s->text);
}

static int redraw(struct session *s, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };

	tty_size(s->ed->opt.out, &s->screen.columns, &s->screen.rows);
	s->dirty = false;
	return put(s,
		   screen_draw(&s->screen, &a, s->prompt, drawn(s),
			       s->secret ? 0 : s->text.cursor),
		   c, e);
}

/* Leave the text where it stands and go below it; also when c has ended, but then a terminal
 * that takes nothing is not waited for. */
static void leave(struct session *s)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(cancel_done) struct cancel soon = { .fd = -1 };
	str end = screen_leave(&s->screen, &a, s->prompt, drawn(s));

	if (cancel_init(&soon, NULL, LEAVE_MS, NULL) == OK)
		(void)!put(s, arena_cat(&a, end, PASTE_OFF), &soon, NULL);
}

static void show_history(struct session *s, size_t at)
{
	const struct edit_history *h = &s->ed->history;

	if (s->at == h->n)
		s->draft = arena_dup(s->a, edit_text_str(&s->text));
	s->at = at;
	edit_text_set(&s->text, at == h->n ? s->draft : h->v[at]);
	s->dirty = true;
}

static void up_or_down(struct session *s, enum key key)
{
	int by = key == KEY_UP ? -1 : 1;

	if (s->secret)
		return;
	if (edit_text_line(&s->text, by))
		s->dirty = true;
	else if (by < 0 && s->at > 0)
		show_history(s, s->at - 1);
	else if (by > 0 && s->at < s->ed->history.n)
		show_history(s, s->at + 1);
}

static int bell(struct session *s, const struct cancel *c, struct err *e)
{
	return put(s, S("\a"), c, e);
}

static int clear(struct session *s, const struct cancel *c, struct err *e)
{
	s->screen.cursor_row = 0;
	s->dirty = true;
	return put(s, S("\x1b[H\x1b[2J"), c, e);
}

/* 1: the message is complete. */
static int on_key(struct session *s, const struct key_press *k, const struct cancel *c,
		  struct err *e)
{
	switch (k->key) {
	case KEY_TEXT:
		s->dirty = true;
		return edit_text_insert(&s->text, k->text) ? OK : bell(s, c, e);
	case KEY_ENTER:
		return 1;
	case KEY_INTERRUPT:
		return err_set(e, E_CANCELED, "interrupted");
	case KEY_UP:
	case KEY_DOWN:
		up_or_down(s, k->key);
		return OK;
	case KEY_CLEAR:
		return clear(s, c, e);
	case KEY_PASTE_BEGIN:
		s->pasting = true;
		s->paste = buf_in(s->a, s->ed->opt.max);
		return OK;
	case KEY_DELETE_OR_END:
		if (s->text.n == 0)
			return err_set(e, E_NOENT, "end of input");
		break;
	default:
		break;
	}
	s->dirty |= edit_text_key(&s->text, k->key);
	return OK;
}

/* What has come of a paste; at its end it goes into the text at once. */
static int on_paste(struct session *s, const struct cancel *c, struct err *e)
{
	struct edit *ed = s->ed;
	bool end;
	size_t n = key_paste((str){ ed->input, ed->n }, &end);

	buf_add(&s->paste, (str){ ed->input, n });
	use(ed, end ? n + KEY_PASTE_END_BYTES : n);
	if (!end)
		return OK;
	s->pasting = false;
	s->dirty = true;
	if (s->paste.full || !edit_text_insert(&s->text, buf_str(&s->paste)))
		return bell(s, c, e);
	return OK;
}

/* Everything the input holds; 1 when the message is complete. */
static int take_input(struct session *s, bool last, const struct cancel *c, struct err *e)
{
	struct edit *ed = s->ed;
	int rc = OK;

	while (rc == OK && ed->n) {
		struct key_press k;
		if (s->pasting) {
			size_t before = ed->n;
			rc = on_paste(s, c, e);
			if (ed->n == before)
				break;
			continue;
		}
		size_t n = key_next((str){ ed->input, ed->n }, &k);
		if (n == 0 && !last)
			break;
		/* A lone Escape is no key here, and neither is half of anything else. */
		rc = n ? on_key(s, &k, c, e) : bell(s, c, e);
		use(ed, n ? n : 1);
	}
	return rc;
}

static int edit_loop(struct session *s, const struct cancel *c, struct err *e)
{
	struct edit *ed = s->ed;
	int rc = take_input(s, false, c, e);

	while (rc == OK) {
		if (s->dirty)
			rc = redraw(s, c, e);
		bool pending = ed->n > 0 && !s->pasting;
		if (rc < 0 || (rc = cancel_check(c, e)) < 0)
			break;
		if (ed->ended)
			return err_set(e, E_NOENT, "end of input");
		rc = more_input(ed, pending ? clock_mono_ms() + LONE_ESCAPE_MS : 0, c, e);
		bool silence = rc == E_TIMEOUT && cancel_check(c, NULL) == OK;
		if (rc < 0 && !silence)
			break;
		if (wait_fd(ed->resized.fd, POLLIN, 1, NULL, NULL) == OK) {
			bell_hear(&ed->resized);
			tty_size(ed->opt.out, &s->screen.columns, &s->screen.rows);
			screen_resized(&s->screen, s->prompt, drawn(s),
				       s->secret ? 0 : s->text.cursor);
			s->dirty = true;
		}
		rc = take_input(s, silence, c, e);
	}
	return rc;
}

static int raw_line(struct session *s, const struct cancel *c, struct err *e)
{
	int rc = put(s, PASTE_ON, c, e);

	/* A line that is there already is left without ever being redrawn. */
	tty_size(s->ed->opt.out, &s->screen.columns, &s->screen.rows);
	if (rc == OK)
		rc = edit_loop(s, c, e);
	leave(s);
	return rc == 1 ? OK : rc;
}

/* Lines as they come, from a terminal that does not echo them. */
static int quiet_line(struct edit *ed, const char *prompt, struct arena *a, str *out,
		      const struct cancel *c, struct err *e)
{
	struct tty_mode saved;
	int rc;

	if (!tty_is(ed->opt.in))
		return plain_line(ed, prompt, a, out, c, e);
	if ((rc = tty_quiet(ed->opt.in, &saved, e)) < 0)
		return rc;
	rc = plain_line(ed, prompt, a, out, c, e);
	tty_restore(ed->opt.in, &saved);
	return rc;
}

static int line(struct edit *ed, const char *prompt, bool secret, struct arena *a, str *out,
		const struct cancel *c, struct err *e)
{
	struct tty_mode saved;
	int rc = cancel_check(c, e);

	if (rc < 0)
		return rc;
	if (ed->plain)
		return secret ? quiet_line(ed, prompt, a, out, c, e)
			      : plain_line(ed, prompt, a, out, c, e);
	if (ed->ended && ed->n == 0)
		return err_set(e, E_NOENT, "end of input");
	rc = tty_raw(ed->opt.in, &saved, e);
	if (rc < 0)
		return rc;
	ed->fresh = wait_fd(ed->opt.in, POLLIN, 1, NULL, NULL) == OK;
	SCOPED(arena_free) struct arena own = { 0 };
	struct session s = {
		.ed = ed,
		.a = &own,
		.prompt = str_of(prompt),
		.text = { .a = &own, .max = ed->opt.max },
		.at = ed->history.n,
		.dirty = true,
		.secret = secret,
	};
	rc = raw_line(&s, c, e);
	tty_restore(ed->opt.in, &saved);
	if (rc < 0)
		return rc;
	*out = arena_dup(a, edit_text_str(&s.text));
	if (!secret && !(ed->opt.secret && ed->opt.secret(*out)))
		edit_history_add(&ed->history, *out);
	return OK;
}

int edit_line(struct edit *ed, const char *prompt, struct arena *a, str *out,
	      const struct cancel *c, struct err *e)
{
	return line(ed, prompt, false, a, out, c, e);
}

int edit_secret(struct edit *ed, const char *prompt, struct arena *a, str *out,
		const struct cancel *c, struct err *e)
{
	return line(ed, prompt, true, a, out, c, e);
}

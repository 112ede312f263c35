/*
 * The approver at the terminal.
 */
#include "chan/terminal.h"

#include "chan/question.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/permit.h"
#include "os/tty.h"
#include "os/wait.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 256 /* bytes; longer is no yes */
#define LINE_MAX_BYTES 4096

struct terminal {
	struct approver base;
	struct arena arena; /* owns this struct */
	int in, err;
	struct permit asking; /* whose holder owns what follows */
	bool ended; /* the input is over */
	bool stale; /* a question went unanswered: what comes may be meant for it */
	char line[LINE_MAX_BYTES]; /* read and not yet taken */
	size_t n;
};

/* What was read of a line so far. */
struct taken {
	char text[LINE_MAX_BYTES];
	size_t n; /* all of text: it is longer than that */
	bool skipping;
};

/* A line from what is there; of one that is too long the end is left out. */
static bool take_line(struct terminal *t, struct taken *x)
{
	const char *end = memchr(t->line, '\n', t->n);
	size_t len = end ? (size_t)(end - t->line) : t->n;
	bool whole = end || (t->ended && t->n);

	if (!whole && t->n < sizeof t->line)
		return false;
	x->n = x->skipping || len >= sizeof x->text ? sizeof x->text : len;
	memcpy(x->text, t->line, x->n < len ? x->n : len);
	size_t used = end ? len + 1 : len;
	memmove(t->line, t->line + used, t->n - used);
	t->n -= used;
	x->skipping = !whole;
	return whole;
}

static int read_line(struct terminal *t, int64_t timeout_ms, struct taken *x,
		     const struct cancel *c, struct err *e)
{
	int64_t until = timeout_ms > 0 ? clock_mono_ms() + timeout_ms : 0;

	while (!take_line(t, x)) {
		if (t->ended)
			return err_set(e, E_DENIED, "nobody is here to answer: input ended");
		int rc = wait_fd(t->in, POLLIN, until, c, e);
		if (rc < 0)
			return rc;
		ssize_t got = read(t->in, t->line + t->n, sizeof t->line - t->n);
		if (got > 0)
			t->n += (size_t)got;
		else if (got == 0 || (errno != EAGAIN && errno != EINTR))
			t->ended = true;
	}
	return OK;
}

/* The question, and the line that is typed then. */
static int converse(struct terminal *t, const struct line_ask *ask, struct taken *x,
		    const struct cancel *c, struct err *e)
{
	int rc = permit_take(&t->asking, c, e);

	if (rc < 0)
		return rc;
	if (!t->ended && (t->stale || tty_is(t->in))) {
		tty_drop_input(t->in);
		t->n = 0;
	}
	rc = t->ended && t->n == 0 ? err_set(e, E_DENIED, "nobody is here to answer")
				   : fd_write_all(t->err, ask->text, c, e);
	if (rc == OK) {
		rc = read_line(t, ask->timeout_ms, x, c, e);
		t->stale = rc < 0;
		if (rc < 0)
			(void)!write(t->err, "\n", 1);
	}
	permit_give(&t->asking);
	/* A terminal that is gone cannot say yes; nor is it the call's failure. */
	return rc == E_IO ? err_set(e, E_DENIED, "the terminal is gone") : rc;
}

static int on_ask(struct approver *self, const struct approval_ask *ask, bool *yes,
		  const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct line_ask line = { question_text(&a, ask), 0, ask->timeout_ms };
	struct taken x = { 0 };
	int rc = converse((struct terminal *)self, &line, &x, c, e);

	if (rc == OK)
		*yes = question_yes((str){ x.text, x.n < ANSWER_MAX ? x.n : 0 });
	return rc;
}

static int on_line(struct approver *self, const struct line_ask *ask, struct arena *a,
		   str *line, const struct cancel *c, struct err *e)
{
	struct taken x = { 0 };
	int rc = converse((struct terminal *)self, ask, &x, c, e);

	if (rc == OK && (x.n >= sizeof x.text || x.n > ask->max))
		return err_set(e, E_LIMIT, "that line is too long");
	if (rc == OK)
		*line = arena_dup(a, (str){ x.text, x.n });
	return rc;
}

int terminal_approver_open(struct approver **out, int in_fd, int err_fd, struct err *e)
{
	struct arena a = { 0 };
	struct terminal *t = NEW(&a, struct terminal);
	int rc = permit_init(&t->asking, e);

	if (rc < 0) {
		arena_free(&a);
		return rc;
	}
	t->base = (struct approver){ .ask = on_ask, .line = on_line, .decider = "terminal" };
	t->in = in_fd;
	t->err = err_fd;
	t->arena = a;
	*out = &t->base;
	return OK;
}

void terminal_approver_close(struct approver *a)
{
	struct terminal *t = (struct terminal *)a;

	if (!t)
		return;
	permit_done(&t->asking);
	struct arena arena = t->arena;
	arena_free(&arena);
}

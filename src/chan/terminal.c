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

struct terminal {
	struct approver base;
	struct arena arena; /* owns this struct */
	int in, err;
	struct permit asking; /* whose holder owns what follows */
	bool ended; /* the input is over */
	bool stale; /* a question went unanswered: what comes may be meant for it */
	char line[4096]; /* read and not yet taken */
	size_t n;
};

/* A line of at most ANSWER_MAX bytes from what is there; more of it is left out. */
static bool take_line(struct terminal *t, char answer[ANSWER_MAX], size_t *n, bool *skipping)
{
	const char *end = memchr(t->line, '\n', t->n);
	size_t len = end ? (size_t)(end - t->line) : t->n;
	bool whole = end || (t->ended && t->n);

	if (!whole && t->n < sizeof t->line)
		return false;
	*n = *skipping ? ANSWER_MAX : len < ANSWER_MAX ? len : ANSWER_MAX;
	memcpy(answer, t->line, *n < len ? *n : len);
	size_t used = end ? len + 1 : len;
	memmove(t->line, t->line + used, t->n - used);
	t->n -= used;
	*skipping = !whole;
	return whole;
}

static int read_answer(struct terminal *t, int64_t until_ms, bool *yes, const struct cancel *c,
		       struct err *e)
{
	char answer[ANSWER_MAX];
	bool skipping = false;
	size_t n = 0;

	while (!take_line(t, answer, &n, &skipping)) {
		if (t->ended)
			return err_set(e, E_DENIED, "nobody is here to answer: input ended");
		int rc = wait_fd(t->in, POLLIN, until_ms, c, e);
		if (rc < 0)
			return rc;
		ssize_t got = read(t->in, t->line + t->n, sizeof t->line - t->n);
		if (got > 0)
			t->n += (size_t)got;
		else if (got == 0 || (errno != EAGAIN && errno != EINTR))
			t->ended = true;
	}
	*yes = question_yes((str){ answer, n < ANSWER_MAX ? n : 0 });
	return OK;
}

static int put_question(const struct terminal *t, const struct approval_ask *ask,
			const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };

	return fd_write_all(t->err, question_text(&a, ask), c, e);
}

static int on_ask(struct approver *self, const struct approval_ask *ask, bool *yes,
		  const struct cancel *c, struct err *e)
{
	struct terminal *t = (struct terminal *)self;
	bool answer = false;
	int rc = permit_take(&t->asking, c, e);

	if (rc < 0)
		return rc;
	if (!t->ended && (t->stale || tty_is(t->in))) {
		tty_drop_input(t->in);
		t->n = 0;
	}
	rc = t->ended && t->n == 0 ? err_set(e, E_DENIED, "nobody is here to answer")
				   : put_question(t, ask, c, e);
	if (rc == OK) {
		int64_t until = ask->timeout_ms > 0 ? clock_mono_ms() + ask->timeout_ms : 0;
		rc = read_answer(t, until, &answer, c, e);
		t->stale = rc < 0;
		if (rc < 0)
			(void)!write(t->err, "\n", 1);
	}
	permit_give(&t->asking);
	if (rc == OK)
		*yes = answer;
	/* A terminal that is gone cannot say yes; nor is it the call's failure. */
	return rc == E_IO ? err_set(e, E_DENIED, "the terminal is gone") : rc;
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
	t->base = (struct approver){ .ask = on_ask, .decider = "terminal" };
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

/*
 * Whoever asks shows the question and waits; the reader hands the next line over.  Which of them
 * has the line is said by one atomic state.
 */
#include "chan/stdio_asking.h"

#include "chan/question.h"
#include "os/clock.h"
#include "os/file.h"

#include <stdatomic.h>
#include <unistd.h>

#define AGAIN S("\n> ")

enum { NOT_ASKED, ASKED, ANSWER_YES, ANSWER_NO, LINE_ASKED, LINE_TAKING, LINE_THERE };

/* Unanswered: what is typed next is a message again. */
static void say_again(void)
{
	if (wait_fd(STDERR_FILENO, POLLOUT, 1, NULL, NULL) == OK)
		(void)!write(STDERR_FILENO, AGAIN.p, AGAIN.n);
}

static int wait_answer(struct asking *q, int64_t timeout_ms, bool *yes, const struct cancel *c,
		       struct err *e)
{
	int64_t until = timeout_ms > 0 ? clock_mono_ms() + timeout_ms : 0;
	int rc = wait_fd(q->answered.fd, POLLIN, until, c, e);
	int state = atomic_exchange(&q->state, NOT_ASKED);

	bell_hear(&q->answered);
	if (rc < 0 && state == ASKED)
		say_again();
	/* An answer that came at the last moment counts. */
	*yes = state == ANSWER_YES;
	return state == ASKED ? rc : OK;
}

static int take_back(struct asking *q, int rc)
{
	atomic_store(&q->state, NOT_ASKED);
	bell_hear(&q->answered);
	return rc;
}

static int on_ask(struct approver *self, const struct approval_ask *ask, bool *yes,
		  const struct cancel *c, struct err *e)
{
	struct asking *q = (struct asking *)self;
	SCOPED(arena_free) struct arena a = { 0 };

	if (!q->there)
		return err_set(e, E_DENIED, "nobody is here to approve %.*s", STRF(ask->tool));
	int rc = permit_take(&q->turn, c, e);
	if (rc < 0)
		return rc;
	/* Before the question can be seen, so that no answer to it is taken for a message. */
	atomic_store(&q->state, ASKED);
	rc = fd_write_all(STDERR_FILENO, question_text(&a, ask), c, e);
	rc = rc < 0 ? take_back(q, rc) : wait_answer(q, ask->timeout_ms, yes, c, e);
	permit_give(&q->turn);
	return rc == E_IO ? err_set(e, E_DENIED, "the terminal is gone") : rc;
}

/* No longer asked, unless a reply is there or being taken. */
static int end_line(struct asking *q, int rc)
{
	int asked = LINE_ASKED;

	if (rc < 0 && !atomic_compare_exchange_strong(&q->state, &asked, NOT_ASKED) &&
	    asked != NOT_ASKED)
		rc = wait_fd(q->answered.fd, POLLIN, 0, NULL, NULL); /* it comes at once */
	bell_hear(&q->answered);
	if (rc < 0)
		say_again();
	return rc;
}

static int on_line(struct approver *self, const struct line_ask *ask, struct arena *a,
		   str *line, const struct cancel *c, struct err *e)
{
	struct asking *q = (struct asking *)self;
	int64_t until = ask->timeout_ms > 0 ? clock_mono_ms() + ask->timeout_ms : 0;
	int rc;

	if (!q->there)
		return err_set(e, E_DENIED, "nobody is here to answer");
	if ((rc = permit_take(&q->turn, c, e)) < 0)
		return rc;
	atomic_store(&q->state, LINE_ASKED);
	rc = fd_write_all(STDERR_FILENO, ask->text, c, e);
	if (rc == OK)
		rc = wait_fd(q->answered.fd, POLLIN, until, c, e);
	rc = end_line(q, rc);
	if (rc == OK && q->line_n > ask->max)
		rc = err_set(e, E_LIMIT, "that line is too long");
	if (rc == OK)
		*line = arena_dup(a, (str){ q->line, q->line_n });
	atomic_store(&q->state, NOT_ASKED);
	permit_give(&q->turn);
	return rc == E_IO ? err_set(e, E_DENIED, "the terminal is gone") : rc;
}

int asking_open(struct asking *q, bool there, struct err *e)
{
	int rc;

	q->base = (struct approver){ .ask = on_ask, .line = on_line, .decider = "terminal" };
	q->there = there;
	q->turn.fd = q->answered.fd = -1;
	if ((rc = permit_init(&q->turn, e)) < 0 || (rc = bell_init(&q->answered, e)) < 0)
		return rc;
	return OK;
}

void asking_close(struct asking *q)
{
	permit_done(&q->turn);
	bell_done(&q->answered);
}

/* Is something asked that takes any line?  Then this one is the reply, but for a word that ends
 * the turn that asks. */
static bool replies(struct asking *q, str line, struct arena *a)
{
	int asked = LINE_ASKED;
	enum control what;

	if (atomic_load(&q->state) != LINE_ASKED ||
	    (!str_eq(str_trim(line), S("/cancel")) && q->control &&
	     q->control(line, a, &what) == OK) ||
	    !atomic_compare_exchange_strong(&q->state, &asked, LINE_TAKING))
		return false;
	q->line_n = line.n <= sizeof q->line ? line.n : sizeof q->line + 1;
	memcpy(q->line, line.p ? line.p : "", line.n <= sizeof q->line ? line.n : 0);
	atomic_store(&q->state, LINE_THERE);
	bell_ring(&q->answered);
	return true;
}

bool asking_takes(struct asking *q, str line, struct arena *a)
{
	int asked = ASKED;

	if (replies(q, line, a))
		return true;

	if (!atomic_compare_exchange_strong(&q->state, &asked,
					    question_yes(line) ? ANSWER_YES : ANSWER_NO))
		return false;
	bell_ring(&q->answered);
	return true;
}

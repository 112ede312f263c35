/*
 * An approver that asks by way of the host: the question is left in the call's place, main puts
 * it as the revision has it, and the answer comes back to the thread that waits.
 */
#include "cli/serve_parts.h"

#include "os/clock.h"
#include "text/text.h"

/* As markup means nothing there, plain lines. */
static str question(struct arena *a, const struct approval_ask *ask)
{
	struct buf b = buf_in(a, 1u << 20);

	buf_fmt(&b, "The agent wants to run %.*s\n\n%.*s\n",
		STRF(text_visible(a, ask->tool, true)),
		STRF(text_visible(a, ask->display, false)));
	if (ask->reason.n)
		buf_fmt(&b, "\nWhy you are asked: %.*s\n",
			STRF(text_visible(a, ask->reason, true)));
	if (ask->timeout_ms > 0)
		buf_fmt(&b, "\nNo answer within %lld s is a no.\n",
			(long long)((ask->timeout_ms + 999) / 1000));
	return buf_str(&b);
}

/* Until it is answered, or that does not matter any more. */
static int wait_answer(struct serve_person *p, int64_t timeout_ms, struct arena *a,
		       struct serve_answer *out, const struct cancel *c, struct err *e)
{
	int64_t until = timeout_ms > 0 ? clock_mono_ms() + timeout_ms : 0;
	int rc = OK;

	while (!serve_shared_asked(p->k, rc < 0, a, out) && !out->lost && rc == OK) {
		rc = wait_fd(p->bell->fd, POLLIN, until, c, e);
		bell_hear(p->bell);
	}
	return rc;
}

/* Put it, and wait for what comes of it. */
static int put(struct serve_person *p, const struct mcp_serve_form *form, int64_t timeout_ms,
	       struct arena *a, struct serve_answer *out, const struct cancel *c, struct err *e)
{
	int rc;

	if (!p->k || !p->k->elicits)
		return err_set(e, E_DENIED,
			       "the host that asked cannot put questions to a person "
			       "(it offers no elicitation)");
	*out = (struct serve_answer){ 0 };
	if ((rc = permit_take(&p->turn, c, e)) < 0)
		return rc;
	if (serve_shared_ask(p->k, form, p->bell))
		rc = wait_answer(p, timeout_ms, a, out, c, e);
	else
		out->lost = true;
	permit_give(&p->turn);
	if (rc == OK && out->lost)
		rc = err_set(e, E_DENIED, "the host that asked is gone");
	return rc;
}

static int on_ask(struct approver *self, const struct approval_ask *ask, bool *yes,
		  const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_serve_form form = { .message = question(&a, ask) };
	struct serve_answer answer;
	int rc = put((struct serve_person *)self, &form, ask->timeout_ms, &a, &answer, c, e);

	if (rc == OK)
		*yes = answer.yes;
	return rc;
}

/* A tool server of ours asks something: one field of a form after the other, in words. */
static int on_line(struct approver *self, const struct line_ask *ask, struct arena *a,
		   str *line, const struct cancel *c, struct err *e)
{
	const struct mcp_serve_form form = { .message = str_trim(ask->text), .text = true };
	struct serve_answer answer;
	int rc = put((struct serve_person *)self, &form, ask->timeout_ms, a, &answer, c, e);

	if (rc < 0)
		return rc;
	if (answer.reply.n > ask->max)
		return err_set(e, E_LIMIT, "more than %zu bytes", ask->max);
	*line = answer.replied == MCP_SERVE_REPLIED    ? answer.reply
		: answer.replied == MCP_SERVE_DECLINED ? S("/decline")
						       : S("/cancel");
	return OK;
}

int serve_person_init(struct serve_person *p, struct serve_call *k, const struct bell *bell,
		      struct err *e)
{
	*p = (struct serve_person){
		.base = { .ask = on_ask, .line = on_line, .decider = "mcp" },
		.turn = { .fd = -1 },
		.k = k,
		.bell = bell,
	};
	return permit_init(&p->turn, e);
}

void serve_person_done(struct serve_person *p)
{
	permit_done(&p->turn);
}

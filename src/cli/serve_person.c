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

static int on_ask(struct approver *self, const struct approval_ask *ask, bool *yes,
		  const struct cancel *c, struct err *e)
{
	struct serve_person *p = (struct serve_person *)self;
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t until = ask->timeout_ms > 0 ? clock_mono_ms() + ask->timeout_ms : 0;
	bool lost = false, said = false;
	int rc = OK;

	if (!p->k || !p->k->elicits)
		return err_set(e, E_DENIED,
			       "the host that asked cannot put questions to a person "
			       "(it offers no elicitation)");
	if (!serve_shared_ask(p->k, question(&a, ask), p->bell))
		return err_set(e, E_DENIED, "the host that asked is gone");
	while (!serve_shared_asked(p->k, rc < 0, &said, &lost) && !lost && rc == OK) {
		rc = wait_fd(p->bell->fd, POLLIN, until, c, e);
		bell_hear(p->bell);
	}
	if (rc < 0)
		return rc;
	if (lost)
		return err_set(e, E_DENIED, "the host that asked is gone");
	*yes = said;
	return OK;
}

void serve_person_init(struct serve_person *p, struct serve_call *k, const struct bell *bell)
{
	*p = (struct serve_person){ .base = { .ask = on_ask, .decider = "mcp" },
				    .k = k,
				    .bell = bell };
}

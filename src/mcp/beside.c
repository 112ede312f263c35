/*
 * What a caller hears beside its requests, in a slot of its own that is none: what is said of a
 * task between two looks at it, and the end of what a link was for.
 */
#include "mcp/outcome.h"
#include "mcp/slots.h"
#include "os/clock.h"

/* A slot of no request, in which a caller hears something of its call nevertheless. */
static int enter_beside(struct mcp_calls *c, const struct mcp_call *call, struct mcp_slot **out,
			struct err *e)
{
	int rc;

	mcp_slots_lock(c);
	if ((rc = mcp_slots_take(c, atomic_fetch_add(c->ids, 1) + 1, out, e)) == OK) {
		(*out)->state = WRITTEN;
		(*out)->origin = call->origin;
	}
	mcp_slots_unlock(c);
	return rc;
}

/* Its caller has gone; what it was still asked is refused. */
static void leave_beside(struct mcp_calls *c, struct mcp_slot *s)
{
	struct mcp_slot got;

	mcp_slots_lock(c);
	got = *s;
	for (const struct mcp_asked *q = s->state == WRITTEN ? s->asked : NULL; q; q = q->next)
		mcp_slots_push(c, mcp_slots_refusal(q));
	s->state = FREE;
	s->line = (struct arena){ 0 };
	s->asked = NULL;
	mcp_slots_unlock(c);
	arena_free(&got.line);
	mcp_slots_free_asked(got.asked);
	bell_ring(&c->bell);
}

/* Ask what no request of the server's asks. */
static int ask_beside(struct mcp_calls *c, const struct mcp_ask *ask, struct mcp_question *q,
		      struct arena *a, struct mcp_answer *out, struct err *e)
{
	struct mcp_slot *s;
	bool wanted;
	int rc = enter_beside(c, ask->call, &s, e);

	if (rc < 0)
		return rc;
	rc = mcp_slots_have_answered(c, s, ask, q, a, out, &wanted, e);
	leave_beside(c, s);
	return rc;
}

static bool is_accepted(str result)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json *v;

	return json_read(&v, &a, result, NULL) == OK && str_is(json_str(v, "action"), "accept");
}

int mcp_calls_linger(struct mcp_calls *c, struct mcp_linger *l, int64_t ms,
		     const struct cancel *cancel, struct err *e)
{
	const struct mcp_ask ask = { .call = l->call, .cancel = cancel };
	int64_t until = clock_mono_ms() + ms;
	struct mcp_slot *s, got = { 0 };
	struct mcp_attended did;
	int rc = enter_beside(c, l->call, &s, e);

	l->moved = false;
	l->asked_ms = 0;
	if (rc < 0)
		return rc;
	mcp_slots_lock(c);
	s->lingers = true;
	s->answers = l->call->on_question != NULL;
	s->task = l->task;
	s->token = l->token;
	s->asked_in_all = l->asked;
	mcp_slots_unlock(c);
	while (rc == OK && !got.poked &&
	       (rc = wait_fd(s->bell.fd, POLLIN, until, cancel, e)) == OK) {
		bell_hear(&s->bell);
		rc = mcp_slots_attend(c, s, &ask, false, &got, &did, e);
		until += did.asked_ms;
		l->asked_ms += did.asked_ms;
		l->moved |= did.moved;
	}
	l->asked = s->asked_in_all;
	leave_beside(c, s);
	if (rc == 1)
		rc = got.rc < 0 ? err_set(e, got.rc, "%s", got.why) : OK;
	return rc == E_TIMEOUT && cancel_reason(cancel) == CANCEL_NONE ? OK : rc;
}

int mcp_beside_links(struct mcp_calls *c, const struct mcp_ask *ask, const struct json *error,
		     struct arena *a, struct mcp_result *result, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	const struct mcp_question *list;
	size_t n = mcp_outcome_links(error, &tmp, &list);
	int rc = n ? OK : 1;

	for (size_t i = 0; i < n && rc == OK; i++) {
		struct mcp_question q = list[i];
		struct mcp_answer answer = { 0 };

		if ((rc = ask_beside(c, ask, &q, &tmp, &answer, e)) < 0)
			return rc;
		if (answer.code || !is_accepted(answer.result))
			rc = 1;
	}
	if (rc == OK)
		return OK;
	*result = (struct mcp_result){ 0 };
	mcp_outcome_read(result, NULL, error, c->server, NULL, a);
	return 1;
}

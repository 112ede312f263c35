/*
 * Presses of the buttons under a question.  Who may press is the gate's business; here it is
 * whether the button belongs to this chat, and what the database says about the verdict: of two
 * presses one decides.
 */
#include "chan/telegram_asks.h"

#include "os/clock.h"
#include "text/text.h"

#include <string.h>

bool telegram_press_parse(str data, str *id, bool *yes, bool *always)
{
	str verb = str_sub(data, 0, 3), rest = str_sub(data, 3, data.n);

	if (rest.n != ID_LONG_LEN)
		return false;
	for (size_t i = 0; i < rest.n; i++)
		if (!memchr("0123456789abcdef", rest.p[i], 16))
			return false;
	*always = str_eq(verb, S("al:"));
	*yes = *always || str_eq(verb, S("ok:"));
	*id = rest;
	return *yes || str_eq(verb, S("no:"));
}

void telegram_press_judge(struct telegram *t, const struct telegram_event *ev, struct arena *a,
			  struct telegram_press *out)
{
	int64_t chat = 0, thread = 0;
	struct approval q;
	str id;

	*out = (struct telegram_press){ 0 };
	if (telegram_asks_judge(t, ev, a, out))
		return;
	if (!telegram_press_parse(ev->data, &id, &out->yes, &out->always))
		return;
	if (store_approval_get(t->store, id, a, &q, NULL) < 0) {
		out->answer = S("This question is unknown or no longer valid.");
		return;
	}
	if (!str_eq(q.channel, CHANNEL) || !telegram_address_read(q.address, &chat, &thread) ||
	    chat != ev->chat) {
		out->answer = S("This question was not asked here.");
		return;
	}
	out->approval = id;
}

static str word_of(enum approval_state state)
{
	static const char *const words[] = {
		[APPROVAL_PENDING] = "open",  [APPROVAL_APPROVED] = "approved",
		[APPROVAL_DENIED] = "denied", [APPROVAL_EXPIRED] = "no longer valid",
		[APPROVAL_USED] = "approved",
	};

	return str_of(words[state]);
}

int telegram_press_decide(struct tx *tx, const struct telegram_event *ev,
			  struct telegram_press *p, struct arena *a, struct err *e)
{
	const struct approval_press press = {
		.id = p->approval,
		.yes = p->yes,
		.always = p->always,
		.by = arena_fmt(a, "%lld", (long long)ev->from),
		.at_ms = clock_now_ms(),
	};
	str here = arena_fmt(a, "%lld", (long long)ev->message_id);
	enum approval_end end = APPROVAL_END_UNKNOWN;
	struct approval q = { 0 };
	int rc;

	if (p->question.n)
		return telegram_asks_decide(tx, ev, p, a, e);
	if (!p->approval.n)
		return OK;
	if ((rc = store_approval_decide(tx, &press, a, &q, &end, e)) < 0)
		return rc;
	p->edit = end != APPROVAL_END_UNKNOWN;
	switch (end) {
	case APPROVAL_END_DECIDED:
		p->decided = true;
		p->answer = p->yes ? S("Approved.") : S("Denied.");
		p->verdict = arena_fmt(a, "%s by %.*s",
				       p->always ? "✅ Always allowed"
				       : p->yes  ? "✅ Approved"
						 : "❌ Denied",
				       STRF(text_line(a, ev->from_name, 64)));
		return OK;
	case APPROVAL_END_ALREADY:
		p->answer = arena_fmt(a, "Already decided: %.*s.", STRF(word_of(q.state)));
		/* The message that was decided says so, and only its buttons may have stayed; one
		 * from before a restart does not. */
		if (!str_eq(q.message_id, here))
			p->verdict = arena_fmt(a, "Decided: %.*s", STRF(word_of(q.state)));
		return OK;
	case APPROVAL_END_EXPIRED:
		p->answer = S("Too late: this question is no longer valid.");
		p->verdict = S("⌛ No longer valid");
		return OK;
	case APPROVAL_END_UNKNOWN:
		p->answer = S("This question is unknown or no longer valid.");
		return OK;
	}
	return OK;
}

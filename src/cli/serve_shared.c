/*
 * What the threads of calls and main have in common, under one lock: nothing here waits.
 */
#include "cli/serve_parts.h"

#include "base/utf.h"

#include <stdio.h>
#include <string.h>

static void lock(struct serve *s)
{
	(void)pthread_mutex_lock(&s->lock);
}

static void unlock(struct serve *s)
{
	(void)pthread_mutex_unlock(&s->lock);
}

void serve_shared_init(struct serve *s)
{
	(void)pthread_mutex_init(&s->lock, NULL);
}

void serve_shared_done(struct serve *s)
{
	(void)pthread_mutex_destroy(&s->lock);
}

void serve_shared_clear(struct serve *s, struct serve_call *k)
{
	lock(s);
	*k = (struct serve_call){ .s = s, .bell = { -1 }, .token = { .fd = -1 } };
	unlock(s);
}

void serve_shared_place(struct serve_call *k, int64_t serial)
{
	lock(k->s);
	k->serial = serial;
	unlock(k->s);
}

/* --- turns ------------------------------------------------------------------------------------- */

bool serve_shared_first(struct serve_call *k, int64_t most)
{
	struct serve *s = k->s;
	int64_t before = 0;
	bool same = false;

	lock(s);
	for (size_t i = 0; i < SERVE_CALLS; i++) {
		const struct serve_call *o = &s->calls[i];

		if (!o->serial || o->over || !o->address.n || o->serial >= k->serial)
			continue;
		before++;
		same |= str_eq(o->address, k->address);
	}
	unlock(s);
	return !same && before < most;
}

void serve_shared_row(struct serve_call *k, int64_t row)
{
	lock(k->s);
	k->row = row;
	unlock(k->s);
}

/* Under the lock. */
static struct serve_call *call_of(struct serve *s, str address)
{
	for (size_t i = 0; i < SERVE_CALLS; i++) {
		struct serve_call *k = &s->calls[i];

		if (k->serial && !k->over && k->row && str_eq(k->address, address))
			return k;
	}
	return NULL;
}

struct serve_call *serve_shared_start(struct serve *s, str address, str turn_id)
{
	lock(s);
	struct serve_call *k = call_of(s, address);
	if (k)
		(void)snprintf(k->turn, sizeof k->turn, "%.*s", STRF(turn_id));
	unlock(s);
	bell_ring(&s->bell);
	return k;
}

void serve_shared_line(struct serve *s, str address, str line)
{
	lock(s);
	struct serve_call *k = call_of(s, address);
	if (k && k->lines_n == SERVE_LINES) {
		memmove(k->lines[0], k->lines[1], sizeof k->lines - sizeof k->lines[0]);
		k->lines_n--;
	}
	if (k)
		(void)snprintf(k->lines[k->lines_n++], SERVE_LINE, "%.*s",
			       STRF(utf_head(line, SERVE_LINE - 1)));
	unlock(s);
	bell_ring(&s->bell);
}

void serve_shared_say(struct serve *s, str address, str text)
{
	lock(s);
	struct serve_call *k = call_of(s, address);
	if (k && k->said.n)
		buf_addc(&k->said, '\n');
	if (k)
		buf_add(&k->said, text);
	unlock(s);
}

void serve_shared_turn_over(struct serve_call *k, int64_t row, int rc)
{
	lock(k->s);
	if (row >= k->row) {
		k->turn_over = true;
		k->turn_rc = rc;
	}
	unlock(k->s);
	bell_ring(&k->bell);
}

bool serve_shared_is_over(struct serve_call *k, int *rc)
{
	lock(k->s);
	bool over = k->turn_over;
	*rc = k->turn_rc;
	unlock(k->s);
	return over;
}

bool serve_shared_begun(struct serve_call *k)
{
	lock(k->s);
	bool begun = k->turn[0] != '\0';
	unlock(k->s);
	return begun;
}

/* --- the end of a call ------------------------------------------------------------------------- */

void serve_shared_over(struct serve_call *k)
{
	struct serve *s = k->s;

	lock(s);
	k->over = true;
	unlock(s);
	bell_ring(&s->bell);
}

void serve_shared_cancel(struct serve_call *k, char turn[ID_LEN + 1])
{
	lock(k->s);
	k->canceled = true;
	memcpy(turn, k->turn, sizeof k->turn);
	if (k->asker)
		bell_ring(k->asker);
	unlock(k->s);
}

void serve_shared_deaf(struct serve *s)
{
	lock(s);
	s->deaf = true;
	unlock(s);
}

void serve_shared_see(struct serve_call *k, struct arena *a, struct serve_seen *v)
{
	lock(k->s);
	v->lines_n = k->lines_n;
	memcpy(v->lines, k->lines, k->lines_n * sizeof k->lines[0]);
	k->lines_n = 0;
	v->asking = k->asking;
	v->asking.message = arena_dup(a, k->asking.message);
	v->number = k->asked;
	v->over = k->over;
	v->answered = k->answered;
	v->again = k->canceled && k->turn[0] && !k->turn_over && !k->over;
	memcpy(v->turn, k->turn, sizeof v->turn);
	unlock(k->s);
}

/* --- questions --------------------------------------------------------------------------------- */

bool serve_shared_ask(struct serve_call *k, const struct mcp_serve_form *form,
		      const struct bell *asker)
{
	struct serve *s = k->s;

	lock(s);
	bool heard = !s->deaf && !k->canceled;
	if (heard) {
		k->asking = *form;
		k->asked++;
		k->asker = asker;
		k->answered = k->yes = false;
	}
	unlock(s);
	bell_ring(&s->bell);
	return heard;
}

bool serve_shared_asked(struct serve_call *k, bool enough, struct arena *a,
			struct serve_answer *out)
{
	struct serve *s = k->s;

	lock(s);
	bool answered = k->answered;
	out->yes = k->yes;
	out->replied = k->replied;
	out->lost = s->deaf || k->canceled;
	if (answered)
		out->reply = arena_dup(a, (str){ k->reply, k->reply_n });
	bool end = answered || enough || out->lost;
	if (end) {
		k->asking = (struct mcp_serve_form){ 0 };
		k->asker = NULL;
	}
	unlock(s);
	if (end)
		bell_ring(&s->bell);
	return answered;
}

void serve_shared_answer(struct serve_call *k, int64_t number, const struct json *result)
{
	str text;

	lock(k->s);
	if (k->asking.message.n && k->asked == number && !k->answered) {
		k->answered = true;
		k->yes = mcp_serve_yes(result);
		k->replied = mcp_serve_reply(result, &text);
		k->reply_n = text.n < SERVE_REPLY ? text.n : SERVE_REPLY;
		memcpy(k->reply, text.n ? text.p : "", k->reply_n);
		bell_ring(k->asker);
	}
	unlock(k->s);
}

/*
 * An ask: a row of this process, and the turn it becomes.  The threads of all asks claim from the
 * same rows, so each may come to run another one's turn; what a turn shows, asks and answers is
 * given to the call of its address.
 */
#include "cli/serve_parts.h"

#include "base/utf.h"
#include "os/clock.h"
#include "os/wait.h"
#include "store/queue.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

#define BUSY_LOOK_MS 200
#define RECOVER_LOOKS 10
#define MISSING_LOOKS 5
#define ANSWER_MAX (16u << 20)

/* A thread that runs turns, as the channel and the person of whichever it runs. */
struct worker {
	struct channel channel;
	struct serve_person person;
	struct serve *s;
	struct serve_call *k; /* whose turn it is; NULL nobody's of ours */
	bool claiming; /* it holds the permit for that */
};

static void end_claim(struct worker *w)
{
	if (w->claiming)
		permit_give(&w->s->claim);
	w->claiming = false;
}

static void live(struct channel *self, str turn_id, str address, enum live_kind kind, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct worker *w = (struct worker *)self;
	str line = text_line(&a, text, SERVE_LINE - 1);

	if (kind == LIVE_TEXT || kind == LIVE_STOP)
		return;
	end_claim(w);
	if (kind == LIVE_START)
		w->k = w->person.k = serve_shared_start(w->s, address, turn_id);
	else
		serve_shared_line(w->s, address, line);
}

static void send_piece(struct channel *self, const struct outbox_row *row,
		       const struct piece *piece, struct arena *a, struct send_result *out,
		       const struct cancel *c)
{
	struct worker *w = (struct worker *)self;

	(void)a;
	(void)c;
	serve_shared_say(w->s, row->address, piece->body);
	*out = (struct send_result){ .end = SEND_OK };
}

/* Earlier asks go first where they share a session, and so many at once as a daemon would. */
static int wait_place(struct serve_call *k, struct err *e)
{
	int rc = OK;

	while (rc == OK && !serve_shared_first(k, k->s->cfg->gateway.max_turns)) {
		rc = wait_fd(k->bell.fd, POLLIN, 0, &k->token, e);
		bell_hear(&k->bell);
	}
	return rc < 0 ? rc : cancel_check(&k->token, e);
}

static int insert(struct serve_call *k, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct inbox_new row = {
		.channel = S(SERVE_CHANNEL),
		.address = k->address,
		.kind = S("cli"),
		.owner = store_owner(k->s->g->store),
		.sender = S("mcp"),
		.text = str_trim(utf_repair(&k->a, json_str(k->args, "text"))),
	};
	int64_t id = 0;
	int rc;

	if ((rc = store_begin(&tx, k->s->g->store, &k->token, e)) < 0 ||
	    (rc = store_inbox_add(&tx, &row, &id, e)) < 0)
		return rc;
	serve_shared_row(k, id);
	return store_commit(&tx, e);
}

/* The answers of all turns that are over, each to its call. */
static void deliver(struct serve *s, const struct work_opt *opt)
{
	int64_t wake_at;

	if (permit_take(&s->deliver, &s->g->root, NULL) < 0)
		return;
	while (work_deliver(s->g, opt, &wake_at, NULL) == OK)
		;
	permit_give(&s->deliver);
}

static void tell_over(struct worker *w, const struct work_done *done, int rc)
{
	struct serve_call *k = w->k;

	w->k = w->person.k = NULL;
	if (k)
		serve_shared_turn_over(k, done->row, rc);
}

/* Take it back, if nobody has begun it. */
static bool take_back(struct serve_call *k)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct queue_row gone;

	return store_begin(&tx, k->s->g->store, NULL, NULL) == OK &&
	       store_queue_drop(&tx, false, k->row, &a, &gone, NULL) == OK &&
	       store_commit(&tx, NULL) == OK;
}

/* Neither waiting nor begun: a control word in another process has dropped the row.  One of ours
 * that has just claimed it will have said so when it is looked at again. */
static bool dropped(struct serve_call *k, int *missing)
{
	bool waits = true;

	if (serve_shared_begun(k) ||
	    store_inbox_waits(k->s->g->store, k->row, &waits, NULL) < 0 || waits)
		*missing = 0;
	else
		++*missing;
	return *missing > MISSING_LOOKS;
}

/* Another process has a turn of the session, or another thread this one.  If a process died over
 * it, a daemon clears that away, or we do where there is none. */
static int wait_turn(struct serve_call *k, int look, int *missing, struct err *e)
{
	const struct engine *g = k->s->g;
	int64_t turns;

	if (cancel_reason(&k->token) != CANCEL_NONE && take_back(k))
		return err_set(e, E_CANCELED, "stopped");
	if (dropped(k, missing))
		return err_set(e, E_CANCELED, "dropped by /stop or /new");
	if (look % RECOVER_LOOKS == 0 &&
	    store_recover(g->store, &g->root, &turns, NULL) == OK && turns > 0)
		return OK;
	int rc = wait_fd(k->bell.fd, POLLIN, clock_mono_ms() + BUSY_LOOK_MS, &g->root, e);
	bell_hear(&k->bell);
	return rc == E_TIMEOUT ? OK : rc;
}

/* One row after the other, so that a thread mostly gets the turn of its own call. */
static int begin_claim(struct worker *w, struct err *e)
{
	int rc = permit_take(&w->s->claim, &w->s->g->root, e);

	w->claiming = rc == OK;
	return rc;
}

static void worker_done(struct worker *w)
{
	serve_person_done(&w->person);
}

static int run_turn(struct serve_call *k, struct err *e)
{
	struct serve *s = k->s;
	SCOPED(worker_done)
	struct worker w = {
		.person = { .turn = { .fd = -1 } },
		.channel = { .name = SERVE_CHANNEL,
			     .render = chan_render_whole,
			     .send = send_piece,
			     .live = live },
		.s = s,
	};
	struct work_opt opt = { .only = store_owner(s->g->store),
				.channel = &w.channel,
				.approver = &w.person.base };
	int rc, ended, missing = 0;

	if ((rc = serve_person_init(&w.person, NULL, &k->bell, e)) < 0 ||
	    (rc = begin_claim(&w, e)) < 0)
		return rc;
	if ((rc = insert(k, e)) < 0) {
		end_claim(&w);
		return rc;
	}
	for (int look = 0; !serve_shared_is_over(k, &ended); look++) {
		struct work_done done = { 0 };
		if (look > 0 && (rc = begin_claim(&w, e)) < 0)
			return rc;
		rc = work_turn(s->g, &opt, &done, e);
		end_claim(&w);
		if (done.turn[0]) {
			deliver(s, &opt);
			tell_over(&w, &done, rc);
		} else if (rc == E_NOENT) {
			rc = wait_turn(k, look, &missing, e);
			if (rc < 0)
				return rc;
		} else if (rc < 0) {
			return rc;
		}
	}
	return ended < 0 ? err_set(e, ended, "the turn could not be finished") : OK;
}

static str structured(struct serve_call *k, str answer, str state)
{
	struct buf b = buf_in(&k->a, 2 * ANSWER_MAX);

	buf_addc(&b, '{');
	buf_json_member(&b, "answer", answer);
	buf_json_member(&b, "session", k->label);
	buf_json_member(&b, "turn", str_of(k->turn));
	buf_json_member(&b, "state", state);
	buf_addc(&b, '}');
	return b.full ? (str){ 0 } : buf_str(&b);
}

void serve_ask(struct serve_call *k)
{
	struct err e = { 0 };
	str state = S("failed"), error = { 0 };
	int rc = wait_place(k, &e);

	if (rc == OK)
		rc = run_turn(k, &e);
	if (rc == OK)
		rc = store_turn_state(k->s->g->store, str_of(k->turn), &k->a, &state, &error,
				      &e);
	str answer = utf_repair(&k->a, buf_str(&k->said));
	if (rc < 0)
		answer = arena_fmt(&k->a, "error: %s", e.msg);
	else if (!answer.n)
		answer = str_eq(state, S("canceled")) ? S("(stopped)") : S("(no answer)");
	k->failed = rc < 0 || !str_eq(state, S("done"));
	k->text = answer;
	k->structured = structured(k, answer, rc < 0 ? S("failed") : state);
}

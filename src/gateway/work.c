/*
 * One turn, one delivery.
 */
#include "gateway/work.h"

#include "agent/scheduled.h"
#include "gateway/beats.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/wait.h"
#include "store/approval.h"
#include "store/question.h"

#include <string.h>

#define ROOM_LOOK_MS 500

/* What a turn shows goes to the channel it came from. */
struct show {
	struct engine *g;
	struct channel *channel;
	str turn_id, address;
};

static void on_text(void *arg, str so_far)
{
	const struct show *s = arg;

	s->channel->live(s->channel, s->turn_id, s->address, LIVE_TEXT, so_far);
}

static void on_trace(void *arg, str line)
{
	const struct show *s = arg;

	s->channel->live(s->channel, s->turn_id, s->address, LIVE_TRACE, line);
}

static void on_outbox(void *arg)
{
	const struct show *s = arg;

	bell_ring(&s->g->outbox);
}

static void on_full(void *arg)
{
	const struct show *s = arg;

	chan_notice(s->channel, s->address);
}

static void on_request(void *arg, struct cancel *token)
{
	const struct show *s = arg;

	turns_request(&s->g->turns, s->turn_id, token);
}

static bool on_waiting(void *arg, const struct bell *bell, bool waits)
{
	const struct show *s = arg;

	return turns_waiting(&s->g->turns, s->turn_id, bell, waits);
}

static void on_slow(void *arg, str line)
{
	const struct show *s = arg;

	s->channel->live(s->channel, s->turn_id, s->address, LIVE_SLOW, line);
}

/* Claim, turn and user message: one commit. */
static int claim(struct engine *g, str only, struct arena *a, struct turn *t, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct zone *zone = agent_zone(g->agent, a);
	int rc;

	if ((rc = store_begin(&tx, g->store, &g->stop, e)) < 0 ||
	    (rc = store_turn_claim(&tx, only, a, t, e)) < 0)
		return rc;
	if (!t->resumed && (rc = agent_turn_begin(g->agent, &tx, t, zone, a, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* A control word may have come between the claim and the registry. */
static void catch_up(struct engine *g, str id, struct cancel *token)
{
	bool canceled = false;
	struct err e = { 0 };

	if (store_turn_canceled(g->store, id, &canceled, &e) == OK && canceled)
		cancel_fire(token, CANCEL_USER);
}

void work_news(struct engine *g)
{
	unsigned news = store_news(g->store);

	if (news & STORE_NEWS_CLOCK)
		bell_ring(&g->clock);
	if (news & STORE_NEWS_SYSTEM)
		bell_ring(&g->system);
}

/* Nobody else would ever run what was lost here: its owner lives. */
static int give_back(struct engine *g, struct err *e)
{
	char id[ID_LEN + 1];

	while (turns_take_lost(&g->turns, id)) {
		int rc = store_turn_release(g->store, str_of(id), &g->stop, e);
		if (rc < 0 && (rc != E_CANCELED || cancel_reason(&g->stop) != CANCEL_NONE)) {
			turns_lose(&g->turns, str_of(id));
			return rc;
		}
	}
	return OK;
}

/* There may be an answer, and main may wait for the end.  The session's slot is free: who ran
 * this turn looks for the next one itself, unless it has to wait now. */
static void tell_end(struct engine *g, const struct turn *t, int rc)
{
	bell_ring(&g->outbox);
	bell_ring(&g->control);
	work_news(g);
	if (scheduled_turn(t))
		bell_ring(&g->clock);
	if (rc < 0)
		bell_ring(&g->inbox);
}

int work_turn(struct engine *g, const struct work_opt *opt, struct work_done *done,
	      struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(cancel_done) struct cancel token = { .fd = -1 };
	struct turn t;
	int rc;

	if ((rc = give_back(g, e)) < 0 || (rc = cancel_init(&token, &g->root, 0, e)) < 0 ||
	    (rc = claim(g, opt->only, &a, &t, e)) < 0)
		return rc;
	if (opt->beat)
		beats_busy(opt->beat); /* its steps show that it moves */
	struct show show = { g, opt->channel, t.id, t.address };
	struct turn_io io = { .arg = &show,
			      .approver = opt->approver,
			      .on_outbox = on_outbox,
			      .on_waiting = on_waiting,
			      .parks = opt->channel && opt->channel->asks };
	/* Nobody watches a scheduled turn, and nobody can be asked: what policy does not allow
	 * outright is refused. */
	bool watched = opt->channel && !scheduled_turn(&t);
	if (!watched) {
		io.parks = false;
		io.approver = scheduled_turn(&t) ? &approver_deny_all : opt->approver;
	}
	if (watched) {
		io.on_trace = on_trace;
		io.on_slow = on_slow;
		io.on_full = on_full;
		io.on_text = opt->stream ? on_text : NULL;
		opt->channel->live(opt->channel, t.id, t.address, LIVE_START, (str){ 0 });
	}
	if (done) {
		memcpy(done->turn, t.id.p, ID_LEN + 1);
		done->row = t.rows_n ? t.rows[t.rows_n - 1].id : 0;
	}
	bool entered = turns_enter(&g->turns, t.id, &token);
	/* A scheduled turn answers its schedule: what a person says meanwhile is a turn of its own. */
	if (entered && opt->steer && !scheduled_turn(&t))
		io.on_request = on_request;
	/* One ring, which one worker hears, may stand for many rows: let another look. */
	if (t.more)
		bell_ring(&g->inbox);
	catch_up(g, t.id, &token);
	rc = agent_turn_run(g->agent, &t, &io, &token, e);
	if (rc < 0 && rc != E_CANCELED)
		turns_lose(&g->turns, t.id);
	else if (entered)
		turns_leave(&g->turns, t.id);
	if (watched)
		opt->channel->live(opt->channel, t.id, t.address, LIVE_STOP, (str){ 0 });
	tell_end(g, &t, rc);
	return rc;
}

#define MISSING_NOTE "(A part of an earlier answer may be missing; /resend sends it again.)\n\n"
#define PARTIAL_NOTICE "The reply above is incomplete: a part of it was refused."

/* The next answer after one of which nobody knows whether it arrived says so. */
static int add_missing(struct tx *tx, struct outbox_row *row, struct arena *a, struct err *e)
{
	bool missing = false;
	int rc = str_eq(row->kind, S("reply"))
			 ? store_outbox_tell(tx, row->channel, row->address, &missing, e)
			 : OK;

	if (missing)
		row->text = arena_cat(a, S(MISSING_NOTE), row->text);
	return rc;
}

/* A row that cannot be made ready goes out as it is, rather than standing in the way; a question
 * does not, and is over. */
static int render(struct tx *tx, struct channel *ch, const struct outbox_row *row,
		  struct arena *a, struct piece_new **pieces, size_t *n, struct err *e)
{
	struct err why = { 0 };

	if (ch->render(ch, row, a, pieces, n, &why) == OK)
		return OK;
	log_warn("render.failed", "channel=%s row=%lld err=%.*s", ch->name, (long long)row->id,
		 STRF(log_q(a, str_of(why.msg))));
	if (!row->question_id.n)
		return chan_render_whole(ch, row, a, pieces, n, e);
	*n = 0;
	return store_question_unseen(tx, row->question_id, clock_now_ms(), e);
}

/* Take a row, cut it if it is raw, and begin its first piece: one commit. */
static int take(struct engine *g, const struct work_opt *opt, struct arena *a,
		struct outbox_row *row, struct piece *piece, int64_t *wake_at_ms, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct channel *ch = opt->channel;
	struct piece_new *pieces;
	size_t n;
	int rc;

	if ((rc = store_begin(&tx, g->store, &g->root, e)) < 0 ||
	    (rc = store_outbox_next(&tx, str_of(ch->name), opt->only, a, row, wake_at_ms, e)) <
		    0)
		return rc;
	if (row->raw) {
		if ((rc = add_missing(&tx, row, a, e)) < 0)
			return rc;
		if ((rc = render(&tx, ch, row, a, &pieces, &n, e)) < 0 ||
		    (rc = store_outbox_split(&tx, row->id, pieces, n, e)) < 0)
			return rc;
	}
	rc = store_piece_begin(&tx, row->id, a, piece, e);
	if (rc < 0 && rc != E_NOENT)
		return rc;
	bool empty = rc == E_NOENT;
	if ((rc = store_commit(&tx, e)) < 0)
		return rc;
	piece->id = empty ? 0 : piece->id;
	return OK;
}

static enum piece_end end_of(enum send_end end)
{
	static const enum piece_end map[] = {
		[SEND_OK] = PIECE_SENT,         [SEND_RETRY] = PIECE_RETRY,
		[SEND_UNKNOWN] = PIECE_UNKNOWN, [SEND_DEAD] = PIECE_DEAD,
		[SEND_FAULT] = PIECE_FAULT,
	};

	return map[end];
}

/* All pieces of a row are over: one line when only a part of an answer arrived, and no more
 * waiting for the answer to a question that could not be asked. */
static int row_over(struct tx *tx, const struct outbox_row *row, bool *unasked, struct err *e)
{
	const struct outbox_new notice = { .session_id = row->session_id,
					   .channel = row->channel,
					   .address = row->address,
					   .kind = S("notice"),
					   .text = S(PARTIAL_NOTICE) };
	bool partial = false;
	int64_t id;

	if (row->question_id.n)
		return store_question_posted(tx, row->question_id, row->id, clock_now_ms(),
					     unasked, e);
	if (row->approval_id.n)
		return store_approval_posted(tx, row->approval_id, row->id, clock_now_ms(),
					     unasked, e);
	int rc = store_outbox_partial(tx, row->id, &partial, e);

	return rc < 0 || !partial ? rc : store_outbox_add(tx, &notice, &id, e);
}

/* What a piece's end means beyond the piece. */
static int record(struct tx *tx, const struct outbox_row *row, const struct piece *piece,
		  const struct send_result *sent, struct err *e)
{
	bool moved = sent->moved_to.n > 0, again = moved || sent->end == SEND_RETRY;
	int64_t wait = moved ? 0 : sent->retry_after_ms;
	enum piece_end end = again ? PIECE_RETRY : end_of(sent->end);
	int64_t field;
	int rc = OK;

	if (moved)
		rc = store_address_move(tx, row->channel, row->address, sent->moved_to, e);
	if (rc == OK)
		rc = store_piece_end(tx, piece->id, end, sent->remote_id, sent->error,
				     clock_now_ms() + wait, e);
	if (rc == OK && sent->all_wait_ms > 0)
		rc = store_outbox_hold(tx, row->channel, S(""),
				       clock_now_ms() + sent->all_wait_ms, e);
	/* The last piece carries the buttons. */
	if (rc == OK && row->approval_id.n && sent->end == SEND_OK)
		rc = store_approval_message(tx, row->approval_id, sent->remote_id, e);
	if (rc == OK && row->question_id.n && sent->end == SEND_OK &&
	    str_i64(row->text, &field))
		rc = store_question_message(tx, row->question_id, field, sent->remote_id, e);
	return rc;
}

/* Record how a piece ended and begin the next one: one commit.  piece->id 0: none left, or
 * the row has to wait. */
static int next_once(struct engine *g, const struct outbox_row *row, struct piece *piece,
		     const struct send_result *sent, struct arena *a, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, g->store, NULL, e)) < 0 ||
	    (rc = record(&tx, row, piece, sent, e)) < 0)
		return rc;
	struct piece next = { 0 };
	bool ours = false, unasked = false;
	if ((rc = store_outbox_held(&tx, row->id, &ours, e)) < 0)
		return rc;
	rc = ours ? store_piece_begin(&tx, row->id, a, &next, e) : OK;
	if (rc == OK && !ours)
		rc = row_over(&tx, row, &unasked, e);
	if (rc < 0)
		return rc;
	if ((rc = store_commit(&tx, e)) == OK)
		*piece = next;
	if (unasked)
		bell_ring(&g->clock);
	return rc;
}

/* What was sent was sent: until that is written, the row would be in flight here for ever. */
static int next_piece(struct engine *g, const struct work_opt *opt,
		      const struct outbox_row *row, struct piece *piece,
		      const struct send_result *sent, struct arena *a, struct err *e)
{
	const struct cancel *c = opt->leave ? opt->leave : &g->root;
	bool told = false;
	int rc;

	while ((rc = next_once(g, row, piece, sent, a, e)) == E_FULL || rc == E_BUSY) {
		if (opt->beat)
			beats_move(opt->beat);
		if (rc == E_FULL)
			chan_notice(opt->channel, row->address);
		if (!told)
			log_error("deliver.waits", "err=%.*s", STRF(log_q(a, str_of(e->msg))));
		told = true;
		if (wait_ms(ROOM_LOOK_MS, c, NULL) < 0)
			return rc;
	}
	return rc;
}

int work_deliver(struct engine *g, const struct work_opt *opt, int64_t *wake_at_ms,
		 struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct outbox_row row;
	struct piece piece = { 0 };
	int rc = take(g, opt, &a, &row, &piece, wake_at_ms, e);

	if (rc == OK && row.question_id.n && !piece.id)
		bell_ring(&g->clock); /* its time may have been ended */
	if (rc == OK && row.more)
		bell_ring(&g->outbox); /* let another look too */
	while (rc == OK && piece.id) {
		struct send_result sent = { 0 };
		if (opt->beat)
			beats_move(opt->beat);
		opt->channel->send(opt->channel, &row, &piece, &a, &sent, &g->root);
		if (sent.end != SEND_OK)
			log_warn("send.failed", "channel=%s end=%d err=%.*s",
				 opt->channel->name, sent.end, STRF(log_q(&a, sent.error)));
		rc = next_piece(g, opt, &row, &piece, &sent, &a, e);
		if (rc == E_INVAL) {
			/* Its session was removed meanwhile. */
			log_warn("deliver.gone", "row=%lld err=%.*s", (long long)row.id,
				 STRF(log_q(&a, str_of(e->msg))));
			rc = OK;
			break;
		}
	}
	if (rc == OK)
		bell_ring(&g->control);
	return rc;
}

/*
 * The end of a turn: step (e) of the journal.  One transaction holds the final answer, its
 * outbox row and the inbox rows it consumed, so either the user gets the answer and the
 * message counts as handled, or neither.
 */
#include "agent/run.h"
#include "agent/scheduled.h"

#include "agent/fold.h"
#include "os/log.h"
#include "os/wait.h"
#include "store/memory_forget.h"
#include "store/outbox.h"
#include "text/text.h"

#define ROOM_LOOK_MS 500

bool run_await_room(struct run *r, int rc, const struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (rc != E_FULL && rc != E_BUSY)
		return false;
	if (!atomic_exchange(&r->full_told, true)) {
		log_error("turn.waits", "err=%.*s hint=\"the turn goes on when there is room\"",
			  STRF(log_q(&a, str_of(e->msg))));
		if (rc == E_BUSY)
			run_trace(r, "the database is busy; waiting");
	}
	if (rc == E_FULL && r->io && r->io->on_full)
		r->io->on_full(r->io->arg);
	return wait_ms(ROOM_LOOK_MS, r->token, NULL) == OK;
}

int run_model_rows(struct run *r, struct tx *tx, struct err *e)
{
	for (size_t i = 0; i < r->model_rows_n; i++) {
		int rc = store_model_call(tx, r->t->id, &r->model_rows[i], e);
		if (rc < 0)
			return rc;
	}
	return OK;
}

/* The user was told what went; no later request is. */
static int hush(const struct run *r, struct tx *tx, struct err *e)
{
	return r->forgot ? store_memory_hush(tx, r->t->id, e) : OK;
}

static int reply_row(struct run *r, struct tx *tx, const char *kind, str text, struct err *e)
{
	struct outbox_new row = {
		.session_id = r->t->session.id,
		.turn_id = r->t->id,
		.channel = r->t->channel,
		.address = r->t->address,
		.kind = str_of(kind),
		.text = text,
		.reply_to = r->t->reply_to,
		.owner = r->t->owner,
	};
	int64_t id;

	return scheduled_told(r->t) ? store_outbox_add(tx, &row, &id, e) : OK;
}

/* Rows for the user are added before the turn is closed, so that they take over what was
 * reserved for its answer.
 *
 * Close the turn without an answer; text is told to the user, "" nothing.  What becomes of a
 * scheduled one is told by its job. */
static int close_turn(struct run *r, enum turn_end end, const char *why, str error, str text,
		      struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct turn_finish f = { .end = end, .history = HISTORY_NONE, .error = error };
	int rc;

	/* Not under the turn's token, which may be what ended it. */
	if ((rc = store_begin(&tx, r->ag->opt.store, NULL, e)) < 0 ||
	    (rc = run_model_rows(r, &tx, e)) < 0 || (rc = hush(r, &tx, e)) < 0 ||
	    (r->refusal.n && scheduled_turn(r->t) &&
	     (rc = store_job_skipped(&tx, r->t->id, r->refused_by, e)) < 0) ||
	    (rc = store_turn_note(&tx, r->t->id, why, &a, &f.note, e)) < 0)
		return rc;
	f.history = f.note.n ? HISTORY_NOTE : HISTORY_NONE;
	if ((text.n && !scheduled_turn(r->t) &&
	     (rc = reply_row(r, &tx, "reply", text, e)) < 0) ||
	    (rc = store_turn_finish(&tx, r->t, &f, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* What the user is told beyond the stored answer. */
static str with_notices(struct run *r)
{
	static const char *const landing[] = {
		[LAND_ROUNDS] = "the limit of tool rounds was reached",
		[LAND_CALLS] = "the limit of tool calls was reached",
		[LAND_TOKENS] = "the limit of tokens was reached",
		[LAND_TIME] = "the time limit was reached",
		[LAND_LOOP] = "the same tool call kept giving the same result",
		[LAND_MEMORY] = "the turn grew too large",
		[LAND_SPENT] = "",
	};
	str text = r->text, label = scheduled_label(r->t, r->a);

	if (label.n)
		text = arena_fmt(r->a, "%.*s\n\n%.*s", STRF(label), STRF(text));
	if (r->finish == MODEL_LENGTH)
		text = arena_fmt(r->a,
				 "%.*s\n\n[the answer was cut off by the model's length limit]",
				 STRF(text));
	if (r->finish == MODEL_FILTER)
		text = arena_fmt(r->a,
				 "%.*s\n\n[response withheld or cut short by the provider's "
				 "content filter]",
				 STRF(text));
	if (r->landing == LAND_SPENT)
		text = arena_fmt(r->a, "%.*s\n\n[%.*s]", STRF(text), STRF(r->refusal));
	else if (r->landing != LAND_NO)
		text = arena_fmt(r->a, "%.*s\n\n[tool use ended early: %s]", STRF(text),
				 landing[r->landing]);
	return str_trim(text);
}

static int finish_once(struct run *r, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct turn_finish f = {
		.end = TURN_DONE,
		.history = HISTORY_FULL,
		.final_wire = r->wire,
		.final_text = r->text,
		.issuer = r->issuer,
		.round = r->round + 1,
	};
	int rc;

	/* Not under the turn's token: an answer that is there is not lost to a deadline.  What
	 * a user cancelled is refused by the rows. */
	if ((rc = store_begin(&tx, r->ag->opt.store, NULL, e)) < 0 ||
	    (rc = run_model_rows(r, &tx, e)) < 0 ||
	    (!text_silent(r->text) &&
	     (rc = reply_row(r, &tx, "reply", with_notices(r), e)) < 0) ||
	    (rc = hush(r, &tx, e)) < 0 || (rc = store_turn_finish(&tx, r->t, &f, e)) < 0 ||
	    (r->fold_to && (rc = fold_leave(&tx, &r->t->session, r->fold_to, e)) < 0))
		return rc;
	return store_commit(&tx, e);
}

int run_finish_done(struct run *r, struct err *e)
{
	int rc;

	do
		rc = finish_once(r, e);
	while (run_await_room(r, rc, e));
	return rc;
}

int run_finish_canceled(struct run *r, enum cancel_reason why, struct err *e)
{
	if (why == CANCEL_DEADLINE)
		return close_turn(
			r, TURN_FAILED, "The turn ran into its time limit", S("time limit"),
			S("I ran out of time on this and stopped. What was done so far is "
			  "kept; ask again to go on."),
			e);
	return close_turn(r, TURN_CANCELED, "The user stopped this turn", S("canceled"),
			  (str){ 0 }, e);
}

int run_finish_given_up(struct run *r, struct err *e)
{
	return close_turn(
		r, TURN_GIVEN_UP, "The program was interrupted again and again here",
		S("given up after repeated interruptions"),
		S("I gave up on this message: the program was interrupted again and again "
		  "while working on it."),
		e);
}

int run_finish_spent(struct run *r, struct err *e)
{
	str error = arena_fmt(r->a, "spending: %.*s", STRF(r->refused_by));

	return close_turn(r, TURN_FAILED, "A limit on spending was reached", error, r->refusal,
			  e);
}

static str apology(struct run *r, const struct model_failure *fail, const char *why)
{
	struct arena *a = r->a;
	str line = text_line(a, text_redact(a, str_of(why)), 300);

	switch (fail->kind) {
	case MODEL_OK:
		return arena_fmt(a, "Something went wrong here, not at the model: %.*s",
				 STRF(line));
	case MODEL_AUTH:
		return arena_fmt(a, "The model refused our key: %.*s", STRF(line));
	case MODEL_RATE_LIMIT:
		if (fail->retry_after_ms > 0)
			return arena_fmt(
				a,
				"The model is over its rate limit; try again in %lld s. %.*s",
				(long long)((fail->retry_after_ms + 999) / 1000), STRF(line));
		return arena_fmt(a, "The model is over its rate limit: %.*s", STRF(line));
	case MODEL_CONTEXT_LENGTH:
		return arena_fmt(a,
				 "This is too long for the model, even after shortening; /new "
				 "starts afresh. %.*s",
				 STRF(line));
	case MODEL_BAD_REQUEST:
		return arena_fmt(a, "The model refused the request: %.*s", STRF(line));
	default:
		return arena_fmt(a, "The model could not be reached or did not answer: %.*s",
				 STRF(line));
	}
}

int run_finish_failed(struct run *r, const struct model_failure *fail, const struct err *why,
		      struct err *e)
{
	const char *kind = fail->kind == MODEL_OK ? "internal" : model_kind_word(fail->kind);
	/* What the model's side says begins with its kind. */
	str error = str_starts(str_of(why->msg), str_of(kind))
			    ? arena_dup(r->a, str_of(why->msg))
			    : arena_fmt(r->a, "%s: %s", kind, why->msg);

	log_warn("turn.failed", "kind=%s err=%.*s", kind, STRF(log_q(r->a, str_of(why->msg))));
	return close_turn(r, TURN_FAILED, "This turn failed", error, apology(r, fail, why->msg),
			  e);
}

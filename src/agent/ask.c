/*
 * One request to the model and what its answer means: calls are journaled as a step, text
 * is the answer, nothing is asked for once more.
 */
#include "agent/run.h"

#include "agent/prompt.h"
#include "agent/salvage.h"
#include "agent/spend.h"
#include "os/clock.h"
#include "os/log.h"
#include "store/state.h"
#include "text/json.h"
#include "text/text.h"

#include <string.h>

#define LIVE_MAX (4u << 20)

#define NOTE_LANDING                                                                           \
	"[note: no more tool calls are possible in this turn. Answer now with what you have, " \
	"and "                                                                                 \
	"say plainly what is missing.]"
#define NOTE_REASONED                                                                          \
	"[note: your last reply held only reasoning. Go on: call the tools you need, or "      \
	"answer.]"
#define NOTE_EMPTY "[note: your last reply was empty. Answer the user now.]"

/* The text that streams in, and where it is shown. */
struct live {
	struct run *r;
	struct buf text;
	struct spend spend;
};

static void on_event(void *arg, enum model_event ev, str piece)
{
	struct live *l = arg;
	const struct turn_io *io = l->r->io;

	if (ev == MODEL_RESTART)
		buf_reset(&l->text);
	if (ev != MODEL_TEXT)
		return;
	buf_add(&l->text, piece);
	if (io && io->on_text && !salvage_hold(buf_str(&l->text)) &&
	    !text_silent_so_far(buf_str(&l->text)))
		io->on_text(io->arg, buf_str(&l->text));
}

/* What was learnt is a row before the request that depends on it. */
static int on_learn(void *arg, const struct model_quirks *q, struct err *e)
{
	struct run *r = ((struct live *)arg)->r;
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_quirks_set(&tx, r->issuer, q->flags, q->context_window, e)) < 0)
		return rc;
	r->quirks = *q;
	return store_commit(&tx, e);
}

static int on_again(void *arg, struct err *e)
{
	struct live *l = arg;

	return spend_hold(&l->spend, l->spend.prompt, l->r->token, e);
}

static const char *finish_word(enum model_finish f)
{
	static const char *const words[] = { "stop", "length", "content_filter", "tool_calls" };

	return words[f];
}

/* Remember a request until the next commit of the turn. */
static void note_model_row(struct run *r, const struct model_reply *reply, const char *error,
			   const struct sent_of *sent, const struct spend_settle *spend,
			   int64_t began_at_ms, int64_t ms)
{
	if (r->model_rows_n == r->model_rows_cap) {
		size_t cap = r->model_rows_cap ? r->model_rows_cap * 2 : 4;
		r->model_rows = arena_grow(r->a, r->model_rows,
					   r->model_rows_cap * sizeof *r->model_rows,
					   cap * sizeof *r->model_rows);
		r->model_rows_cap = cap;
	}
	struct buf params = buf_in(r->a, 1024);
	buf_fmt(&params, "{\"stream\":%s,\"tools\":%s,\"landing\":%d,\"nudge\":",
		r->io && r->io->on_text ? "true" : "false", r->landing ? "false" : "true",
		r->landing);
	buf_json(&params, r->nudge);
	buf_add(&params, S("}"));
	r->model_rows[r->model_rows_n++] = (struct model_row){
		.round = r->round + 1,
		.attempt = (int64_t)r->model_rows_n,
		.issuer = r->issuer,
		.params = buf_str(&params),
		.system = r->system,
		.tools = r->landing ? S("[]") : r->tools_json,
		.request = sent_write(r->a, sent, &r->parts, r->a),
		.finish = error ? S("") : str_of(finish_word(reply->finish)),
		.error = error ? arena_dup(r->a, str_of(error)) : S(""),
		.est_tokens = r->est_tokens,
		.prompt_tokens = error ? -1 : reply->usage.prompt,
		.completion_tokens = error ? -1 : reply->usage.completion,
		.cached_tokens = error ? -1 : reply->usage.cached,
		.written_tokens = error ? -1 : reply->usage.written,
		.first_token_ms = error ? 0 : reply->first_token_ms,
		.total_ms = ms,
		.started_at_ms = began_at_ms,
		.spend = *spend,
	};
}

static void count_usage(struct run *r, const struct model_reply *reply)
{
	const struct model_usage *u = &reply->usage;
	int64_t prompt = u->prompt >= 0 ? u->prompt : r->est_tokens;
	int64_t completion = u->completion >= 0 ? u->completion : text_tokens(reply->wire);

	r->tokens += prompt + completion;
	r->perf.prompt_tokens += prompt;
	r->perf.completion_tokens += completion;
	r->perf.cached_tokens += u->cached > 0 ? u->cached : 0;
	r->perf.recoveries += reply->retries;
	if (r->perf.first_token_ms == 0)
		r->perf.first_token_ms = reply->first_token_ms;
	r->quirks = reply->quirks;
}

static int journal_step(struct run *r, const struct turn_step *step, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = run_model_rows(r, &tx, e)) < 0 ||
	    (rc = run_tools_used(r, &tx, step->calls, step->calls_n, e)) < 0 ||
	    (rc = store_turn_step(&tx, r->t->id, step, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* Step (b): the assistant message with its calls, admitted by the gate. */
static int step(struct run *r, struct arena *ra, str wire, str text,
		const struct model_call *calls, size_t n, struct err *e)
{
	struct call *rows = NEWN(ra, struct call, n);
	struct turn_step journaled = { .round = r->round + 1,
				       .wire = wire,
				       .text = text,
				       .issuer = r->issuer,
				       .calls = rows,
				       .calls_n = n };
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct call *c = &rows[i];
		id_new(c->id);
		c->round = r->round + 1;
		c->index = (int64_t)i + 1;
		c->provider_id = calls[i].id;
		c->requested = calls[i].name;
		c->args = calls[i].args;
		c->requester = r->t->sender;
		(void)tools_admit(r->ag->opt.tools, &r->set, c, ra);
		if (c->state != CALL_PLANNED && c->state != CALL_RUNNING)
			c->result_wire = run_result_wire(r, ra, c, i + 1 == n);
	}
	do
		rc = journal_step(r, &journaled, e);
	while (run_await_room(r, rc, e));
	if (rc < 0)
		return rc;
	r->model_rows_n = 0;
	r->nudge = (str){ 0 };
	if (text.n) {
		r->prose = arena_dup(r->a, text);
		if (!(r->io && r->io->on_text))
			run_trace(r, "%.*s", STRF(text_line(ra, text, 100)));
	}
	r->perf.calls += (int64_t)n;
	return OK;
}

static void answer(struct run *r, str text, str wire, enum model_finish finish)
{
	r->done = true;
	r->text = arena_dup(r->a, text);
	r->wire = arena_dup(r->a, wire);
	r->finish = finish;
}

/* Neither text nor calls: asked for once more, then said plainly. */
static void empty(struct run *r, const struct model_reply *reply)
{
	if (reply->finish == MODEL_FILTER) {
		/* Asking again would be refused again. */
		str none = S("(no answer)");
		answer(r, none, model_assistant_wire(r->a, none), MODEL_FILTER);
		return;
	}
	if (!r->nudged) {
		r->nudged = true;
		r->perf.recoveries++;
		r->nudge = reply->reasoning.n ? S(NOTE_REASONED) : S(NOTE_EMPTY);
		return;
	}
	str text = r->prose;
	if (text.n == 0)
		text = reply->reasoning.n
			       ? S("The model only reasoned and gave no answer. Please ask "
				   "again, perhaps in other words.")
			       : S("The model gave an empty answer. Please ask again.");
	answer(r, text, model_assistant_wire(r->a, text), MODEL_STOP);
}

static int take(struct run *r, struct arena *ra, const struct model_reply *reply, struct err *e)
{
	struct model_call made;

	if (reply->calls_n && !r->landing)
		return step(r, ra, reply->wire, reply->text, reply->calls, reply->calls_n, e);
	if (reply->text.n && !reply->calls_n && !r->landing && r->set.n &&
	    salvage_call(reply->text, &r->set, ra, &made.name, &made.args)) {
		char id[ID_LEN + 1];
		id_new(id);
		made.id = arena_dup(ra, str_sub(str_of(id), ID_LEN - 9, ID_LEN));
		r->perf.recoveries++;
		log_info("call.salvaged", "tool=%.*s", STRF(made.name));
		return step(r, ra, model_calls_wire(ra, (str){ 0 }, &made, 1), (str){ 0 },
			    &made, 1, e);
	}
	if (reply->text.n == 0) {
		empty(r, reply);
		return OK;
	}
	/* A landing answer that still asks for tools keeps its text only. */
	str wire = reply->calls_n ? model_assistant_wire(ra, reply->text) : reply->wire;
	answer(r, reply->text, wire, reply->finish);
	return OK;
}

/* What is said for the next request only; "" nothing. */
static str request_note(const struct run *r)
{
	return r->nudge.n ? r->nudge : r->landing ? S(NOTE_LANDING) : (str){ 0 };
}

/* History, the turn's rows, and what is said for this request only. */
static struct message *rows_to_send(struct run *r, struct arena *ra, size_t *n)
{
	struct message *rows = run_all_rows(r, ra, n);
	str note = request_note(r);

	if (note.n)
		rows[(*n)++] = sent_note(ra, r->t->id, note);
	return rows;
}

/* A request that a follow-up may end, without ending the turn.  *steered: it did. */
static int complete(struct run *r, const struct model_req *req, struct arena *ra,
		    struct model_reply *reply, struct model_failure *fail, bool *steered,
		    struct err *e)
{
	SCOPED(cancel_done) struct cancel token = { .fd = -1 };
	const struct turn_io *io = r->io;
	int64_t ready = 0;
	int rc;

	*steered = false;
	if (!io || !io->on_request)
		return model_complete(r->ag->opt.model, req, ra, reply, fail, r->token, e);
	if ((rc = cancel_init(&token, r->token, 0, e)) < 0)
		return rc;
	io->on_request(io->arg, &token);
	/* What was committed before somebody could fire the token is asked for; what comes later
	 * fires it. */
	rc = store_inbox_joinable(r->ag->opt.store, r->t->session.id, &ready, e);
	if (rc == OK && ready > 0)
		cancel_fire(&token, CANCEL_USER);
	if (rc == OK)
		rc = model_complete(r->ag->opt.model, req, ra, reply, fail, &token, e);
	io->on_request(io->arg, NULL);
	*steered = rc == E_CANCELED && cancel_reason(r->token) == CANCEL_NONE &&
		   cancel_reason(&token) != CANCEL_NONE;
	return rc;
}

/* There is no room for another request: what is there is the answer, or the turn ends. */
static int out_of_money(struct run *r, const struct spend *s, int rc)
{
	r->refusal = s->refusal;
	r->refused_by = s->option;
	if (r->round == 0)
		return rc;
	str text = r->prose.n ? r->prose : S("I had to stop before I could answer.");
	answer(r, text, model_assistant_wire(r->a, text), MODEL_STOP);
	r->landing = LAND_SPENT;
	return OK;
}

/* The request's worst case, as far as it can be known before. */
static int hold(struct run *r, struct spend *s, struct err *e)
{
	int rc = spend_begin(s, r->ag, r->snap->cfg, r->issuer, r->t->id, r->a, e);

	return rc < 0 ? rc
		      : spend_hold(s, r->est_tokens * r->tokens_permille / 1000, r->token, e);
}

static void log_call(const struct run *r, const struct model_reply *reply, int64_t ms)
{
	log_info("model.call", "round=%lld ms=%lld calls=%zu chars=%zu finish=%s",
		 (long long)r->round + 1, (long long)ms, reply->calls_n, reply->text.n,
		 finish_word(reply->finish));
}

int run_ask(struct run *r, struct arena *ra, struct model_failure *fail, struct err *e)
{
	struct model_msg *msgs;
	struct model_reply reply = { 0 };
	struct live live = { .r = r, .text = buf_in(ra, LIVE_MAX) };
	size_t rows_n, n;
	int rc;

	if ((rc = run_publish(r, e)) < 0 || (rc = run_fit(r, ra, e)) < 0)
		return rc;
	if ((rc = hold(r, &live.spend, e)) < 0)
		return live.spend.refusal.n ? out_of_money(r, &live.spend, rc) : rc;
	struct message *rows = rows_to_send(r, ra, &rows_n);
	if ((rc = prompt_messages_with(ra, rows, rows_n, r->images, r->images_n, &msgs, &n,
				       e)) < 0)
		return rc;
	struct model_req req = {
		.system = r->system,
		.msgs = msgs,
		.msgs_n = n,
		.tools = r->tools,
		.tools_n = r->landing ? 0 : r->tools_n,
		.stream = r->io && r->io->on_text,
		.quirks = r->quirks,
		.on_event = on_event,
		.on_learn = on_learn,
		.on_again = on_again,
		.arg = &live,
	};
	struct model_sent body = { 0 };
	struct sent_of sent = {
		.sent = &body,
		.rows = rows,
		.rows_n = rows_n,
		.msgs = msgs,
		.msgs_n = n,
		.system = r->system,
		.tools = r->landing ? S("[]") : r->tools_json,
		.no_images = r->no_images,
		.note = request_note(r),
	};
	req.sent = &body;
	int64_t began = clock_mono_ms(), began_at = clock_now_ms();
	bool steered;
	rc = complete(r, &req, ra, &reply, fail, &steered, e);
	int64_t ms = clock_mono_ms() - began;
	r->perf.model_ms += ms;
	struct spend_settle spend = spend_end(&live.spend, rc < 0 ? NULL : &reply, fail);
	note_model_row(r, &reply, rc < 0 ? model_kind_word(fail->kind) : NULL, &sent, &spend,
		       began_at, ms);
	if (steered) {
		*fail = (struct model_failure){ 0 };
		return OK; /* the next pass takes in what came */
	}
	if (rc < 0)
		return live.spend.refusal.n ? out_of_money(r, &live.spend, rc) : rc;
	count_usage(r, &reply);
	log_call(r, &reply, ms);
	return take(r, ra, &reply, e);
}

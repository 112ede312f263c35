/*
 * /tokens: what the next request of a conversation would be made of, as estimated, and what the
 * model itself counted.
 */
#include "agent/holds.h"
#include "agent/internal.h"
#include "agent/prompt.h"
#include "agent/spend.h"
#include "store/memory.h"
#include "store/model_call.h"
#include "store/state.h"
#include "text/text.h"

/* Estimated tokens, by where they come from. */
struct parts {
	int64_t persona, memory, summary, history, turn;
	int64_t messages;
	struct turn_cost last;
	struct session session;
};

static int64_t rows_tokens(struct arena *a, const struct message *rows, size_t n)
{
	struct model_msg *msgs;
	size_t msgs_n;

	return n && prompt_messages(a, rows, n, &msgs, &msgs_n, NULL) == OK
		       ? prompt_tokens(msgs, msgs_n)
		       : 0;
}

static int conversation(struct parts *p, struct agent *ag, int64_t past, str channel,
			str address, struct arena *a, struct err *e)
{
	struct store *s = ag->opt.store;
	struct memory_snapshot memory;
	struct message *rows;
	struct call *calls;
	size_t n, calls_n;
	int rc = store_session_find(s, channel, address, a, &p->session, e);

	if (rc == OK)
		rc = store_history(s, &p->session, past, a, &rows, &n, e);
	if (rc < 0)
		return rc == E_NOENT ? OK : rc;
	rc = store_memory_snapshot_get(s, p->session.id, a, &memory, e);
	if (rc < 0 && rc != E_NOENT)
		return rc;
	if (rc == OK && memory.epoch == p->session.epoch)
		p->memory = text_tokens(memory.text);
	p->summary = text_tokens(p->session.summary);
	p->history = rows_tokens(a, rows, n);
	p->messages = (int64_t)n;
	rc = store_turn_last(s, p->session.id, a, &p->last, e);
	if (rc < 0 || !p->last.open)
		return rc == E_NOENT ? OK : rc;
	rc = store_turn_load(s, p->last.turn_id, a, &rows, &n, &calls, &calls_n, e);
	if (rc == OK)
		p->turn = rows_tokens(a, rows, n);
	return rc;
}

static int64_t percent(int64_t part, int64_t whole)
{
	return part > 0 && whole > 0 ? part * 100 / whole : 0;
}

static void add_part(struct buf *b, const char *name, int64_t tokens, str note)
{
	buf_fmt(b, "\n%s: %lld%s%.*s%s", name, (long long)tokens, note.n ? " (" : "",
		STRF(note), note.n ? ")" : "");
}

static void add_cost(struct buf *b, const struct models_cfg *models, str model,
		     const struct turn_cost *last)
{
	struct price_usage u = { .prompt = last->prompt_tokens,
				 .cached = last->cached_tokens,
				 .completion = last->completion_tokens };
	int64_t nano;

	if (price_of(models, model, &u, &nano))
		buf_fmt(b, ", %s", price_text(b->a, nano, models->currency).p);
}

static void add_reported(struct buf *b, struct agent *ag, const struct models_cfg *models,
			 const struct parts *p)
{
	const struct turn_cost *last = &p->last;
	struct usage u = { 0 };

	if (last->turn_id.n && last->prompt_tokens >= 0) {
		buf_fmt(b, "\nlast request, as reported: prompt %lld, answer %lld",
			(long long)last->prompt_tokens, (long long)last->completion_tokens);
		if (last->cached_tokens >= 0)
			buf_fmt(b, ", cached %lld (%lld%%)", (long long)last->cached_tokens,
				(long long)percent(last->cached_tokens, last->prompt_tokens));
		add_cost(b, models, p->session.model, last);
	}
	if (store_usage(ag->opt.store, ag->started_at_ms, &u, NULL) == OK && u.model_calls)
		buf_fmt(b,
			"\nsince start, as reported: prompt %lld, answers %lld, cached %lld "
			"(%lld%%)",
			(long long)u.prompt_tokens, (long long)u.completion_tokens,
			(long long)u.cached_tokens,
			(long long)percent(u.cached_tokens, u.prompt_tokens));
}

static str tokens_text(struct agent *ag, const struct snapshot *snap, str channel, str address,
		       struct arena *a)
{
	struct buf b = buf_in(a, 8192);
	struct parts p = { .persona = text_tokens(snap->persona) };
	int64_t max = snap->cfg->limits.history_max_tokens, permille = 1000;
	int64_t past = snap->cfg->limits.history_max_messages + HISTORY_SLACK;
	struct holds h;
	struct err e = { 0 };

	if (conversation(&p, ag, past, channel, address, a, &e) < 0 ||
	    holds_of_chat(&h, ag, channel, address, a, &e) < 0 ||
	    (ag->opt.model && store_tokens_permille(ag->opt.store, model_issuer(ag->opt.model),
						    &permille, &e) < 0))
		return arena_fmt(a, "That did not work: %s", e.msg);
	buf_add(&b, S("what the next request is made of (tokens, estimated)"));
	add_part(&b, "persona", p.persona, S(""));
	add_part(&b, "memory", p.memory, S("what a message is about comes with it"));
	add_part(&b, "summary", p.summary, S(""));
	add_part(&b, "history", p.history,
		 arena_fmt(a, "%lld messages", (long long)p.messages));
	add_part(&b, "tools", h.shown_tokens,
		 h.dynamic ? arena_fmt(a, "%zu of %zu tools", h.shown, h.set.n)
			   : arena_fmt(a, "%zu tools", h.shown));
	add_part(&b, "this turn", p.turn, p.last.open ? S("running") : S("none runs"));
	add_part(&b, "in all",
		 p.persona + p.memory + p.summary + p.history + h.shown_tokens + p.turn,
		 arena_fmt(a, "history is cut when it is over %lld",
			   (long long)(max * 1000 / permille)));
	if (permille != 1000)
		buf_fmt(&b, "\nthe model counts %lld.%02lld tokens for one of these",
			(long long)(permille / 1000), (long long)(permille % 1000 / 10));
	add_reported(&b, ag, &snap->cfg->models, &p);
	buf_add(&b, spend_text(ag, snap->cfg, a));
	return buf_str(&b);
}

str agent_tokens_text(struct agent *ag, str channel, str address, struct arena *a)
{
	struct snapshot *snap = agent_snapshot_get(ag);
	str text = tokens_text(ag, snap, channel, address, a);

	agent_snapshot_put(ag, snap);
	return text;
}

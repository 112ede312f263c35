/*
 * A turn as a timeline.  Each thing that took time is an event with a beginning and an end;
 * what no event covers is shown as a gap, since nothing was journaled there: the program did
 * not run, or every worker was busy.
 */
#include "cli/trace_text.h"

#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR 12
#define WIDTH 80
#define INDENT 44 /* columns before the text of an event */
#define GAP_MS 1000

struct event {
	int64_t at, end; /* wall; end < at: not over */
	size_t order;
	char mark; /* in the bar */
	const char *kind;
	str text, more; /* more: a second line, "" none */
};

struct line {
	struct event *v;
	size_t n;
	int64_t from, to; /* what the bar spans */
	const struct config *cfg;
	struct arena *a;
};

static void add(struct line *l, struct event e)
{
	e.order = l->n;
	if (e.at <= 0) { /* no time was journaled that could be one */
		e.end = e.end < e.at ? l->from - 1 : l->from;
		e.at = l->from;
	}
	l->v[l->n++] = e;
	if (e.end > l->to)
		l->to = e.end;
	if (e.at > l->to)
		l->to = e.at;
}

static int64_t prompt_of(const struct trace_model *m, bool *estimated)
{
	*estimated = m->prompt_tokens < 0;
	return m->prompt_tokens < 0 ? m->est_tokens : m->prompt_tokens;
}

static int64_t completion_of(const struct trace_model *m, bool *estimated)
{
	*estimated = m->completion_tokens < 0;
	return m->completion_tokens < 0 ? (m->answer_bytes + 3) / 4 : m->completion_tokens;
}

static int by_time(const void *x, const void *y)
{
	const struct event *p = x, *q = y;

	if (p->at != q->at)
		return p->at < q->at ? -1 : 1;
	return p->order < q->order ? -1 : 1;
}

/* How long at least one of the events of a kind ran; v is in order. */
static int64_t covered(const struct event *v, size_t n, char mark)
{
	int64_t sum = 0, until = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		if (v[i].mark != mark || v[i].end <= until || v[i].end < v[i].at)
			continue;
		sum += v[i].end - (v[i].at > until ? v[i].at : until);
		until = v[i].end;
	}
	return sum;
}

static str tokens_text(const struct trace_model *m, struct arena *a)
{
	bool in_est, out_est;
	int64_t in = prompt_of(m, &in_est), out = completion_of(m, &out_est);
	str cached = m->cached_tokens > 0
			     ? arena_fmt(a, " (%lld cached)", (long long)m->cached_tokens)
			     : S("");

	return arena_fmt(a, "%s%lld in%.*s, %s%lld out", in_est ? "~" : "", (long long)in,
			 STRF(cached), out_est ? "~" : "", (long long)out);
}

static void add_models(struct line *l, const struct trace *t)
{
	for (size_t i = 0; i < t->models_n; i++) {
		const struct trace_model *m = &t->models[i];
		struct event e = { .at = m->started_at_ms,
				   .end = m->started_at_ms + m->total_ms,
				   .mark = '=',
				   .kind = "model" };
		str first = m->first_token_ms > 0
				    ? arena_fmt(l->a, ", first token %.*s",
						STRF(show_ms(l->a, m->first_token_ms)))
				    : S("");
		e.text = m->error.n ? arena_fmt(l->a, "round %lld failed: %.*s",
						(long long)m->round,
						STRF(show_line(l->cfg, m->error, 60, l->a)))
				    : arena_fmt(l->a, "round %lld%.*s", (long long)m->round,
						STRF(first));
		if (!m->error.n)
			e.more = arena_fmt(
				l->a, "%.*s%s%.*s", STRF(tokens_text(m, l->a)),
				str_eq(m->finish, S("stop")) ? "" : ", ",
				STRF(str_eq(m->finish, S("stop")) ? S("") : m->finish));
		add(l, e);
	}
}

static bool overlaps(const struct trace *t, size_t i)
{
	const struct trace_call *c = &t->calls[i];

	for (size_t k = 0; k < t->calls_n; k++) {
		const struct trace_call *o = &t->calls[k];
		if (k != i && c->started_at_ms && o->started_at_ms && o->round == c->round &&
		    o->started_at_ms < c->started_at_ms + c->duration_ms &&
		    c->started_at_ms < o->started_at_ms + o->duration_ms)
			return true;
	}
	return false;
}

static const struct trace_ask *ask_of(const struct trace *t, str call_id)
{
	for (size_t i = 0; i < t->asks_n; i++)
		if (str_eq(t->asks[i].call_id, call_id))
			return &t->asks[i];
	return NULL;
}

static str call_text(const struct line *l, const struct trace *t, const struct trace_call *c)
{
	struct buf b = buf_in(l->a, 4096);

	buf_fmt(&b, "%.*s: %.*s", STRF(show_line(l->cfg, c->tool, 40, l->a)), STRF(c->state));
	if (c->has_exit)
		buf_fmt(&b, " (exit %lld)", (long long)c->exit_code);
	if (c->decision.n)
		buf_fmt(&b, ", %.*s", STRF(show_line(l->cfg, c->decision, 24, l->a)));
	if (c->decider.n)
		buf_fmt(&b, " by %.*s", STRF(show_line(l->cfg, c->decider, 24, l->a)));
	/* A question at a terminal is no row; the call waited for it all the same. */
	if (c->started_at_ms - c->created_at_ms >= 100 && !ask_of(t, c->id))
		buf_fmt(&b, ", waited %.*s",
			STRF(show_ms(l->a, c->started_at_ms - c->created_at_ms)));
	if (c->truncated)
		buf_add(&b, S(", cut"));
	return buf_str(&b);
}

static void add_calls(struct line *l, const struct trace *t)
{
	for (size_t i = 0; i < t->calls_n; i++) {
		const struct trace_call *c = &t->calls[i];
		int64_t at = c->started_at_ms ? c->started_at_ms : c->created_at_ms;
		int64_t ms = c->duration_ms;
		bool open = str_eq(c->state, S("running")) || str_eq(c->state, S("planned"));

		add(l,
		    (struct event){
			    .at = at,
			    .end = open ? at - 1 : at + (ms > 0 ? ms : 0),
			    .mark = '#',
			    .kind = overlaps(t, i) ? "tool ||" : "tool",
			    .text = call_text(l, t, c),
			    .more = show_line(l->cfg, show_args(l->cfg, c->tool, c->args, l->a),
					      200, l->a),
		    });
	}
}

static void add_asks(struct line *l, const struct trace *t)
{
	for (size_t i = 0; i < t->asks_n; i++) {
		const struct trace_ask *p = &t->asks[i];
		str by = p->decided_by.n
				 ? arena_fmt(l->a, " by %.*s",
					     STRF(show_line(l->cfg, p->decided_by, 24, l->a)))
				 : S("");

		add(l,
		    (struct event){
			    .at = p->created_at_ms,
			    .end = p->decided_at_ms ? p->decided_at_ms : p->created_at_ms - 1,
			    .mark = '?',
			    .kind = "asked",
			    .text = arena_fmt(l->a, "%.*s: %.*s%.*s",
					      STRF(show_line(l->cfg, p->tool, 40, l->a)),
					      STRF(p->state), STRF(by)),
			    .more = show_line(l->cfg, p->reason, 200, l->a),
		    });
	}
}

static void add_outs(struct line *l, const struct trace *t)
{
	for (size_t i = 0; i < t->outs_n; i++) {
		const struct trace_out *o = &t->outs[i];
		struct buf b = buf_in(l->a, 1024);
		bool over = o->finished_at_ms > 0;

		buf_fmt(&b, "%.*s: %.*s", STRF(o->kind), STRF(o->state));
		if (o->pieces)
			buf_fmt(&b, ", %lld of %lld sent", (long long)o->sent,
				(long long)o->pieces);
		if (o->unknown)
			buf_fmt(&b, ", %lld unknown", (long long)o->unknown);
		if (o->attempts > o->pieces)
			buf_fmt(&b, ", %lld tries", (long long)o->attempts);
		add(l, (struct event){ .at = o->created_at_ms,
				       .end = over ? o->finished_at_ms : o->created_at_ms - 1,
				       .mark = '>',
				       .kind = "deliver",
				       .text = buf_str(&b),
				       .more = show_line(l->cfg, o->error, 200, l->a) });
	}
}

/* What nothing covers between the claim and the end. */
static void add_gaps(struct line *l, const struct trace *t, int64_t now_ms)
{
	int64_t until = t->started_at_ms, stop = t->finished_at_ms ? t->finished_at_ms : now_ms;
	size_t n = l->n;

	for (size_t i = 0; i <= n; i++) {
		const struct event *e = i < n ? &l->v[i] : NULL;
		if (e && e->mark == '>')
			continue;
		int64_t at = e && e->at < stop ? e->at : stop;
		if (at - until >= GAP_MS)
			add(l, (struct event){
				       .at = until,
				       .end = at,
				       .mark = '.',
				       .kind = "gap",
				       .text = S("nothing journaled"),
			       });
		int64_t end = e && e->end >= e->at ? e->end : e ? stop : 0;
		until = end > until ? end : until;
	}
}

static void add_ends(struct line *l, const struct trace *t)
{
	int64_t at = t->finished_at_ms ? t->finished_at_ms : t->updated_at_ms;
	str why = t->error.n ? arena_fmt(l->a, ": %.*s",
					 STRF(show_line(l->cfg, t->error, 120, l->a)))
			     : S("");

	if (t->arrived_at_ms)
		add(l, (struct event){ .at = t->arrived_at_ms,
				       .end = t->started_at_ms,
				       .mark = '.',
				       .kind = "queue",
				       .text = S("waited to be taken up") });
	if (t->finished_at_ms)
		add(l, (struct event){ .at = at,
				       .end = at,
				       .mark = '|',
				       .kind = "end",
				       .text = arena_cat(l->a, t->state, why) });
}

static void events(struct line *l, const struct trace *t, int64_t now_ms)
{
	size_t max = 2 * (t->models_n + t->calls_n + t->asks_n + t->outs_n) + 8;

	l->v = NEWN(l->a, struct event, max);
	l->from = t->arrived_at_ms ? t->arrived_at_ms : t->started_at_ms;
	l->to = l->from + 1;
	add_models(l, t);
	add_calls(l, t);
	add_asks(l, t);
	qsort(l->v, l->n, sizeof *l->v, by_time);
	add_gaps(l, t, now_ms);
	add_ends(l, t);
	add_outs(l, t);
	qsort(l->v, l->n, sizeof *l->v, by_time);
}

/* The part of the bar that an event fills, at least one column of it. */
static void bar(char out[BAR + 1], const struct line *l, const struct event *e)
{
	int64_t span = l->to - l->from, end = e->end < e->at ? l->to : e->end;
	int64_t first = (e->at - l->from) * BAR / span, last = (end - l->from) * BAR / span;

	first = first < 0 ? 0 : first >= BAR ? BAR - 1 : first;
	last = last <= first ? first + 1 : last > BAR ? BAR : last;
	memset(out, ' ', BAR);
	out[BAR] = '\0';
	memset(out + first, e->mark, (size_t)(last - first));
}

/* text after the columns, wrapped at blanks so that no line is over WIDTH; head stands before the
 * first line. */
static void wrapped(struct buf *b, const char *head, str text)
{
	size_t room = WIDTH - INDENT;

	while (text.n) {
		size_t n = text.n, at = 0, chars = 0;
		for (size_t i = 0; i < text.n; i++) {
			chars += ((unsigned char)text.p[i] & 0xc0) != 0x80;
			if (chars > room) {
				n = at ? at : i;
				break;
			}
			if (text.p[i] == ' ')
				at = i;
		}
		buf_fmt(b, "%-*s%.*s\n", INDENT, head, STRF(str_sub(text, 0, n)));
		text = str_trim(str_sub(text, n, text.n));
		head = "";
	}
}

static void print(struct buf *b, const struct line *l)
{
	buf_fmt(b, "%9s %9s  %-*s  %s\n", "AT", "TOOK", BAR, "", "WHAT");
	for (size_t i = 0; i < l->n; i++) {
		const struct event *e = &l->v[i];
		char cells[BAR + 1], head[128];
		int64_t at = e->at - l->from;
		str took = e->end < e->at   ? S("not over")
			   : e->mark == '|' ? S("")
					    : show_ms(l->a, e->end - e->at);

		bar(cells, l, e);
		(void)snprintf(head, sizeof head, "%5lld.%03lld %9.*s  %s  %-8s",
			       (long long)(at / 1000), (long long)(at < 0 ? 0 : at % 1000),
			       STRF(took), cells, e->kind);
		wrapped(b, head, e->text);
		wrapped(b, "", str_trim(e->more));
	}
}

struct trace_sum trace_sum(const struct trace *t, const struct config *cfg)
{
	struct trace_sum sum = { .requests = (int64_t)t->models_n };

	for (size_t i = 0; i < t->models_n; i++) {
		const struct trace_model *m = &t->models[i];
		bool in_est, out_est;
		if (m->error.n) {
			sum.failed++;
			continue;
		}
		sum.prompt += prompt_of(m, &in_est);
		sum.completion += completion_of(m, &out_est);
		sum.cached += m->cached_tokens > 0 ? m->cached_tokens : 0;
		sum.estimated += in_est || out_est;
		const struct price_usage used = { .prompt = prompt_of(m, &in_est),
						  .cached = m->cached_tokens,
						  .written = m->written_tokens,
						  .completion = completion_of(m, &out_est) };
		int64_t nano = 0;
		if (price_of(&cfg->models, price_model(m->issuer), &used, &nano))
			sum.nano += nano;
		else
			sum.unpriced++;
	}
	return sum;
}

static void add_sum(struct buf *b, const struct line *l, const struct trace *t)
{
	struct trace_sum s = trace_sum(t, l->cfg);

	buf_fmt(b, "\nmodel   %lld request%s", (long long)s.requests,
		s.requests == 1 ? "" : "s");
	if (s.failed)
		buf_fmt(b, " (%lld failed)", (long long)s.failed);
	buf_fmt(b, ", %.*s\n", STRF(show_ms(l->a, covered(l->v, l->n, '='))));
	buf_fmt(b, "tools   %zu call%s, %.*s\n", t->calls_n, t->calls_n == 1 ? "" : "s",
		STRF(show_ms(l->a, covered(l->v, l->n, '#'))));
	if (t->asks_n)
		buf_fmt(b, "asked   %zu question%s, %.*s\n", t->asks_n,
			t->asks_n == 1 ? "" : "s",
			STRF(show_ms(l->a, covered(l->v, l->n, '?'))));
	buf_fmt(b, "tokens  %s%lld in (%lld cached), %s%lld out\n", s.estimated ? "~" : "",
		(long long)s.prompt, (long long)s.cached, s.estimated ? "~" : "",
		(long long)s.completion);
	if (s.estimated)
		buf_fmt(b,
			"        ~ estimated: %lld of %lld requests were not counted by the "
			"model\n",
			(long long)s.estimated, (long long)s.requests);
}

static void add_cost(struct buf *b, const struct line *l, const struct trace *t)
{
	struct trace_sum s = trace_sum(t, l->cfg);
	int64_t answered = s.requests - s.failed;

	if (answered == 0)
		return;
	if (s.unpriced < answered)
		buf_fmt(b, "cost    %s%.*s\n", s.estimated ? "~" : "",
			STRF(price_text(l->a, s.nano, l->cfg->models.currency)));
	if (s.unpriced)
		buf_fmt(b, "%s %lld of %lld requests have no price; see models.prices\n",
			s.unpriced < answered ? "       " : "cost   ", (long long)s.unpriced,
			(long long)answered);
}

void trace_text(struct buf *b, const struct trace *t, const struct config *cfg,
		const struct zone *z, struct arena *a)
{
	struct line l = { .cfg = cfg, .a = a };

	events(&l, t, t->updated_at_ms);
	buf_fmt(b, "turn %.*s: %.*s", STRF(t->id), STRF(t->state));
	if (t->finished_at_ms)
		buf_fmt(b, " after %.*s", STRF(show_ms(a, t->finished_at_ms - l.from)));
	if (t->cancel_requested)
		buf_add(b, S(", stopped"));
	if (t->claims > 1)
		buf_fmt(b, ", taken up %lld times", (long long)t->claims);
	buf_fmt(b, "\nsession %.*s (%.*s %.*s), %.*s, %lld message%s\n", STRF(t->session_id),
		STRF(show_line(cfg, t->channel, 20, a)),
		STRF(show_line(cfg, t->address, 20, a)), STRF(t->kind.n ? t->kind : S("-")),
		(long long)t->rows_n, t->rows_n == 1 ? "" : "s");
	buf_fmt(b, "arrived %.*s %.*s\n\n", STRF(show_time(z, a, l.from)), STRF(zone_name(z)));
	print(b, &l);
	add_sum(b, &l, t);
	add_cost(b, &l, t);
	if (t->cut)
		buf_fmt(b, "(only the first %d of each kind are shown)\n", TRACE_ROWS_MAX);
}

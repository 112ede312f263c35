/*
 * Fitting rows into a budget.  Rows are counted one by one, which is a little wrong for what
 * the prompt joins or repairs; where that could matter the request is made and measured.
 */
#include "agent/fit.h"

#include "agent/prompt.h"
#include "text/text.h"

#include <string.h>

#define HEAVY 16 /* old results of this part of the budget are a batch, */
#define HEAVY_MOST 8000 /* and so are those of so many tokens */
#define PROTECTED 4 /* turns that stay where they fit */
#define FULL 8 /* eighths of the budget at which history is cut */
#define FILLING 7 /* at which it should be folded */
#define COLLAPSED_TOKENS 16

static int64_t row_tokens(const struct message *m)
{
	if (m->collapsed && str_eq(m->role, S("tool")))
		return COLLAPSED_TOKENS;
	return text_tokens(m->wire) + (m->collapsed ? 0 : text_tokens(m->context));
}

int64_t fit_collapse_at(const struct message *rows, size_t n, int64_t fresh_from, size_t keep,
			int64_t least)
{
	int64_t at = 0, weight = 0;
	size_t whole = 0;

	for (size_t i = 0; i < n; i++)
		whole += str_eq(rows[i].role, S("tool")) && !rows[i].collapsed;
	for (size_t i = 0; i < n && whole > keep && rows[i].seq < fresh_from; i++) {
		if (!str_eq(rows[i].role, S("tool")) || rows[i].collapsed)
			continue;
		at = rows[i].seq;
		weight += row_tokens(&rows[i]);
		whole--;
	}
	return weight < least ? 0 : at;
}

int64_t fit_rows_tokens(const struct message *rows, size_t n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += row_tokens(&rows[i]);
	return sum;
}

struct sums {
	int64_t tokens, messages, turns; /* messages and turns: of the history */
};

static bool starts_turn(const struct message *rows, size_t i)
{
	return i == 0 || !str_eq(rows[i].turn_id, rows[i - 1].turn_id);
}

static struct sums sum_up(const struct message *rows, size_t n, int64_t current)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < n; i++) {
		bool past = rows[i].seq < current;
		s.tokens += row_tokens(&rows[i]);
		s.messages += past;
		s.turns += past && starts_turn(rows, i);
	}
	return s;
}

/* So many eighths of a bound, which may be no bound at all. */
static int64_t share_of(int64_t bound, int64_t eighths)
{
	return bound > INT64_MAX / FULL ? bound : bound * eighths / FULL;
}

/* Within so many eighths of the budget? */
static bool within(const struct sums *s, const struct fit_budget *b, int64_t eighths)
{
	int64_t room = b->max_tokens - b->fixed;

	return s->tokens <= (eighths == FULL ? room : room / 8 * eighths) &&
	       s->messages <= share_of(b->max_messages, eighths) &&
	       (b->max_turns == 0 || s->turns <= share_of(b->max_turns, eighths));
}

static int64_t cut_at(const struct message *rows, size_t n, int64_t current,
		      const struct fit_budget *b, int64_t eighths)
{
	struct sums s = sum_up(rows, n, current);

	if (within(&s, b, eighths))
		return 0;
	for (size_t i = 0; i < n && rows[i].seq < current; i++) {
		if (starts_turn(rows, i)) {
			if (within(&s, b, FULL / 2) ||
			    (s.turns <= PROTECTED && within(&s, b, FULL)))
				return i ? rows[i].seq : 0;
			s.turns--;
		}
		s.tokens -= row_tokens(&rows[i]);
		s.messages--;
	}
	return current;
}

int64_t fit_cut_at(const struct message *rows, size_t n, int64_t current,
		   const struct fit_budget *budget)
{
	return cut_at(rows, n, current, budget, FULL);
}

/* The rows as the plan makes them. */
struct view {
	struct message *v;
	size_t n, first; /* first: what is before it is cut */
};

static void collapse(struct view *w, int64_t upto, int64_t current, struct fit_plan *plan)
{
	for (size_t i = 0; i < w->n && w->v[i].seq <= upto; i++)
		if (str_eq(w->v[i].role, S("tool")) ||
		    (str_eq(w->v[i].role, S("user")) && w->v[i].seq < current))
			w->v[i].collapsed = true;
	if (upto > plan->collapse_upto)
		plan->collapse_upto = upto;
}

static void cut(struct view *w, int64_t at, struct fit_plan *plan)
{
	while (w->first < w->n && w->v[w->first].seq < at)
		w->first++;
	if (at > plan->cut_at)
		plan->cut_at = at;
}

static int measure(struct arena *a, const struct view *w, const struct fit_budget *b,
		   struct fit_plan *plan, struct err *e)
{
	struct model_msg *msgs;
	size_t n;
	int rc = prompt_messages(a, w->v + w->first, w->n - w->first, &msgs, &n, e);

	if (rc == OK)
		plan->tokens = b->fixed + prompt_tokens(msgs, n);
	return rc;
}

/* One step further for a request that is too long by excess: old turns, then results of the
 * running turn that were read, then those that were not.  False: nothing is left. */
static bool shorten(struct view *w, int64_t current, int64_t fresh_from,
		    const struct fit_budget *b, int64_t excess, struct fit_plan *plan)
{
	const struct message *rows = w->v + w->first;
	size_t n = w->n - w->first;
	struct fit_budget less = *b;
	int64_t at;

	if (n && rows[0].seq < current) {
		less.max_tokens = b->fixed + fit_rows_tokens(rows, n) - excess;
		at = cut_at(rows, n, current, &less, FULL);
		cut(w, at ? at : current, plan);
		return true;
	}
	at = fit_collapse_at(rows, n, fresh_from, 0, 1);
	if (!at)
		at = fit_collapse_at(rows, n, INT64_MAX, 0, 1);
	if (at)
		collapse(w, at, current, plan);
	return at != 0;
}

/* Old results are worth a break of the prefix when they are heavy, or the budget is used up. */
static int64_t old_results(const struct view *w, int64_t current, int64_t fresh_from,
			   const struct fit_budget *b)
{
	struct sums s = sum_up(w->v, w->n, current);
	int64_t heavy = b->max_tokens / HEAVY;

	if (s.tokens > b->max_tokens - b->fixed)
		heavy = 1;
	return fit_collapse_at(w->v, w->n, fresh_from, FIT_KEEP,
			       heavy < HEAVY_MOST ? heavy : HEAVY_MOST);
}

int fit_plan(struct arena *a, const struct message *rows, size_t n, int64_t current,
	     int64_t fresh_from, const struct fit_budget *budget, struct fit_plan *out,
	     struct err *e)
{
	struct view w = { .v = NEWN(a, struct message, n + 1), .n = n };
	int rc;

	*out = (struct fit_plan){ 0 };
	if (n)
		memcpy(w.v, rows, n * sizeof *rows);
	int64_t at = old_results(&w, current, fresh_from, budget);
	if (at)
		collapse(&w, at, current, out);
	if ((at = cut_at(w.v, n, current, budget, FULL))) {
		cut(&w, at, out);
		if ((at = fit_collapse_at(w.v + w.first, n - w.first, fresh_from, FIT_KEEP, 1)))
			collapse(&w, at, current, out);
	} else {
		out->fold_to = cut_at(w.v, n, current, budget, FILLING);
	}
	for (;;) {
		if ((rc = measure(a, &w, budget, out, e)) < 0)
			return rc;
		int64_t excess = out->tokens - budget->max_tokens;
		if (excess <= 0 || !shorten(&w, current, fresh_from, budget, excess, out))
			return OK;
		out->fold_to = 0;
	}
}

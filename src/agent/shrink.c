/*
 * Keeping the request within its budget, before it is sent and after a provider said it
 * was too long.  Every decision is a row first (marks on messages, the session's first
 * sequence number), so that a resumed turn and later turns ask alike.
 */
#include "agent/run.h"

#include "agent/fit.h"
#include "agent/fold.h"
#include "agent/prompt.h"
#include "os/log.h"
#include "text/text.h"

#define IMAGE_TOKENS 1000 /* roughly what a picture counts for */

static void mark(struct message *rows, size_t n, int64_t upto)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].seq <= upto && !str_eq(rows[i].role, S("assistant")))
			rows[i].collapsed = true;
}

/* From where the history begins: what is older is not sent, however much of it there is. */
static int collapse(struct run *r, int64_t upto, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t from = r->history_n ? r->history[0].seq : r->rows[0].seq;
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_collapse(&tx, r->t->session.id, from, upto, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	mark(r->history, r->history_n, upto);
	mark(r->rows, r->rows_n, upto);
	return OK;
}

static int cut(struct run *r, int64_t from, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_session_cut(&tx, r->t->session.id, from, e)) < 0 ||
	    (rc = fold_leave(&tx, &r->t->session, from, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	size_t drop = 0;
	while (drop < r->history_n && r->history[drop].seq < from)
		drop++;
	log_info("history.cut", "from_seq=%lld dropped=%zu", (long long)from, drop);
	r->history += drop;
	r->history_n -= drop;
	return OK;
}

struct message *run_all_rows(const struct run *r, struct arena *ra, size_t *n)
{
	struct message *all = NEWN(ra, struct message, r->history_n + r->rows_n + 1);

	for (size_t i = 0; i < r->history_n; i++)
		all[i] = r->history[i];
	for (size_t i = 0; i < r->rows_n; i++)
		all[r->history_n + i] = r->rows[i];
	*n = r->history_n + r->rows_n;
	/* The running turn keeps its context block to its end. */
	if (r->rows_n)
		all[r->history_n].collapsed = false;
	return all;
}

/* Where the rows begin that the model has not been sent yet. */
static int64_t fresh_from(const struct run *r)
{
	for (size_t i = r->rows_n; i-- > 0;)
		if (str_eq(r->rows[i].role, S("assistant")))
			return r->rows[i].seq;
	return r->rows_n ? r->rows[0].seq : INT64_MAX;
}

/* What the settings, the model's window and its way of counting leave for a request. */
static struct fit_budget budget_of(const struct run *r)
{
	const struct limits_cfg *l = &r->snap->cfg->limits;
	struct fit_budget b = {
		.fixed = text_tokens(r->system) + r->set_tokens +
			 (int64_t)r->images_n * IMAGE_TOKENS,
		.max_tokens = l->history_max_tokens,
		.max_messages = l->history_max_messages,
		.max_turns = l->history_max_turns,
	};

	if (r->quirks.context_window > 0 && r->quirks.context_window * 8 / 10 < b.max_tokens)
		b.max_tokens = r->quirks.context_window * 8 / 10;
	b.max_tokens = b.max_tokens * 1000 / r->tokens_permille;
	return b;
}

int run_fit(struct run *r, struct arena *ra, struct err *e)
{
	struct fit_budget b = budget_of(r);
	struct fit_plan plan;
	size_t n;
	struct message *all = run_all_rows(r, ra, &n);
	int rc = fit_plan(ra, all, n, r->rows[0].seq, fresh_from(r), &b, &plan, e);

	if (rc < 0)
		return rc;
	r->est_tokens = plan.tokens;
	r->fold_to = plan.fold_to;
	if (plan.collapse_upto && (rc = collapse(r, plan.collapse_upto, e)) < 0)
		return rc;
	return plan.cut_at && r->history_n ? cut(r, plan.cut_at, e) : OK;
}

static int cut_some(struct run *r, const struct message *all, size_t n, bool *changed,
		    struct err *e)
{
	struct fit_budget b = { .max_tokens = fit_rows_tokens(all, n) - 1,
				.max_messages = INT64_MAX };
	int64_t at = r->history_n ? fit_cut_at(all, n, r->rows[0].seq, &b) : 0;

	*changed = at != 0;
	return at ? cut(r, at, e) : OK;
}

/* Stage by stage: old tool results; then what is larger, the results nobody has read yet or
 * the old turns; then the other of the two. */
static int shrink_once(struct run *r, struct arena *ra, bool *changed, struct err *e)
{
	size_t n;
	struct message *all = run_all_rows(r, ra, &n);
	if (r->shrunk <= 1)
		r->own_first = fit_rows_tokens(r->rows, r->rows_n) >
			       fit_rows_tokens(r->history, r->history_n);
	int64_t from = r->shrunk == 0 ? fresh_from(r) : INT64_MAX;

	if (r->shrunk != 0 && (r->shrunk == 1) != r->own_first)
		return cut_some(r, all, n, changed, e);
	int64_t at = fit_collapse_at(all, n, from, 0, 1);
	*changed = at != 0;
	return at ? collapse(r, at, e) : OK;
}

int run_shrink(struct run *r, struct arena *ra, struct err *e)
{
	while (r->shrunk < 3) {
		bool changed;
		int rc = shrink_once(r, ra, &changed, e);
		if (rc < 0)
			return rc;
		r->shrunk++;
		if (changed)
			return OK;
	}
	return E_LIMIT;
}

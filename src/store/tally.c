/*
 * Summing up.  Each table is read once, row by row in whatever order it lies; a row finds its
 * day and its names, and is forgotten.
 */
#include "store/tally.h"

#include "base/date.h"
#include "store/tally_sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400
#define OTHERS "(others)"

/* --- days ------------------------------------------------------------------------------- */

static int64_t civil_day(const struct zone *z, int64_t at_ms)
{
	int64_t at_s = at_ms >= 0 ? at_ms / 1000 : -((999 - at_ms) / 1000);
	int64_t wall = zone_wall(z, at_s);

	return wall >= 0 ? wall / DAY_S : -((DAY_S - 1 - wall) / DAY_S);
}

int64_t tally_day_at_ms(const struct zone *z, int64_t day)
{
	return zone_instant(z, day * DAY_S) * 1000;
}

/* 1970-01-01 was a Thursday; a week begins on Monday. */
static int64_t first_day(enum tally_unit unit, int64_t day)
{
	struct date d;

	if (unit == TALLY_WEEK)
		return day - ((day + 3) % 7 + 7) % 7;
	if (unit == TALLY_MONTH) {
		d = date_of_ms(day * DAY_S * 1000);
		return day - (d.day - 1);
	}
	return day;
}

static int64_t next_first(enum tally_unit unit, int64_t first)
{
	struct date d;

	if (unit != TALLY_MONTH)
		return first + (unit == TALLY_WEEK ? 7 : 1);
	d = date_of_ms(first * DAY_S * 1000);
	return first + date_days_in(d.year, d.month);
}

int64_t tally_period(const struct zone *z, enum tally_unit unit, int64_t at_ms)
{
	return first_day(unit, civil_day(z, at_ms));
}

/* Every period from since to until. */
static void make_days(struct sum *m)
{
	const struct tally_opt *o = m->opt;
	int64_t first = tally_period(o->zone, o->unit, m->t->since_ms);
	int64_t last = civil_day(o->zone, o->until_ms);
	size_t n = 0;

	for (int64_t d = first; d <= last; d = next_first(o->unit, d))
		n++;
	/* More than anybody looks at: the newest stay. */
	for (; n > TALLY_DAYS_MAX; n--)
		first = next_first(o->unit, first);
	m->t->days = NEWN(m->a, struct tally_day, n + 1);
	for (int64_t d = first; d <= last; d = next_first(o->unit, d))
		m->t->days[m->t->days_n++].day = d;
	if (o->parts & TALLY_LATENCY)
		m->days = NEWN(m->tmp, struct spread, n + 1);
}

/* The day of an instant; NULL when it is outside. */
static struct tally_day *day_of(struct sum *m, int64_t at_ms)
{
	size_t lo = 0, hi = m->t->days_n;

	if (m->day && at_ms >= m->day_from_ms && at_ms < m->day_to_ms)
		return m->day;
	if (at_ms < m->t->since_ms || at_ms > m->opt->until_ms)
		return NULL;
	int64_t day = civil_day(m->opt->zone, at_ms);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (m->t->days[mid].day <= day)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0)
		return NULL;
	m->day = &m->t->days[lo - 1];
	/* The instants of this civil day are all in it, but for where the span begins and ends. */
	m->day_from_ms = tally_day_at_ms(m->opt->zone, day);
	m->day_to_ms = tally_day_at_ms(m->opt->zone, day + 1);
	if (m->day_from_ms < m->t->since_ms)
		m->day_from_ms = m->t->since_ms;
	if (m->day_to_ms > m->opt->until_ms)
		m->day_to_ms = m->opt->until_ms + 1;
	return m->day;
}

/* --- names --------------------------------------------------------------------------------- */

/* The place of a name in a list of *n, 1 and up; a new one when there is room (*fresh), else that
 * of the others. */
static size_t place(struct map *names, struct arena *a, str name, size_t n, bool *fresh)
{
	uintptr_t at = (uintptr_t)map_get(names, name);

	*fresh = false;
	if (!at && n >= TALLY_NAMES_MAX - 1 && !str_eq(name, S(OTHERS)))
		return place(names, a, S(OTHERS), n, fresh);
	if (!at) {
		at = n + 1;
		*fresh = true;
		(void)map_set(names, a, arena_dup(a, name), (void *)at);
	}
	return at;
}

size_t sum_model(struct sum *m, str issuer)
{
	bool fresh;
	size_t at = place(&m->model_names, m->a, issuer, m->t->models_n, &fresh) - 1;

	if (fresh) {
		if (!m->t->models) {
			m->t->models = NEWN(m->a, struct tally_model, TALLY_NAMES_MAX);
			m->models = NEWN(m->tmp, struct spread, 2 * TALLY_NAMES_MAX);
		}
		bool full = at == TALLY_NAMES_MAX - 1;
		m->t->models[at].issuer = full ? S(OTHERS) : arena_dup(m->a, issuer);
		m->t->models_n++;
	}
	return at;
}

static size_t tool_of(struct sum *m, str name)
{
	bool fresh;
	size_t at = place(&m->tool_names, m->a, name, m->t->tools_n, &fresh) - 1;

	if (fresh) {
		if (!m->t->tools) {
			m->t->tools = NEWN(m->a, struct tally_tool, TALLY_NAMES_MAX);
			m->tools = NEWN(m->tmp, struct spread, TALLY_NAMES_MAX);
		}
		bool full = at == TALLY_NAMES_MAX - 1;
		m->t->tools[at].name = full ? S(OTHERS) : arena_dup(m->a, name);
		m->t->tools_n++;
	}
	return at;
}

static void count_error(struct sum *m, str where, str what, int64_t at_ms)
{
	bool fresh;

	if (!(m->opt->parts & TALLY_ERRORS))
		return;
	char key[256];
	(void)snprintf(key, sizeof key, "%.*s: %.*s", STRF(where), STRF(what));
	size_t at = place(&m->error_names, m->a, str_of(key), m->t->errors_n, &fresh) - 1;
	if (fresh) {
		bool full = at == TALLY_NAMES_MAX - 1;
		if (!m->t->errors)
			m->t->errors = NEWN(m->a, struct tally_error, TALLY_NAMES_MAX);
		m->t->errors[at].where = full ? S("") : arena_dup(m->a, where);
		m->t->errors[at].what = full ? S(OTHERS) : arena_dup(m->a, what);
		m->t->errors_n++;
	}
	m->t->errors[at].n++;
	if (at_ms > m->t->errors[at].last_at_ms)
		m->t->errors[at].last_at_ms = at_ms;
}

/* --- rows ---------------------------------------------------------------------------------- */

void sum_tokens(struct tally_tokens *to, const struct tally_tokens *used)
{
	to->requests += used->requests;
	to->failed += used->failed;
	to->prompt += used->prompt;
	to->cached += used->cached;
	to->completion += used->completion;
	to->written += used->written;
	to->estimated += used->estimated;
}

static void add_share(struct sum *m, struct tally_share **list, size_t model,
		      const struct tally_tokens *used)
{
	struct tally_share *s = *list;

	while (s && s->model != model)
		s = s->next;
	if (!s) {
		s = NEW(m->a, struct tally_share);
		s->model = model;
		s->next = *list;
		*list = s;
	}
	sum_tokens(&s->used, used);
}

/* What a request used: as reported, else estimated.  The columns begin at col: error, prompt,
 * completion, cached, estimated and written tokens, bytes of its answer. */
struct tally_tokens sum_used(const struct rows *r, int col)
{
	struct tally_tokens u = { .requests = 1, .failed = rows_peek(r, col).n > 0 };

	if (u.failed)
		return u;
	u.prompt = rows_amount(r, rows_null(r, col + 1) ? col + 4 : col + 1);
	u.completion = rows_null(r, col + 2) ? (rows_amount(r, col + 6) + 3) / 4
					     : rows_amount(r, col + 2);
	u.cached = rows_amount(r, col + 3);
	u.written = rows_amount(r, col + 5);
	u.estimated = rows_null(r, col + 1) || rows_null(r, col + 2);
	return u;
}

static void on_turn(struct sum *m, const struct rows *r)
{
	int64_t at_ms = rows_at_ms(r, 0);
	str state = rows_peek(r, 2);
	struct tally_day *d = day_of(m, at_ms);
	bool done = str_eq(state, S("done"));

	if (!d)
		return;
	d->turns++;
	d->done += done;
	if (str_eq(state, S("canceled")))
		d->canceled++;
	else if (rows_null(r, 1))
		d->unfinished++;
	else if (!done) {
		d->failed++;
		str why = rows_peek(r, 3);
		count_error(m, S("turn"), why.n && why.n <= 60 ? why : state, at_ms);
	}
	if (done && m->days)
		spread_add(&m->days[d - m->t->days], rows_at_ms(r, 1) - at_ms);
}

/* The minutes' sums have what belongs to no turn, and outlive the turns. */
static void on_minute(struct sum *m, const struct rows *r)
{
	struct tally_day *d = day_of(m, rows_at_ms(r, 0));

	if (!d)
		return;
	d->used.requests += rows_amount(r, 1);
	d->used.prompt += rows_amount(r, 2);
	d->used.cached += rows_amount(r, 3);
	d->used.completion += rows_amount(r, 4);
	d->tool_calls += rows_amount(r, 5);
}

static void on_request(struct sum *m, const struct rows *r)
{
	int64_t at_ms = rows_at_ms(r, 0), first_ms = rows_amount(r, 9), ms = rows_amount(r, 10);
	struct tally_tokens used = sum_used(r, 2);
	struct tally_day *d = day_of(m, at_ms);

	if (!d)
		return;
	size_t model = sum_model(m, rows_peek(r, 1));
	add_share(m, &d->shares, model, &used);
	d->used.failed += used.failed;
	d->used.estimated += used.estimated;
	if (!used.failed && rows_null(r, 3)) /* not in the minutes' sums */
		d->used.prompt += used.prompt;
	if (!used.failed && rows_null(r, 4))
		d->used.completion += used.completion;
	sum_tokens(&m->t->models[model].used, &used);
	if (used.failed) {
		count_error(m, S("model"), rows_peek(r, 2), at_ms);
		return;
	}
	if (first_ms > 0)
		spread_add(&m->models[2 * model], first_ms);
	spread_add(&m->models[2 * model + 1], ms);
}

/* The minutes' sums have them; here they get their model. */
static void on_own(struct sum *m, const struct rows *r)
{
	struct tally_day *d = day_of(m, rows_at_ms(r, 0));
	struct tally_tokens used = { .requests = rows_amount(r, 2),
				     .estimated = rows_amount(r, 3),
				     .prompt = rows_amount(r, 4),
				     .completion = rows_amount(r, 5),
				     .cached = rows_amount(r, 6),
				     .written = rows_amount(r, 7) };

	if (!d)
		return;
	size_t model = sum_model(m, rows_peek(r, 1));
	add_share(m, &d->shares, model, &used);
	d->used.estimated += used.estimated;
	sum_tokens(&m->t->models[model].used, &used);
}

static void on_call(struct sum *m, const struct rows *r)
{
	int64_t at_ms = rows_at_ms(r, 0);
	str state = rows_peek(r, 2);

	if (at_ms < m->t->since_ms || at_ms > m->opt->until_ms)
		return;
	size_t at = tool_of(m, rows_peek(r, 1));
	struct tally_tool *t = &m->t->tools[at];
	t->calls++;
	t->done += str_eq(state, S("done"));
	t->failed += str_eq(state, S("failed"));
	t->denied += str_eq(state, S("denied"));
	t->in_doubt += str_eq(state, S("in_doubt"));
	t->canceled += str_eq(state, S("canceled"));
	if (str_eq(state, S("failed")) || str_eq(state, S("in_doubt"))) {
		char what[160];
		(void)snprintf(what, sizeof what, "%.*s %s", STRF(str_sub(t->name, 0, 120)),
			       str_eq(state, S("failed")) ? "failed" : "in doubt");
		count_error(m, S("tool"), str_of(what), at_ms);
	}
	if (!rows_null(r, 3) && (str_eq(state, S("done")) || str_eq(state, S("failed"))))
		spread_add(&m->tools[at], rows_amount(r, 3));
}

static void on_run(struct sum *m, const struct rows *r)
{
	int64_t at_ms = rows_at_ms(r, 0);
	str state = rows_peek(r, 2);
	struct tally_day *d = day_of(m, at_ms);

	if (!d || str_eq(state, S("started")))
		return;
	if (str_eq(state, S("skipped"))) {
		d->skipped += rows_amount(r, 3);
	} else if (!str_eq(state, S("ok"))) {
		d->broken++;
		count_error(m, S("schedule"), state, at_ms);
	} else if (at_ms - rows_at_ms(r, 1) > TALLY_LATE_MS) {
		d->late++;
	} else {
		d->on_time++;
	}
}

static void on_piece(struct sum *m, const struct rows *r)
{
	int64_t at_ms = rows_at_ms(r, 0);

	if (at_ms >= m->t->since_ms && at_ms <= m->opt->until_ms)
		count_error(m, S("delivery"),
			    str_eq(rows_peek(r, 1), S("dead")) ? S("refused")
							       : S("may not have arrived"),
			    at_ms);
}

/* All rows since then. */
static int scan(struct sum *m, const char *sql, void (*on)(struct sum *m, const struct rows *r),
		struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, m->db, sql, DB_ARGS(db_i64(m->t->since_ms)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		on(m, &r);
		rc = OK;
	}
	return rc;
}

/* --- all of it ----------------------------------------------------------------------------- */

#define TURNS                                                                                  \
	"SELECT started_at_ms, finished_at_ms, state, error FROM turns WHERE started_at_ms "   \
	">= ?1"
#define MINUTES                                                                                \
	"SELECT minute_at_ms, model_calls, prompt_tokens, cached_tokens, completion_tokens, "  \
	"tool_calls FROM usage WHERE minute_at_ms >= ?1"
#define REQUESTS                                                                               \
	"SELECT c.started_at_ms, c.issuer, " USED ", c.first_token_ms, c.total_ms "            \
	"FROM model_calls c WHERE c.started_at_ms >= ?1"
#define OWN                                                                                    \
	"SELECT minute_at_ms, issuer, requests, estimated, prompt_tokens, completion_tokens, " \
	"cached_tokens, written_tokens FROM usage_own WHERE minute_at_ms >= ?1"
#define CALLS                                                                                  \
	"SELECT created_at_ms, iif(name = '', requested, name), state, duration_ms "           \
	"FROM tool_calls WHERE created_at_ms >= ?1"
#define RUNS                                                                                   \
	"SELECT started_at_ms, scheduled_at_ms, state, n FROM job_runs WHERE started_at_ms "   \
	">= "                                                                                  \
	"?1"
#define PIECES                                                                                 \
	"SELECT updated_at_ms, state FROM pieces WHERE state IN ('unknown', 'dead') "          \
	"AND updated_at_ms >= ?1"
#define FIRST                                                                                  \
	"SELECT min(?1, coalesce((SELECT min(minute_at_ms) FROM usage WHERE minute_at_ms > "   \
	"0), ?1), coalesce((SELECT min(started_at_ms) FROM turns WHERE started_at_ms > 0), "   \
	"?1), coalesce((SELECT min(created_at_ms) FROM tool_calls WHERE created_at_ms > 0), "  \
	"?1))"

static int by_calls(const void *x, const void *y)
{
	const struct tally_tool *p = x, *q = y;

	return p->calls != q->calls ? (p->calls > q->calls ? -1 : 1)
				    : str_cmp(p->name, q->name);
}

static int by_number(const void *x, const void *y)
{
	const struct tally_error *p = x, *q = y;

	if (p->n != q->n)
		return p->n > q->n ? -1 : 1;
	int c = str_cmp(p->where, q->where);
	return c ? c : str_cmp(p->what, q->what);
}

static void close_sums(struct sum *m)
{
	struct tally *t = m->t;

	for (size_t i = 0; m->days && i < t->days_n; i++) {
		t->days[i].p50_ms = spread_at(&m->days[i], 50);
		t->days[i].p95_ms = spread_at(&m->days[i], 95);
	}
	for (size_t i = 0; i < t->tools_n; i++) {
		t->tools[i].p50_ms = spread_at(&m->tools[i], 50);
		t->tools[i].p95_ms = spread_at(&m->tools[i], 95);
	}
	for (size_t i = 0; i < t->models_n; i++) {
		t->models[i].first_p50_ms = spread_at(&m->models[2 * i], 50);
		t->models[i].p50_ms = spread_at(&m->models[2 * i + 1], 50);
		t->models[i].p95_ms = spread_at(&m->models[2 * i + 1], 95);
	}
	if (t->tools_n)
		qsort(t->tools, t->tools_n, sizeof *t->tools, by_calls);
	if (t->errors_n)
		qsort(t->errors, t->errors_n, sizeof *t->errors, by_number);
}

static int sum_up(struct sum *m, struct err *e)
{
	unsigned parts = m->opt->parts;
	int rc = OK;

	make_days(m);
	if (parts & (TALLY_DAYS | TALLY_ERRORS))
		rc = scan(m, TURNS, on_turn, e);
	if (rc == OK && parts & TALLY_DAYS)
		rc = scan(m, MINUTES, on_minute, e);
	if (rc == OK && parts & (TALLY_DAYS | TALLY_MODELS | TALLY_ERRORS))
		rc = scan(m, REQUESTS, on_request, e);
	if (rc == OK && parts & (TALLY_DAYS | TALLY_MODELS))
		rc = scan(m, OWN, on_own, e);
	if (rc == OK && parts & (TALLY_TOOLS | TALLY_ERRORS))
		rc = scan(m, CALLS, on_call, e);
	if (rc == OK && parts & (TALLY_DAYS | TALLY_ERRORS))
		rc = scan(m, RUNS, on_run, e);
	if (rc == OK && parts & TALLY_ERRORS)
		rc = scan(m, PIECES, on_piece, e);
	if (rc == OK && parts & TALLY_SESSIONS)
		rc = sum_sessions(m, e);
	close_sums(m);
	return rc;
}

int store_tally(struct store *s, const struct tally_opt *opt, struct arena *a,
		struct tally *out, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	SCOPED(reader_end) struct reader r = { 0 };
	struct tally t = { .since_ms = opt->since_ms };
	int rc = reader_begin(&r, s, e);

	if (rc == OK && !opt->since_ms)
		rc = db_number(r.db, FIRST, DB_ARGS(db_i64(opt->until_ms)), &t.since_ms, e);
	if (rc < 0)
		return rc;
	struct sum m = { .opt = opt, .t = &t, .db = r.db, .a = a, .tmp = &tmp };
	if ((rc = sum_up(&m, e)) == OK)
		*out = t;
	return rc;
}

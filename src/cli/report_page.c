/*
 * The page of gantry report: a few figures on top, then a chart for each question.  Everything
 * that came from the database is redacted here and escaped by the page.
 */
#include "cli/report_page.h"

#include "cli/chart.h"
#include "cli/page.h"
#include "cli/since.h"

#include <string.h>

enum { BLUE, ORANGE, GREEN, RED, VIOLET, GREY };

struct book {
	struct buf *b;
	struct arena *a;
	const struct report *r;
	const struct tally *t;
	str *days; /* their labels */
};

static str show_currency(struct arena *a, int64_t nano)
{
	/* The currency is the name of the series. */
	str text = str_trim(price_text(a, nano, S("")));

	if (nano == 0)
		return S("0");
	while (nano < 1000000000 && str_ends(text, S("0")))
		text.n--;
	return text;
}

static str label_of(const struct book *k, int64_t day)
{
	str text = since_day(k->a, day);

	return k->r->unit == TALLY_MONTH ? str_sub(text, 0, 7) : str_sub(text, 5, text.n);
}

/* A chart over the days; get gives the values of one. */
static void by_day(const struct book *k, struct chart c,
		   void (*get)(const struct book *k, const struct tally_day *d, int64_t *v))
{
	int64_t *v = NEWN(k->a, int64_t, k->t->days_n * c.series_n + 1);

	for (size_t i = 0; i < k->t->days_n; i++)
		get(k, &k->t->days[i], v + i * c.series_n);
	c.label = k->r->unit == TALLY_DAY    ? "Day"
		  : k->r->unit == TALLY_WEEK ? "Week from"
					     : "Month";
	c.labels = k->days;
	c.values = v;
	c.n = k->t->days_n;
	chart_write(k->b, k->a, &c);
}

static void get_turns(const struct book *k, const struct tally_day *d, int64_t *v)
{
	(void)k;
	v[0] = d->done;
	v[1] = d->failed;
	v[2] = d->canceled;
	v[3] = d->unfinished;
}

static void get_latency(const struct book *k, const struct tally_day *d, int64_t *v)
{
	(void)k;
	v[0] = d->p50_ms;
	v[1] = d->p95_ms;
}

static void get_tokens(const struct book *k, const struct tally_day *d, int64_t *v)
{
	(void)k;
	v[0] = d->used.prompt - d->used.cached;
	v[1] = d->used.cached;
	v[2] = d->used.completion;
}

static void get_cost(const struct book *k, const struct tally_day *d, int64_t *v)
{
	v[0] = tally_cost(k->t, d->shares, &k->r->cfg->models).nano;
}

static void get_schedules(const struct book *k, const struct tally_day *d, int64_t *v)
{
	(void)k;
	v[0] = d->on_time;
	v[1] = d->late;
	v[2] = d->broken;
	v[3] = d->skipped;
}

static void turns(const struct book *k)
{
	by_day(k,
	       (struct chart){ .title = "Turns",
			       .series = { "done", "failed", "stopped", "not over" },
			       .colours = { BLUE, RED, ORANGE, GREY },
			       .series_n = 4,
			       .show = chart_short },
	       get_turns);
	by_day(k,
	       (struct chart){ .kind = CHART_CURVES,
			       .title = "Time to the answer",
			       .series = { "half are faster (p50)", "95 % are faster (p95)" },
			       .colours = { BLUE, ORANGE },
			       .series_n = 2,
			       .show = show_ms,
			       .note = "Of turns that are done, from being taken up." },
	       get_latency);
}

static void tokens(const struct book *k)
{
	bool estimated = false;

	for (size_t i = 0; i < k->t->days_n; i++)
		estimated = estimated || k->t->days[i].used.estimated;
	by_day(k,
	       (struct chart){ .title = "Tokens",
			       .series = { "in", "in, cached", "out" },
			       .colours = { BLUE, GREEN, ORANGE },
			       .series_n = 3,
			       .show = chart_short,
			       .note = estimated
					       ? "Some are estimated: the model did not count "
						 "every request."
					       : NULL },
	       get_tokens);
}

static void cost(const struct book *k)
{
	if (!k->r->cfg->models.prices.n) {
		buf_add(k->b, S("<section><h2>Cost</h2>\n<p class=\"quiet\">No prices are "
				"configured (models.prices), so nothing is known of the cost."
				"</p></section>\n"));
		return;
	}
	by_day(k,
	       (struct chart){ .title = "Cost",
			       .series = { arena_cstr(k->a, k->r->cfg->models.currency) },
			       .colours = { VIOLET },
			       .series_n = 1,
			       .show = show_currency,
			       .note = "Of requests whose model has a price; the rest is not "
				       "in it." },
	       get_cost);
}

static void schedules(const struct book *k)
{
	by_day(k,
	       (struct chart){ .title = "Schedules",
			       .series = { "on time", "late", "failed", "skipped" },
			       .colours = { GREEN, ORANGE, RED, GREY },
			       .series_n = 4,
			       .show = chart_short },
	       get_schedules);
}

/* --- by name --------------------------------------------------------------------------- */

static void tools(const struct book *k)
{
	size_t n = k->t->tools_n;
	str *labels = NEWN(k->a, str, n + 1);
	int64_t *v = NEWN(k->a, int64_t, 4 * n + 4);

	for (size_t i = 0; i < n; i++) {
		const struct tally_tool *t = &k->t->tools[i];
		labels[i] = show_line(k->r->cfg, t->name, 120, k->a);
		v[4 * i] = t->done;
		v[4 * i + 1] = t->failed;
		v[4 * i + 2] = t->denied;
		v[4 * i + 3] = t->calls - t->done - t->failed - t->denied;
	}
	chart_write(k->b, k->a,
		    &(struct chart){ .kind = CHART_ROWS,
				     .title = "Tools",
				     .label = "Tool",
				     .series = { "done", "failed", "refused", "other" },
				     .colours = { GREEN, RED, ORANGE, GREY },
				     .series_n = 4,
				     .labels = labels,
				     .values = v,
				     .n = n,
				     .show = chart_short });
}

static void sessions(const struct book *k)
{
	size_t n = k->t->sessions_n;
	str *labels = NEWN(k->a, str, n + 1);
	int64_t *v = NEWN(k->a, int64_t, 2 * n + 2);

	for (size_t i = 0; i < n; i++) {
		const struct tally_session *s = &k->t->sessions[i];
		labels[i] = show_line(k->r->cfg,
				      arena_fmt(k->a, "%.*s %.*s (%.*s)", STRF(s->channel),
						STRF(s->address), STRF(s->id)),
				      120, k->a);
		v[2 * i] = s->used.prompt;
		v[2 * i + 1] = s->used.completion;
	}
	chart_write(k->b, k->a,
		    &(struct chart){ .kind = CHART_ROWS,
				     .title = "Sessions that used most tokens",
				     .label = "Session",
				     .series = { "in", "out" },
				     .colours = { BLUE, ORANGE },
				     .series_n = 2,
				     .labels = labels,
				     .values = v,
				     .n = n,
				     .show = chart_short });
}

static void errors(const struct book *k)
{
	size_t n = k->t->errors_n;
	str *labels = NEWN(k->a, str, n + 1);
	int64_t *v = NEWN(k->a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct tally_error *e = &k->t->errors[i];
		labels[i] = show_line(k->r->cfg,
				      arena_fmt(k->a, "%.*s%s%.*s", STRF(e->where),
						e->where.n ? ": " : "", STRF(e->what)),
				      120, k->a);
		v[i] = e->n;
	}
	chart_write(k->b, k->a,
		    &(struct chart){ .kind = CHART_ROWS,
				     .title = "Errors by kind",
				     .label = "Error",
				     .series = { "times" },
				     .colours = { RED },
				     .series_n = 1,
				     .labels = labels,
				     .values = v,
				     .n = n,
				     .show = chart_short });
}

static str percent(struct arena *a, int64_t part, int64_t all)
{
	return all ? arena_fmt(a, "%lld.%lld %%", (long long)(part * 100 / all),
			       (long long)(part * 1000 / all % 10))
		   : S("-");
}

static void models(const struct book *k)
{
	static const str heads[] = {
		S("Model"), S("Requests"),         S("Failed"), S("In"),  S("Cached"),
		S("Out"),   S("First token, p50"), S("p50"),    S("p95"), S("Cost")
	};
	size_t n = k->t->models_n;
	str *cells = NEWN(k->a, str, n * COUNT(heads) + 1), *c = cells;

	buf_add(k->b, S("<section><h2>Models</h2>\n"));
	if (!n) {
		buf_add(k->b, S("<p class=\"quiet\">Nothing in this time.</p></section>\n"));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct tally_model *m = &k->t->models[i];
		const struct tally_share share = { .model = i, .used = m->used };
		struct tally_cost money = tally_cost(k->t, &share, &k->r->cfg->models);
		*c++ = show_line(k->r->cfg, price_model(m->issuer), 120, k->a);
		*c++ = chart_short(k->a, m->used.requests);
		*c++ = chart_short(k->a, m->used.failed);
		*c++ = chart_short(k->a, m->used.prompt);
		*c++ = percent(k->a, m->used.cached, m->used.prompt);
		*c++ = chart_short(k->a, m->used.completion);
		*c++ = m->first_p50_ms ? show_ms(k->a, m->first_p50_ms) : S("-");
		*c++ = show_ms(k->a, m->p50_ms);
		*c++ = show_ms(k->a, m->p95_ms);
		*c++ = tally_cost_text(k->a, &money, &m->used, k->r->cfg->models.currency);
	}
	page_table(k->b, k->a, heads, COUNT(heads), cells, n);
	buf_add(k->b, S("</section>\n"));
}

/* --- the whole ------------------------------------------------------------------------------ */

static void tile(const struct book *k, const char *name, str value)
{
	buf_fmt(k->b, "<div><dt>%s</dt><dd>", name);
	page_text(k->b, k->a, value);
	buf_add(k->b, S("</dd></div>\n"));
}

static void tiles(const struct book *k)
{
	int64_t turns_n = 0, done = 0, prompt = 0, cached = 0, out = 0, tools_n = 0;
	struct tally_cost all = { 0 };
	struct tally_tokens used = { 0 };

	for (size_t i = 0; i < k->t->days_n; i++) {
		const struct tally_day *d = &k->t->days[i];
		struct tally_cost c = tally_cost(k->t, d->shares, &k->r->cfg->models);
		turns_n += d->turns;
		done += d->done;
		prompt += d->used.prompt;
		cached += d->used.cached;
		out += d->used.completion;
		tools_n += d->tool_calls;
		used.requests += d->used.requests;
		used.failed += d->used.failed;
		all.nano = all.nano > INT64_MAX - c.nano ? INT64_MAX : all.nano + c.nano;
		all.priced += c.priced;
		all.estimated = all.estimated || c.estimated;
	}
	buf_add(k->b, S("<dl class=\"tiles\">\n"));
	tile(k, "Turns", chart_short(k->a, turns_n));
	tile(k, "Answered", percent(k->a, done, turns_n));
	tile(k, "Requests to the model", chart_short(k->a, used.requests));
	tile(k, "Tool calls", chart_short(k->a, tools_n));
	tile(k, "Tokens in", chart_short(k->a, prompt));
	tile(k, "of them cached", percent(k->a, cached, prompt));
	tile(k, "Tokens out", chart_short(k->a, out));
	tile(k, "Cost", tally_cost_text(k->a, &all, &used, k->r->cfg->models.currency));
	buf_add(k->b, S("</dl>\n"));
}

void report_page(struct buf *b, const struct report *r, struct arena *a)
{
	struct book k = { .b = b, .a = a, .r = r, .t = r->t };

	k.days = NEWN(a, str, r->t->days_n + 1);
	for (size_t i = 0; i < r->t->days_n; i++)
		k.days[i] = label_of(&k, r->t->days[i].day);
	page_begin(b, S("gantry report"));
	buf_add(b, S("<h1>gantry</h1>\n<p class=\"quiet\">"));
	page_text(
		b, a,
		arena_fmt(a, "%.*s to %.*s, %.*s", STRF(show_time(r->zone, a, r->t->since_ms)),
			  STRF(show_time(r->zone, a, r->until_ms)), STRF(zone_name(r->zone))));
	buf_add(b, S("</p>\n"));
	tiles(&k);
	buf_add(b, S("<div class=\"grid\">\n"));
	turns(&k);
	tokens(&k);
	cost(&k);
	tools(&k);
	schedules(&k);
	sessions(&k);
	errors(&k);
	buf_add(b, S("</div>\n<div class=\"wide\">\n"));
	models(&k);
	buf_add(b, S("</div>\n"));
	page_end(b);
}

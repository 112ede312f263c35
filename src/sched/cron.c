/*
 * Cron expressions as bit sets, and the search for the next minute that is in all of them: by
 * day first, so that a date far away costs a step a day.
 */
#include "sched/cron.h"

#include "base/date.h"

#define MINUTE INT64_C(60)
#define DAY INT64_C(86400)
#define DAYS_MAX (101 * 366)
#define ALL_HOURS ((UINT32_C(1) << 24) - 1)

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may", "jun", "jul",
					   "aug", "sep", "oct", "nov", "dec", NULL };
static const char *const day_names[] = {
	"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL
};

static const struct field {
	const char *name;
	int64_t min, max;
	const char *const *words;
	int64_t words_at;
} fields[] = {
	{ "minute", 0, 59, NULL, 0 },          { "hour", 0, 23, NULL, 0 },
	{ "day-of-month", 1, 31, NULL, 0 },    { "month", 1, 12, month_names, 1 },
	{ "day-of-week", 0, 7, day_names, 0 },
};

static const struct macro {
	const char *name, *expr;
} macros[] = {
	{ "@yearly", "0 0 1 1 *" },       { "@annually", "0 0 1 1 *" },
	{ "@monthly", "0 0 1 * *" },      { "@weekly", "0 0 * * 0" },
	{ "@daily", "0 0 * * *" },        { "@midnight", "0 0 * * *" },
	{ "@hourly", "0 * * * *" },       { "@30minutes", "*/30 * * * *" },
	{ "@15minutes", "*/15 * * * *" }, { "@10minutes", "*/10 * * * *" },
	{ "@5minutes", "*/5 * * * *" },
};

static bool unsigned_of(str s, int64_t *out)
{
	if (s.n == 0 || s.n > 4)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return str_i64(s, out);
}

static int value(const struct field *f, str s, int64_t *out, struct err *e)
{
	for (size_t i = 0; f->words && f->words[i]; i++) {
		if (str_ieq(s, str_of(f->words[i]))) {
			*out = (int64_t)i + f->words_at;
			return OK;
		}
	}
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == 'L' || s.p[i] == 'W' || s.p[i] == '#' || s.p[i] == '?')
			return err_set(e, E_INVAL,
				       "%s \"%.*s\": L, W, # and ? are not supported; use "
				       "numbers, names, ranges, lists and steps",
				       f->name, STRF(s));
	if (!unsigned_of(s, out))
		return err_set(e, E_INVAL, "%s: \"%.*s\" is not a number%s", f->name, STRF(s),
			       f->words ? " or a name of three letters" : "");
	if (*out < f->min || *out > f->max)
		return err_set(e, E_INVAL, "%s: %lld is not in %lld to %lld", f->name,
			       (long long)*out, (long long)f->min, (long long)f->max);
	return OK;
}

/* One item of a list: where it begins and ends, and its step. */
static int item(const struct field *f, str s, uint64_t *set, struct err *e)
{
	str step_text = s, range = str_cut(&step_text, '/');
	bool stepped = range.n != s.n;
	int64_t from = f->min, to = f->max, step = 1;
	int rc;

	if (stepped && (!unsigned_of(step_text, &step) || step < 1))
		return err_set(e, E_INVAL, "%s: the step of \"%.*s\" must be a number from 1",
			       f->name, STRF(s));
	if (str_eq(range, S("*"))) {
		to = f->words == day_names ? 6 : to;
	} else {
		str last = range, first = str_cut(&last, '-');
		bool ranged = first.n != range.n;

		if ((rc = value(f, first, &from, e)) < 0)
			return rc;
		if (!ranged && !stepped)
			to = from;
		if (!ranged && stepped && f->words == day_names)
			to = 6;
		if (ranged && (rc = value(f, last, &to, e)) < 0)
			return rc;
		if (ranged && f->words == day_names && to == 0 && from > 0)
			to = 7; /* sat-sun ends with a Sunday */
	}
	if (from > to)
		return err_set(e, E_INVAL, "%s: the range %.*s ends before it begins", f->name,
			       STRF(range));
	for (; from <= to; from += step)
		*set |= UINT64_C(1) << from;
	return OK;
}

static int parse_field(const struct field *f, str s, uint64_t *set, struct err *e)
{
	bool more;

	do {
		size_t n = s.n;
		str part = str_cut(&s, ',');
		int rc = part.n ? item(f, part, set, e)
				: err_set(e, E_INVAL, "%s: an item of the list is empty",
					  f->name);

		if (rc < 0)
			return rc;
		more = part.n < n; /* a comma came behind it */
	} while (more);
	return OK;
}

static str next_word(str *rest)
{
	size_t n = 0;

	*rest = str_trim(*rest);
	while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
		n++;
	str word = str_sub(*rest, 0, n);
	*rest = str_sub(*rest, n, rest->n);
	return word;
}

static bool day_matches(const struct cron *c, const struct date *d)
{
	bool by_day = (c->days >> d->day & 1) != 0;
	bool by_weekday = (c->weekdays >> d->weekday & 1) != 0;

	if ((c->months >> d->month & 1) == 0)
		return false;
	return c->days_star || c->weekdays_star ? by_day && by_weekday : by_day || by_weekday;
}

/* The first matching wall time after the given one; false when none comes. */
static bool next_wall(const struct cron *c, int64_t after, int64_t *out)
{
	int64_t first = after - ((after % MINUTE) + MINUTE) % MINUTE + MINUTE;
	int64_t day = first - ((first % DAY) + DAY) % DAY;

	for (int i = 0; i < DAYS_MAX; i++, day += DAY) {
		struct date d = date_of_ms(day * 1000);

		if (!day_matches(c, &d))
			continue;
		for (int h = 0; h < 24; h++) {
			int64_t hour = day + h * 3600;

			if ((c->hours >> h & 1) == 0 || hour + 3600 <= first)
				continue;
			for (int m = 0; m < 60; m++) {
				if ((c->minutes >> m & 1) && hour + m * MINUTE >= first) {
					*out = hour + m * MINUTE;
					return true;
				}
			}
		}
	}
	return false;
}

int cron_parse(struct cron *out, str expr, struct err *e)
{
	uint64_t sets[COUNT(fields)] = { 0 };
	str words[COUNT(fields)], rest = expr = str_trim(expr);
	size_t n = 0;
	int64_t at;
	int rc;

	if (expr.n > CRON_EXPR_MAX)
		return err_set(e, E_INVAL, "a cron expression has at most %d characters",
			       CRON_EXPR_MAX);
	if (str_starts(expr, S("@"))) {
		for (size_t i = 0; i < COUNT(macros); i++)
			if (str_ieq(expr, str_of(macros[i].name)))
				return cron_parse(out, str_of(macros[i].expr), e);
		return err_set(e, E_INVAL,
			       "%.*s is no macro: use @hourly, @daily, @weekly, @monthly or "
			       "@yearly",
			       STRF(expr));
	}
	for (str word; (word = next_word(&rest)).n; n++)
		if (n < COUNT(words))
			words[n] = word;
	if (n != COUNT(fields))
		return err_set(e, E_INVAL,
			       "a cron expression has 5 fields (minute hour day month "
			       "weekday), not %zu%s",
			       n,
			       n == 6 || n == 7 ? "; seconds and years are not supported" : "");
	for (size_t i = 0; i < COUNT(fields); i++)
		if ((rc = parse_field(&fields[i], words[i], &sets[i], e)) < 0)
			return rc;
	struct cron c = {
		.minutes = sets[0],
		.hours = (uint32_t)sets[1],
		.days = (uint32_t)sets[2],
		.months = (uint32_t)sets[3],
		.weekdays = (uint32_t)((sets[4] | sets[4] >> 7) & 0x7f),
		.days_star = *words[2].p == '*',
		.weekdays_star = *words[4].p == '*',
	};
	/* Every pair of a date and a weekday comes within 28 years, when it comes at all. */
	if (!next_wall(&c, INT64_C(946684800), &at))
		return err_set(e, E_INVAL, "\"%.*s\" is a date that never comes", STRF(expr));
	*out = c;
	return OK;
}

/* By real time: stretch by stretch of one offset. */
static bool next_real(const struct cron *c, const struct zone *z, int64_t after, int64_t *out)
{
	int64_t from = after;

	/* Each stretch is looked at once, and a match is at most a century away. */
	while (from < after + DAYS_MAX * DAY) {
		int64_t offset = zone_offset(z, from, NULL, NULL), wall;
		int64_t until = zone_change_after(z, from);

		if (from != after) {
			/* The first second of a stretch may match. */
			if (!next_wall(c, from + offset - 1, &wall))
				return false;
		} else if (!next_wall(c, from + offset, &wall)) {
			return false;
		}
		if (wall - offset < until) {
			*out = wall - offset;
			return true;
		}
		from = until;
	}
	return false;
}

int cron_next(const struct cron *c, const struct zone *z, int64_t after_s, int64_t *out,
	      struct err *e)
{
	int64_t wall;

	if (c->hours == ALL_HOURS) {
		if (next_real(c, z, after_s, out))
			return OK;
	} else if (next_wall(c, zone_wall_seen(z, after_s), &wall)) {
		*out = zone_instant(z, wall);
		return OK;
	}
	return err_set(e, E_NOENT, "not within a hundred years");
}

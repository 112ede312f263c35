/*
 * Times as people say them.  A text is cut into words, each of which is a day, a time or
 * filling ("at", "on", "next"); what is left over makes it an error, never a guess.
 */
#include "sched/when.h"

#include "base/buf.h"
#include "base/date.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)
#define LONGEST_MS (3660 * DAY_MS)
#define WORDS_MAX 8

static const char *const kind_words[] = {
	"once", "every", "daily", "weekdays", "weekly", "cron"
};

static const char *const days[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
				    "Thursday", "Friday", "Saturday" };

static const char *const months[] = { "January",   "February", "March",    "April",
				      "May",       "June",     "July",     "August",
				      "September", "October",  "November", "December" };

static const struct unit {
	const char *words[6];
	int64_t ms;
} units[] = {
	{ { "ms", "millisecond", "milliseconds" }, 1 },
	{ { "s", "sec", "secs", "second", "seconds" }, 1000 },
	{ { "m", "min", "mins", "minute", "minutes" }, MINUTE_MS },
	{ { "h", "hr", "hrs", "hour", "hours" }, HOUR_MS },
	{ { "d", "day", "days" }, DAY_MS },
	{ { "w", "week", "weeks" }, 7 * DAY_MS },
};

const char *sched_kind_word(enum sched_kind kind)
{
	return kind_words[kind];
}

/* --- durations ------------------------------------------------------------------------- */

static int64_t unit_ms(str word)
{
	for (size_t i = 0; i < COUNT(units); i++)
		for (size_t k = 0; k < COUNT(units[i].words) && units[i].words[k]; k++)
			if (str_ieq(word, str_of(units[i].words[k])))
				return units[i].ms;
	return 0;
}

static size_t run_of(str s, bool digits)
{
	size_t n = 0;

	for (; n < s.n; n++) {
		char c = s.p[n];
		bool digit = (c >= '0' && c <= '9') || c == '.';

		if (c == ' ' || digit != digits)
			break;
	}
	return n;
}

/* "1.5" in thousandths of a unit. */
static bool decimal(str s, int64_t *milli)
{
	str after = s, whole = str_cut(&after, '.');
	bool point = whole.n != s.n;
	int64_t value = 0, scale = 100;

	if (whole.n > 9 || after.n > 9 || (whole.n == 0 && after.n == 0) ||
	    (point && str_has(after, S("."))) || (whole.n && !str_i64(whole, &value)))
		return false;
	value *= 1000;
	for (size_t i = 0; point && i < after.n; i++, scale /= 10)
		value += (after.p[i] - '0') * scale;
	*milli = value;
	return true;
}

bool when_duration(str s, int64_t *ms)
{
	int64_t sum = 0, milli;

	s = str_trim(s);
	if (s.n == 0)
		return false;
	while (s.n) {
		size_t n = run_of(s, true);
		str number = str_sub(s, 0, n);
		str rest = str_trim(str_sub(s, n, s.n));
		size_t m = run_of(rest, false);
		int64_t unit = unit_ms(str_sub(rest, 0, m));

		if (n == 0 || unit == 0 || !decimal(number, &milli) ||
		    milli > LONGEST_MS / unit * 1000)
			return false;
		sum += milli * unit / 1000;
		if (sum > LONGEST_MS)
			return false;
		s = str_trim(str_sub(rest, m, rest.n));
	}
	*ms = sum;
	return true;
}

str when_duration_text(struct arena *a, int64_t ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} parts[] = { { "d", DAY_MS }, { "h", HOUR_MS }, { "m", MINUTE_MS }, { "s", 1000 } };
	struct buf b = buf_in(a, 64);

	for (size_t i = 0; i < COUNT(parts); i++) {
		if (ms >= parts[i].ms)
			buf_fmt(&b, "%lld%s", (long long)(ms / parts[i].ms), parts[i].unit);
		ms %= parts[i].ms;
	}
	return b.n ? buf_str(&b) : S("0s");
}

/* --- a day and a time -------------------------------------------------------------------- */

/* What was said, word by word. */
struct said {
	bool has_time, today, tomorrow;
	int weekday; /* -1 none */
	int second; /* of the day */
};

static bool small(str s, int max, int *out)
{
	int64_t v;

	if (s.n < 1 || s.n > 2 || *s.p == '-' || !str_i64(s, &v) || v > max)
		return false;
	*out = (int)v;
	return true;
}

/* 17:00, 17:00:30, 5pm, 5:30pm, noon, midnight */
static bool time_word(str w, int *second)
{
	bool pm = w.n > 2 && str_ieq(str_sub(w, w.n - 2, w.n), S("pm"));
	bool am = w.n > 2 && str_ieq(str_sub(w, w.n - 2, w.n), S("am"));
	int h, m = 0, s = 0;

	if (str_ieq(w, S("noon")) || str_ieq(w, S("midnight"))) {
		*second = str_ieq(w, S("noon")) ? 12 * 3600 : 0;
		return true;
	}
	if (am || pm)
		w = str_sub(w, 0, w.n - 2);
	str rest = w, hours = str_cut(&rest, ':');
	bool colon = hours.n != w.n;
	str minutes = str_cut(&rest, ':');
	if (!small(hours, 23, &h) || (!colon && !am && !pm) || (colon && minutes.n != 2) ||
	    (colon && !small(minutes, 59, &m)) ||
	    (rest.n && (rest.n != 2 || !small(rest, 59, &s))))
		return false;
	if ((am || pm) && (h < 1 || h > 12))
		return false;
	if (am || pm)
		h = h % 12 + (pm ? 12 : 0);
	*second = h * 3600 + m * 60 + s;
	return true;
}

static int weekday_word(str w)
{
	for (int i = 0; i < 7; i++)
		if (str_ieq(w, str_of(days[i])) || str_ieq(w, str_sub(str_of(days[i]), 0, 3)) ||
		    (w.n == 4 && str_ieq(w, str_sub(str_of(days[i]), 0, 4))))
			return i;
	return -1;
}

/* One word; joined is it with the word behind, for "5 pm". */
static bool take_word(struct said *s, str w, str joined, bool *both)
{
	int second, day = weekday_word(w);

	*both = false;
	if (str_ieq(w, S("at")) || str_ieq(w, S("on")) || str_ieq(w, S("next")))
		return true;
	if (day >= 0 && s->weekday < 0) {
		s->weekday = day;
		return true;
	}
	if (str_ieq(w, S("today")) || str_ieq(w, S("tomorrow"))) {
		s->today |= str_ieq(w, S("today"));
		s->tomorrow |= str_ieq(w, S("tomorrow"));
		return true;
	}
	*both = time_word(joined, &second);
	if (s->has_time || (!*both && !time_word(w, &second)))
		return false;
	s->has_time = true;
	s->second = second;
	return true;
}

static bool parse_said(struct said *out, struct arena *a, str text)
{
	str words[WORDS_MAX];
	size_t n = 0;

	*out = (struct said){ .weekday = -1 };
	for (str rest = str_trim(text); rest.n; rest = str_trim(rest)) {
		if (n == COUNT(words))
			return false;
		words[n++] = str_cut(&rest, ' ');
	}
	for (size_t i = 0; i < n; i++) {
		str next = i + 1 < n ? words[i + 1] : (str){ 0 };
		bool half = str_ieq(next, S("am")) || str_ieq(next, S("pm")), both;

		if (!take_word(out, words[i], half ? arena_cat(a, words[i], next) : words[i],
			       &both))
			return false;
		i += both && half;
	}
	return out->has_time && out->today + out->tomorrow + (out->weekday >= 0) <= 1;
}

/* What a clock on the wall would show then, in the future where a day was left open. */
static int64_t wall_of(const struct said *s, int64_t now_ms, const struct zone *z)
{
	int64_t wall = zone_wall(z, now_ms / 1000);
	int64_t day = wall - ((wall % 86400) + 86400) % 86400;
	int ahead = s->tomorrow;

	if (s->weekday >= 0)
		ahead = (s->weekday - date_of_ms(day * 1000).weekday + 7) % 7;
	int64_t at = day + ahead * 86400 + s->second;
	if (zone_instant(z, at) * 1000 <= now_ms && !s->today && !s->tomorrow)
		at += (s->weekday >= 0 ? 7 : 1) * INT64_C(86400);
	return at;
}

/* --- making and reading back ---------------------------------------------------------------- */

/* The kinds that keep to the wall clock are cron expressions underneath. */
static int set_cron(struct sched *s, struct arena *a, int minute_of_day, int weekday,
		    struct err *e)
{
	int h = minute_of_day / 60, m = minute_of_day % 60;

	if (s->kind == SCHED_WEEKLY)
		return cron_parse(&s->cron, arena_fmt(a, "%d %d * * %d", m, h, weekday), e);
	return cron_parse(
		&s->cron,
		arena_fmt(a, "%d %d * * %s", m, h, s->kind == SCHED_WEEKDAYS ? "1-5" : "*"), e);
}

int sched_load(struct sched *out, struct arena *a, str kind, str expr, struct err *e)
{
	struct sched s = { .expr = expr };
	struct said said;
	bool zoned;
	size_t k = 0;

	while (k < COUNT(kind_words) && !str_eq(kind, str_of(kind_words[k])))
		k++;
	s.kind = (enum sched_kind)k;
	bool fine = true;
	int rc = OK;
	switch (s.kind) {
	case SCHED_ONCE:
		fine = date_parse_rfc3339(expr, &s.first_at_ms, &zoned) && zoned;
		break;
	case SCHED_EVERY:
		fine = when_duration(expr, &s.every_ms) && s.every_ms >= SCHED_EVERY_MIN_MS;
		break;
	case SCHED_DAILY:
	case SCHED_WEEKDAYS:
	case SCHED_WEEKLY:
		fine = parse_said(&said, a, expr) &&
		       (s.kind == SCHED_WEEKLY) == (said.weekday >= 0);
		if (fine)
			rc = set_cron(&s, a, said.second / 60, said.weekday, e);
		break;
	case SCHED_CRON:
		rc = cron_parse(&s.cron, expr, e);
		break;
	default:
		fine = false;
	}
	if (!fine)
		return err_set(e, E_INVAL, "no schedule: %.*s \"%.*s\"", STRF(kind),
			       STRF(expr));
	if (rc == OK)
		*out = s;
	return rc;
}

int sched_next(const struct sched *s, const struct zone *z, int64_t base_ms, int64_t after_ms,
	       int64_t *out, struct err *e)
{
	int64_t at = 0, second = after_ms / 1000 - (after_ms % 1000 < 0);
	int rc;

	if (s->kind == SCHED_ONCE) {
		if (s->first_at_ms <= after_ms)
			return err_set(e, E_NOENT, "it is over");
		*out = s->first_at_ms;
		return OK;
	}
	if (s->kind == SCHED_EVERY) {
		int64_t gone = after_ms < base_ms ? -1 : (after_ms - base_ms) / s->every_ms;

		*out = base_ms + (gone + 1) * s->every_ms;
		return OK;
	}
	if ((rc = cron_next(&s->cron, z, second, &at, e)) == OK)
		*out = at * 1000;
	return rc;
}

/* A point in time as it was said: the instant, and what the wall clock was to show, which is not
 * the same where the clock jumps over it. */
struct point {
	int64_t at_ms, wall_s;
};

static int point(struct arena *a, str when, int64_t now_ms, const struct zone *z,
		 struct point *out, struct err *e)
{
	struct said said;
	bool zoned = true, wall = false;
	int64_t ms;

	*out = (struct point){ 0 };
	if (when.n > 3 && str_ieq(str_sub(when, 0, 3), S("in "))) {
		if (!when_duration(str_sub(when, 3, when.n), &ms) || ms <= 0)
			return err_set(
				e, E_INVAL,
				"\"%.*s\" is no duration; write in 30m, in 1h30m or in 2 "
				"days",
				STRF(when));
		out->at_ms = now_ms + ms;
	} else if (date_parse_rfc3339(when, &ms, &zoned)) {
		wall = !zoned;
		*(wall ? &out->wall_s : &out->at_ms) = wall ? ms / 1000 : ms;
	} else if (parse_said(&said, a, when)) {
		wall = true;
		out->wall_s = wall_of(&said, now_ms, z);
	} else {
		return err_set(e, E_INVAL,
			       "\"%.*s\" is not understood; write in 30m, 17:00, 5pm, tomorrow "
			       "9am, friday 18:00, 2026-12-24 18:00, every:1h or a cron "
			       "expression",
			       STRF(when));
	}
	if (wall)
		out->at_ms = zone_instant(z, out->wall_s) * 1000;
	else
		out->wall_s = zone_wall(z, out->at_ms / 1000);
	return OK;
}

static int every(struct sched *out, struct arena *a, str text, int64_t now_ms, struct err *e)
{
	int64_t ms;

	if (!when_duration(text, &ms))
		return err_set(e, E_INVAL,
			       "\"%.*s\" is no duration; write 30m, 1h30m or 2 days",
			       STRF(text));
	if (ms < SCHED_EVERY_MIN_MS || ms > SCHED_EVERY_MAX_MS)
		return err_set(e, E_INVAL, "an interval is at least 1m and at most a year");
	ms -= ms % 1000;
	*out = (struct sched){ .kind = SCHED_EVERY,
			       .expr = when_duration_text(a, ms),
			       .every_ms = ms,
			       .first_at_ms = now_ms + ms };
	return OK;
}

/* after_ms: the first time is later than that. */
static int from_cron(struct sched *out, struct arena *a, str expr, int64_t after_ms,
		     const struct zone *z, struct err *e)
{
	struct sched s = { .kind = SCHED_CRON, .expr = arena_dup(a, str_trim(expr)) };
	int rc = cron_parse(&s.cron, expr, e);

	if (rc == OK && (rc = sched_next(&s, z, after_ms, after_ms, &s.first_at_ms, e)) == OK)
		*out = s;
	return rc;
}

static bool starts_every(str s, str *span)
{
	if (s.n < 6 || !str_ieq(str_sub(s, 0, 5), S("every")) ||
	    (s.p[5] != ':' && s.p[5] != ' '))
		return false;
	*span = str_trim(str_sub(s, 6, s.n));
	return true;
}

static bool looks_like_cron(str s)
{
	size_t blanks = 0;

	if (str_starts(s, S("@")))
		return true;
	for (size_t i = 0; i < s.n; i++)
		blanks += s.p[i] == ' ' && (i == 0 || s.p[i - 1] != ' ');
	return blanks >= 4 && (*s.p == '*' || (*s.p >= '0' && *s.p <= '9'));
}

/* Of a time with seconds the minute counts; what is over by now is not the first. */
static int64_t just_before(const struct point *said, int64_t now_ms)
{
	return said->at_ms - MINUTE_MS > now_ms ? said->at_ms - MINUTE_MS : now_ms;
}

/* The first time is the one said, or the next on its beat, or of a cron expression. */
static int beaten(struct sched *out, struct arena *a, str repeat, const struct point *said,
		  int64_t now_ms, const struct zone *z, struct err *e)
{
	str span;
	int rc;

	if (!starts_every(repeat, &span))
		return from_cron(out, a, repeat, just_before(said, now_ms), z, e);
	if ((rc = every(out, a, span, now_ms, e)) < 0)
		return rc;
	return sched_next(out, z, said->at_ms, now_ms, &out->first_at_ms, e);
}

/* A point in time that is to be repeated: the first time is at or after it. */
static int repeated(struct sched *out, struct arena *a, str repeat, const struct point *said,
		    int64_t now_ms, const struct zone *z, struct err *e)
{
	struct sched s = { 0 };
	int64_t after = just_before(said, now_ms);
	struct date d = date_of_ms(said->wall_s * 1000);
	int rc;

	s.kind = str_eq(repeat, S("daily"))      ? SCHED_DAILY
		 : str_eq(repeat, S("weekdays")) ? SCHED_WEEKDAYS
						 : SCHED_WEEKLY;
	s.expr = s.kind == SCHED_WEEKLY
			 ? arena_fmt(a, "%.3s %02d:%02d", days[d.weekday], d.hour, d.minute)
			 : arena_fmt(a, "%02d:%02d", d.hour, d.minute);
	s.expr = arena_lower(a, s.expr);
	if ((rc = set_cron(&s, a, d.hour * 60 + d.minute, d.weekday, e)) < 0 ||
	    (rc = sched_next(&s, z, after, after, &s.first_at_ms, e)) < 0)
		return rc;
	*out = s;
	return OK;
}

int when_parse(struct sched *out, struct arena *a, str when, str repeat, int64_t now_ms,
	       const struct zone *z, struct err *e)
{
	str span;
	struct point said;
	int rc;

	when = str_trim(when);
	repeat = arena_lower(a, str_trim(repeat));
	bool once = repeat.n == 0 || str_eq(repeat, S("once"));
	if (when.n == 0)
		return err_set(e, E_INVAL,
			       "when is empty; write in 30m, 17:00, tomorrow 9am, ...");
	bool beat = !once && (starts_every(repeat, &span) || looks_like_cron(repeat));
	if (starts_every(when, &span))
		return every(out, a, span, now_ms, e);
	if (looks_like_cron(when)) {
		if (!once)
			return err_set(e, E_INVAL,
				       "a cron expression repeats by itself; leave repeat out");
		return from_cron(out, a, when, now_ms, z, e);
	}
	if (!once && !beat && !str_eq(repeat, S("daily")) && !str_eq(repeat, S("weekdays")) &&
	    !str_eq(repeat, S("weekly")))
		return err_set(e, E_INVAL,
			       "repeat \"%.*s\" is not understood; use once, daily, weekdays, "
			       "weekly, every:1h or a cron expression",
			       STRF(repeat));
	if (beat && str_ieq(when, S("now")))
		said = (struct point){ .at_ms = now_ms };
	else if ((rc = point(a, when, now_ms, z, &said, e)) < 0)
		return rc;
	if (beat)
		return beaten(out, a, repeat, &said, now_ms, z, e);
	if (!once)
		return repeated(out, a, repeat, &said, now_ms, z, e);
	if (said.at_ms <= now_ms)
		return err_set(e, E_INVAL, "%.*s is over: that was %.*s", STRF(when),
			       STRF(when_words(a, z, said.at_ms, now_ms)));
	*out = (struct sched){ .kind = SCHED_ONCE,
			       .expr = date_rfc3339(a, said.at_ms),
			       .first_at_ms = said.at_ms };
	return OK;
}

/* --- in words --------------------------------------------------------------------------------- */

static str distance(struct arena *a, int64_t ms)
{
	static const struct {
		const char *one, *many;
		int64_t ms;
	} steps[] = { { "day", "days", DAY_MS },
		      { "hour", "hours", HOUR_MS },
		      { "minute", "minutes", MINUTE_MS } };
	int64_t size = ms < 0 ? -ms : ms;

	for (size_t i = 0; i < COUNT(steps); i++) {
		/* Two of the smaller unit say more than one of the larger. */
		if (size < 2 * steps[i].ms && i + 1 < COUNT(steps))
			continue;
		int64_t n = (size + steps[i].ms / 2) / steps[i].ms;
		if (n == 0)
			return S("now");
		return arena_fmt(a, ms < 0 ? "%lld %s ago" : "in %lld %s", (long long)n,
				 n == 1 ? steps[i].one : steps[i].many);
	}
	return S("now");
}

str when_words(struct arena *a, const struct zone *z, int64_t at_ms, int64_t now_ms)
{
	str abbrev;
	int64_t at_s = at_ms / 1000 - (at_ms % 1000 < 0);
	int64_t wall = at_s + zone_offset(z, at_s, NULL, &abbrev);
	int64_t today = zone_wall(z, now_ms / 1000);
	struct date d = date_of_ms(wall * 1000);
	int64_t ahead = wall / 86400 - today / 86400;
	str clock = arena_fmt(a, "%02d:%02d", d.hour, d.minute), day;

	if (d.second)
		clock = arena_fmt(a, "%.*s:%02d", STRF(clock), d.second);
	if (ahead == 0 || ahead == 1)
		day = ahead ? S("tomorrow") : S("today");
	else
		day = arena_fmt(a, "%s %d %s %d", days[d.weekday], d.day, months[d.month - 1],
				d.year);
	return arena_fmt(a, "%.*s at %.*s %.*s (%.*s)", STRF(day), STRF(clock), STRF(abbrev),
			 STRF(distance(a, at_ms - now_ms)));
}

str when_next_words(const struct sched *s, struct arena *a, const struct zone *z,
		    int64_t first_at_ms, int64_t now_ms, int n)
{
	struct buf b = buf_in(a, 4096);
	int64_t at = first_at_ms;

	for (int i = 0; i < n && i < 16; i++) {
		buf_fmt(&b, i ? "; %.*s" : "%.*s", STRF(when_words(a, z, at, now_ms)));
		if (sched_next(s, z, at, at, &at, NULL) < 0)
			break;
	}
	return buf_str(&b);
}

str when_clock(struct arena *a, const struct zone *z, int64_t now_ms)
{
	str abbrev, name = zone_name(z);
	int64_t at_s = now_ms / 1000;
	int64_t offset = zone_offset(z, at_s, NULL, &abbrev);
	struct date d = date_of_ms((at_s + offset) * 1000);
	str text = arena_fmt(a, "%s %04d-%02d-%02d %02d:%02d %.*s", days[d.weekday], d.year,
			     d.month, d.day, d.hour, d.minute, STRF(abbrev));

	/* "-03" says little; the name says where. */
	return str_eq(name, abbrev) ? text
				    : arena_fmt(a, "%.*s (%.*s)", STRF(text), STRF(name));
}

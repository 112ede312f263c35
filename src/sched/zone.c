/*
 * TZif: a table of changes, and behind it a rule in the form of POSIX's TZ for all time to come.
 * The 64-bit block is used where there is one; leap seconds (the "right" files) are refused,
 * since our clock has none.
 */
#include "sched/zone.h"

#include "base/date.h"

#include <string.h>

#define DAY INT64_C(86400)
#define TIMES_MAX 8192
#define OFFSET_MAX (26 * 3600) /* what RFC 9636 lets an offset be, with room for a rule's */

struct kind {
	int32_t offset;
	bool dst;
	str abbrev;
};

/* When a rule changes: a day of the year in one of three forms, and a time of that day. */
struct when_of_year {
	enum { DAY_JULIAN, DAY_ZERO, DAY_MONTH } form;
	int day, week, month;
	int32_t at; /* seconds from midnight of the wall clock; may be negative or over a day */
};

struct rule {
	bool set, changes;
	struct kind standard, summer;
	struct when_of_year begin, end; /* of summer time */
};

struct zone {
	str name;
	const int64_t *at; /* changes, ascending */
	const unsigned char *kind_at; /* what holds from then on */
	size_t n;
	const struct kind *kinds; /* the first holds before all changes */
	struct rule rule;
};

static const struct kind utc_kind = { .abbrev = { "UTC", 3 } };

const struct zone zone_utc = { .name = { "UTC", 3 }, .kinds = &utc_kind };

/* --- the rule behind the table -------------------------------------------------------- */

static bool take(str *s, char c)
{
	if (s->n == 0 || *s->p != c)
		return false;
	*s = str_sub(*s, 1, s->n);
	return true;
}

static bool number(str *s, int max, int *out)
{
	int value = 0;
	size_t n = 0;

	for (; n < s->n && n < 4 && s->p[n] >= '0' && s->p[n] <= '9'; n++)
		value = value * 10 + (s->p[n] - '0');
	if (n == 0 || value > max)
		return false;
	*s = str_sub(*s, n, s->n);
	*out = value;
	return true;
}

/* [+-]hh[:mm[:ss]] */
static bool clock_of(str *s, int hours_max, int32_t *out)
{
	int sign = 1, h = 0, m = 0, sec = 0;

	if (take(s, '-'))
		sign = -1;
	else
		(void)take(s, '+');
	if (!number(s, hours_max, &h) || (take(s, ':') && !number(s, 59, &m)) ||
	    (take(s, ':') && !number(s, 59, &sec)))
		return false;
	*out = sign * (h * 3600 + m * 60 + sec);
	return true;
}

static bool name_of(str *s, str *out)
{
	bool quoted = take(s, '<');
	size_t n = 0;

	while (n < s->n) {
		char c = s->p[n];
		bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');

		if (!letter && !(quoted && (c == '+' || c == '-' || (c >= '0' && c <= '9'))))
			break;
		n++;
	}
	*out = str_sub(*s, 0, n);
	*s = str_sub(*s, n, s->n);
	return n >= 3 && n <= 16 && (!quoted || take(s, '>'));
}

static bool day_of(str *s, struct when_of_year *out)
{
	*out = (struct when_of_year){ .at = 7200 };
	if (!take(s, ','))
		return false;
	if (take(s, 'M')) {
		out->form = DAY_MONTH;
		if (!number(s, 12, &out->month) || out->month < 1 || !take(s, '.') ||
		    !number(s, 5, &out->week) || out->week < 1 || !take(s, '.') ||
		    !number(s, 6, &out->day))
			return false;
	} else if (take(s, 'J')) {
		out->form = DAY_JULIAN;
		if (!number(s, 365, &out->day) || out->day < 1)
			return false;
	} else {
		out->form = DAY_ZERO;
		if (!number(s, 365, &out->day))
			return false;
	}
	return !take(s, '/') || clock_of(s, 167, &out->at);
}

static bool parse_rule(struct rule *out, str s)
{
	int32_t west;

	if (s.n == 0)
		return true; /* nothing is said about the time after the table */
	if (!name_of(&s, &out->standard.abbrev) || !clock_of(&s, 24, &west))
		return false;
	out->set = true;
	out->standard.offset = -west;
	if (s.n == 0)
		return true;
	out->changes = true;
	out->summer.dst = true;
	if (!name_of(&s, &out->summer.abbrev))
		return false;
	out->summer.offset = out->standard.offset + 3600;
	if (s.n && *s.p != ',') {
		if (!clock_of(&s, 24, &west))
			return false;
		out->summer.offset = -west;
	}
	return day_of(&s, &out->begin) && day_of(&s, &out->end) && s.n == 0;
}

static int64_t day_start(int year, int month, int day)
{
	return date_to_ms(&(struct date){ .year = year, .month = month, .day = day }) / 1000;
}

/* The wall time of a rule's change in a year, as if it were UTC. */
static int64_t change_wall(const struct when_of_year *w, int year)
{
	int64_t jan = day_start(year, 1, 1);
	bool leap = date_days_in(year, 2) == 29;
	int day;

	if (w->form == DAY_ZERO)
		return jan + w->day * DAY + w->at;
	if (w->form == DAY_JULIAN) /* the 29th of February is never counted */
		return jan + (w->day - 1 + (leap && w->day > 59)) * DAY + w->at;
	int64_t first = day_start(year, w->month, 1);
	int weekday = date_of_ms(first * 1000).weekday;
	day = 1 + (w->day - weekday + 7) % 7 + (w->week - 1) * 7;
	if (day > date_days_in(year, w->month))
		day -= 7;
	return first + (day - 1) * DAY + w->at;
}

static int64_t summer_begins(const struct rule *r, int year)
{
	return change_wall(&r->begin, year) - r->standard.offset;
}

static int64_t summer_ends(const struct rule *r, int year)
{
	return change_wall(&r->end, year) - r->summer.offset;
}

/* A rule may say "summer all year": begin and end then meet at the turn of the year, and the end
 * of the one is not before the begin of the next. */
static const struct kind *rule_kind(const struct rule *r, int64_t at_s)
{
	if (!r->changes)
		return &r->standard;
	int year = date_of_ms((at_s + r->standard.offset) * 1000).year;

	/* The latest change at or before the instant decides. */
	int64_t best = INT64_MIN;
	bool summer = false;
	for (int y = year - 1; y <= year + 1; y++) {
		int64_t begin = summer_begins(r, y), end = summer_ends(r, y);

		if (end <= at_s && end > best) {
			best = end;
			summer = false;
		}
		if (begin <= at_s && begin >= best) {
			best = begin;
			summer = true;
		}
	}
	return summer ? &r->summer : &r->standard;
}

static int64_t rule_change_after(const struct rule *r, int64_t at_s)
{
	int64_t best = INT64_MAX;

	if (!r->changes)
		return best;
	int year = date_of_ms((at_s + r->standard.offset) * 1000).year;
	for (int y = year - 1; y <= year + 2; y++) {
		int64_t begin = summer_begins(r, y), end = summer_ends(r, y);

		if (begin > at_s && begin < best)
			best = begin;
		if (end > at_s && end < best)
			best = end;
	}
	return best;
}

/* --- the table ------------------------------------------------------------------------- */

struct head {
	size_t utc_n, std_n, leap_n, time_n, kind_n, char_n;
	char version;
};

static uint32_t be32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static int64_t be_time(const char *p, size_t size)
{
	if (size == 4)
		return (int32_t)be32(p);
	return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

/* Take the next n bytes. */
static bool bytes(str *rest, size_t n, const char **out)
{
	if (rest->n < n)
		return false;
	*out = rest->p;
	*rest = str_sub(*rest, n, rest->n);
	return true;
}

static bool read_head(str *rest, struct head *h)
{
	const char *p;

	if (!bytes(rest, 44, &p) || memcmp(p, "TZif", 4) != 0)
		return false;
	*h = (struct head){ be32(p + 20), be32(p + 24), be32(p + 28), be32(p + 32),
			    be32(p + 36), be32(p + 40), p[4] };
	return h->time_n <= TIMES_MAX && h->kind_n >= 1 && h->kind_n <= 256 && h->char_n >= 1 &&
	       h->char_n <= 4096 && h->leap_n <= 256 && h->utc_n <= 256 && h->std_n <= 256;
}

static size_t body_size(const struct head *h, size_t t)
{
	return h->time_n * (t + 1) + h->kind_n * 6 + h->char_n + h->leap_n * (t + 4) +
	       h->std_n + h->utc_n;
}

static bool read_kinds(struct zone *z, const struct head *h, struct arena *a, str *rest,
		       str chars)
{
	struct kind *kinds = NEWN(a, struct kind, h->kind_n);

	for (size_t i = 0; i < h->kind_n; i++) {
		const char *p;

		if (!bytes(rest, 6, &p))
			return false;
		int32_t offset = (int32_t)be32(p);
		size_t from = (unsigned char)p[5];
		str name = str_sub(chars, from, chars.n);
		if (offset < -OFFSET_MAX || offset > OFFSET_MAX || from >= chars.n)
			return false;
		kinds[i] = (struct kind){ .offset = offset,
					  .dst = p[4] != 0,
					  .abbrev = arena_dup(a, str_cut(&name, '\0')) };
	}
	z->kinds = kinds;
	return true;
}

static bool read_body(struct zone *z, const struct head *h, size_t t, struct arena *a,
		      str *rest)
{
	const char *times, *types;
	str chars = str_sub(*rest, h->time_n * (t + 1) + h->kind_n * 6, rest->n);
	int64_t *at = NEWN(a, int64_t, h->time_n + 1);
	unsigned char *kind_at = NEWN(a, unsigned char, h->time_n + 1);

	if (rest->n < body_size(h, t) || h->leap_n || !bytes(rest, h->time_n * t, &times) ||
	    !bytes(rest, h->time_n, &types) ||
	    !read_kinds(z, h, a, rest, str_sub(chars, 0, h->char_n)))
		return false;
	for (size_t i = 0; i < h->time_n; i++) {
		at[i] = be_time(times + i * t, t);
		kind_at[i] = (unsigned char)types[i];
		if (kind_at[i] >= h->kind_n || (i && at[i] <= at[i - 1]))
			return false;
	}
	z->at = at;
	z->kind_at = kind_at;
	z->n = h->time_n;
	*rest = str_sub(*rest, h->char_n + h->std_n + h->utc_n, rest->n);
	return true;
}

int zone_parse(const struct zone **out, struct arena *a, str name, str tzif, struct err *e)
{
	struct zone *z = NEW(a, struct zone);
	struct head h;
	str rest = tzif;
	bool fine = read_head(&rest, &h);

	z->name = arena_dup(a, name);
	if (fine && h.version < '2') {
		fine = read_body(z, &h, 4, a, &rest);
	} else if (fine) {
		rest = str_sub(rest, body_size(&h, 4), rest.n);
		fine = read_head(&rest, &h) && read_body(z, &h, 8, a, &rest);
		str footer = arena_dup(a, rest);
		fine = fine && take(&footer, '\n') && footer.n &&
		       str_find(footer, S("\n")) == footer.n - 1 &&
		       parse_rule(&z->rule, str_sub(footer, 0, footer.n - 1));
	}
	if (!fine)
		return err_set(e, E_INVAL, "time zone %.*s: not a TZif file, or damaged",
			       STRF(name));
	*out = z;
	return OK;
}

str zone_name(const struct zone *z)
{
	return z->name;
}

/* How many changes are at or before the instant. */
static size_t changes_until(const struct zone *z, int64_t at_s)
{
	size_t low = 0, high = z->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (z->at[mid] <= at_s)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct kind *kind_at(const struct zone *z, int64_t at_s)
{
	size_t n = changes_until(z, at_s);

	if (n == z->n && z->rule.set)
		return rule_kind(&z->rule, at_s);
	return n ? &z->kinds[z->kind_at[n - 1]] : &z->kinds[0];
}

int64_t zone_offset(const struct zone *z, int64_t at_s, bool *dst, str *abbrev)
{
	const struct kind *k = kind_at(z, at_s);

	if (dst)
		*dst = k->dst;
	if (abbrev)
		*abbrev = k->abbrev;
	return k->offset;
}

/* The next place where something may change. */
static int64_t next_change(const struct zone *z, int64_t at_s)
{
	size_t n = changes_until(z, at_s);

	if (n < z->n)
		return z->at[n];
	return z->rule.set ? rule_change_after(&z->rule, at_s) : INT64_MAX;
}

int64_t zone_change_after(const struct zone *z, int64_t at_s)
{
	int64_t until = at_s + 400 * 366 * DAY, offset = kind_at(z, at_s)->offset;

	for (int64_t t = next_change(z, at_s); t < until; t = next_change(z, t))
		if (kind_at(z, t)->offset != offset)
			return t;
	return INT64_MAX;
}

int64_t zone_wall(const struct zone *z, int64_t at_s)
{
	return at_s + kind_at(z, at_s)->offset;
}

/* No clock was ever set by more than a little over a day. */
#define REACH (2 * DAY)

int64_t zone_wall_seen(const struct zone *z, int64_t at_s)
{
	int64_t best = zone_wall(z, at_s);

	for (int64_t t = at_s - REACH; (t = zone_change_after(z, t)) <= at_s;) {
		int64_t before = t - 1 + kind_at(z, t - 1)->offset;

		best = before > best ? before : best;
	}
	return best;
}

int64_t zone_instant(const struct zone *z, int64_t wall_s)
{
	int64_t from = wall_s - OFFSET_MAX - REACH;

	/* Stretch by stretch: the first whose clock comes to the wall time or begins behind it. */
	for (;;) {
		int64_t until = zone_change_after(z, from);
		int64_t at = wall_s - kind_at(z, from)->offset;

		if (at < from)
			return from;
		if (at < until)
			return at;
		from = until;
	}
}

str zone_rfc3339(const struct zone *z, struct arena *a, int64_t at_s)
{
	int64_t offset = zone_offset(z, at_s, NULL, NULL);
	int64_t minutes = (offset < 0 ? -offset : offset) / 60;
	struct date d = date_of_ms((at_s + offset) * 1000);

	if (z == &zone_utc)
		return arena_fmt(a, "%04d-%02d-%02dT%02d:%02d:%02dZ", d.year, d.month, d.day,
				 d.hour, d.minute, d.second);
	return arena_fmt(a, "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", d.year, d.month, d.day,
			 d.hour, d.minute, d.second, offset < 0 ? '-' : '+',
			 (int)(minutes / 60), (int)(minutes % 60));
}

/*
 * Days and milliseconds to civil dates and back, by the usual era arithmetic: the year
 * starts in March, so that leap days come last.
 */
#include "base/date.h"

#include <stdio.h>

#define DAY_MS INT64_C(86400000)

static int64_t days_of(int year, int month, int day)
{
	int64_t y = year - (month <= 2);
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;

	return era * 146097 + doe - 719468;
}

struct date date_of_ms(int64_t at_ms)
{
	int64_t days = at_ms / DAY_MS, rest = at_ms % DAY_MS;

	if (rest < 0) {
		rest += DAY_MS;
		days--;
	}
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;
	int month = (int)(mp < 10 ? mp + 3 : mp - 9);

	return (struct date){
		.year = (int)(yoe + era * 400 + (month <= 2)),
		.month = month,
		.day = (int)(doy - (153 * mp + 2) / 5 + 1),
		.hour = (int)(rest / 3600000),
		.minute = (int)(rest / 60000 % 60),
		.second = (int)(rest / 1000 % 60),
		.ms = (int)(rest % 1000),
		.weekday = (int)((days % 7 + 11) % 7),
	};
}

int64_t date_to_ms(const struct date *d)
{
	int64_t s = d->hour * INT64_C(3600) + d->minute * INT64_C(60) + d->second;

	return days_of(d->year, d->month, d->day) * DAY_MS + s * 1000 + d->ms;
}

int date_days_in(int year, int month)
{
	int next = month == 12 ? 1 : month + 1;

	return (int)(days_of(year + (month == 12), next, 1) - days_of(year, month, 1));
}

str date_rfc3339(struct arena *a, int64_t at_ms)
{
	struct date d = date_of_ms(at_ms);

	return arena_fmt(a, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", d.year, d.month, d.day,
			 d.hour, d.minute, d.second, d.ms);
}

static int month_of(const char *name)
{
	static const char *const names[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

	for (int i = 0; i < 12; i++)
		if (str_eq(str_of(name), str_of(names[i])))
			return i + 1;
	return 0;
}

static bool in_range(const struct date *d)
{
	struct date day = { .year = d->year, .month = d->month, .day = d->day };

	if (d->month < 1 || d->month > 12 || d->day < 1 || d->day > 31 || d->hour < 0 ||
	    d->hour > 23 || d->minute < 0 || d->minute > 59 || d->second < 0 || d->second > 60)
		return false;
	/* The 31st of November comes back as another day. */
	return date_of_ms(date_to_ms(&day)).day == d->day;
}

/* n digits at the front of *rest. */
static bool digits(str *rest, size_t n, int *out)
{
	int value = 0;

	if (rest->n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (rest->p[i] < '0' || rest->p[i] > '9')
			return false;
		value = value * 10 + (rest->p[i] - '0');
	}
	*rest = str_sub(*rest, n, rest->n);
	*out = value;
	return true;
}

/* One of the characters. */
static bool mark(str *rest, const char *of)
{
	for (; rest->n && *of; of++) {
		if (*rest->p == *of) {
			*rest = str_sub(*rest, 1, rest->n);
			return true;
		}
	}
	return false;
}

/* Thousandths; what is finer is dropped. */
static bool fraction(str *rest, int *ms)
{
	int digit, unit = 100;

	if (!mark(rest, ".,"))
		return true;
	if (!digits(rest, 1, &digit))
		return false;
	do {
		*ms += digit * unit;
		unit /= 10;
	} while (digits(rest, 1, &digit));
	return true;
}

bool date_parse_rfc3339(str s, int64_t *at_ms, bool *zoned)
{
	struct date d = { 0 };
	int hours = 0, minutes = 0;

	if (!digits(&s, 4, &d.year) || !mark(&s, "-") || !digits(&s, 2, &d.month) ||
	    !mark(&s, "-") || !digits(&s, 2, &d.day) || !mark(&s, "Tt ") ||
	    !digits(&s, 2, &d.hour) || !mark(&s, ":") || !digits(&s, 2, &d.minute))
		return false;
	if (mark(&s, ":") && (!digits(&s, 2, &d.second) || !fraction(&s, &d.ms)))
		return false;
	if (!in_range(&d) || d.year < 1)
		return false;
	*zoned = s.n > 0;
	if (s.n && !mark(&s, "Zz")) {
		int sign = *s.p == '-' ? -1 : 1;

		if (!mark(&s, "+-") || !digits(&s, 2, &hours) || !mark(&s, ":") ||
		    !digits(&s, 2, &minutes) || hours > 23 || minutes > 59)
			return false;
		hours *= sign;
		minutes *= sign;
	}
	if (s.n)
		return false;
	*at_ms = date_to_ms(&d) - (hours * INT64_C(60) + minutes) * 60000;
	return true;
}

bool date_parse_http(str s, int64_t *at_ms)
{
	struct date d = { 0 };
	char text[64], mon[4] = "", zone[4] = "";
	int end = 0;

	if (s.n >= sizeof text)
		return false;
	(void)snprintf(text, sizeof text, "%.*s", STRF(s));
	bool fixdate = sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d %3s%n", &d.day,
			      mon, &d.year, &d.hour, &d.minute, &d.second, zone, &end) == 7;
	bool rfc850 = !fixdate &&
		      sscanf(text, "%*[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d %3s%n", &d.day,
			     mon, &d.year, &d.hour, &d.minute, &d.second, zone, &end) == 7;
	bool asctime = !fixdate && !rfc850 &&
		       sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", mon, &d.day,
			      &d.hour, &d.minute, &d.second, &d.year, &end) == 6;

	if (!(fixdate || rfc850 || asctime) || (size_t)end != s.n)
		return false;
	if (!asctime && !str_eq(str_of(zone), S("GMT")))
		return false;
	if (rfc850)
		d.year += d.year < 70 ? 2000 : 1900;
	d.month = month_of(mon);
	if (!in_range(&d))
		return false;
	*at_ms = date_to_ms(&d);
	return true;
}

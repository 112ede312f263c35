/*
 * base/date: civil time in UTC, from Unix milliseconds.  Pure arithmetic on the
 * proleptic Gregorian calendar; the clock itself is in os/clock.
 */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#include "base/arena.h"

/* The year 10000 begins: from here on a time is taken for none. */
#define DATE_END_MS INT64_C(253402300800000)

struct date {
	int year, month, day; /* month 1 to 12, day 1 to 31 */
	int hour, minute, second, ms;
	int weekday; /* 0 Sunday to 6 Saturday */
};

struct date date_of_ms(int64_t at_ms);

/* The other way; the weekday is not looked at, and fields over their range carry. */
int64_t date_to_ms(const struct date *d);
int date_days_in(int year, int month);

/* "2026-11-30T09:38:32.123Z": always 24 characters. */
str date_rfc3339(struct arena *a, int64_t at_ms);

/* "2026-11-30T17:00:00+01:00" (RFC 3339; seconds may be left out, T may be a blank).  *zoned: it
 * had an offset or Z, and *at_ms is an instant; else *at_ms is the date as if it were UTC.
 * False when it is none, or no date there is. */
bool date_parse_rfc3339(str s, int64_t *at_ms, bool *zoned);

/* An HTTP date (RFC 9110 section 5.6.7, all three forms).  False when it is none. */
bool date_parse_http(str s, int64_t *at_ms);

#endif

/*
 * cli/since: the option --since of the commands that look back.
 */
#ifndef CLI_SINCE_H
#define CLI_SINCE_H

#include "cli/cli.h"
#include "sched/zone.h"

/* "30d": today and the 29 days before it; "2026-11-01": from that day on; an RFC 3339 time;
 * "all": 0.  False when it is none of these. */
bool since_parse(str text, const struct zone *z, int64_t now_ms, int64_t *at_ms);

/* "2026-11-30": a day counted from 1970-01-01. */
str since_day(struct arena *a, int64_t day);

#endif

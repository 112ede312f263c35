/*
 * sched/zone: time zones from TZif files (RFC 9636, versions 1 to 4) with the rule behind
 * their table.  Pure: the bytes are given.
 *
 * A wall time is what a clock of the zone shows, counted in seconds as if it were UTC.  What
 * a clock change does to it is one rule: a wall time stands for the first instant at which the
 * clock has shown it or a later one.  So a time that is left out is the instant of the
 * change, and one that comes twice is its first pass.
 */
#ifndef SCHED_ZONE_H
#define SCHED_ZONE_H

#include "base/arena.h"
#include "base/err.h"

#define ZONE_FILE_MAX ((size_t)256 << 10)

struct zone;

/* UTC, which needs no file. */
extern const struct zone zone_utc;

/* Read a TZif file; name is kept, for showing.  E_INVAL: it is none, or is damaged. */
int zone_parse(const struct zone **out, struct arena *a, str name, str tzif,
	       struct err *e) MUSTUSE;

str zone_name(const struct zone *z);

/* Seconds east of UTC at an instant (Unix seconds); *dst and *abbrev may be NULL. */
int64_t zone_offset(const struct zone *z, int64_t at_s, bool *dst, str *abbrev);

/* The first change of the offset after an instant, at most about 400 years on; INT64_MAX when
 * there is none. */
int64_t zone_change_after(const struct zone *z, int64_t at_s);

/* The wall time at an instant, and the highest one shown until then. */
int64_t zone_wall(const struct zone *z, int64_t at_s);
int64_t zone_wall_seen(const struct zone *z, int64_t at_s);

/* The instant of a wall time: see above. */
int64_t zone_instant(const struct zone *z, int64_t wall_s);

/* "2026-11-30T17:00:00+01:00" at an instant. */
str zone_rfc3339(const struct zone *z, struct arena *a, int64_t at_s);

#endif

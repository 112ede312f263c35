/*
 * config/zones: time zones by name, from the system's database.
 *
 * Threads  any.
 * Blocks   on reading one small file.
 */
#ifndef CONFIG_ZONES_H
#define CONFIG_ZONES_H

#include "sched/zone.h"

#define ZONES_DIR "/usr/share/zoneinfo"

/* The zone of an IANA name, "UTC" (which needs no file), or "Local": the machine's.  The file
 * is read each time, so that what was updated counts; *version (may be NULL) is a hash of its
 * bytes.  E_NOENT: there is no such zone here; E_INVAL: the name or the file is bad. */
int zone_load(const struct zone **out, struct arena *a, str name, int64_t *version,
	      struct err *e) MUSTUSE;

/* The same, and when that fails UTC; for what must go on. */
const struct zone *zone_load_or_utc(struct arena *a, str name);

#endif

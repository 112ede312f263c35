/*
 * The rows about time: the machine's clock against the provider's, the zone, and what is due.
 */
#include "cli/doctor.h"

#include <stdlib.h>

#include "config/zones.h"
#include "os/clock.h"
#include "store/job.h"

#define SKEW_WARN_MS 5000
#define SKEW_FAIL_MS 60000

void doctor_clock(struct doctor *d)
{
	int64_t skew = d->date_at_ms ? d->date_local_ms - d->date_at_ms : 0;
	int64_t off = llabs(skew);

	if (!d->date_at_ms) {
		doctor_say(d, DOCTOR_SKIP, NULL, "nobody told the time");
		return;
	}
	/* The header counts whole seconds. */
	enum doctor_status s = off > SKEW_FAIL_MS   ? DOCTOR_FAIL
			       : off > SKEW_WARN_MS ? DOCTOR_WARN
						    : DOCTOR_OK;
	doctor_say(d, s,
		   s == DOCTOR_OK ? NULL
				  : "set the clock (NTP): schedules and TLS depend on it",
		   s == DOCTOR_OK ? "within %lld s of the provider's (its Date header)"
				  : "it is %lld s off the provider's (its Date header)",
		   (long long)(off / 1000));
}

void doctor_zone(struct doctor *d)
{
	str name = d->cfg->cron.zone;
	const struct zone *z;
	struct err e = { 0 };

	if (zone_load(&z, d->a, name, NULL, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, "install tzdata, or set another zone", "%s", e.msg);
		return;
	}
	str now = zone_rfc3339(z, d->a, clock_now_ms() / 1000);
	doctor_say(d, DOCTOR_OK, NULL, "%.*s%s%.*s%s, now %.*s", STRF(name),
		   str_eq(name, zone_name(z)) ? "" : " (",
		   STRF(str_eq(name, zone_name(z)) ? S("") : zone_name(z)),
		   str_eq(name, zone_name(z)) ? "" : ")", STRF(now));
}

/* The next of all that are on, and those that failed the last time. */
void doctor_schedules(struct doctor *d)
{
	const struct zone *z = zone_load_or_utc(d->a, d->cfg->cron.zone);
	struct job *v = NULL;
	struct err e = { 0 };
	size_t n = 0, on = 0;
	int64_t next = 0;

	if (!d->cfg->cron.enabled) {
		doctor_say(d, DOCTOR_SKIP, NULL, "schedules are off");
		return;
	}
	if (d->store && store_job_list(d->store, S(""), S(""), false, d->a, &v, &n, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, NULL, "%s", e.msg);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (!v[i].enabled)
			continue;
		on++;
		if (v[i].next_at_ms && (!next || v[i].next_at_ms < next))
			next = v[i].next_at_ms;
		if (v[i].failing)
			doctor_say(d, DOCTOR_WARN, "gantry cron history shows its runs",
				   "job %lld failed the last time: %.*s", (long long)v[i].id,
				   STRF(v[i].last_error));
	}
	bool late = next && next < clock_now_ms() && !d->held;
	str when = next ? zone_rfc3339(z, d->a, next / 1000) : S("none");
	doctor_say(d, late ? DOCTOR_WARN : DOCTOR_OK,
		   late ? "start gantry run: it is caught up with once" : NULL,
		   late ? "%zu jobs; one was due at %.*s, and no daemon runs"
			: "%zu jobs, next: %.*s",
		   on, STRF(when));
}

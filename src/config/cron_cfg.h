/*
 * config/cron_cfg: schedules and watches, as configured.
 */
#ifndef CONFIG_CRON_CFG_H
#define CONFIG_CRON_CFG_H

#include "base/str.h"

struct cron_job_cfg {
	str name, schedule, prompt;
	bool ephemeral; /* a session for each run, else one of its own */
	int64_t timeout_ms;
	str to_channel, to_address; /* "" nowhere */
	bool enabled, catch_up;
};

struct cron_job_list {
	const struct cron_job_cfg *v;
	size_t n;
};

struct cron_cfg {
	bool enabled;
	str zone; /* of schedules, and of the person: an IANA name, or Local */
	int64_t max_jobs, tick_s;
	struct cron_job_list jobs;
};

struct watch_cfg {
	bool enabled;
	int64_t max;
};

#endif

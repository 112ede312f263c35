/*
 * cli/cron_jobs: the jobs in the database, for gantry cron.
 */
#ifndef CLI_CRON_JOBS_H
#define CLI_CRON_JOBS_H

#include "cli/cli.h"

struct cron_args {
	bool json, all;
	const char *when, *repeat, *chat; /* of add */
	int64_t limit; /* of history */
};

/* argv[0] is list, run, add, cancel or history.  The exit code. */
int cron_jobs(struct cli *cli, const struct config *cfg, const struct cron_args *args);

#endif

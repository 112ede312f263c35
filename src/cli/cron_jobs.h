/*
 * cli/cron_jobs: the jobs in the database, for gantry cron.
 */
#ifndef CLI_CRON_JOBS_H
#define CLI_CRON_JOBS_H

#include "cli/cli.h"
#include "store/job.h"

struct cron_args {
	bool json, all;
	bool deliver, ephemeral; /* of run */
	const char *when, *repeat, *chat; /* of add */
	int64_t limit; /* of history */
};

/* argv[0] is list, add, cancel or history.  The exit code. */
int cron_jobs(struct cli *cli, const struct config *cfg, const struct cron_args *args);

/* A job by its number, or the name it has in the configuration.  E_NOENT with a sentence. */
int cron_job_of(struct store *s, str text, struct arena *a, struct job *out,
		struct err *e) MUSTUSE;

/* Is the address a chat that the allow-lists have, now? */
bool cron_reachable(const struct telegram_cfg *t, str address);

/* gantry cron run: argv[1] is the job.  Its exit code; the configuration is read here. */
int cron_run(struct cli *cli, const struct cron_args *args);

#endif

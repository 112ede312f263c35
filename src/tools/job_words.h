/*
 * tools/job_words: jobs in words, for the model, for people, and for the row of a run.  Pure.
 */
#ifndef TOOLS_JOB_WORDS_H
#define TOOLS_JOB_WORDS_H

#include "store/job.h"

/* "daily 17:00", "every 1h30m", "once", "cron 0 8 * * 1-5" */
str job_schedule(const struct job *job, struct arena *a);

/* A line of a list: id, kind, next, prompt; with a newline. */
str job_line(const struct job *job, const struct zone *z, int64_t now_ms, struct arena *a);

/* The text and meta of the inbox row for a run of at_ms. */
void job_fire(struct job_fire *out, const struct job *job, const struct zone *z, int64_t at_ms,
	      int64_t now_ms, struct arena *a);

/* What follows from the end of a run. */
void job_settle(struct job_settle *out, const struct job *job, const struct job_run *run,
		const struct zone *z, int64_t now_ms, struct arena *a);

/* For its chat: its schedule cannot be read and it is off. */
str job_broken(const struct job *job, str why, struct arena *a);

#endif

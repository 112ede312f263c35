/*
 * store/job: schedules, made in a chat or named in the configuration, and the record of their
 * runs.  A job that is due becomes an inbox row of kind cron in the transaction that moves it on,
 * at most one for each time it is due.
 *
 *	run   started -> ok | error | interrupted      skipped (with a reason; n times, from
 *	                                               scheduled_at_ms to last_at_ms)
 *
 * A run ends with its turn, in the same commit.  What follows from that (a further try, a word to
 * the chat) is its settling, once.
 */
#ifndef STORE_JOB_H
#define STORE_JOB_H

#include "sched/plan.h"
#include "store/store.h"

struct job {
	int64_t id;
	bool config; /* of the configuration, with a name; else made in a chat */
	str name;
	str channel,
		address; /* the chat it was made in; of the configuration: cron, job:NAME */
	str sender;
	str to_channel, to_address; /* where its answers go; "" nowhere */
	str prompt;
	str kind, expr, zone; /* see sched/when */
	bool ephemeral; /* a session for each run */
	bool catch_up;
	int64_t timeout_ms; /* of a run, 0 none of its own */
	bool enabled;
	int64_t first_at_ms; /* made in a chat and not yet due: not before, however the clock is
			      * set; else 0 */
	int64_t next_at_ms; /* when it is to be looked at; 0 never */
	int64_t scheduled_at_ms; /* of a one-shot that is tried again: when it was due */
	int attempt; /* tries of it that failed */
	bool failing; /* its last run failed */
	bool running; /* a run is not over */
	str last_error;
};

/* Add an enabled job whose first time is next_at_ms (id, running and the state of runs are not
 * looked at).  E_LIMIT: max are
 * enabled already. */
int store_job_add(struct tx *tx, const struct job *job, int64_t max, int64_t *id,
		  struct err *e) MUSTUSE;

/* The job of the configuration with this name, made or brought up to date; one whose schedule
 * changed is due as job says, else when it was.  Then those of other names are switched off. */
int store_job_put(struct tx *tx, const struct job *job, struct err *e) MUSTUSE;
int store_job_keep_only(struct tx *tx, const str *names, size_t n, struct err *e) MUSTUSE;

/* E_NOENT. */
int store_job_get(struct store *s, int64_t id, struct arena *a, struct job *out,
		  struct err *e) MUSTUSE;
int store_job_find(struct store *s, str name, struct arena *a, struct job *out,
		   struct err *e) MUSTUSE;

/* Newest first; channel "" is every one, else the chat's; all: those that are over, too. */
int store_job_list(struct store *s, str channel, str address, bool all, struct arena *a,
		   struct job **out, size_t *n, struct err *e) MUSTUSE;

/* Switch a job off: of this chat, or with channel "" any.  E_NOENT: it has no such job that is
 * on. */
int store_job_cancel(struct tx *tx, int64_t id, str channel, str address,
		     struct err *e) MUSTUSE;

/* When the first enabled job is due after a time, 0 none. */
int store_job_next_at(struct store *s, int64_t after_ms, int64_t *at_ms, struct err *e) MUSTUSE;

/* Those due after a time until another: first those that do not catch up, which cannot wait;
 * then the longest due.  firsts: of each chat only the one that is due the longest. */
struct job_due {
	int64_t after_ms, until_ms;
	str not_zones; /* left out: "\nUTC\n..." */
	bool firsts;
	size_t limit;
};
int store_job_due(struct store *s, const struct job_due *q, struct arena *a, struct job **out,
		  size_t *n, struct err *e) MUSTUSE;

/* Rows of jobs that wait for a worker, counted up to most; and does one wait in the conversation
 * of this chat? */
int store_job_waiting(struct store *s, int64_t most, int64_t *n, struct err *e) MUSTUSE;
int store_job_chat_waits(struct store *s, str channel, str address, bool *waits,
			 struct err *e) MUSTUSE;

/* Is a run of it not over, as it stands in the transaction? */
int store_job_running(struct tx *tx, int64_t id, bool *running, struct err *e) MUSTUSE;

/* Carry out a plan for a job as it was read: record what is skipped, insert the inbox row with
 * this text and meta, move it on.  out: what was inserted.  When the job is not as it was
 * read any more, or that time was run before, there is nothing. */
struct job_fire {
	str text, meta;
	str reason; /* for the run's record, "" none */
	bool by_hand; /* beside the schedule, which stays as it is; nothing while a run of the
		       * job is not over */
	str owner; /* of the row: it is run by this process alone; "" by the daemon */
	bool quiet; /* the answer goes to no chat */
};
struct job_fired {
	int64_t run_id, inbox_id; /* 0: nothing was */
};
int store_job_fire(struct tx *tx, const struct job *job, const struct plan *plan,
		   const struct job_fire *fire, struct job_fired *out, struct err *e) MUSTUSE;

/* Move a job that waits, as it was read, to another time (the zone or the clock changed). */
int store_job_move(struct tx *tx, const struct job *job, int64_t next_at_ms,
		   struct err *e) MUSTUSE;

/* Switch off a due job, as it was read, whose schedule cannot be read; recorded as skipped with
 * the reason broken, and its chat is told notice. */
int store_job_break(struct tx *tx, const struct job *job, str error, str notice,
		    struct err *e) MUSTUSE;

struct job_run {
	int64_t id, job_id;
	int64_t scheduled_at_ms, last_at_ms, n;
	int attempt;
	str state, reason, error, turn_id, session_id;
	int64_t started_at_ms, finished_at_ms; /* 0: not yet */
	int64_t inbox_id;
};

/* Newest first; job_id 0: of all. */
int store_job_runs(struct store *s, int64_t job_id, int64_t limit, struct arena *a,
		   struct job_run **out, size_t *n, struct err *e) MUSTUSE;

/* Runs that are over and not settled, oldest first. */
int store_job_unsettled(struct store *s, size_t limit, struct arena *a, struct job_run **out,
			size_t *n, struct err *e) MUSTUSE;

/* Settle a run: retry_at_ms > 0: the job, if it is still on, is tried again then, which counts as
 * a further attempt when it is failing; over: a one-shot
 * is done with.  failing and its error go into the job.  notice: text for the job's chat, "" none.
 * *first: this settled it, nobody before. */
struct job_settle {
	int64_t retry_at_ms;
	bool over, failing;
	str error, notice;
};
int store_job_settle(struct tx *tx, const struct job *job, const struct job_run *run,
		     const struct job_settle *how, bool *first, struct err *e) MUSTUSE;

/* Forget runs older than that, jobs of chats that have been off for so long and have no run left,
 * and sessions of single runs whose answer is delivered. */
int store_job_sweep(struct tx *tx, int64_t before_ms, struct err *e) MUSTUSE;

#endif

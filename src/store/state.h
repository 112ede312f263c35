/*
 * store/state: small facts that outlive the process: heartbeats, usage, what was learnt
 * about a model, the last good tool list of a server.
 */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include "store/store.h"

/* A named part of the daemon is alive and well (gateway/health.h has the parts), as that version
 * of it: now, or at a time. */
int store_heartbeat(struct tx *tx, str part, str version, struct err *e) MUSTUSE;
int store_heartbeat_at(struct tx *tx, str part, str version, int64_t at_ms,
		       struct err *e) MUSTUSE;
int store_heartbeat_known(struct tx *tx, str part, bool *known, struct err *e) MUSTUSE;
int store_heartbeat_get(struct store *s, str part, int64_t *at_ms, struct err *e) MUSTUSE;

/* It does not do its work: why, for people, until its next heartbeat.  "" all is well. */
int store_trouble(struct tx *tx, str part, str why, struct err *e) MUSTUSE;

/* Totals for /status, counted by the minute since_ms is in; cached is part of prompt. */
struct usage {
	int64_t turns, model_calls, prompt_tokens, completion_tokens, cached_tokens, tool_calls;
};
int store_usage(struct store *s, int64_t since_ms, struct usage *out, struct err *e) MUSTUSE;

/* One request of our own (a summary, memory, a classifier's question), which is no model_calls
 * row: it counts in the totals, and by its model, so that it has a price. */
struct usage_own {
	str issuer;
	str session_id; /* "": nobody's */
	bool estimated; /* not all was reported */
	int64_t prompt_tokens, completion_tokens, cached_tokens, written_tokens;
};
int store_usage_own(struct tx *tx, const struct usage_own *u, struct err *e) MUSTUSE;

/* Per issuer ("base URL|model"): flags and the learnt context window. */
int store_quirks_set(struct tx *tx, str issuer, uint32_t flags, int64_t window,
		     struct err *e) MUSTUSE;
int store_quirks_get(struct store *s, str issuer, uint32_t *flags, int64_t *window,
		     struct err *e) MUSTUSE; /* unknown: zeros */

/* The last good tools/list of a server; "" when there is none. */
int store_tools_set(struct tx *tx, str server, str json, struct err *e) MUSTUSE;
int store_tools_get(struct store *s, str server, struct arena *a, str *json,
		    struct err *e) MUSTUSE;

/* Remove what is older than it is to be kept, of each kind, in batches that are each a short
 * transaction, and not all at once: *more says that some is left.  Nothing of an unfinished turn
 * goes.  (Runs of schedules: store_job_sweep().) */
int store_retain(struct store *s, const struct store_cfg *keep, bool *more,
		 const struct cancel *c, struct err *e) MUSTUSE;

#endif

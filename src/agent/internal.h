/*
 * agent/internal: what the files of agent/ share.
 */
#ifndef AGENT_INTERNAL_H
#define AGENT_INTERNAL_H

#include "agent/agent.h"

#include <pthread.h>

/* Messages that are read beyond their limit, before old ones are cut. */
#define HISTORY_SLACK 64

/* Persona and configuration as one counted value. */
struct snapshot {
	struct arena arena;
	const struct config *cfg;
	struct config *own; /* cfg, when it is freed with the snapshot */
	struct snapshot *base; /* whose cfg it is, when that is another's; counted */
	str persona;
	int refs; /* under agent.lock */
};

enum perf_outcome { PERF_OK, PERF_LANDING, PERF_CANCELED, PERF_ERROR };

/* One finished turn, for /perf and the log line. */
struct perf {
	int64_t number, at_ms, total_ms, model_ms, tool_ms, first_token_ms;
	int64_t rounds, calls, max_batch, recoveries;
	int64_t prompt_tokens, completion_tokens, cached_tokens; /* of all rounds */
	enum perf_outcome outcome;
	char kind[12];
};

#define PERF_RING 12

struct agent {
	struct arena arena;
	struct agent_opt opt;
	int64_t started_at_ms;
	_Atomic int64_t shut_until_ms; /* of spend.c */
	pthread_mutex_t lock; /* guards now and the ring */
	struct snapshot *now;
	struct perf ring[PERF_RING];
	int64_t perf_n;
};

/* Read the persona again, with the configuration in force; a failure leaves it as it was. */
int agent_persona_refresh(struct agent *ag, struct err *e) MUSTUSE;

struct snapshot *agent_snapshot_get(struct agent *ag);
void agent_snapshot_put(struct agent *ag, struct snapshot *s);

void agent_perf_add(struct agent *ag, struct perf *p); /* sets p->number */
str agent_perf_text(struct agent *ag, struct arena *a);

/* tokens.c: what a request of the conversation is made of, for /tokens. */
str agent_tokens_text(struct agent *ag, str channel, str address, struct arena *a);

/* usage.c: what today, this month and this session came to, for /usage. */
str agent_usage_text(struct agent *ag, str channel, str address, struct arena *a);

#endif

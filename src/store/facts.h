/*
 * store/facts: what is to be known about the file itself, by reading only; for `gantry doctor`.
 */
#ifndef STORE_FACTS_H
#define STORE_FACTS_H

#include "store/store.h"

struct store_facts {
	const char *sqlite; /* the library's version */
	int64_t schema;
	int64_t bytes, unused_bytes, log_bytes; /* of the file; in it; of its write-ahead log */
	int64_t sessions, turns, memories, jobs;
};

int store_facts_get(struct store *s, struct store_facts *out, struct err *e) MUSTUSE;

/* Does the full-text index of memory fit its rows?  Reads all of the index.  *why is a sentence
 * when it does not.  No damage of the file, so nothing is latched; store_memory_check() mends
 * it. */
int store_memory_fits(struct store *s, struct arena *a, bool *fits, str *why,
		      const struct cancel *c, struct err *e) MUSTUSE;

#endif

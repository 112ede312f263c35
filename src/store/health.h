/*
 * store/health: what the rows say about whether the daemon works, for `gantry status` and for
 * the watchdog; gateway/health judges it.
 */
#ifndef STORE_HEALTH_H
#define STORE_HEALTH_H

#include "store/store.h"

struct heartbeat {
	str part;
	int64_t at_ms; /* 0: never */
	str trouble; /* since then; "" all is well */
};

struct store_health {
	const struct heartbeat *beats;
	size_t n;
	int64_t since_ms; /* when the daemon began; older heartbeats are an earlier one's.  0 unknown */
	int64_t turn_step_at_ms; /* the oldest last step of the turns that a daemon runs now; 0 none */
	str model_error; /* of the newest request to the model: a word of model_kind_word(); "" */
	str model_issuer;
};

int store_health_get(struct store *s, struct arena *a, struct store_health *out,
		     struct err *e) MUSTUSE;

#endif

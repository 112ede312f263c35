/*
 * store/model_call: the requests to the model, and what they cost.
 */
#ifndef STORE_MODEL_CALL_H
#define STORE_MODEL_CALL_H

#include "store/spend.h"

/* One model request: what is not derivable from the rows above. */
struct model_row {
	int64_t round, attempt;
	str issuer;
	str params; /* JSON: stream, max_tokens, ... */
	str system; /* the system message as sent */
	str tools; /* the tools array as sent, JSON; stored once per content */
	str request; /* how its body was made (agent/sent), "" not kept */
	str finish, error;
	int64_t est_tokens; /* what the request was estimated at; 0: not */
	/* -1 unknown; cached and written are parts of prompt */
	int64_t prompt_tokens, completion_tokens, cached_tokens, written_tokens;
	int64_t first_token_ms, total_ms, started_at_ms;
	struct spend_settle spend; /* settled with it */
};
int store_model_call(struct tx *tx, str turn_id, const struct model_row *row,
		     struct err *e) MUSTUSE;

/* The requests of a turn, in the order in which they were written down. */
int store_model_requests(struct store *s, str turn_id, struct arena *a, struct model_row **out,
			 size_t *n, struct err *e) MUSTUSE;

/* All turns, oldest first. */
int store_turn_ids(struct store *s, struct arena *a, str **out, size_t *n,
		   struct err *e) MUSTUSE;

/* The session's newest turn, and its last request that was answered.  E_NOENT: it had no turn. */
struct turn_cost {
	str turn_id;
	bool open; /* not finished yet */
	int64_t prompt_tokens, completion_tokens,
		cached_tokens; /* of that request, -1 unknown */
};
int store_turn_last(struct store *s, str session_id, struct arena *a, struct turn_cost *out,
		    struct err *e) MUSTUSE;

/* How many tokens the issuer counted lately for a thousand that were estimated; 1000 when
 * nothing is known, and never less than 500 or more than 4000. */
int store_tokens_permille(struct store *s, str issuer, int64_t *permille,
			  struct err *e) MUSTUSE;

#endif

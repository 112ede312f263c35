/*
 * model/reply: from an assembled answer to what the agent gets and what is stored.
 */
#ifndef MODEL_REPLY_H
#define MODEL_REPLY_H

#include "model/delta.h"

/* Fill in text, reasoning, calls, wire, finish, refused and usage.  Calls without name and
 * id are dropped, missing or repeated ids are made up.  The wire message is always one that
 * an endpoint accepts: arguments that are no JSON object are "{}" there, names are cleaned. */
void reply_make(const struct answer *s, struct arena *a, struct model_reply *out);

#endif

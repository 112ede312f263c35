/*
 * store/tool_hold: which tools a conversation has switched on (tools.dynamic), by prefix.
 */
#ifndef STORE_TOOL_HOLD_H
#define STORE_TOOL_HOLD_H

#include "store/store.h"

/* A brief hold ends after six hours without a use of it, a short one after 27. */
enum tool_hold { TOOL_HOLD_BRIEF, TOOL_HOLD_SHORT };

/* The prefixes that are on now, sorted. */
int store_tool_holds(struct store *s, str session_id, struct arena *a, str **out, size_t *n,
		     struct err *e) MUSTUSE;

/* Switch one on, or hold it for that long from now on. */
int store_tool_hold(struct tx *tx, str session_id, str prefix, enum tool_hold hold,
		    struct err *e) MUSTUSE;

/* Switch one off. */
int store_tool_release(struct tx *tx, str session_id, str prefix, struct err *e) MUSTUSE;

/* A tool of it was called. */
int store_tool_used(struct tx *tx, str session_id, str prefix, struct err *e) MUSTUSE;

#endif

/*
 * store/audit: what people look at afterwards: every tool call with who decided about it, and
 * what was allowed for good.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include "store/store.h"

struct audit_row {
	str id, session_id, turn_id, tool, args;
	str state, decision, rule, decider, requester;
	bool has_exit, has_duration, truncated;
	int64_t exit_code, duration_ms, created_at_ms;
};

/* Calls of any kind, newest first; limit 0: all. */
int store_audit_list(struct store *s, int64_t limit, struct arena *a, struct audit_row **out,
		     size_t *n, struct err *e) MUSTUSE;

/* A call that somebody allowed for good. */
struct grant {
	str tool,
		hash; /* of tool, arguments and directory, and of what its server says of it */
	str command; /* as it was shown */
	str by;
	int64_t created_at_ms;
};

/* Newest first. */
int store_grant_list(struct store *s, struct arena *a, struct grant **out, size_t *n,
		     struct err *e) MUSTUSE;

/* Was "always" answered for exactly this, since then?  GRANT_CHANGED: for the same call of the
 * tool as its server described it before (what of the hash is behind its first 64 digits). */
enum grant_found { GRANT_NONE, GRANT_CHANGED, GRANT_YES };
int store_grant_find(struct store *s, str tool, str hash, int64_t since_ms,
		     enum grant_found *found, struct err *e) MUSTUSE;

/* Take back the one whose hash begins so.  E_NOENT none does, E_INVAL several do. */
int store_grant_remove(struct tx *tx, str hash, struct err *e) MUSTUSE;

#endif

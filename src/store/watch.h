/*
 * store/watch: what is looked at from time to time by a tool, and what was seen of it.  Each has
 * a system row (what "watch", its id as the key) that says when it is looked at next.
 */
#ifndef STORE_WATCH_H
#define STORE_WATCH_H

#include "store/store.h"

#define WATCH_WHAT "watch"

/* What became of the last message to the model about new items. */
enum watch_wake { WATCH_QUIET, WATCH_OPEN, WATCH_FAILED };

struct watch {
	int64_t id;
	str channel, address, sender;
	str tool, args, label;
	int64_t interval_ms;
	bool enabled, seeded;
	str seen; /* ids, one a line */
	str pending; /* lines of the last message, until it was answered */
	str last_error;
	enum watch_wake wake;
};

/* Add one and its first look, which is at once.  E_LIMIT: max are on already. */
int store_watch_add(struct tx *tx, const struct watch *w, int64_t max, int64_t *id,
		    struct err *e) MUSTUSE;

/* Those of a chat that are on, newest first. */
int store_watch_list(struct store *s, str channel, str address, struct arena *a,
		     struct watch **out, size_t *n, struct err *e) MUSTUSE;

/* E_NOENT. */
int store_watch_get(struct store *s, int64_t id, struct arena *a, struct watch *out,
		    struct err *e) MUSTUSE;

/* It is off, and what it saw is forgotten; the row goes with a sweep, once it was off since before
 * that time.  E_NOENT: the chat has no such watch that is on. */
int store_watch_cancel(struct tx *tx, int64_t id, str channel, str address,
		       struct err *e) MUSTUSE;
int store_watch_sweep(struct tx *tx, int64_t before_ms, struct err *e) MUSTUSE;

/* What a look came to, of a watch as it was read: what is seen now, and the message for the model
 * ("" none).  *kept: it was as it was read; else nothing is written. */
struct watch_look {
	str seen, error;
	str pending, text, meta;
};
int store_watch_looked(struct tx *tx, const struct watch *w, const struct watch_look *look,
		       bool *kept, struct err *e) MUSTUSE;

#endif

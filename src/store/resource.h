/*
 * store/resource: resources of tool servers that a chat wants to hear of when they change.  Each
 * change leaves a system row (what "resource", the id as the key), which becomes a message to the
 * model, not more often than once a minute for a chat and server: what changed meanwhile is told
 * of together.
 */
#ifndef STORE_RESOURCE_H
#define STORE_RESOURCE_H

#include "store/store.h"

#define RESOURCE_WHAT "resource" /* it changed */
#define RESOURCE_AGAIN_WHAT "resubscribe" /* its server is to be asked for it again */

struct resource_watch {
	int64_t id;
	str channel, address, sender;
	str server, uri;
};

/* Add one; that it is there already is fine.  E_LIMIT: there are max of them, or each of its
 * server. */
int store_resource_add(struct tx *tx, const struct resource_watch *w, int64_t max, int64_t each,
		       struct err *e) MUSTUSE;

/* Of sender and id nothing counts.  E_NOENT: the chat has no such. */
int store_resource_remove(struct tx *tx, const struct resource_watch *w, struct err *e) MUSTUSE;

/* A chat's, or with address "" all, oldest first. */
int store_resource_list(struct store *s, str channel, str address, struct arena *a,
			struct resource_watch **out, size_t *n, struct err *e) MUSTUSE;

/* E_NOENT. */
int store_resource_get(struct store *s, int64_t id, struct arena *a, struct resource_watch *out,
		       struct err *e) MUSTUSE;

/* A server says that it changed: *n chats will be told. */
int store_resource_changed(struct tx *tx, str server, str uri, int64_t *n,
			   struct err *e) MUSTUSE;

/* May its chat be told of it yet?  *at_ms 0 yes; else not before that, for it was told of another
 * one of that server a while ago, or has not read that yet. */
int store_resource_when(struct tx *tx, const struct resource_watch *w, int64_t *at_ms,
			struct err *e) MUSTUSE;

/* w and what else changed of its server for its chat: what is to be told of together.  The rows of
 * the others are over. */
int store_resource_gather(struct tx *tx, const struct resource_watch *w, struct arena *a,
			  struct resource_watch **out, size_t *n, struct err *e) MUSTUSE;

/* The message about all of v, for the model.  The first was taken back meanwhile, or its last
 * message waits still: nothing is written. */
int store_resource_tell(struct tx *tx, const struct resource_watch *v, size_t n, str text,
			str meta, struct err *e) MUSTUSE;

/* Servers are asked again for all of them: a row each. */
int store_resource_again(struct tx *tx, struct err *e) MUSTUSE;

#endif

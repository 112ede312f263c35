/*
 * store/asked: what approvals and questions have in common.  Internal to store/.
 *
 * Both are put to a person by a row of the outbox, wait as long as their time is not over, and
 * are put again by the process after the one that did so.
 */
#ifndef STORE_ASKED_H
#define STORE_ASKED_H

#include "store/rows.h"

/* The table of approvals or that of questions; column is its in the outbox. */
struct asked {
	const char *ready, *expire, *dead, *waiting, *mark;
};
#define ASKED(table, column)                                                                   \
	{                                                                                      \
		.ready = "UPDATE turns SET state = 'ready', updated_at_ms = ?1 "               \
			 "WHERE state = 'parked' AND id IN (SELECT turn_id FROM " table        \
			 " WHERE state = 'pending' AND expires_at_ms <= ?1)",                  \
		.expire = "UPDATE " table " SET state = 'expired', decided_at_ms = ?1 "        \
			  "WHERE state = 'pending' AND expires_at_ms <= ?1",                   \
		.dead = "UPDATE " table " SET expires_at_ms = ?3 "                             \
			"WHERE id = ?1 AND state = 'pending' AND message_id = '' AND EXISTS "  \
			"(SELECT 1 FROM outbox WHERE id = ?2 AND state = 'dead')",             \
		.waiting = "SELECT count(*) FROM outbox WHERE channel = ?1 AND owner = '' "    \
			   "AND state IN ('raw', 'ready') AND " column " = ?2",                \
		.mark = "UPDATE " table " SET poster = ?2, posts = posts + ?3 WHERE id = ?1"   \
	}

/* Pending ones whose time is over become expired and their parked turns ready; *n how many. */
int asked_expire(struct tx *tx, const struct asked *k, int64_t now_ms, int64_t *n,
		 struct err *e) MUSTUSE;

/* See store_approval_posted(). */
int asked_posted(struct tx *tx, const struct asked *k, str id, int64_t outbox_id,
		 int64_t now_ms, bool *over, struct err *e) MUSTUSE;

/* This process puts it now; *post: its row of the outbox is to be made. */
int asked_again(struct tx *tx, const struct asked *k, str channel, str id, bool *post,
		struct err *e) MUSTUSE;

#endif

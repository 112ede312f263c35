/*
 * store/session: conversations.  A session is (channel, address); an address is opaque text
 * of its channel ("chat" or "chat:thread").
 */
#ifndef STORE_SESSION_H
#define STORE_SESSION_H

#include "store/store.h"

struct session {
	str id, channel, address, title, model, summary;
	int64_t epoch; /* bumped by /new */
	int64_t history_from_seq; /* messages before it are cut from the prompt */
	int64_t folded_seq; /* those before it are in the summary */
	int64_t prompt_tokens, completion_tokens;
	int64_t messages_n; /* of this epoch */
	int64_t created_at_ms, updated_at_ms;
};

/* The session of (channel, address), made when absent. */
int store_session_ensure(struct tx *tx, str channel, str address, struct arena *a,
			 struct session *out, struct err *e) MUSTUSE;

/* E_NOENT. */
int store_session_get(struct store *s, str id, struct arena *a, struct session *out,
		      struct err *e) MUSTUSE;
int store_session_find(struct store *s, str channel, str address, struct arena *a,
		       struct session *out, struct err *e) MUSTUSE;

/* Newest first; limit 0: all. */
int store_session_list(struct store *s, int64_t limit, struct arena *a, struct session **out,
		       size_t *n, struct err *e) MUSTUSE;

/* Delete it with its messages, turns, inbox and outbox; audit rows stay.  E_NOENT; E_BUSY a
 * turn of it is not finished. */
int store_session_remove(struct tx *tx, str id, struct err *e) MUSTUSE;

/* An address became another one (a group turned into a supergroup): its session, with what
 * waits in inbox, outbox and approvals, goes there, and so does every thread of it
 * ("from:thread").  Where the new address has a conversation already, only what waits goes.
 * Again: fine. */
int store_address_move(struct tx *tx, str channel, str from, str to, struct err *e) MUSTUSE;

/* The address that became this one; E_NOENT none did. */
int store_address_origin(struct store *s, str channel, str address, struct arena *a,
			 str *origin, struct err *e) MUSTUSE;

/* The prompt of later turns begins at seq, or where it begins already if that is later. */
int store_session_cut(struct tx *tx, str id, int64_t from_seq, struct err *e) MUSTUSE;

/* The messages before to_seq are in the new summary, and no prompt holds them any more.
 * E_CANCELED, and the transaction is doomed: epoch, summary or folded_seq are not what read
 * says. */
int store_session_fold(struct tx *tx, const struct session *read, str summary, int64_t to_seq,
		       struct err *e) MUSTUSE;

#endif

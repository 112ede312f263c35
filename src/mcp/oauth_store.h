/*
 * mcp/oauth_store: what is known of signing in to one server, in a file of its own: 0600, below
 * the data directory, replaced whole.  Its name is made of the server's name and URL, so a
 * token can only be found by the entry that it was got for.
 *
 * Threads  any, and other processes: a reader sees one whole state; who changes something holds
 *          the lock from reading to writing.
 */
#ifndef MCP_OAUTH_STORE_H
#define MCP_OAUTH_STORE_H

#include "base/arena.h"
#include "os/cancel.h"

struct oauth_state { /* texts "" and numbers 0 when absent */
	str server; /* its URL */
	/* The authorization server that all of this belongs to, and who we are there. */
	str issuer, resource, token_endpoint;
	str client_id, client_secret, client_auth, client_redirect;
	int64_t client_until_ms; /* wall; the registration ends */
	/* The token. */
	str access, type, refresh, scope;
	int64_t until_ms, renewed_ms; /* wall: when the access token ends, and when it came */
	str key, nonce; /* it is bound to this key (PEM); the server wants this nonce */
	/* What the last refusal asked for. */
	str wanted_scope, wanted_metadata;
	int64_t wanted; /* a person has to sign in */
	int64_t wanted_proof; /* with a token bound to a key */
	/* A sign-in that a person is at. */
	str pending_state, pending_verifier, pending_scope, pending_device;
	int64_t pending_until_ms, pending_iss; /* the answer has to name its issuer */
	int64_t pending_pause_ms; /* between two questions of the device flow */
};

/* The file of a server below dir. */
str oauth_store_path(struct arena *a, str dir, str name, str url);

/* A missing or broken file, or one of another URL, is an empty state. */
void oauth_store_read(struct oauth_state *out, struct arena *a, str path, str url);
/* Under the lock. */
int oauth_store_write(const struct oauth_state *s, str path, struct err *e) MUSTUSE;

/* Forget all.  OK also when there was nothing. */
int oauth_store_remove(str path, struct err *e) MUSTUSE;

/* Wait for the lock of the file; closing *fd gives it back.  What a writer that died left
 * half-way is removed then.  E_BUSY after ten seconds. */
int oauth_store_lock(int *fd, str path, const struct cancel *c, struct err *e) MUSTUSE;

#endif

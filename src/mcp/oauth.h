/*
 * mcp/oauth: what the parts of signing in (RFC 6749 and those around it) share.  For mcp/auth
 * alone, which holds the lock of the state file while one of them changes it.
 *
 * Every address is https, or http on loopback where the server itself is there; answers are
 * bounded; no redirect is followed; where the server is found in the public Internet nothing
 * else is asked.  Texts from other machines reach an error only as a word of letters.
 */
#ifndef MCP_OAUTH_H
#define MCP_OAUTH_H

#include "mcp/auth_cfg.h"
#include "mcp/oauth_store.h"
#include "mcp/oauth_url.h"
#include "os/http.h"
#include "text/json.h"

/* One server, and who we are to it. */
struct oauth {
	str name; /* in the manifest */
	str url; /* as it stands there */
	struct url server;
	struct mcp_auth_cfg cfg;
	str client_secret, assertion, key; /* from their variables, "" none */
	const struct http_opt *http; /* how the network is reached */
	struct http_pool *pool; /* during one operation */
	bool open; /* it answered a request without a token */
	bool looked, public; /* is the server at a public address, once that was looked at */
};

/* What an authorization server says of itself. */
struct oauth_meta {
	str issuer, resource; /* the resource as it names itself */
	str authorization_endpoint, token_endpoint, registration_endpoint, device_endpoint;
	const struct json *auth_methods; /* array or NULL */
	str scopes; /* of the resource, "" not said */
	bool offline; /* it has the scope offline_access */
	bool iss; /* answers name their issuer */
	bool documents; /* client metadata documents are taken */
	bool proofs; /* tokens can be bound to a key */
};

/* mcp/oauth_net: a GET, or a POST where there is a body, of an address that was judged already.
 * OK with any status. */
struct oauth_ask {
	const struct url *url;
	const char *label; /* what an error calls it */
	str body;
	const char *type; /* of the body; NULL: a form */
	const struct http_header *headers; /* at most four more */
	size_t n;
};
int oauth_http(struct oauth *o, const struct oauth_ask *ask, struct arena *a,
	       struct http_resp *resp, const struct cancel *c, struct err *e) MUSTUSE;

/* GET of JSON.  E_NOENT: there is none; E_PROTO: the server failed (a 5xx). */
int oauth_get(struct oauth *o, str url, const char *what, struct arena *a, struct json **out,
	      const struct cancel *c, struct err *e) MUSTUSE;

/* "invalid_grant" and the like, made harmless: letters and "_"; of the body of an answer, ""
 * when it has none. */
str oauth_word(struct arena *a, str s);
str oauth_error_word(struct arena *a, str body);

/* Is word among the texts of an array of what an authorization server offers?  NULL: no. */
bool oauth_offers(const struct json *list, const char *word);

/* Is it a word of the list "a b c"?  The list with those of more that are not in it yet. */
bool oauth_scope_has(str list, str word);
str oauth_scope_join(struct arena *a, str list, str more);

/* mcp/oauth_meta: who lets in to the server, and how.  wanted: the metadata's address in a
 * refusal, "" none. */
int oauth_discover(struct oauth *o, str wanted, struct arena *a, struct oauth_meta *out,
		   const struct cancel *c, struct err *e) MUSTUSE;

/* mcp/oauth_client: who we are there: as configured, by a document, as registered before, or
 * registered now.  Sets s->client_*, and drops what belonged to another issuer or client. */
int oauth_client_choose(struct oauth *o, const struct oauth_meta *m, struct oauth_state *s,
			struct arena *a, const struct cancel *c, struct err *e) MUSTUSE;

/* Authenticate a request to the token endpoint: members for its body, or a
 * header (*n grows). */
int oauth_client_sign(struct oauth *o, const struct oauth_state *s, struct buf *body,
		      struct http_header *headers, size_t *n, struct arena *a,
		      struct err *e) MUSTUSE;

/* mcp/oauth_token: ask the token endpoint with these members, and put the token into s.  scope:
 * what was asked for.  E_DENIED: refused for good (the grant is not valid, or nobody knows the
 * client that was registered, which is dropped then); E_BUSY: not yet, for
 * the device flow; *slower then: it was asked too often. */
int oauth_token(struct oauth *o, struct oauth_state *s, str members, str scope, bool *slower,
		struct arena *a, const struct cancel *c, struct err *e) MUSTUSE;

/* A proof of possession for one request (RFC 9449); token "" for the token endpoint. */
int oauth_proof(const struct oauth_state *s, const char *method, str url, str token, str nonce,
		struct arena *a, str *out, struct err *e) MUSTUSE;

/* mcp/oauth_grant: the sign-ins that need nobody: client_credentials, an assertion. */
bool oauth_unattended(const struct oauth *o);
int oauth_grant(struct oauth *o, struct oauth_state *s, struct arena *a, const struct cancel *c,
		struct err *e) MUSTUSE;

/* A new token for the refresh token.  Once begun it does not end with c but within this time:
 * the old one may be used up.  E_DENIED: it is not taken any more. */
#define OAUTH_FINISH_MS 10000
int oauth_refresh(struct oauth *o, struct oauth_state *s, struct arena *a,
		  const struct cancel *c, struct err *e) MUSTUSE;

/* mcp/oauth_flow: a person signs in.  begin: the link for the browser; s has what finish needs.
 * device: begin returns the page and the code to be typed there; poll asks whether it was. */
int oauth_begin(struct oauth *o, struct oauth_state *s, struct arena *a, str *link,
		const struct cancel *c, struct err *e) MUSTUSE;
int oauth_finish(struct oauth *o, struct oauth_state *s, str paste, struct arena *a,
		 const struct cancel *c, struct err *e) MUSTUSE;
struct oauth_device {
	str page, code; /* page may hold the code already */
	bool whole; /* it does */
};
int oauth_device_begin(struct oauth *o, struct oauth_state *s, struct arena *a,
		       struct oauth_device *out, const struct cancel *c, struct err *e) MUSTUSE;
int oauth_device_poll(struct oauth *o, struct oauth_state *s, struct arena *a,
		      const struct cancel *c, struct err *e) MUSTUSE;

#endif

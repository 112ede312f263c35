/*
 * mcp/oauth_url: the addresses of signing in: where metadata may be, which of them may be
 * asked, what a person pastes back.  Pure but for libcurl's parser.
 */
#ifndef MCP_OAUTH_URL_H
#define MCP_OAUTH_URL_H

#include "os/url.h"

/* Is its host this machine itself? */
bool oauth_url_loopback(const struct url *u);

/* Parse and judge an address that something secret goes to, or that it is read from: https, or
 * http where the server itself is on loopback and this is as well; no name or password in it.
 * what names it in the sentence.  E_DENIED, E_INVAL. */
int oauth_url_read(struct url *out, struct arena *a, str text, bool local, const char *what,
		   struct err *e) MUSTUSE;

/* "https://host:port", without a port where it is the scheme's own. */
str oauth_url_origin(struct arena *a, const struct url *u);

/* How a server behind u is named as a resource: no fragment, no lone "/". */
str oauth_url_resource(struct arena *a, const struct url *u);

/* Where the metadata of a protected resource (RFC 9728), and of an authorization server (RFC
 * 8414, OpenID), may be, in the order to try.  How many. */
#define OAUTH_PLACES 3
size_t oauth_url_resource_places(struct arena *a, const struct url *server,
				 str out[OAUTH_PLACES]);
size_t oauth_url_issuer_places(struct arena *a, const struct url *issuer,
			       str out[OAUTH_PLACES]);

/* "https://host" and "https://host/" are one issuer, as far as looking for it
 * goes; "" is none. */
bool oauth_url_same_issuer(str x, str y);

/* Does NO_PROXY spare that host the proxy?  In doubt (an address, where the list has networks)
 * it does: then it is looked at as one that we connect to ourselves. */
bool oauth_url_spared(str no_proxy, str host);

/* Does a resource of that name cover the server: same origin, and its path is that of the
 * server or a folder above? */
bool oauth_url_covers(struct arena *a, str resource, const struct url *server);

/* The code challenge S256 of a verifier (RFC 7636). */
str oauth_url_challenge(struct arena *a, str verifier);

/* What came back from the browser. */
struct oauth_paste {
	str code, state, iss, error; /* "" when absent */
	bool has_state, has_iss;
};

/* text: the whole address, which has to begin with redirect; or its query alone; or the bare
 * code, alone or as "code#state".  E_INVAL: none of these; the sentence holds nothing of it. */
int oauth_paste_read(struct oauth_paste *out, struct arena *a, str text, str redirect,
		     struct err *e) MUSTUSE;

#endif

/*
 * mcp/oauth_challenge: what a server says in WWW-Authenticate when it refuses a request
 * (RFC 9110, 6750, 9449, 9728).  Pure; any bytes are fine.
 */
#ifndef MCP_OAUTH_CHALLENGE_H
#define MCP_OAUTH_CHALLENGE_H

#include "os/http.h"

struct oauth_challenge {
	bool bearer, dpop; /* schemes it takes */
	str error; /* invalid_token, insufficient_scope, ...; each "" when absent */
	str scope; /* what it takes for this request, with blanks between */
	str metadata; /* URL of the protected resource's metadata */
};

/* From all such headers of an answer.  Of a parameter given twice, and of several challenges
 * with it, the first counts; other schemes are read over. */
void oauth_challenge_read(struct oauth_challenge *out, struct arena *a,
			  const struct http_resp *resp);

#endif

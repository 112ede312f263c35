/*
 * WWW-Authenticate of any bytes, and pasted addresses: nothing that comes out was not in there.
 */
#include "mcp/oauth_challenge.h"
#include "mcp/oauth_url.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size }, redirect = S("http://127.0.0.1:33418/callback");
	struct http_header h = { S("www-authenticate"), in };
	struct oauth_challenge out;
	struct oauth_paste p;
	struct err e = { 0 };

	oauth_challenge_read(&out, &a, &(struct http_resp){ .headers = &h, .headers_n = 1 });
	if (out.error.n + out.scope.n + out.metadata.n > size ||
	    (!out.bearer && !out.dpop && out.error.n + out.scope.n + out.metadata.n))
		abort();
	if (oauth_paste_read(&p, &a, in, redirect, &e) == OK && !p.code.n && !p.error.n)
		abort();
	return 0;
}

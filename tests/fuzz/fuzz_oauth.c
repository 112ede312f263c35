/*
 * Signing in to a server whose resource, authorization server and token endpoint answer anything:
 * nothing is asked of an address that is not safe, a token that is taken is one word, and what goes
 * wrong is one sentence.
 *
 * The first line chooses the flow; each further one is an answer in its turn: the status, a blank,
 * the body.  Behind the last one the network is gone.  The requests stand in for those of os/http.
 */
#include "mcp/oauth.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "config/value.h"
#include "text/query.h"

#define SERVER "https://mcp.example/sse"
#define POLLS 3

enum flow { FLOW_BROWSER, FLOW_DEVICE, FLOW_GRANT, FLOW_REFRESH, FLOWS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static str answers; /* those that are left */
static struct http *const nobody;

struct http *http_borrow(struct http_pool *p)
{
	(void)p;
	return nobody;
}

void http_return(struct http **h)
{
	(void)h;
}

str http_header(const struct http_resp *r, const char *name)
{
	for (size_t i = 0; i < r->headers_n; i++)
		if (str_is(r->headers[i].name, name))
			return r->headers[i].value;
	return S("");
}

static void check_request(const struct http_req *req)
{
	if (!str_starts(req->url, S("https://")) || !utf_valid(req->url))
		abort();
	for (size_t i = 0; i < req->url.n; i++)
		if ((unsigned char)req->url.p[i] <= ' ')
			abort();
	for (size_t i = 0; i < req->headers_n; i++)
		for (size_t k = 0; k < req->headers[i].value.n; k++)
			if ((unsigned char)req->headers[i].value.p[k] < ' ')
				abort();
}

int http_do(struct http *h, const struct http_req *req, struct arena *a, struct http_resp *out,
	    const struct cancel *c, struct err *e)
{
	static const struct http_header nonce = { { "dpop-nonce", 10 }, { "n-1", 3 } };
	str line = str_cut(&answers, '\n'), status = str_cut(&line, ' ');
	int64_t number = 0;

	(void)h;
	(void)c;
	check_request(req);
	*out = (struct http_resp){ .headers = &nonce, .headers_n = 1 };
	if (!str_i64(status, &number) || number < 100 || number > 599)
		return err_set(e, E_IO, "the network is gone");
	out->status = (int)number;
	out->body = arena_dup(a, line);
	return OK;
}

static void check_token(int rc, const struct oauth_state *s, const struct err *e)
{
	if (rc == OK && !value_one_word(s->access))
		abort();
	if (rc < 0 && (!e->msg[0] || strchr(e->msg, '\n') || !utf_valid(str_of(e->msg))))
		abort();
}

static int browser(struct oauth *o, struct oauth_state *s, struct arena *a, struct err *e)
{
	struct buf paste = buf_in(a, 8192);
	str link = S("");
	int rc = oauth_begin(o, s, a, &link, NULL, e);

	if (rc < 0)
		return rc;
	if (!str_starts(link, S("https://")) || !s->pending_state.n || !s->pending_verifier.n)
		abort();
	buf_add(&paste, s->client_redirect);
	buf_addc(&paste, '?');
	query_add(&paste, "code", S("c-1"));
	query_add(&paste, "state", s->pending_state);
	query_add(&paste, "iss", s->issuer);
	return oauth_finish(o, s, buf_str(&paste), a, NULL, e);
}

static int device(struct oauth *o, struct oauth_state *s, struct arena *a, struct err *e)
{
	struct oauth_device d = { 0 };
	int rc = oauth_device_begin(o, s, a, &d, NULL, e);

	if (rc < 0)
		return rc;
	if (!str_starts(d.page, S("https://")) || !utf_valid(d.page) || !utf_valid(d.code))
		abort();
	rc = E_BUSY;
	for (int i = 0; rc == E_BUSY && i < POLLS; i++)
		rc = oauth_device_poll(o, s, a, NULL, e);
	return rc;
}

static int sign_in(enum flow flow, struct oauth *o, struct oauth_state *s, struct arena *a,
		   struct err *e)
{
	switch (flow) {
	case FLOW_BROWSER:
		return browser(o, s, a, e);
	case FLOW_DEVICE:
		return device(o, s, a, e);
	case FLOW_GRANT:
		o->cfg.grant = S("client_credentials");
		o->cfg.client_id = S("gantry-1");
		o->client_secret = S("hush");
		return oauth_grant(o, s, a, NULL, e);
	default:
		s->issuer = S("https://as.example");
		s->token_endpoint = S("https://as.example/token");
		s->client_id = S("gantry-1");
		s->access = S("old");
		s->refresh = S("older");
		return oauth_refresh(o, s, a, NULL, e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const struct http_opt plain;
	str in = { (const char *)data, size }, first = str_cut(&in, '\n');
	unsigned char choice = first.n ? (unsigned char)first.p[0] : 0;
	struct oauth o = { .name = S("s"), .url = S(SERVER), .http = &plain };
	struct oauth_state s = { .server = S(SERVER) };
	struct err e = { 0 };

	if (url_parse(&o.server, &a, (str){ 0 }, o.url, &e) < 0)
		abort();
	answers = in;
	check_token(sign_in(choice % FLOWS, &o, &s, &a, &e), &s, &e);
	return 0;
}

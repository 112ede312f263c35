/*
 * Requests of signing in.  Whether the server is in the public Internet is found out by asking
 * it there first: then no address that its metadata names may lead anywhere else.
 */
#include "mcp/oauth.h"

#define CONNECT_MS 10000
#define TOTAL_MS 20000
#define ANSWER_MAX ((size_t)256 << 10)
#define HEADERS_MAX 4
#define WORD_MAX 40
#define FORM "application/x-www-form-urlencoded"

static int once(struct oauth *o, const struct http_req *req, struct arena *a,
		struct http_resp *resp, const struct cancel *c, struct err *e)
{
	SCOPED(http_return) struct http *h = http_borrow(o->pool);

	return http_do(h, req, a, resp, c, e);
}

/* Does a proxy connect for us, by its own rules? */
static bool proxied(const struct oauth *o, const struct url *u)
{
	const char *way = u->tls ? o->http->https_proxy : o->http->http_proxy;

	if (!way || !*way)
		way = o->http->all_proxy;
	return way && *way && !oauth_url_spared(str_of(o->http->no_proxy), u->host);
}

/* The owner wrote this address down, so the server does not choose it. */
static bool owned(const struct oauth *o, const struct url *u, struct arena *a)
{
	const str written[] = { o->url, o->cfg.issuer, o->cfg.assertion_exchange };
	str origin = oauth_url_origin(a, u);
	struct url own;

	for (size_t i = 0; i < COUNT(written); i++)
		if (written[i].n && url_parse(&own, a, (str){ 0 }, written[i], NULL) == OK &&
		    str_eq(oauth_url_origin(a, &own), origin))
			return true;
	return false;
}

/* Is the server itself at a public address?  Only an address says so, so it is asked. */
static int look(struct oauth *o, struct arena *a, const struct cancel *c, struct err *e)
{
	struct http_resp resp;
	struct http_req req = {
		.url = arena_cat(a, oauth_url_origin(a, &o->server), S("/")),
		.label = "/",
		.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.public_only = true,
	};
	int rc = OK;

	if (o->looked)
		return OK;
	if (proxied(o,
		    &o->server)) { /* it cannot be looked at; what is behind proxies is public */
		o->public = true;
	} else if (!oauth_url_loopback(&o->server)) {
		rc = once(o, &req, a, &resp, c, e);
		o->public = rc != E_DENIED;
	}
	o->looked = rc != E_CANCELED;
	return rc == E_CANCELED ? rc : OK;
}

int oauth_http(struct oauth *o, const struct oauth_ask *ask, struct arena *a,
	       struct http_resp *resp, const struct cancel *c, struct err *e)
{
	struct http_header headers[2 + HEADERS_MAX] = {
		{ S("Accept"), S("application/json") },
		{ S("Content-Type"), ask->type ? str_of(ask->type) : S(FORM) },
	};
	struct http_req req = {
		.url = ask->url->text,
		.label = ask->label,
		.headers = headers,
		.headers_n = ask->body.n ? 2 : 1,
		.body = ask->body,
		.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.body_max = ANSWER_MAX,
	};
	int rc;

	for (size_t i = 0; i < ask->n && i < HEADERS_MAX; i++)
		headers[req.headers_n++] = ask->headers[i];
	if (!owned(o, ask->url, a) && !proxied(o, ask->url)) {
		if ((rc = look(o, a, c, e)) < 0)
			return rc;
		req.public_only = o->public;
	}
	return once(o, &req, a, resp, c, e);
}

int oauth_get(struct oauth *o, str url, const char *what, struct arena *a, struct json **out,
	      const struct cancel *c, struct err *e)
{
	bool local = oauth_url_loopback(&o->server);
	struct http_resp resp;
	struct json *v;
	struct url u;
	struct oauth_ask ask = { .url = &u, .label = what };
	int rc = oauth_url_read(&u, a, url, local, what, e);

	if (rc < 0 || (rc = oauth_http(o, &ask, a, &resp, c, e)) < 0)
		return rc;
	if (resp.status >= 500)
		return err_set(e, E_PROTO, "%s: %.*s answered with status %d", what,
			       STRF(u.host), resp.status);
	if (resp.status != 200)
		return err_set(e, E_NOENT, "%s: %.*s answered with status %d%s", what,
			       STRF(u.host), resp.status,
			       resp.status / 100 == 3 ? " (redirects are not followed)" : "");
	if (json_read(&v, a, resp.body, NULL) < 0 || !json_is(v, JSON_OBJECT))
		return err_set(e, E_NOENT, "%s: what %.*s sent is no JSON object", what,
			       STRF(u.host));
	*out = v;
	return OK;
}

str oauth_word(struct arena *a, str s)
{
	str out = arena_dup(a, str_sub(s, 0, WORD_MAX));
	char *p = (char *)(uintptr_t)out.p;
	size_t n = 0;

	for (size_t i = 0; i < out.n; i++)
		if ((p[i] >= 'a' && p[i] <= 'z') || p[i] == '_')
			p[n++] = p[i];
	return str_sub(out, 0, n);
}

str oauth_error_word(struct arena *a, str body)
{
	struct json *v;

	return json_read(&v, a, body, NULL) == OK ? oauth_word(a, json_str(v, "error")) : S("");
}

bool oauth_offers(const struct json *list, const char *word)
{
	for (const struct json *v = list ? list->child : NULL; v; v = v->next)
		if (str_is(json_text(v), word))
			return true;
	return false;
}

bool oauth_scope_has(str list, str word)
{
	while (list.n)
		if (str_eq(str_cut(&list, ' '), word))
			return word.n > 0;
	return false;
}

str oauth_scope_join(struct arena *a, str list, str more)
{
	str out = list;

	while (more.n) {
		str word = str_cut(&more, ' ');

		if (word.n && !oauth_scope_has(out, word))
			out = arena_fmt(a, "%.*s%s%.*s", STRF(out), out.n ? " " : "",
					STRF(word));
	}
	return out;
}

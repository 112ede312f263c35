/*
 * Tokens that nobody has to be asked for: for the program itself (RFC 6749 4.4), for a workload
 * or a person that an assertion speaks of (RFC 7523, after an exchange by RFC 8693 where it is
 * an identity token), and the next one for a refresh token.
 */
#include "mcp/oauth.h"

#include "os/file.h"
#include "text/query.h"

#define BODY_MAX ((size_t)256 << 10)
#define ASSERTION_MAX ((size_t)64 << 10)
#define GRANT_BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define GRANT_EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define TOKEN_JAG "urn:ietf:params:oauth:token-type:id-jag"
#define TOKEN_ID "urn:ietf:params:oauth:token-type:id_token"

bool oauth_unattended(const struct oauth *o)
{
	return str_eq(o->cfg.grant, S("client_credentials")) ||
	       str_eq(o->cfg.grant, S("assertion"));
}

static int assertion_of(const struct oauth *o, struct arena *a, str *out, struct err *e)
{
	*out = o->assertion;
	if (o->cfg.assertion_file.n) {
		int rc = file_read(out, a, o->cfg.assertion_file.p, ASSERTION_MAX, e);

		if (rc < 0)
			return err_wrap(e, E_DENIED, "auth.assertion_file");
		*out = str_trim(*out);
	}
	if (!out->n)
		return err_set(e, E_DENIED,
			       "there is no assertion in what auth.assertion_env or "
			       "auth.assertion_file names");
	return OK;
}

/* An identity token becomes an assertion for this authorization server. */
static int exchange(struct oauth *o, const struct oauth_state *s, str scope, struct arena *a,
		    str *assertion, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, BODY_MAX);
	struct http_resp resp;
	struct json *v;
	struct url u;
	int rc = oauth_url_read(&u, a, o->cfg.assertion_exchange, true,
				"auth.assertion_exchange", e);

	if (rc < 0)
		return rc;
	query_add(&b, "grant_type", S(GRANT_EXCHANGE));
	query_add(&b, "requested_token_type", S(TOKEN_JAG));
	query_add(&b, "audience", s->issuer);
	query_add(&b, "resource", s->resource);
	query_add(&b, "subject_token", *assertion);
	query_add(&b, "subject_token_type", S(TOKEN_ID));
	if (scope.n)
		query_add(&b, "scope", scope);
	if (o->cfg.assertion_client.n)
		query_add(&b, "client_id", o->cfg.assertion_client);
	rc = oauth_http(
		o, &(struct oauth_ask){ .url = &u, .label = "exchange", .body = buf_str(&b) },
		a, &resp, c, e);
	if (rc < 0)
		return rc;
	if (resp.status != 200 || json_read(&v, a, resp.body, NULL) < 0 ||
	    !str_is(json_str(v, "issued_token_type"), TOKEN_JAG) ||
	    !json_str(v, "access_token").n)
		return err_set(e, E_DENIED,
			       "%.*s does not exchange the identity token: status %d",
			       STRF(u.host), resp.status);
	*assertion = json_str(v, "access_token");
	return OK;
}

static int members(struct oauth *o, const struct oauth_state *s, str scope, struct buf *b,
		   struct arena *a, const struct cancel *c, struct err *e)
{
	str assertion;
	int rc;

	if (str_eq(o->cfg.grant, S("client_credentials"))) {
		query_add(b, "grant_type", S("client_credentials"));
	} else {
		if ((rc = assertion_of(o, a, &assertion, e)) < 0 ||
		    (o->cfg.assertion_exchange.n &&
		     (rc = exchange(o, s, scope, a, &assertion, c, e)) < 0))
			return rc;
		query_add(b, "grant_type", S(GRANT_BEARER));
		query_add(b, "assertion", assertion);
	}
	if (scope.n)
		query_add(b, "scope", scope);
	query_add(b, "resource", s->resource);
	return OK;
}

int oauth_grant(struct oauth *o, struct oauth_state *s, struct arena *a, const struct cancel *c,
		struct err *e)
{
	struct buf b = buf_in(a, BODY_MAX);
	struct oauth_meta m;
	str scope;
	int rc = oauth_discover(o, s->wanted_metadata, a, &m, c, e);

	if (rc < 0 || (rc = oauth_client_choose(o, &m, s, a, c, e)) < 0)
		return rc;
	scope = oauth_scope_join(a, o->cfg.scopes, s->wanted_scope);
	if (!scope.n)
		scope = m.scopes;
	scope = oauth_scope_join(a, s->scope, scope);
	s->key = S("");
	if ((rc = members(o, s, scope, &b, a, c, e)) < 0 ||
	    (rc = oauth_token(o, s, buf_str(&b), scope, NULL, a, c, e)) < 0)
		return rc;
	s->wanted_scope = s->wanted_metadata = S("");
	s->wanted = 0;
	return OK;
}

int oauth_refresh(struct oauth *o, struct oauth_state *s, struct arena *a,
		  const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, BODY_MAX);
	struct cancel own;
	int rc = cancel_check(c, e);

	if (rc < 0 || (rc = cancel_init(&own, NULL, OAUTH_FINISH_MS, e)) < 0)
		return rc;
	query_add(&b, "grant_type", S("refresh_token"));
	query_add(&b, "refresh_token", s->refresh);
	query_add(&b, "resource", s->resource);
	rc = oauth_token(o, s, buf_str(&b), s->scope, NULL, a, &own, e);
	cancel_done(&own);
	if (rc == E_DENIED)
		s->access = s->refresh = S("");
	return rc;
}

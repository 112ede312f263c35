/*
 * Who we are to an authorization server.  What it gave us is kept with its issuer and never
 * shown to another one.
 */
#include "mcp/oauth.h"

#include "base/version.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/sign.h"
#include "text/base64.h"
#include "text/query.h"

#define BODY_MAX 8192
#define KEY_MAX ((size_t)64 << 10)
#define JWT_MS 300000
/* Nobody listens there: the browser shows an error, and the address holds the code. */
#define REDIRECT "http://127.0.0.1:33418/callback"
#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/* How a client that has a secret, or a key, proves who it is. */
static str method(const struct oauth *o, const struct oauth_meta *m, bool secret)
{
	if (o->cfg.key_file.n || o->cfg.key_env.n)
		return S("private_key_jwt");
	if (!secret)
		return S("none");
	/* RFC 8414: the first is the one where nothing is said. */
	if (!m->auth_methods || oauth_offers(m->auth_methods, "client_secret_basic"))
		return S("client_secret_basic");
	return oauth_offers(m->auth_methods, "client_secret_post") ? S("client_secret_post")
								   : S("client_secret_basic");
}

static int secret_of(const struct oauth *o, struct arena *a, str *out, struct err *e)
{
	*out = o->client_secret;
	if (!o->cfg.client_secret_file.n)
		return OK;
	int rc = file_read(out, a, o->cfg.client_secret_file.p, KEY_MAX, e);
	if (rc < 0)
		return err_wrap(e, E_DENIED, "auth.client_secret_file");
	*out = str_trim(*out);
	return OK;
}

/* What belonged to another issuer, or was given to another client, is of no use here. */
static void become(struct oauth_state *s, const struct oauth_meta *m, str id, str auth,
		   str redirect)
{
	bool same = str_eq(s->issuer, m->issuer) && str_eq(s->client_id, id);

	if (!same)
		s->access = s->type = s->refresh = s->scope = s->nonce = S("");
	s->issuer = m->issuer;
	s->resource = m->resource;
	s->token_endpoint = m->token_endpoint;
	s->client_id = id;
	s->client_auth = auth;
	s->client_redirect = redirect;
	s->client_until_ms = 0;
}

/* What we ask to be registered as. */
static str registration(const struct oauth_meta *m, str redirect, struct arena *a)
{
	struct buf b = buf_in(a, BODY_MAX);
	bool none = !m->auth_methods || oauth_offers(m->auth_methods, "none");
	bool post = oauth_offers(m->auth_methods, "client_secret_post");

	buf_add(&b, S("{"));
	buf_json_member(&b, "client_name", S("gantry"));
	buf_json_member(&b, "software_id", S("gantry"));
	buf_json_member(&b, "software_version", str_of(version_text()));
	buf_json_member(&b, "application_type",
			str_starts(redirect, S("https:")) ? S("web") : S("native"));
	buf_json_key(&b, "redirect_uris");
	buf_addc(&b, '[');
	buf_json(&b, redirect);
	buf_add(&b, S("],\"grant_types\":[\"authorization_code\",\"refresh_token\""));
	if (m->device_endpoint.n)
		buf_add(&b, S(",\"urn:ietf:params:oauth:grant-type:device_code\""));
	buf_add(&b, S("],\"response_types\":[\"code\"],"));
	buf_json_member(&b, "token_endpoint_auth_method",
			none   ? S("none")
			: post ? S("client_secret_post")
			       : S("client_secret_basic"));
	buf_add(&b, S("}"));
	return buf_str(&b);
}

static int enrol(struct oauth *o, const struct oauth_meta *m, struct oauth_state *s,
		 str redirect, struct arena *a, const struct cancel *c, struct err *e)
{
	struct http_resp resp;
	struct json *v;
	struct url u;
	int64_t until;
	str id, secret, auth;
	struct oauth_ask ask = { .url = &u,
				 .label = "registration",
				 .body = registration(m, redirect, a),
				 .type = "application/json" };
	int rc = oauth_url_read(&u, a, m->registration_endpoint, oauth_url_loopback(&o->server),
				"registration_endpoint", e);

	if (rc < 0 || (rc = oauth_http(o, &ask, a, &resp, c, e)) < 0)
		return rc;
	if ((resp.status != 200 && resp.status != 201) ||
	    json_read(&v, a, resp.body, NULL) < 0 || !(id = json_str(v, "client_id")).n)
		return err_set(e, E_DENIED,
			       "%.*s does not register gantry (status %d%s%.*s); register it "
			       "there yourself and set auth.client_id",
			       STRF(u.host), resp.status,
			       oauth_error_word(a, resp.body).n ? ", " : "",
			       STRF(oauth_error_word(a, resp.body)));
	secret = json_str(v, "client_secret");
	auth = json_str(v, "token_endpoint_auth_method");
	until = json_i64(v, "client_secret_expires_at", 0);
	if (!str_eq(auth, S("none")) && !str_eq(auth, S("client_secret_post")) &&
	    !str_eq(auth, S("client_secret_basic")))
		auth = method(o, m, secret.n > 0);
	become(s, m, id, auth, redirect);
	s->client_secret = secret;
	if (secret.n && until > 0 && until < INT64_MAX / 1000)
		s->client_until_ms = until * 1000;
	return OK;
}

int oauth_client_choose(struct oauth *o, const struct oauth_meta *m, struct oauth_state *s,
			struct arena *a, const struct cancel *c, struct err *e)
{
	str redirect = o->cfg.redirect_uri.n ? o->cfg.redirect_uri : S(REDIRECT), secret;
	int rc = secret_of(o, a, &secret, e);
	bool known = s->client_id.n && str_eq(s->issuer, m->issuer) &&
		     str_eq(s->client_redirect, redirect) &&
		     (!s->client_until_ms || s->client_until_ms > clock_now_ms());

	if (rc < 0)
		return rc;
	if (o->cfg.client_id.n) {
		become(s, m, o->cfg.client_id, method(o, m, secret.n > 0), redirect);
		s->client_secret = S(""); /* it stays where it is */
		return OK;
	}
	if (o->cfg.client_metadata.n && m->documents) {
		become(s, m, o->cfg.client_metadata, method(o, m, false), redirect);
		s->client_secret = S("");
		return OK;
	}
	if (known) {
		int64_t until = s->client_until_ms;

		become(s, m, s->client_id, s->client_auth, redirect);
		s->client_until_ms = until;
		return OK;
	}
	if (!m->registration_endpoint.n)
		return err_set(e, E_DENIED,
			       "its authorization server registers nobody by itself; register "
			       "gantry there (redirect %.*s) and set auth.client_id",
			       STRF(redirect));
	return enrol(o, m, s, redirect, a, c, e);
}

/* A statement about ourselves, signed (RFC 7523). */
static int assertion(struct oauth *o, const struct oauth_state *s, struct buf *body,
		     struct arena *a, struct err *e)
{
	SCOPED(sign_key_free) struct sign_key *k = NULL;
	struct buf claims = buf_in(a, BODY_MAX);
	char id[ID_LONG_LEN + 1];
	int64_t now = clock_now_ms() / 1000;
	str pem = o->key, jwt;
	int rc = o->cfg.key_file.n ? file_read(&pem, a, o->cfg.key_file.p, KEY_MAX, e) : OK;

	if (rc < 0 || (rc = sign_key_read(&k, pem, e)) < 0)
		return err_wrap(e, E_DENIED,
				o->cfg.key_file.n ? "auth.key_file" : "auth.key_env");
	id_long(id);
	buf_addc(&claims, '{');
	buf_json_member(&claims, "iss", s->client_id);
	buf_json_member(&claims, "sub", s->client_id);
	buf_json_member(&claims, "aud", s->issuer);
	buf_json_member(&claims, "jti", str_of(id));
	buf_json_member_i64(&claims, "iat", now);
	buf_json_member_i64(&claims, "exp", now + JWT_MS / 1000);
	buf_addc(&claims, '}');
	rc = sign_jws(k, arena_fmt(a, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", sign_alg(k)),
		      buf_str(&claims), a, &jwt, e);
	if (rc < 0)
		return rc;
	query_add(body, "client_id", s->client_id);
	query_add(body, "client_assertion_type", S(ASSERTION_TYPE));
	query_add(body, "client_assertion", jwt);
	return OK;
}

int oauth_client_sign(struct oauth *o, const struct oauth_state *s, struct buf *body,
		      struct http_header *headers, size_t *n, struct arena *a, struct err *e)
{
	struct buf pair = buf_in(a, KEY_MAX * 4);
	str secret = s->client_secret;
	int rc = OK;

	if (str_eq(s->client_auth, S("private_key_jwt")))
		return assertion(o, s, body, a, e);
	if (o->cfg.client_id.n)
		rc = secret_of(o, a, &secret, e);
	if (rc < 0)
		return rc;
	if (str_eq(s->client_auth, S("client_secret_basic"))) {
		query_encode(&pair, s->client_id);
		buf_addc(&pair, ':');
		query_encode(&pair, secret);
		headers[(*n)++] =
			(struct http_header){ S("Authorization"),
					      arena_cat(a, S("Basic "),
							base64_of(a, buf_str(&pair))) };
		return OK;
	}
	query_add(body, "client_id", s->client_id);
	if (str_eq(s->client_auth, S("client_secret_post")))
		query_add(body, "client_secret", secret);
	return OK;
}

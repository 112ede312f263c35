/*
 * The token endpoint, and proofs that a token is ours.
 */
#include "mcp/oauth.h"

#include "config/value.h"
#include "os/clock.h"
#include "os/sign.h"
#include "text/base64.h"
#include "text/query.h"
#include "text/sha256.h"

#define BODY_MAX ((size_t)256 << 10)
#define TOKEN_MAX ((size_t)64 << 10)
#define CLAIMS_MAX ((size_t)16 << 10)
#define LASTS_MAX_S (INT64_C(10) * 366 * 24 * 3600)

int oauth_proof(const struct oauth_state *s, const char *method, str url, str token, str nonce,
		struct arena *a, str *out, struct err *e)
{
	SCOPED(sign_key_free) struct sign_key *k = NULL;
	struct buf claims = buf_in(a, CLAIMS_MAX);
	unsigned char digest[SHA256_BYTES];
	char id[ID_LONG_LEN + 1];
	str jwk, target = str_cut(&url, '?');
	int rc = sign_key_read(&k, s->key, e);

	if (rc < 0 || (rc = sign_public(k, a, &jwk, e)) < 0)
		return rc;
	id_long(id);
	buf_addc(&claims, '{');
	buf_json_member(&claims, "jti", str_of(id));
	buf_json_member(&claims, "htm", str_of(method));
	buf_json_member(&claims, "htu", str_cut(&target, '#'));
	buf_json_member_i64(&claims, "iat", clock_now_ms() / 1000);
	if (token.n) {
		sha256(digest, token);
		buf_json_member(&claims, "ath",
				base64url_of(a, (str){ (const char *)digest, sizeof(digest) }));
	}
	if (nonce.n)
		buf_json_member(&claims, "nonce", nonce);
	buf_addc(&claims, '}');
	if (claims.full)
		return err_set(e, E_LIMIT, "the nonce of the server is too long");
	return sign_jws(k,
			arena_fmt(a, "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":%.*s}",
				  STRF(jwk)),
			buf_str(&claims), a, out, e);
}

static bool is_token(str s)
{
	return value_one_word(s) && s.n <= TOKEN_MAX;
}

/* A number, or one in a string. */
static int64_t lasts_s(const struct json *v)
{
	const struct json *x = json_get(v, "expires_in");
	int64_t s = json_i64(v, "expires_in", 0);

	if (json_is(x, JSON_STRING) && !str_i64(json_text(x), &s))
		s = 0;
	return s > 0 && s <= LASTS_MAX_S ? s : 0;
}

static int take(struct oauth_state *s, str body, str scope, struct arena *a, struct err *e)
{
	struct json *v;
	str type;
	int64_t lasts;

	if (json_read(&v, a, body, NULL) < 0 || !is_token(json_str(v, "access_token")))
		return err_set(e, E_PROTO, "the authorization server sent no token");
	type = json_str(v, "token_type");
	if (!str_ieq(type, S("Bearer")) && !(s->key.n && str_ieq(type, S("DPoP"))))
		return err_set(e, E_PROTO,
			       "the authorization server sent a token of a kind that nobody "
			       "asked for");
	s->access = json_str(v, "access_token");
	s->type = str_ieq(type, S("DPoP")) ? S("DPoP") : S("Bearer");
	/* A new one takes the place of the old one; without one that goes on. */
	if (is_token(json_str(v, "refresh_token")))
		s->refresh = json_str(v, "refresh_token");
	s->scope = json_get(v, "scope") ? json_str(v, "scope") : scope;
	lasts = lasts_s(v);
	s->renewed_ms = clock_now_ms();
	s->until_ms = lasts ? clock_now_ms() + lasts * 1000 : 0;
	return OK;
}

/* They forgot the client that they had registered: the next sign-in registers another one. */
static bool forgotten(const struct oauth *o, struct oauth_state *s, str word)
{
	if (o->cfg.client_id.n || str_eq(s->client_id, o->cfg.client_metadata) ||
	    !(str_eq(word, S("invalid_client")) || str_eq(word, S("unauthorized_client"))))
		return false;
	s->client_id = s->client_secret = S("");
	return true;
}

static int refused(const struct oauth *o, struct oauth_state *s, const struct http_resp *resp,
		   const struct url *u, bool *slower, struct arena *a, struct err *e)
{
	str word = oauth_error_word(a, resp->body);
	bool gone = str_eq(word, S("invalid_grant")) || str_eq(word, S("expired_token")) ||
		    str_eq(word, S("access_denied")) || forgotten(o, s, word);

	if (str_eq(word, S("slow_down")) && slower)
		*slower = true;
	if (str_eq(word, S("slow_down")) || str_eq(word, S("authorization_pending")))
		return err_set(e, E_BUSY, "nobody has answered there yet");
	return err_set(e,
		       gone                  ? E_DENIED
		       : resp->status >= 500 ? E_IO
					     : E_PROTO,
		       "%.*s gives no token: status %d%s%.*s", STRF(u->host), resp->status,
		       word.n ? ", " : "", STRF(word));
}

/* One request with a nonce, "" none. */
static int once(struct oauth *o, struct oauth_state *s, const struct oauth_ask *form, str nonce,
		struct arena *a, struct http_resp *resp, const struct cancel *c, struct err *e)
{
	struct buf body = buf_in(a, BODY_MAX);
	struct http_header headers[3];
	struct oauth_ask ask = *form;
	int rc;

	ask.headers = headers;
	buf_add(&body, form->body);
	if ((rc = oauth_client_sign(o, s, &body, headers, &ask.n, a, e)) < 0)
		return rc;
	if (s->key.n) {
		headers[ask.n].name = S("DPoP");
		if ((rc = oauth_proof(s, "POST", form->url->text, S(""), nonce, a,
				      &headers[ask.n].value, e)) < 0)
			return rc;
		ask.n++;
	}
	if (body.full)
		return err_set(e, E_LIMIT, "a request for a token over %zu bytes", BODY_MAX);
	ask.body = buf_str(&body);
	return oauth_http(o, &ask, a, resp, c, e);
}

int oauth_token(struct oauth *o, struct oauth_state *s, str members, str scope, bool *slower,
		struct arena *a, const struct cancel *c, struct err *e)
{
	struct http_resp resp;
	struct url u;
	struct oauth_ask ask = { .url = &u, .label = "token", .body = members };
	int rc = oauth_url_read(&u, a, s->token_endpoint, oauth_url_loopback(&o->server),
				"token_endpoint", e);

	if (rc == OK)
		rc = once(o, s, &ask, S(""), a, &resp, c, e);
	if (rc == OK && s->key.n && resp.status / 100 == 4 &&
	    str_eq(oauth_error_word(a, resp.body), S("use_dpop_nonce")))
		rc = once(o, s, &ask, http_header(&resp, "dpop-nonce"), a, &resp, c, e);
	if (rc < 0)
		return rc;
	if (resp.status != 200)
		return refused(o, s, &resp, &u, slower, a, e);
	return take(s, resp.body, scope, a, e);
}

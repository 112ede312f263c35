/*
 * A person signs in: in a browser, whose last address is pasted back (RFC 6749 4.1, 7636,
 * 9207), or on another device (RFC 8628).  Nothing listens; nothing is opened.
 */
#include "mcp/oauth.h"

#include "os/clock.h"
#include "os/sign.h"
#include "text/base64.h"
#include "text/query.h"

#define PENDING_MS INT64_C(900000)
#define BODY_MAX ((size_t)64 << 10)
#define VERIFIER_BYTES 32
#define PAUSE_S 5
#define PAUSE_MAX_S 60
#define DEVICE_MAX_S 3600
#define CODE_SHOWN 64
#define GRANT_DEVICE "urn:ietf:params:oauth:grant-type:device_code"

static void clear(struct oauth_state *s)
{
	s->pending_state = s->pending_verifier = s->pending_scope = s->pending_device = S("");
	s->pending_until_ms = s->pending_iss = s->pending_pause_ms = 0;
}

/* Signed in: what was asked for is there. */
static void settle(struct oauth_state *s)
{
	clear(s);
	s->wanted_scope = s->wanted_metadata = S("");
	s->wanted = 0;
}

/* All that both ways need: who lets in, who we are, which key, which scopes. */
static int prepare(struct oauth *o, struct oauth_state *s, struct arena *a,
		   struct oauth_meta *m, const struct cancel *c, struct err *e)
{
	str scope;
	int rc = oauth_discover(o, s->wanted_metadata, a, m, c, e);

	if (rc < 0 || (rc = oauth_client_choose(o, m, s, a, c, e)) < 0)
		return rc;
	clear(s);
	if (!s->wanted_proof && !m->proofs)
		s->key = S("");
	else if (!s->key.n && (rc = sign_key_make(&s->key, a, e)) < 0)
		return rc;
	scope = oauth_scope_join(a, o->cfg.scopes, s->wanted_scope);
	if (!scope.n)
		scope = m->scopes;
	scope = oauth_scope_join(a, s->scope, scope); /* none that was granted is lost */
	if (m->offline)
		scope = oauth_scope_join(a, scope, S("offline_access"));
	s->pending_scope = scope;
	return OK;
}

int oauth_begin(struct oauth *o, struct oauth_state *s, struct arena *a, str *link,
		const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, BODY_MAX);
	unsigned char bytes[VERIFIER_BYTES];
	char state[ID_LONG_LEN + 1];
	struct oauth_meta m;
	int rc = prepare(o, s, a, &m, c, e);

	if (rc < 0)
		return rc;
	if (!m.authorization_endpoint.n)
		return err_set(e, E_DENIED,
			       "its authorization server offers no sign-in by browser that is "
			       "safe (PKCE with S256)%s",
			       m.device_endpoint.n ? "; sign in with --device" : "");
	random_bytes(bytes, sizeof(bytes));
	id_long(state);
	s->pending_state = arena_dup(a, str_of(state));
	s->pending_verifier = base64url_of(a, (str){ (const char *)bytes, sizeof(bytes) });
	s->pending_until_ms = clock_now_ms() + PENDING_MS;
	s->pending_iss = m.iss;
	buf_add(&b, m.authorization_endpoint);
	if (!str_has(m.authorization_endpoint, S("?")))
		buf_addc(&b, '?');
	query_add(&b, "response_type", S("code"));
	query_add(&b, "client_id", s->client_id);
	query_add(&b, "redirect_uri", s->client_redirect);
	query_add(&b, "state", s->pending_state);
	query_add(&b, "code_challenge", oauth_url_challenge(a, s->pending_verifier));
	query_add(&b, "code_challenge_method", S("S256"));
	if (s->pending_scope.n)
		query_add(&b, "scope", s->pending_scope);
	query_add(&b, "resource", s->resource);
	if (b.full)
		return err_set(e, E_LIMIT, "the link is over %zu bytes", BODY_MAX);
	*link = buf_str(&b);
	return OK;
}

/* Is it the answer to our question, from whom we asked? */
static int check_paste(const struct oauth_state *s, const struct oauth_paste *p,
		       struct arena *a, struct err *e)
{
	if (p->has_state && !str_eq(p->state, s->pending_state))
		return err_set(e, E_DENIED,
			       "that belongs to another sign-in, so it was not used; take the "
			       "newest link");
	if (p->has_iss && !str_eq(p->iss, s->issuer))
		return err_set(e, E_DENIED,
			       "that comes from another authorization server than the one you "
			       "were sent to, so it was not used");
	if (!p->has_iss && s->pending_iss)
		return err_set(e, E_DENIED,
			       "who sent that cannot be told, so it was not used; paste the "
			       "whole address");
	if (p->error.n)
		return err_set(e, E_DENIED, "the authorization server refused: %.*s",
			       STRF(oauth_word(a, p->error)));
	return OK;
}

int oauth_finish(struct oauth *o, struct oauth_state *s, str paste, struct arena *a,
		 const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, BODY_MAX);
	struct oauth_paste p;
	int rc;

	if (!s->pending_state.n || s->pending_until_ms < clock_now_ms())
		return err_set(e, E_NOENT, "no sign-in is under way; begin anew");
	if ((rc = oauth_paste_read(&p, a, paste, s->client_redirect, e)) < 0 ||
	    (rc = check_paste(s, &p, a, e)) < 0)
		return rc;
	query_add(&b, "grant_type", S("authorization_code"));
	query_add(&b, "code", p.code);
	query_add(&b, "redirect_uri", s->client_redirect);
	query_add(&b, "code_verifier", s->pending_verifier);
	query_add(&b, "resource", s->resource);
	rc = oauth_token(o, s, buf_str(&b), s->pending_scope, NULL, a, c, e);
	if (rc == OK)
		settle(s);
	else if (rc == E_DENIED || rc == E_PROTO)
		clear(s); /* the code was used up */
	return rc;
}

/* Printable and short, else "". */
static str plain(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || (unsigned char)s.p[i] >= 0x7F)
			return S("");
	return s.n <= CODE_SHOWN ? s : S("");
}

static int64_t within(int64_t x, int64_t def, int64_t max)
{
	return x < 1 ? def : x > max ? max : x;
}

static int device_take(struct oauth *o, struct oauth_state *s, const struct json *v,
		       struct oauth_device *out, struct arena *a, struct err *e)
{
	str whole = json_str(v, "verification_uri_complete");
	str page = whole.n ? whole : json_str(v, "verification_uri");
	struct url u;
	int rc = oauth_url_read(&u, a, page, oauth_url_loopback(&o->server), "verification_uri",
				e);

	if (rc < 0)
		return rc;
	out->page = u.text;
	out->whole = whole.n > 0;
	out->code = plain(json_str(v, "user_code"));
	s->pending_device = json_str(v, "device_code");
	if (!out->code.n || !s->pending_device.n)
		return err_set(e, E_PROTO, "the authorization server gave no code");
	s->pending_until_ms = clock_now_ms() + 1000 * within(json_i64(v, "expires_in", 0),
							     DEVICE_MAX_S / 4, DEVICE_MAX_S);
	s->pending_pause_ms =
		1000 * within(json_i64(v, "interval", PAUSE_S), PAUSE_S, PAUSE_MAX_S);
	return OK;
}

int oauth_device_begin(struct oauth *o, struct oauth_state *s, struct arena *a,
		       struct oauth_device *out, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, BODY_MAX);
	struct http_header headers[2];
	struct http_resp resp;
	struct oauth_meta m;
	struct json *v;
	struct url u;
	struct oauth_ask ask = { .url = &u, .label = "device", .headers = headers };
	int rc = prepare(o, s, a, &m, c, e);

	if (rc < 0)
		return rc;
	if (!m.device_endpoint.n)
		return err_set(e, E_DENIED,
			       "its authorization server has no sign-in by device; sign in "
			       "without --device");
	if (s->pending_scope.n)
		query_add(&b, "scope", s->pending_scope);
	query_add(&b, "resource", s->resource);
	rc = oauth_url_read(&u, a, m.device_endpoint, oauth_url_loopback(&o->server),
			    "device_authorization_endpoint", e);
	if (rc < 0 || (rc = oauth_client_sign(o, s, &b, headers, &ask.n, a, e)) < 0)
		return rc;
	ask.body = buf_str(&b);
	if ((rc = oauth_http(o, &ask, a, &resp, c, e)) < 0)
		return rc;
	if (resp.status != 200 || json_read(&v, a, resp.body, NULL) < 0)
		return err_set(e, E_PROTO, "%.*s gives no code: status %d%s%.*s", STRF(u.host),
			       resp.status, oauth_error_word(a, resp.body).n ? ", " : "",
			       STRF(oauth_error_word(a, resp.body)));
	return device_take(o, s, v, out, a, e);
}

int oauth_device_poll(struct oauth *o, struct oauth_state *s, struct arena *a,
		      const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, BODY_MAX);
	bool slower = false;
	int rc;

	if (!s->pending_device.n)
		return err_set(e, E_NOENT, "no sign-in is under way; begin anew");
	if (s->pending_until_ms < clock_now_ms()) {
		clear(s);
		return err_set(e, E_NOENT, "the time for typing the code is over; begin anew");
	}
	query_add(&b, "grant_type", S(GRANT_DEVICE));
	query_add(&b, "device_code", s->pending_device);
	query_add(&b, "resource", s->resource);
	rc = oauth_token(o, s, buf_str(&b), s->pending_scope, &slower, a, c, e);
	if (slower)
		s->pending_pause_ms += 1000 * PAUSE_S;
	if (rc == OK)
		settle(s);
	else if (rc == E_DENIED || rc == E_PROTO)
		clear(s);
	return rc;
}

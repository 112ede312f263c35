/*
 * Discovery: the resource names its authorization servers (RFC 9728), the first of them says of
 * itself what is needed (RFC 8414, OpenID).  Servers of 2025-03-26 name none: then it is the
 * server's own origin, with the addresses of old where it says nothing.
 *
 * Nothing here is believed because it was found: the resource has to cover the server,
 * the issuer has to be the one it was looked for under, and every address is judged
 * before it is kept.
 */
#include "mcp/oauth.h"

#define SCOPES_MAX 4096
#define ISSUER_MAX 2048

static str scopes_of(const struct json *list, struct arena *a)
{
	struct buf b = buf_in(a, SCOPES_MAX);

	for (const struct json *v = json_is(list, JSON_ARRAY) ? list->child : NULL; v;
	     v = v->next)
		if (json_text(v).n)
			buf_fmt(&b, "%s%.*s", b.n ? " " : "", STRF(json_text(v)));
	return buf_str(&b);
}

/* An endpoint of v, judged; "" when it has none. */
static int endpoint(const struct oauth *o, const struct json *v, const char *name, str *out,
		    struct arena *a, struct err *e)
{
	str text = json_str(v, name);
	struct url u;
	int rc;

	*out = S("");
	if (!text.n)
		return OK;
	rc = oauth_url_read(&u, a, text, oauth_url_loopback(&o->server), name, e);
	if (rc == OK)
		*out = u.text;
	return rc;
}

/* The metadata of the resource.  E_NOENT: there are none. */
static int resource(struct oauth *o, str wanted, struct arena *a, struct json **out,
		    const struct cancel *c, struct err *e)
{
	str places[OAUTH_PLACES];
	size_t n = oauth_url_resource_places(a, &o->server, places);
	int rc = E_NOENT;

	if (wanted.n &&
	    (rc = oauth_get(o, wanted, "resource metadata", a, out, c, e)) != E_NOENT)
		return rc;
	for (size_t i = 0; i < n && rc == E_NOENT; i++)
		rc = oauth_get(o, places[i], "resource metadata", a, out, c, e);
	return rc;
}

static int check_resource(const struct oauth *o, const struct json *v, struct oauth_meta *out,
			  str *issuer, struct arena *a, struct err *e)
{
	const struct json *issuers = json_get(v, "authorization_servers");

	out->resource = json_str(v, "resource");
	if (!oauth_url_covers(a, out->resource, &o->server))
		return err_set(e, E_DENIED,
			       "its metadata are those of another resource, so nobody is asked "
			       "to sign in");
	out->scopes = scopes_of(json_get(v, "scopes_supported"), a);
	out->proofs = json_bool(v, "dpop_bound_access_tokens_required", false);
	*issuer = json_text(json_at(issuers, 0));
	if (!issuer->n || issuer->n > ISSUER_MAX)
		return err_set(e, E_PROTO, "its metadata name no authorization server");
	return OK;
}

/* In 2025-03-26 the server's origin spoke for an issuer anywhere below it. */
static bool same_origin(str issuer, const struct url *u, struct arena *a)
{
	struct url i;

	return url_parse(&i, a, (str){ 0 }, issuer, NULL) == OK && !i.user &&
	       str_eq(oauth_url_origin(a, &i), oauth_url_origin(a, u));
}

static int take(struct oauth *o, const struct json *v, struct oauth_meta *out, struct arena *a,
		struct err *e)
{
	const struct json *methods = json_get(v, "code_challenge_methods_supported");
	int rc;

	if ((rc = endpoint(o, v, "authorization_endpoint", &out->authorization_endpoint, a,
			   e)) < 0 ||
	    (rc = endpoint(o, v, "token_endpoint", &out->token_endpoint, a, e)) < 0 ||
	    (rc = endpoint(o, v, "registration_endpoint", &out->registration_endpoint, a, e)) <
		    0 ||
	    (rc = endpoint(o, v, "device_authorization_endpoint", &out->device_endpoint, a,
			   e)) < 0)
		return rc;
	if (!out->token_endpoint.n)
		return err_set(e, E_PROTO, "its authorization server names no token endpoint");
	/* Without it a code could be used by whoever sees it. */
	if (out->authorization_endpoint.n && !oauth_offers(methods, "S256"))
		out->authorization_endpoint = S("");
	out->auth_methods = json_get(v, "token_endpoint_auth_methods_supported");
	out->offline = oauth_offers(json_get(v, "scopes_supported"), "offline_access");
	out->iss = json_bool(v, "authorization_response_iss_parameter_supported", false);
	out->documents = json_bool(v, "client_id_metadata_document_supported", false);
	return OK;
}

/* The metadata of the issuer.  E_NOENT: there are none. */
static int issuer_meta(struct oauth *o, str issuer, bool old, struct arena *a,
		       struct oauth_meta *out, const struct cancel *c, struct err *e)
{
	str places[OAUTH_PLACES];
	struct json *v = NULL;
	struct url u;
	size_t n;
	int rc = oauth_url_read(&u, a, issuer, oauth_url_loopback(&o->server),
				"its authorization server", e);

	if (rc < 0)
		return rc;
	n = oauth_url_issuer_places(a, &u, places);
	rc = E_NOENT;
	for (size_t i = 0; i < n && rc == E_NOENT; i++)
		rc = oauth_get(o, places[i], "authorization server metadata", a, &v, c, e);
	if (rc < 0)
		return rc;
	out->issuer = json_str(v, "issuer");
	if (!oauth_url_same_issuer(out->issuer, issuer) &&
	    !(old && same_origin(out->issuer, &u, a)))
		return err_set(e, E_DENIED,
			       "the metadata of its authorization server are those of another "
			       "one, so nobody is asked to sign in");
	return take(o, v, out, a, e);
}

/* Servers of 2025-03-26 without metadata. */
static void of_old(const struct oauth *o, struct arena *a, struct oauth_meta *out)
{
	str origin = oauth_url_origin(a, &o->server);

	out->issuer = origin;
	out->authorization_endpoint = arena_cat(a, origin, S("/authorize"));
	out->token_endpoint = arena_cat(a, origin, S("/token"));
	out->registration_endpoint = arena_cat(a, origin, S("/register"));
}

int oauth_discover(struct oauth *o, str wanted, struct arena *a, struct oauth_meta *out,
		   const struct cancel *c, struct err *e)
{
	struct oauth_meta m = { 0 };
	struct json *v = NULL;
	str issuer = oauth_url_origin(a, &o->server);
	int rc = resource(o, wanted, a, &v, c, e);
	bool old = rc == E_NOENT;

	if (rc == OK)
		rc = check_resource(o, v, &m, &issuer, a, e);
	else if (old)
		rc = OK;
	if (rc < 0)
		return rc;
	if (old)
		m.resource = oauth_url_resource(a, &o->server);
	rc = issuer_meta(o, issuer, old, a, &m, c, e);
	if (rc == E_NOENT && old && o->open)
		return err_set(e, E_NOENT, "it asks nobody to sign in");
	if (rc == E_NOENT && old) {
		of_old(o, a, &m);
		rc = OK;
	}
	if (rc < 0)
		return rc;
	if (o->cfg.issuer.n && !oauth_url_same_issuer(o->cfg.issuer, m.issuer))
		return err_set(e, E_DENIED,
			       "it is signed in to at another place than \"auth.issuer\" says, "
			       "so nothing was sent there");
	*out = m;
	return OK;
}

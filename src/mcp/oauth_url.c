/*
 * Addresses.  Everything that is compared was taken apart by the parser that connects.
 */
#include "mcp/oauth_url.h"

#include "text/base64.h"
#include "text/query.h"
#include "text/sha256.h"

#define PASTE_MAX 16384

bool oauth_url_loopback(const struct url *u)
{
	str host = u->host;
	int64_t part;

	if (str_eq(host, S("localhost")) || str_eq(host, S("[::1]")))
		return true;
	if (!str_eq(str_cut(&host, '.'), S("127")))
		return false;
	for (int i = 0; i < 3; i++)
		if (!str_i64(str_cut(&host, '.'), &part) || part < 0 || part > 255)
			return false;
	return host.n == 0;
}

int oauth_url_read(struct url *out, struct arena *a, str text, bool local, const char *what,
		   struct err *e)
{
	struct url u;
	int rc = url_parse(&u, a, (str){ 0 }, text, e);

	if (rc < 0)
		return err_wrap(e, rc, "%s", what);
	if (u.user)
		return err_set(e, E_DENIED, "%s has a name or password in it", what);
	if (!u.tls && !(local && oauth_url_loopback(&u)))
		return err_set(e, E_DENIED, "%s is not https", what);
	*out = u;
	return OK;
}

str oauth_url_origin(struct arena *a, const struct url *u)
{
	if (u->port == (u->tls ? 443 : 80))
		return arena_fmt(a, "%.*s://%.*s", STRF(u->scheme), STRF(u->host));
	return arena_fmt(a, "%.*s://%.*s:%lld", STRF(u->scheme), STRF(u->host),
			 (long long)u->port);
}

static str path_of(const struct url *u)
{
	return str_eq(u->path, S("/")) ? S("") : u->path;
}

str oauth_url_resource(struct arena *a, const struct url *u)
{
	return arena_fmt(a, "%.*s%.*s%s%.*s", STRF(oauth_url_origin(a, u)), STRF(path_of(u)),
			 u->query.n ? "?" : "", STRF(u->query));
}

size_t oauth_url_resource_places(struct arena *a, const struct url *server,
				 str out[OAUTH_PLACES])
{
	str origin = oauth_url_origin(a, server), path = path_of(server);
	size_t n = 0;

	if (str_ends(path, S("/")))
		path.n--;
	if (path.n)
		out[n++] = arena_fmt(a, "%.*s/.well-known/oauth-protected-resource%.*s",
				     STRF(origin), STRF(path));
	out[n++] = arena_fmt(a, "%.*s/.well-known/oauth-protected-resource", STRF(origin));
	return n;
}

size_t oauth_url_issuer_places(struct arena *a, const struct url *issuer, str out[OAUTH_PLACES])
{
	str origin = oauth_url_origin(a, issuer), path = path_of(issuer);
	size_t n = 0;

	if (str_ends(path, S("/")))
		path.n--;
	out[n++] = arena_fmt(a, "%.*s/.well-known/oauth-authorization-server%.*s", STRF(origin),
			     STRF(path));
	out[n++] = arena_fmt(a, "%.*s/.well-known/openid-configuration%.*s", STRF(origin),
			     STRF(path));
	if (path.n)
		out[n++] = arena_fmt(a, "%.*s%.*s/.well-known/openid-configuration",
				     STRF(origin), STRF(path));
	return n;
}

bool oauth_url_same_issuer(str x, str y)
{
	if (str_ends(x, S("/")))
		x.n--;
	if (str_ends(y, S("/")))
		y.n--;
	return x.n > 0 && str_eq(x, y);
}

/* One word of NO_PROXY; host without brackets. */
static bool spares(str word, str host)
{
	bool address = str_has(host, S(":")) ||
		       (host.n && host.p[host.n - 1] >= '0' && host.p[host.n - 1] <= '9');

	if (str_eq(word, S("*")) || (address && str_has(word, S("/"))))
		return true;
	if (str_starts(word, S(".")))
		word = str_sub(word, 1, word.n);
	if (str_starts(word, S("[")) && str_ends(word, S("]")))
		word = str_sub(word, 1, word.n - 1);
	if (!word.n || host.n < word.n ||
	    !str_ieq(str_sub(host, host.n - word.n, host.n), word))
		return false;
	return host.n == word.n || host.p[host.n - word.n - 1] == '.';
}

bool oauth_url_spared(str no_proxy, str host)
{
	if (str_starts(host, S("[")) && str_ends(host, S("]")))
		host = str_sub(host, 1, host.n - 1);
	while (no_proxy.n) {
		str words = str_cut(&no_proxy, ',');

		while (words.n)
			if (spares(str_trim(str_cut(&words, ' ')), host))
				return true;
	}
	return false;
}

bool oauth_url_covers(struct arena *a, str resource, const struct url *server)
{
	struct url u;
	str path;

	if (url_parse(&u, a, (str){ 0 }, resource, NULL) < 0 || u.user ||
	    !str_eq(oauth_url_origin(a, &u), oauth_url_origin(a, server)))
		return false;
	path = u.path;
	if (str_ends(path, S("/")))
		path.n--;
	return str_starts(server->path, path) &&
	       (server->path.n == path.n || server->path.p[path.n] == '/');
}

str oauth_url_challenge(struct arena *a, str verifier)
{
	unsigned char digest[SHA256_BYTES];

	sha256(digest, verifier);
	return base64url_of(a, (str){ (const char *)digest, sizeof(digest) });
}

static bool is_code(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= 0x20 || (unsigned char)s.p[i] >= 0x7F)
			return false;
	return s.n > 0;
}

static void read_query(struct oauth_paste *out, struct arena *a, str query)
{
	query = str_cut(&query, '#');
	(void)query_get(a, query, "code", &out->code);
	(void)query_get(a, query, "error", &out->error);
	out->has_state = query_get(a, query, "state", &out->state);
	out->has_iss = query_get(a, query, "iss", &out->iss);
}

int oauth_paste_read(struct oauth_paste *out, struct arena *a, str text, str redirect,
		     struct err *e)
{
	struct oauth_paste p = { 0 };
	str rest = str_trim(text);

	if (rest.n > PASTE_MAX)
		return err_set(e, E_INVAL, "that is too long for a code or an address");
	if (str_has(rest, S("://"))) {
		if (!str_starts(rest, redirect) || rest.n <= redirect.n ||
		    rest.p[redirect.n] != '?')
			return err_set(e, E_INVAL,
				       "that is not the address you were sent to: it begins "
				       "with %.*s?",
				       STRF(redirect));
		read_query(&p, a, str_sub(rest, redirect.n + 1, rest.n));
	} else if (str_has(rest, S("code=")) || str_has(rest, S("error="))) {
		read_query(&p, a, str_starts(rest, S("?")) ? str_sub(rest, 1, rest.n) : rest);
	} else {
		p.has_state = str_has(rest, S("#"));
		p.code = arena_dup(a, str_cut(&rest, '#'));
		p.state = arena_dup(a, rest);
	}
	if (!p.error.n && !is_code(p.code))
		return err_set(e, E_INVAL, "there is no code in that; paste the whole address");
	*out = p;
	return OK;
}

/*
 * URLs, by libcurl's parser.
 */
#include "os/url.h"

#include "base/memory.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

/* A part of the URL, "" when it has none. */
static str part(CURLU *u, CURLUPart which, unsigned flags, struct arena *a)
{
	char *s = NULL;
	str out = S("");

	if (curl_url_get(u, which, &s, flags) == CURLUE_OK)
		out = arena_dup(a, str_of(s));
	curl_free(s);
	return out;
}

static int fill(struct url *out, CURLU *u, struct arena *a, struct err *e)
{
	struct url url = { 0 };

	url.scheme = arena_lower(a, part(u, CURLUPART_SCHEME, 0, a));
	if (!str_eq(url.scheme, S("http")) && !str_eq(url.scheme, S("https")))
		return err_set(e, E_INVAL,
			       "not an http or https URL: unsupported scheme \"%.*s\"",
			       STRF(str_sub(url.scheme, 0, 32)));
	url.host = arena_lower(a, part(u, CURLUPART_HOST, 0, a));
	if (!url.host.n)
		return err_set(e, E_INVAL, "not an http or https URL: it has no host");
	url.path = part(u, CURLUPART_PATH, 0, a);
	url.query = part(u, CURLUPART_QUERY, 0, a);
	url.tls = str_eq(url.scheme, S("https"));
	if (!str_i64(part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT, a), &url.port))
		return err_set(e, E_INVAL, "not an http or https URL: the port is none");
	url.user = part(u, CURLUPART_USER, 0, a).n || part(u, CURLUPART_PASSWORD, 0, a).n;
	if (curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK)
		memory_out("a URL");
	url.text = part(u, CURLUPART_URL, 0, a);
	*out = url;
	return OK;
}

int url_parse(struct url *out, struct arena *a, str base, str ref, struct err *e)
{
	const unsigned flags = CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME;
	CURLU *u = curl_url();
	int rc = OK;

	if (!u)
		memory_out("a URL");
	if ((ref.n && memchr(ref.p, 0, ref.n)) ||
	    (base.n && curl_url_set(u, CURLUPART_URL, arena_cstr(a, base), flags)) ||
	    curl_url_set(u, CURLUPART_URL, arena_cstr(a, ref), flags))
		rc = err_set(e, E_INVAL, "not an http or https URL");
	else
		rc = fill(out, u, a, e);
	curl_url_cleanup(u);
	return rc;
}

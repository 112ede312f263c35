/*
 * The rows about what is outside: can the model's endpoint be reached at all (names, proxy, TLS),
 * does it take the key, does it know the model.  One request is made, GET <base>/models.
 */
#include "cli/doctor.h"

#include "base/date.h"
#include "os/clock.h"
#include "os/url.h"
#include "text/json.h"

#include <stdio.h>

#define CONNECT_MS 10000
#define TOTAL_MS 15000

/* The base URL may be that of the chat itself, and may have a query. */
static str models_url(struct doctor *d)
{
	str query = d->cfg->model.base_url, path = str_cut(&query, '?');
	str tail = S("/chat/completions");

	while (str_ends(path, S("/")))
		path.n--;
	if (str_ends(path, tail))
		path.n -= tail.n;
	return arena_fmt(d->a, "%.*s/models%s%.*s", STRF(path), query.n ? "?" : "",
			 STRF(query));
}

/* The proxy that will be used, without its password; "" none. */
static str proxy_of(struct doctor *d, bool tls)
{
	const struct http_cfg *h = &d->cfg->http;
	str text = tls ? h->https_proxy : h->http_proxy;
	struct url u;

	text = text.n ? text : h->all_proxy;
	if (!text.n)
		return text;
	return url_parse(&u, d->a, S(""), text, NULL) == OK ? u.host : S("as configured");
}

static void say_unreachable(struct doctor *d, int rc, bool proxied, const struct err *e)
{
	const char *advice =
		rc == E_PROTO ? "check the certificate (SSL_CERT_FILE for a CA of your own), "
				"the proxy and the clock"
		: rc == E_TIMEOUT ? "check the network, the firewall and the proxy"
		: proxied         ? "check the proxy, the name's DNS and that the server runs"
			  : "check the URL, DNS (/etc/resolv.conf) and that the server runs";

	doctor_say(d, DOCTOR_FAIL, advice, "%s", e->msg);
}

void doctor_network(struct doctor *d)
{
	const struct model_cfg *m = &d->cfg->model;
	const struct http_header auth = { S("Authorization"),
					  arena_fmt(d->a, "Bearer %.*s", STRF(m->api_key)) };
	const struct http_req req = { .url = models_url(d),
				      .label = "/models",
				      .headers = &auth,
				      .headers_n = m->api_key.n ? 1 : 0,
				      .connect_ms = CONNECT_MS,
				      .total_ms = TOTAL_MS };
	struct http *h = http_borrow(d->pool);
	struct err e = { 0 };
	struct url u = { 0 };

	if (url_parse(&u, d->a, S(""), req.url, &e) < 0) {
		http_return(&h);
		doctor_say(d, DOCTOR_FAIL, "set the base URL of the endpoint", "%s", e.msg);
		return;
	}
	str proxy = proxy_of(d, u.tls);
	int64_t began = clock_mono_ms();
	int rc = http_do(h, &req, d->a, &d->models, d->c, &e);
	http_return(&h);
	if (rc < 0 && cancel_reason(d->c) != CANCEL_USER)
		say_unreachable(d, rc, proxy.n > 0, &e);
	if (rc < 0)
		return;
	d->reachable = true;
	d->date_local_ms = clock_now_ms();
	(void)date_parse_http(str_trim(http_header(&d->models, "date")), &d->date_at_ms);
	doctor_say(d, DOCTOR_OK, NULL, "%.*s answers %s in %lld ms%s%.*s", STRF(u.host),
		   u.tls ? "over TLS" : "without TLS", (long long)(clock_mono_ms() - began),
		   proxy.n ? ", through the proxy " : "", STRF(proxy));
}

void doctor_key(struct doctor *d)
{
	const struct model_cfg *m = &d->cfg->model;

	if (!m->api_key.n && !m->no_key)
		doctor_say(d, DOCTOR_FAIL,
			   "put it where the configuration says, or set openai.no_key for an "
			   "endpoint without keys",
			   "the API key is not set");
	else if (!m->api_key.n)
		doctor_say(d, DOCTOR_OK, NULL, "the endpoint needs none (openai.no_key)");
	else if (d->models.status == 401 || d->models.status == 403)
		doctor_say(d, DOCTOR_FAIL, "make a new key at the provider, and put it there",
			   "the endpoint refuses the API key (HTTP %d)", d->models.status);
	else
		doctor_say(d, DOCTOR_OK, NULL, "the API key is set (%zu characters)",
			   m->api_key.n);
	if (d->models.status == 401 || d->models.status == 403)
		d->refused = true;
}

/* Some name their models "models/x" or "vendor/x". */
static bool is_model(str id, str name)
{
	return str_eq(id, name) ||
	       (str_ends(id, name) && id.n > name.n && id.p[id.n - name.n - 1] == '/');
}

void doctor_model(struct doctor *d)
{
	str name = d->cfg->model.name;
	struct json *list = NULL;
	bool found = false;

	if (!d->reachable) {
		doctor_say(d, DOCTOR_SKIP, NULL, "the endpoint does not answer");
		return;
	}
	if (d->models.status != 200 || json_read(&list, d->a, d->models.body, NULL) < 0 ||
	    !json_is(json_get(list, "data"), JSON_ARRAY)) {
		doctor_say(d, DOCTOR_INFO, NULL, "%.*s; the endpoint lists no models (HTTP %d)",
			   STRF(name), d->models.status);
		return;
	}
	for (const struct json *m = json_get(list, "data")->child; m && !found; m = m->next)
		found = is_model(json_str(m, "id"), name);
	if (found)
		doctor_say(d, DOCTOR_OK, NULL, "%.*s is one of the %zu that are offered",
			   STRF(name), json_get(list, "data")->n);
	else
		doctor_say(
			d, DOCTOR_WARN,
			"check its name (LLM_MODEL, agent.model) against the provider's list",
			"%.*s is not among the %zu models that the endpoint lists", STRF(name),
			json_get(list, "data")->n);
}

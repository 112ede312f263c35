/*
 * The rows about what is outside: can the model's endpoint be reached at all (names, proxy, TLS),
 * does it take the key, does it know the model.  One request is made, GET <base>/models.
 */
#include "cli/doctor.h"

#include "base/date.h"
#include "os/clock.h"
#include "os/url.h"

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

static void say_unreachable(struct doctor *d, bool proxied)
{
	const struct model_list *l = &d->models;
	const char *advice =
		l->end == MODEL_LIST_TLS ? "check the certificate, the proxy and the clock"
		: l->rc == E_TIMEOUT     ? "check the network, the firewall and the proxy"
		: proxied ? "check the proxy, the name's DNS and that the server runs"
			  : "check the URL, DNS (/etc/resolv.conf) and that the server runs";

	doctor_say(d, DOCTOR_FAIL, advice, "%.*s", STRF(l->why));
}

void doctor_network(struct doctor *d)
{
	const struct model_cfg *m = &d->cfg->model;
	struct err e = { 0 };
	struct url u = { 0 };

	if (url_parse(&u, d->a, S(""), m->base_url, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, "set the base URL of the endpoint", "%s", e.msg);
		return;
	}
	str proxy = proxy_of(d, u.tls);
	int64_t began = clock_mono_ms();
	model_list_get(&d->models, d->pool, m->base_url, m->api_key, d->a, d->c);
	if (d->models.rc < 0 && cancel_reason(d->c) != CANCEL_USER)
		say_unreachable(d, proxy.n > 0);
	if (d->models.rc < 0)
		return;
	d->reachable = true;
	d->date_local_ms = clock_now_ms();
	(void)date_parse_http(str_trim(d->models.date), &d->date_at_ms);
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
		d->refused = S("the endpoint refuses the key");
}

/* Some name their models "models/x" or "vendor/x". */
static bool is_model(str id, str name)
{
	/* The list is without "models/". */
	if (str_starts(name, S("models/")))
		name = str_sub(name, 7, name.n);
	return str_eq(id, name) ||
	       (str_ends(id, name) && id.n > name.n && id.p[id.n - name.n - 1] == '/');
}

void doctor_model(struct doctor *d)
{
	str name = d->cfg->model.name;
	const struct model_list *l = &d->models;
	bool found = false;

	if (!d->reachable) {
		doctor_say(d, DOCTOR_SKIP, NULL, "the endpoint does not answer");
		return;
	}
	if (l->end != MODEL_LIST_OK) {
		doctor_say(d, DOCTOR_INFO, NULL, "%.*s; the endpoint lists no models (HTTP %d)",
			   STRF(name), l->status);
		return;
	}
	for (size_t i = 0; i < l->n && !found; i++)
		found = is_model(l->names[i], name);
	if (found)
		doctor_say(d, DOCTOR_OK, NULL, "%.*s is one of the %zu that are offered",
			   STRF(name), l->n);
	else
		doctor_say(
			d, DOCTOR_WARN,
			"check its name (LLM_MODEL, agent.model) against the provider's list",
			"%.*s is not among the %zu models that the endpoint lists", STRF(name),
			l->n);
}

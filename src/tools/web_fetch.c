/*
 * web_fetch: a page of the web as text.  Redirects are followed here, each hop checked anew:
 * only addresses of the public Internet are connected to, and the owner's own hosts where
 * the configuration lists them.  Whatever comes is bounded before it is kept, made valid
 * UTF-8, and fenced as what it is: content, not instructions.
 */
#include "tools/web_page.h"

#include "os/clock.h"
#include "os/http.h"
#include "os/url.h"
#include "text/text.h"

#define REDIRECTS_MAX 3
#define CONNECT_MS 10000
#define SHOWN 200
#define ACCEPT "text/html,application/xhtml+xml,text/plain,application/json;q=0.9,*/*;q=0.5"

struct fetch {
	const struct tool_env *env;
	struct arena *a;
	struct url url;
	struct http_resp resp;
	struct web_page page;
	struct buf body;
	int64_t until_ms;
	size_t max;
};

/* Is it one of the owner's own, "nas.lan", "nas.lan:8080" or "*.lan"? */
static bool own_host(const struct web_cfg *cfg, const struct url *url, struct arena *a)
{
	str host = url->host;

	if (str_ends(host, S(".")))
		host.n--;
	for (size_t i = 0; i < cfg->allow_hosts.n; i++) {
		str own = arena_lower(a, str_trim(cfg->allow_hosts.v[i]));
		str port = arena_fmt(a, ":%lld", (long long)url->port);
		if (str_ends(own, port))
			own = str_sub(own, 0, own.n - port.n);
		if (str_eq(own, host) ||
		    (str_starts(own, S("*.")) && own.n > 2 && host.n > own.n - 1 &&
		     str_ends(host, str_sub(own, 1, own.n))))
			return true;
	}
	return false;
}

/* One chunk of the body.  What is no text is not waited for. */
static int take(void *arg, str chunk, struct err *e)
{
	struct fetch *f = arg;
	size_t room = f->max - f->body.n;

	if (!web_page_readable(http_header(&f->resp, "content-type")))
		return err_set(e, E_DENIED, "binary");
	buf_add(&f->body, str_sub(chunk, 0, room));
	if (chunk.n <= room)
		return 1;
	f->page.note = arena_fmt(f->a, "only the first %zu bytes were read", f->max).p;
	return err_set(e, E_LIMIT, "enough");
}

/* One hop.  Text that came before a failure is kept, and told of. */
static int hop(struct fetch *f, const struct cancel *c, struct err *e)
{
	static const struct http_header accept = { { "Accept", 6 },
						   { ACCEPT, sizeof ACCEPT - 1 } };
	SCOPED(http_return) struct http *h = http_borrow(f->env->web);
	int64_t left = f->until_ms - clock_mono_ms();
	struct http_req req = {
		.url = f->url.text,
		.label = "GET",
		.headers = &accept,
		.headers_n = 1,
		.connect_ms = CONNECT_MS,
		.total_ms = left > 1 ? left : 1,
		.public_only = !own_host(f->env->opt->web, &f->url, f->a),
		.body_max = SIZE_MAX / 2,
		.sink = take,
		.arg = f,
	};
	struct err why = { 0 };

	buf_reset(&f->body);
	int rc = http_do(h, &req, f->a, &f->resp, c, &why);
	int ended = rc < 0 ? cancel_check(c, e) : OK;
	if (ended < 0)
		return ended;
	if (rc == OK || (rc == E_LIMIT && f->page.note))
		return OK;
	if (f->body.n == 0 || f->resp.status == 0)
		return err_set(e, rc, "%s", why.msg);
	f->page.note = arena_fmt(f->a, "the page is not complete: %s", why.msg).p;
	return OK;
}

/* A redirect: *again, and the URL is the next one. */
static int redirect(struct fetch *f, int hops, bool *again, struct err *e)
{
	str to = http_header(&f->resp, "location");
	int status = f->resp.status, rc;
	struct url next;

	*again = false;
	if (!to.n ||
	    (status != 301 && status != 302 && status != 303 && status != 307 && status != 308))
		return OK;
	if (hops == REDIRECTS_MAX)
		return err_set(e, E_LIMIT, "stopped after %d redirects", REDIRECTS_MAX);
	if ((rc = url_parse(&next, f->a, f->url.text, to, e)) < 0)
		return err_wrap(e, rc, "redirected");
	if (next.user)
		return err_set(e, E_INVAL, "redirected to a URL with a name or password in it");
	f->url = next;
	*again = true;
	return OK;
}

static int follow(struct fetch *f, const struct cancel *c, struct err *e)
{
	bool again = true;
	int rc = OK;

	for (int hops = 0; again && rc == OK; hops++) {
		rc = hop(f, c, e);
		if (rc == OK)
			rc = redirect(f, hops, &again, e);
	}
	return rc;
}

static int show(struct fetch *f, int64_t offset, struct tool_result *out)
{
	const struct limits_cfg *limits = f->env->opt->limits;
	str type = http_header(&f->resp, "content-type");
	struct web_page *p = &f->page;
	struct err why = { 0 };

	p->url = f->url.text;
	p->status = f->resp.status;
	p->type = type;
	p->body = f->body.n ? buf_str(&f->body) : f->resp.body;
	p->offset = offset;
	p->show_max = limits ? limits->tool_result_max_chars : 0;
	if (!web_page_readable(type))
		return tool_fail(out, f->a, "%.*s is binary (%.*s); only text can be read",
				 STRF(text_line(f->a, f->url.text, SHOWN)),
				 STRF(text_line(f->a, type, 80)));
	if (web_page_text(p, f->a, &out->text, &why) < 0)
		return tool_fail(out, f->a, "%.*s: %s",
				 STRF(text_line(f->a, f->url.text, SHOWN)), why.msg);
	out->truncated = p->cut;
	out->failed = f->resp.status >= 400;
	return OK;
}

/* The URL as it was asked for; a failure is told in *out. */
static bool start(struct fetch *f, str asked, struct tool_result *out)
{
	const struct tools_opt *opt = f->env->opt;
	struct err why = { 0 };

	if (url_parse(&f->url, f->a, S(""), str_trim(asked), &why) < 0)
		(void)tool_fail(out, f->a, "%s", why.msg);
	else if (f->url.user)
		(void)tool_fail(out, f->a,
				"URLs with a name or password in them are not "
				"fetched");
	else if (!str_eq(text_redact_values(f->a, asked, opt->secrets, opt->secrets_n), asked))
		(void)tool_fail(out, f->a, "this URL would give away a secret");
	else
		return true;
	return false;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	const struct web_cfg *cfg = env->opt->web;
	struct fetch f = {
		.env = env,
		.a = a,
		.max = (size_t)cfg->max_bytes,
		.until_ms = clock_mono_ms() + cfg->timeout_ms,
	};
	struct err why = { 0 };
	int64_t offset;

	f.body = buf_in(a, f.max);
	if (!json_is(json_get(args, "url"), JSON_STRING))
		return tool_fail(out, a, "url is missing; it must be text");
	if (!tool_arg_i64(args, "offset", 0, &offset) || offset < 0)
		return tool_fail(out, a, "offset must be a number of bytes, 0 or more");
	if (!start(&f, json_str(args, "url"), out))
		return OK;
	int rc = follow(&f, c, &why);
	if (rc < 0 && cancel_check(c, e) < 0)
		return cancel_check(c, e);
	if (rc < 0 && f.resp.status != 0 && why.code == E_DENIED &&
	    !web_page_readable(http_header(&f.resp, "content-type")))
		rc = OK; /* said by show() */
	return rc < 0 ? tool_fail(out, a, "%s", why.msg) : show(&f, offset, out);
}

static bool enabled(const struct tools_opt *opt)
{
	return opt->web && opt->web->enabled;
}

const struct tool tool_web_fetch = {
	.name = "web_fetch",
	.title = "Read a web page",
	.description = "Fetch a page or a text document from the public web (GET) and read it "
		       "as text. Long ones come in pieces: the end of the text says at which "
		       "offset to continue.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"url\":{\"type\":\"string\",\"description\":\"http or https URL\"},"
		  "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Bytes of "
		  "the text to skip\"}},"
		  "\"required\":[\"url\"],\"additionalProperties\":false}",
	.safe = true,
	.enabled = enabled,
	.own_time = true,
	.run = run,
};

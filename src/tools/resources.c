/*
 * mcp_resources: what the servers have to read beside their tools, and being woken when some of it
 * changes.  Nothing is kept of the lists: a server is asked each time, one page at a time.
 */
#include "tools/resources.h"

#include "mcp/catalog.h"
#include "store/resource.h"
#include "text/text.h"

#include <string.h>

#define SHOWN_MAX 100 /* entries at a time; a server's page may have more */
#define TEXT_MAX 60000
#define WATCHES_MAX 100
#define WATCHES_EACH 8 /* of a server */
#define URI_MAX 2000

bool resources_enabled(const struct tools_opt *opt)
{
	return opt->resources && opt->host;
}

/* ---- servers ------------------------------------------------------------------------ */

static int no_server(const struct mcp_server_status *v, size_t n, str given, struct arena *a,
		     struct err *e)
{
	struct buf b = buf_in(a, 120);

	for (size_t i = 0; i < n; i++)
		if (v[i].caps.resources)
			buf_fmt(&b, "%s%.*s", b.n ? ", " : "", STRF(v[i].name));
	if (!b.n)
		return err_set(e, E_NOENT, "no server has resources now");
	if (!given.n)
		return err_set(e, E_NOENT, "say which server: %.*s", STRF(buf_str(&b)));
	return err_set(e, E_NOENT, "there is no server \"%.*s\"; with resources: %.*s",
		       STRF(text_line(a, given, 60)), STRF(buf_str(&b)));
}

int resources_server(const struct tool_env *env, str given, struct arena *a, str *name,
		     struct err *e)
{
	struct mcp_server_status *v;
	struct mcp_catalog catalog;
	size_t n, able = 0;

	mcp_host_status(env->opt->host, a, &v, &n);
	for (size_t i = 0; i < n; i++) {
		if (given.n ? !str_eq(v[i].name, given) : !v[i].caps.resources)
			continue;
		*name = v[i].name;
		able++;
	}
	if (able == 1)
		return OK;
	mcp_host_catalog(env->opt->host, a, &catalog);
	if (given.n && mcp_catalog_owner(&catalog, given, name))
		return OK;
	return no_server(v, n, given, a, e);
}

int resources_ask(const struct tool_env *env, str server, const char *method, str members,
		  struct arena *a, const struct json **result, const struct cancel *c,
		  struct err *e)
{
	const struct mcp_request q = {
		.server = server,
		.method = method,
		.params = arena_fmt(a, "{%.*s}", STRF(members)),
		.timeout_ms = RESOURCE_TIMEOUT_MS,
	};
	struct err why = { 0 };
	int rc = mcp_host_request(env->opt->host, &q, a, result, c, &why);

	if (rc < 0 && cancel_reason(c) != CANCEL_NONE)
		return cancel_check(c, e);
	if (rc == E_CANCELED || rc == E_TIMEOUT)
		rc = E_IO; /* the server's own doing */
	return rc < 0 ? err_set(e, rc, "%s", why.msg) : OK;
}

/* ---- lists -------------------------------------------------------------------------- */

struct page {
	const char *method, *list, *uri; /* keys of the answer */
	str server;
	size_t skip; /* entries of the page that were shown */
	str cursor; /* the server's, "" the first page */
};

static void add_entry(struct buf *b, const struct json *r, const char *uri, struct arena *a)
{
	str title = json_str(r, "title").n ? json_str(r, "title") : json_str(r, "name");
	str about = json_str(r, "description"), mime = json_str(r, "mimeType");
	int64_t size = json_i64(r, "size", -1);

	buf_fmt(b, "- %.*s", STRF(text_line(a, json_str(r, uri), URI_MAX)));
	if (title.n)
		buf_fmt(b, "  %.*s", STRF(text_line(a, title, 100)));
	if (mime.n)
		buf_fmt(b, "  (%.*s)", STRF(text_line(a, mime, 60)));
	if (size >= 0)
		buf_fmt(b, "  %lld bytes", (long long)size);
	if (about.n)
		buf_fmt(b, ": %.*s", STRF(text_line(a, about, 200)));
	buf_addc(b, '\n');
}

static int add_page(const struct tool_env *env, const struct page *p, struct buf *b,
		    struct arena *a, const struct cancel *c, struct err *e)
{
	struct buf members = buf_in(a, URI_MAX + 100);
	const struct json *result;
	size_t i = 0, shown = 0;
	int rc;

	if (p->cursor.n)
		buf_json_member(&members, "cursor", p->cursor);
	rc = resources_ask(env, p->server, p->method, buf_str(&members), a, &result, c, e);
	if (rc < 0)
		return rc;
	const struct json *list = json_get(result, p->list);
	str next = json_str(result, "nextCursor");
	for (const struct json *r = json_at(list, 0); r && shown < SHOWN_MAX; r = r->next) {
		if (i++ < p->skip)
			continue;
		add_entry(b, r, p->uri, a);
		shown++;
	}
	if (!shown)
		buf_add(b, S("none\n"));
	if (list && i < list->n)
		buf_fmt(b, "more: server %.*s, cursor %zu:%.*s\n", STRF(p->server), i,
			STRF(p->cursor));
	else if (next.n && next.n <= URI_MAX)
		buf_fmt(b, "more: server %.*s, cursor 0:%.*s\n", STRF(p->server), STRF(next));
	return OK;
}

/* "skip:cursor" */
static bool read_cursor(str given, struct page *p)
{
	str rest = given;
	int64_t skip = 0;

	if (!given.n)
		return true;
	if (!str_i64(str_cut(&rest, ':'), &skip) || skip < 0)
		return false;
	p->skip = (size_t)skip;
	p->cursor = rest;
	return true;
}

static int list(const struct tool_env *env, const struct json *args, struct page *p,
		struct arena *a, struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, TEXT_MAX);
	struct mcp_server_status *v;
	str given = str_trim(json_str(args, "server"));
	struct err why = { 0 };
	size_t n, asked = 0;
	int rc;

	if (!read_cursor(json_str(args, "cursor"), p))
		return tool_fail(out, a, "cursor must be one that a list ended with");
	if (given.n || json_str(args, "cursor").n) {
		if ((rc = resources_server(env, given, a, &p->server, &why)) == OK)
			rc = add_page(env, p, &b, a, c, &why);
		if (rc == E_CANCELED || rc == E_TIMEOUT)
			return err_set(e, rc, "%s", why.msg);
		if (rc < 0)
			return tool_fail(out, a, "%s", why.msg);
		out->text = buf_str(&b);
		return OK;
	}
	mcp_host_status(env->opt->host, a, &v, &n);
	for (size_t i = 0; i < n; i++) {
		if (!v[i].caps.resources)
			continue;
		p->server = v[i].name;
		buf_fmt(&b, "server %.*s:\n", STRF(p->server));
		rc = add_page(env, p, &b, a, c, &why);
		if (rc == E_CANCELED || rc == E_TIMEOUT)
			return err_set(e, rc, "%s", why.msg);
		if (rc < 0)
			buf_fmt(&b, "error: %s\n", why.msg);
		asked++;
	}
	out->text =
		b.full  ? arena_cat(a, buf_str(&b), S("\nmore than fits here: name a server"))
		: asked ? buf_str(&b)
			: S("no server has resources now");
	return OK;
}

/* ---- subscriptions ------------------------------------------------------------------ */

struct watching {
	struct resource_watch watch;
	bool off;
	struct arena *a;
};

static int watch_effect(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	struct watching *x = arg;
	int rc = x->off ? store_resource_remove(tx, &x->watch, e)
			: store_resource_add(tx, &x->watch, WATCHES_MAX, WATCHES_EACH, e);

	if (rc == E_LIMIT || rc == E_NOENT)
		return tool_fail(out, x->a, "%s", e->msg);
	return rc;
}

/* Does another chat want to hear of it? */
static bool shared(const struct tool_env *env, const struct resource_watch *w, struct arena *a)
{
	struct resource_watch *v;
	size_t n, same = 0;

	if (store_resource_list(env->opt->store, S(""), S(""), a, &v, &n, NULL) < 0)
		return true;
	for (size_t i = 0; i < n; i++)
		same += str_eq(v[i].server, w->server) && str_eq(v[i].uri, w->uri);
	return same > 1;
}

static int watch(const struct tool_env *env, const struct json *args, bool off, struct arena *a,
		 struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct watching *x = NEW(a, struct watching);
	struct buf members = buf_in(a, 4 * URI_MAX);
	str uri = str_trim(json_str(args, "uri")), server;
	const struct json *result;
	struct err why = { 0 };
	int rc;

	if (!env->opt->store || !tools_in_a_chat(env))
		return tool_fail(out, a, "there is no chat here that news could go to");
	if (!uri.n || uri.n > URI_MAX)
		return tool_fail(out, a, "uri must have 1 to %d bytes", URI_MAX);
	if ((rc = resources_server(env, str_trim(json_str(args, "server")), a, &server, &why)) <
	    0)
		return tool_fail(out, a, "%s", why.msg);
	*x = (struct watching){
		.watch = { .channel = arena_dup(a, env->ctx->channel),
			   .address = arena_dup(a, env->ctx->address),
			   .sender = arena_dup(a, env->ctx->requester),
			   .server = server,
			   .uri = uri },
		.off = off,
		.a = a,
	};
	buf_json_member(&members, "uri", uri);
	if (!off || !shared(env, &x->watch, a))
		rc = resources_ask(env, server,
				   off ? "resources/unsubscribe" : "resources/subscribe",
				   buf_str(&members), a, &result, c, &why);
	if (rc == E_CANCELED || rc == E_TIMEOUT)
		return err_set(e, rc, "%s", why.msg);
	if (rc < 0 && !off) /* a server that is gone must not keep its subscriptions */
		return tool_fail(out, a, "%s", why.msg);
	*out = (struct tool_result){
		.text = off ? S("unsubscribed")
			    : S("subscribed: you are woken when its server says that it "
				"changed, at most once a minute for all that you "
				"subscribe to there"),
		.effect = watch_effect,
		.effect_arg = x,
	};
	return OK;
}

static int watched(const struct tool_env *env, struct arena *a, struct tool_result *out,
		   struct err *e)
{
	struct buf b = buf_in(a, TEXT_MAX);
	struct resource_watch *v;
	size_t n;
	int rc;

	if (!env->opt->store || !tools_in_a_chat(env))
		return tool_fail(out, a, "there is no chat here");
	rc = store_resource_list(env->opt->store, env->ctx->channel, env->ctx->address, a, &v,
				 &n, e);
	for (size_t i = 0; rc == OK && i < n; i++)
		buf_fmt(&b, "server %.*s: %.*s\n", STRF(v[i].server), STRF(v[i].uri));
	if (rc == OK)
		out->text = n ? buf_str(&b) : S("this chat has no subscriptions");
	return rc;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	str action = str_trim(json_str(args, "action"));
	struct page resources = { "resources/list", "resources", "uri", { 0 }, 0, { 0 } };
	struct page templates = {
		"resources/templates/list", "resourceTemplates", "uriTemplate", { 0 }, 0, { 0 }
	};

	if (!action.n || str_is(action, "list"))
		return list(env, args, &resources, a, out, c, e);
	if (str_is(action, "templates"))
		return list(env, args, &templates, a, out, c, e);
	if (str_is(action, "subscribe") || str_is(action, "unsubscribe"))
		return watch(env, args, str_is(action, "unsubscribe"), a, out, c, e);
	if (str_is(action, "subscriptions"))
		return watched(env, a, out, e);
	return tool_fail(out, a,
			 "action must be list, templates, subscribe, unsubscribe or "
			 "subscriptions");
}

const struct tool tool_mcp_resources = {
	.name = "mcp_resources",
	.title = "Resources of tool servers",
	.description =
		"What tool servers have to read beside their tools: list (the default) gives "
		"the "
		"URIs of resources for mcp_read_resource, templates gives URIs with {places} "
		"to "
		"fill in. subscribe wakes you in this chat when the resource at uri changes; "
		"unsubscribe ends that, subscriptions lists it. cursor goes on with a list.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"action\":{\"type\":\"string\",\"enum\":[\"list\",\"templates\","
		  "\"subscribe\",\"unsubscribe\",\"subscriptions\"]},"
		  "\"server\":{\"type\":\"string\",\"description\":\"of the tools "
		  "SERVER__...; default all\"},"
		  "\"cursor\":{\"type\":\"string\"},\"uri\":{\"type\":\"string\"}},"
		  "\"additionalProperties\":false}",
	.safe = true, /* it reads, and its effect is one commit with its result */
	.enabled = resources_enabled,
	.run = run,
};

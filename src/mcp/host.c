/*
 * The set of servers.  One lock guards what is known about them and the catalogue; it is held
 * for looks and copies only.  The servers' threads report here, callers look here and then
 * wait with the calls of their one server.
 */
#include "mcp/host.h"

#include "config/confine.h"
#include "mcp/catalog.h"
#include "mcp/child.h"
#include "mcp/names.h"
#include "mcp/server.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/thread.h"
#include "os/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_MS 600000
#define PATH_BYTES 4096

struct mcp_host {
	struct arena a; /* owns this */
	struct mcp_host_opt opt;
	char cwd[PATH_BYTES];
	struct bell gate; /* rung as long as no server is in its first handshake */
	struct bell left; /* a call ended */
	pthread_mutex_t lock;
	/* Under the lock: */
	struct mcp_server *servers;
	size_t starting;
	struct mcp_limit limit; /* of a call; call_ms where the manifest has none */
	struct arena catalog_arena;
	struct mcp_catalog catalog;
};

static void lock(struct mcp_host *h)
{
	(void)pthread_mutex_lock(&h->lock);
}

static void unlock(struct mcp_host *h)
{
	(void)pthread_mutex_unlock(&h->lock);
}

/* Build the catalogue anew; true when it changed.  Under the lock. */
static bool rebuild(struct mcp_host *h)
{
	struct arena fresh = { 0 };
	struct mcp_source *v;
	uint64_t was = h->catalog.rev;
	size_t n = 0, i = 0;

	for (struct mcp_server *s = h->servers; s; s = s->next)
		n++;
	v = NEWN(&fresh, struct mcp_source, n);
	for (struct mcp_server *s = h->servers; s; s = s->next)
		v[i++] = (struct mcp_source){ .cfg = &s->cfg, .listing = &s->known.listing };
	mcp_catalog_build(&fresh, v, n, &h->catalog);
	i = 0;
	for (struct mcp_server *s = h->servers; s; s = s->next, i++) {
		s->known.published = v[i].published;
		s->known.tokens = v[i].tokens;
	}
	arena_free(&h->catalog_arena);
	h->catalog_arena = fresh;
	return h->catalog.rev != was;
}

/* The first handshake of s is over, one way or the other.  Under the lock. */
static void first_over(struct mcp_host *h, struct mcp_server *s)
{
	if (!s->known.first)
		return;
	s->known.first = false;
	if (--h->starting == 0)
		bell_ring(&h->gate);
}

static void on_start(void *arg, struct mcp_server *s)
{
	struct mcp_host *h = arg;

	lock(h);
	s->known.lives++;
	unlock(h);
}

static void on_end(void *arg, struct mcp_server *s, const struct mcp_ended *ended, bool soon,
		   int64_t retry_ms)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_host *h = arg;
	enum mcp_state state = soon ? MCP_STARTING : MCP_FAILED;
	bool news;

	lock(h);
	/* A server that fails again as before is named once. */
	news = ended->was_ready || s->known.state != state ||
	       strcmp(s->known.note, ended->why) != 0;
	if (s->known.state != state)
		s->known.since_ms = clock_now_ms();
	s->known.state = state;
	(void)snprintf(s->known.note, sizeof(s->known.note), "%s", ended->why);
	first_over(h, s);
	unlock(h);
	if (news)
		log_warn("mcp.failed", "server=%.*s reason=%.*s retry_ms=%lld",
			 STRF(s->link.label), STRF(log_q(&a, str_of(ended->why))),
			 (long long)retry_ms);
}

/* Hand the list out to be kept, when it is not the one that is kept already.  kept is
 * written by this server's thread only. */
static void keep_listing(struct mcp_host *h, struct mcp_server *s, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	uint64_t hash = str_hash(STR_HASH, text);
	struct err e = { 0 };

	if (!h->opt.save_tools || hash == s->known.kept)
		return;
	if (h->opt.save_tools(h->opt.arg, s->cfg.name, text, &e) < 0)
		log_warn("mcp.tools", "server=%.*s note=\"the list is not kept\" reason=%.*s",
			 STRF(s->link.label), STRF(log_q(&a, str_of(e.msg))));
	else
		s->known.kept = hash;
}

static void on_tools(void *arg, struct mcp_server *s, const struct mcp_session *session,
		     struct mcp_listing *listing)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_peer *peer = &session->peer;
	struct mcp_host *h = arg;
	str text = mcp_server_kept(s, session, listing, &a);
	str prefix = s->cfg.tools_prefix.n ? s->cfg.tools_prefix : s->cfg.name;
	struct mcp_known now;
	bool changed, news;

	mcp_server_warn(s, listing);
	lock(h);
	mcp_listing_done(&s->known.listing);
	s->known.listing = *listing;
	*listing = (struct mcp_listing){ 0 };
	if (s->known.state != MCP_READY)
		s->known.since_ms = clock_now_ms();
	s->known.state = MCP_READY;
	(void)snprintf(s->known.note, sizeof(s->known.note), "%s%s%s", peer->server,
		       peer->server[0] ? ", " : "", peer->revision);
	s->known.peer = *peer;
	changed = rebuild(h);
	first_over(h, s);
	news = s->known.listed_life != s->known.lives;
	s->known.listed_life = s->known.lives;
	now = s->known;
	unlock(h);
	log_info(news ? "mcp.connected" : "mcp.tools",
		 "server=%.*s tools_listed=%zu tools_published=%zu prefix=%.*s est_tokens=%lld "
		 "revision=%s",
		 STRF(s->link.label), now.listing.n, now.published, STRF(prefix),
		 (long long)now.tokens, peer->revision);
	keep_listing(h, s, text);
	if (changed && h->opt.on_change)
		h->opt.on_change(h->opt.arg);
}

static void on_notice(void *arg, struct mcp_server *s, str method, const struct json *params)
{
	const struct mcp_host *h = arg;

	if (h->opt.on_notice)
		h->opt.on_notice(h->opt.arg, s->cfg.name, method, params);
}

/* The list of the last run, so that a server that is late is listed nevertheless. */
static void load_listing(struct mcp_host *h, struct mcp_server *s)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct json *v;
	str text;

	if (!h->opt.load_tools)
		return;
	text = h->opt.load_tools(h->opt.arg, s->cfg.name, &a);
	if (!text.n)
		return;
	if (json_read(&v, &a, text, &e) < 0 || mcp_listing_add(&s->known.listing, v, &e) < 0) {
		mcp_listing_done(&s->known.listing);
		log_warn("mcp.tools", "server=%.*s note=\"the kept list is bad\" reason=%.*s",
			 STRF(s->link.label), STRF(log_q(&a, str_of(e.msg))));
		return;
	}
	s->known.kept = str_hash(STR_HASH, text);
	mcp_server_recall(s, v);
}

static int make_server(struct mcp_host *h, const struct config *config,
		       const struct mcp_server_cfg *cfg, struct mcp_server **out, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_server_opt opt = {
		.cfg = cfg,
		.env = mcp_child_env(&a, config, h->opt.env, cfg),
		.cwd = mcp_child_cwd(&a, h->cwd, cfg),
		.config = config,
		.vars = h->opt.env,
		.root = h->opt.roots,
		.offer = h->opt.offer,
		.on_start = on_start,
		.on_end = on_end,
		.on_tools = on_tools,
		.on_notice = on_notice,
		.arg = h,
	};
	int rc = mcp_server_new(out, &opt, e);

	if (rc < 0)
		return rc;
	(*out)->known.first = true;
	(*out)->known.since_ms = clock_now_ms();
	load_listing(h, *out);
	return OK;
}

static void free_list(struct mcp_server *list)
{
	for (struct mcp_server *next; list; list = next) {
		next = list->next;
		mcp_server_free(list);
	}
}

/* Servers for those of the manifest that are not there yet, without threads. */
static int make_missing(struct mcp_host *h, const struct config *config,
			const struct mcp_manifest *m, struct mcp_server **list, struct err *e)
{
	int rc;

	*list = NULL;
	for (size_t i = 0; i < m->n; i++) {
		struct mcp_server *s;

		for (s = h->servers; s && !mcp_server_keeps(s, &m->servers[i]);)
			s = s->next;
		if (s)
			continue;
		if ((rc = make_server(h, config, &m->servers[i], &s, e)) < 0) {
			free_list(*list);
			return rc;
		}
		s->next = *list;
		*list = s;
	}
	return OK;
}

/* Put new servers in and start them.  One without a thread shows as failed. */
static void start_all(struct mcp_host *h, struct mcp_server *list)
{
	bool changed;

	lock(h);
	for (struct mcp_server *s = list, *next; s; s = next) {
		next = s->next;
		s->next = h->servers;
		h->servers = s;
		h->starting++;
	}
	if (h->starting)
		bell_hear(&h->gate);
	else
		bell_ring(&h->gate);
	changed = rebuild(h);
	unlock(h);
	for (struct mcp_server *s = h->servers; s; s = s->next) {
		struct err e = { 0 };

		if (s->thread.running || mcp_server_start(s, &e) == OK)
			continue;
		struct mcp_ended ended = { 0 };

		(void)snprintf(ended.why, sizeof(ended.why), "%s", e.msg);
		mcp_calls_shut(s->calls, e.msg);
		on_end(h, s, &ended, false, 0);
	}
	if (changed && h->opt.on_change)
		h->opt.on_change(h->opt.arg);
}

static void set_limit(struct mcp_host *h, const struct config *config)
{
	h->limit.call_ms = config->mcp.call_timeout_ms ? config->mcp.call_timeout_ms : CALL_MS;
	h->limit.max_ms = config->mcp.call_max_ms;
}

static void host_free(struct mcp_host *h)
{
	struct arena a = h->a;

	arena_free(&h->catalog_arena);
	bell_done(&h->gate);
	bell_done(&h->left);
	(void)pthread_mutex_destroy(&h->lock);
	arena_free(&a);
}

int mcp_host_start(struct mcp_host **out, const struct mcp_host_opt *opt,
		   const struct mcp_manifest *manifest, struct err *e)
{
	struct arena a = { 0 };
	struct mcp_host *h = NEW(&a, struct mcp_host);
	struct mcp_server *list;
	int rc;

	h->a = a;
	h->opt = *opt;
	set_limit(h, opt->config);
	h->gate.fd = h->left.fd = -1;
	(void)pthread_mutex_init(&h->lock, NULL);
	if (!getcwd(h->cwd, sizeof(h->cwd)))
		(void)snprintf(h->cwd, sizeof(h->cwd), "/");
	rc = bell_init(&h->gate, e);
	if (rc == OK)
		rc = bell_init(&h->left, e);
	if (rc == OK)
		rc = make_missing(h, opt->config, manifest, &list, e);
	if (rc < 0) {
		host_free(h);
		return rc;
	}
	start_all(h, list);
	*out = h;
	return OK;
}

static bool in_use(struct mcp_host *h, struct mcp_server *list)
{
	bool used = false;

	lock(h);
	for (; list && !used; list = list->next)
		used = list->known.users > 0;
	unlock(h);
	return used;
}

/* End servers that are no longer in the host's list, all at once, and free them. */
static void stop_all(struct mcp_host *h, struct mcp_server *list)
{
	for (struct mcp_server *s = list; s; s = s->next)
		mcp_server_ask_stop(s);
	for (struct mcp_server *s = list; s; s = s->next)
		mcp_server_join(s);
	/* Their callers have their outcomes now and are on the way out. */
	while (in_use(h, list)) {
		if (wait_fd(h->left.fd, POLLIN, 0, NULL, NULL) < 0)
			break;
		bell_hear(&h->left);
	}
	free_list(list);
}

void mcp_host_stop(struct mcp_host *h)
{
	struct mcp_server *list;

	if (!h)
		return;
	lock(h);
	list = h->servers;
	h->servers = NULL;
	unlock(h);
	stop_all(h, list);
	host_free(h);
}

/* The entry that it is the server of, NULL: none any more. */
static const struct mcp_server_cfg *entry_of(const struct mcp_server *s,
					     const struct mcp_manifest *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (mcp_server_keeps(s, &m->servers[i]))
			return &m->servers[i];
	return NULL;
}

/* Take those out that the manifest has no more. */
static struct mcp_server *take_unwanted(struct mcp_host *h, const struct mcp_manifest *m)
{
	struct mcp_server *gone = NULL;

	lock(h);
	for (struct mcp_server **p = &h->servers, *s; (s = *p);) {
		if (entry_of(s, m)) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		s->next = gone;
		gone = s;
		/* Nobody waits for it any more, wherever it is. */
		first_over(h, s);
	}
	unlock(h);
	return gone;
}

int mcp_host_reload(struct mcp_host *h, const struct config *config,
		    const struct mcp_manifest *manifest, struct err *e)
{
	struct mcp_server *list;
	int rc = make_missing(h, config, manifest, &list, e);

	if (rc < 0)
		return rc;
	lock(h);
	set_limit(h, config);
	for (struct mcp_server *s = h->servers; s; s = s->next) {
		const struct mcp_server_cfg *cfg = entry_of(s, manifest);

		mcp_server_level(s, config);
		if (cfg)
			mcp_server_roots(s, cfg);
	}
	unlock(h);
	/* The old one goes before its successor of the same name comes: they
	 * may share files. */
	stop_all(h, take_unwanted(h, manifest));
	start_all(h, list);
	return OK;
}

int mcp_host_ready(struct mcp_host *h, int64_t until_ms, const struct cancel *c, struct err *e)
{
	return wait_fd(h->gate.fd, POLLIN, until_ms, c, e);
}

void mcp_host_catalog(struct mcp_host *h, struct arena *a, struct mcp_catalog *out)
{
	lock(h);
	mcp_catalog_copy(a, &h->catalog, out);
	unlock(h);
}

static int by_name(const void *x, const void *y)
{
	const struct mcp_server_status *p = x, *q = y;

	return str_cmp(p->name, q->name);
}

void mcp_host_status(struct mcp_host *h, struct arena *a, struct mcp_server_status **out,
		     size_t *n)
{
	size_t i = 0;

	*n = 0;
	lock(h);
	for (struct mcp_server *s = h->servers; s; s = s->next)
		(*n)++;
	*out = NEWN(a, struct mcp_server_status, *n);
	for (struct mcp_server *s = h->servers; s; s = s->next) {
		const struct mcp_known *k = &s->known;

		(*out)[i++] = (struct mcp_server_status){
			.name = arena_dup(a, s->cfg.name),
			.state = k->state,
			.note = arena_dup(a, str_of(k->note)),
			.sandbox = s->link.box
					   ? config_sandbox_text(a, &s->cfg.box, s->link.box)
					   : S(""),
			.listed = k->listing.n,
			.published = k->published,
			.restarts = k->lives > 1 ? k->lives - 1 : 0,
			.since_ms = k->since_ms,
			.caps = k->peer.caps,
			.revision = k->peer.revision,
		};
	}
	unlock(h);
	qsort(*out, *n, sizeof(**out), by_name);
}

/* The server, held until it is let go, the limits of a call, and what the server is. */
static struct mcp_server *hold(struct mcp_host *h, str name, struct mcp_limit *limit,
			       struct mcp_peer *peer, struct err *e)
{
	struct mcp_server *s;

	lock(h);
	for (s = h->servers; s && !str_eq(s->cfg.name, name);)
		s = s->next;
	if (s) {
		s->known.users++;
		*limit = h->limit;
		if (s->cfg.timeout_ms)
			limit->call_ms = s->cfg.timeout_ms;
		if (limit->max_ms < limit->call_ms)
			limit->max_ms = limit->call_ms;
		if (peer)
			*peer = s->known.peer;
	}
	unlock(h);
	if (!s)
		(void)err_set(e, E_NOENT, "there is no server \"%.*s\"", STRF(name));
	return s;
}

static void let_go(struct mcp_host *h, struct mcp_server *s)
{
	lock(h);
	s->known.users--;
	/* Under the lock: once it is free, the host may be, too. */
	bell_ring(&h->left);
	unlock(h);
}

/* A tool that does not keep its promise is named once. */
static void tell_mismatch(struct mcp_host *h, struct mcp_server *s, str tool, str why)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool news;

	lock(h);
	news = mcp_server_first_mismatch(s, tool);
	unlock(h);
	if (news)
		log_warn("mcp.mismatch", "server=%.*s tool=%.*s reason=%.*s",
			 STRF(s->link.label), STRF(log_q(&a, tool)), STRF(log_q(&a, why)));
}

int mcp_host_call(struct mcp_host *h, const struct mcp_call *call, struct arena *a,
		  struct mcp_result *result, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	struct mcp_call with = *call;
	struct mcp_limit limit;
	struct mcp_server *s = hold(h, call->server, &limit, NULL, e);
	int rc;

	*result = (struct mcp_result){ .not_sent = true };
	if (!s)
		return E_NOENT;
	lock(h);
	mcp_server_terms(s, &with, &tmp);
	unlock(h);
	if (mcp_names_pass(&s->cfg.tools, &s->cfg.exclude, call->tool))
		rc = mcp_server_call(s, &with, &limit, a, result, c, e);
	else
		rc = err_set(e, E_NOENT,
			     "the manifest does not publish tool \"%.*s\" of server \"%.*s\"",
			     STRF(call->tool), STRF(call->server));
	if (rc == OK && result->mismatch.n)
		tell_mismatch(h, s, call->tool, result->mismatch);
	let_go(h, s);
	return rc;
}

int mcp_host_request(struct mcp_host *h, const struct mcp_request *request, struct arena *a,
		     const struct json **result, const struct cancel *c, struct err *e)
{
	struct mcp_peer peer;
	struct mcp_limit limit;
	struct mcp_server *s = hold(h, request->server, &limit, &peer, e);
	int rc;

	if (!s)
		return E_NOENT;
	if (request->timeout_ms)
		limit.call_ms = limit.max_ms = request->timeout_ms;
	if (strcmp(request->method, "resources/subscribe") == 0 ||
	    strcmp(request->method, "resources/unsubscribe") == 0)
		rc = mcp_server_watch(s, request, &peer, &limit, a, result, c, e);
	else
		rc = mcp_calls_request(s->calls, request, &limit, a, result, c, e);
	let_go(h, s);
	return rc;
}

int mcp_host_sampling(struct mcp_host *h, const struct mcp_question *q, struct arena *a,
		      struct mcp_sampling_cfg *out, struct err *e)
{
	struct mcp_server *s;
	int rc;

	lock(h);
	for (s = h->servers; s && !str_eq(s->cfg.name, q->server);)
		s = s->next;
	rc = s ? mcp_server_sample(s, q, a, out, e)
	       : err_set(e, E_NOENT, "there is no server \"%.*s\"", STRF(q->server));
	unlock(h);
	return rc;
}

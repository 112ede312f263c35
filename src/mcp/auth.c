/*
 * Tokens for one server.  A variable is read once, at start, like the rest of the
 * environment; a file, ours or the owner's, whenever a token is needed: the files are the
 * truth, so there is nothing here that threads would have to share but when a renewal failed,
 * and a sign-in in another process counts at once.
 */
#include "mcp/auth.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "config/value.h"
#include "mcp/oauth.h"
#include "mcp/oauth_challenge.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/wait.h"

#define TOKEN_MAX ((size_t)64 << 10)
#define SOON_MS 30000 /* a token is renewed so long before its end */
#define FRESH_MS 10000 /* one that is refused so soon is not renewed again */
#define AGAIN_MS 5000 /* so long nobody tries what failed while the old one lasts */

struct mcp_auth {
	struct arena a; /* owns this */
	struct oauth oauth;
	struct http_opt http;
	str token; /* from the variable */
	str path; /* of the state file */
	_Atomic int64_t
		failed_ms; /* when a token could not be renewed ahead of its end, or 0 */
};

static str variable(struct arena *a, const struct env *env, str name)
{
	return name.n ? arena_dup(a, str_trim(env_get(env, name.p))) : S("");
}

static const char *text(struct arena *a, str s)
{
	return s.n ? arena_cstr(a, s) : NULL;
}

/* The way to the server leads to its authorization server as well. */
static void fill_http(struct mcp_auth *au, struct arena *a, const struct mcp_http_cfg *cfg,
		      const struct http_cfg *all)
{
	bool own = cfg->proxy.n > 0;
	str proxy = str_eq(cfg->proxy, S("none")) ? S("") : cfg->proxy;

	au->http = (struct http_opt){
		.ca_file = text(a, cfg->ca.n ? cfg->ca : all->ca_file),
		.http_proxy = text(a, own ? proxy : all->http_proxy),
		.https_proxy = text(a, own ? proxy : all->https_proxy),
		.all_proxy = text(a, own ? S("") : all->all_proxy),
		.no_proxy = text(a, own ? S("") : all->no_proxy),
	};
	au->oauth.http = &au->http;
}

int mcp_auth_new(struct mcp_auth **out, const struct mcp_auth_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct mcp_auth *au = NEW(&a, struct mcp_auth);
	const struct http_cfg *h = &opt->config->http;
	struct oauth *o = &au->oauth;
	int rc;

	o->name = arena_dup(&a, opt->server->name);
	o->url = arena_dup(&a, opt->server->http.url);
	if ((rc = url_parse(&o->server, &a, (str){ 0 }, o->url, e)) < 0) {
		rc = err_wrap(e, rc, "server %.*s", STRF(o->name));
		arena_free(&a);
		return rc;
	}
	mcp_auth_cfg_copy(&a, &o->cfg, &opt->server->auth);
	o->client_secret = variable(&a, opt->env, o->cfg.client_secret_env);
	o->assertion = variable(&a, opt->env, o->cfg.assertion_env);
	o->key = variable(&a, opt->env, o->cfg.key_env);
	au->token = variable(&a, opt->env, o->cfg.bearer_env);
	fill_http(au, &a, &opt->server->http, h);
	au->path = oauth_store_path(&a, arena_cat(&a, opt->config->store.data_dir, S("/auth")),
				    o->name, o->url);
	au->a = a;
	*out = au;
	return OK;
}

void mcp_auth_free(struct mcp_auth *au)
{
	struct arena a;

	if (!au)
		return;
	a = au->a;
	arena_free(&a);
}

static bool fixed(const struct mcp_auth *au)
{
	return au->oauth.cfg.bearer_env.n || au->oauth.cfg.bearer_file.n;
}

/* What is known.  What another client got, or from whom the manifest does not
 * name, is not ours. */
static void recall(const struct mcp_auth *au, struct arena *a, struct oauth_state *out)
{
	const struct mcp_auth_cfg *cfg = &au->oauth.cfg;
	struct oauth_state s;

	oauth_store_read(&s, a, au->path, au->oauth.url);
	if ((cfg->issuer.n && s.issuer.n && !oauth_url_same_issuer(cfg->issuer, s.issuer)) ||
	    (cfg->client_id.n && s.client_id.n && !str_eq(cfg->client_id, s.client_id)))
		s = (struct oauth_state){ .server = au->oauth.url };
	*out = s;
}

/* The lock, the state and the network for one operation. */
struct work {
	struct oauth o;
	struct oauth_state s;
	int lock;
};

static void work_done(struct work *w)
{
	http_pool_close(w->o.pool);
	fd_drop(&w->lock);
}

static int work_begin(struct work *w, const struct mcp_auth *au, struct arena *a,
		      const struct cancel *c, struct err *e)
{
	int rc;

	w->o = au->oauth;
	/* Tokens go over TLS, or stay on this machine. */
	if (!w->o.server.tls && !oauth_url_loopback(&w->o.server))
		return err_set(e, E_DENIED, "its URL is not https, so nobody signs in to it");
	if ((rc = oauth_store_lock(&w->lock, au->path, c, e)) < 0 ||
	    (rc = http_pool_open(&w->o.pool, &au->http, e)) < 0)
		return rc;
	recall(au, a, &w->s);
	return OK;
}

/* What came of the network, and then what is to be kept. */
static int work_end(struct work *w, const struct mcp_auth *au, int rc, struct err *e)
{
	struct err why = { 0 };
	int kept = oauth_store_write(&w->s, au->path, &why);

	if (rc == OK && kept < 0)
		return err_set(e, kept, "%s", why.msg);
	return rc;
}

static int named(const struct mcp_auth *au, int rc, struct err *e)
{
	return rc < 0 ? err_wrap(e, rc, "server %.*s", STRF(au->oauth.name)) : OK;
}

static int show_fixed(const struct mcp_auth *au, struct arena *a, struct mcp_auth_show *out,
		      struct err *e)
{
	const struct mcp_auth_cfg *cfg = &au->oauth.cfg;
	bool file = cfg->bearer_file.n > 0;
	str token = au->token, from = file ? cfg->bearer_file : cfg->bearer_env;
	int rc = file ? file_read(&token, a, from.p, TOKEN_MAX, e) : OK;

	if (rc < 0)
		return err_wrap(e, E_DENIED, "auth.bearer_file");
	token = str_trim(token);
	if (!value_one_word(token))
		return err_set(e, E_DENIED, "%s %.*s %s", file ? "the file" : "the variable",
			       STRF(from),
			       token.n ? "holds no token: it has blanks or control characters"
				       : "is not there or empty; put the token into it");
	out->v[out->n++] = (struct http_header){ S("Authorization"),
						 arena_fmt(a, "Bearer %.*s", STRF(token)) };
	return OK;
}

/* What a person has to do, in one line. */
static int ask(const struct mcp_auth *au, const char *why, struct err *e)
{
	return err_set(e, E_DENIED, "%s; sign in with: gantry auth %.*s", why,
		       STRF(au->oauth.name));
}

static bool ends_soon(const struct oauth_state *s)
{
	return s->until_ms && s->until_ms - clock_now_ms() < SOON_MS;
}

/* Is it time for another one, and is there time for that? */
static bool renews(struct mcp_auth *au, const struct oauth_state *s, const struct cancel *c)
{
	int64_t now = clock_mono_ms(), failed = atomic_load(&au->failed_ms);

	/* Who has no time for it goes on with what there is. */
	return s->access.n && ends_soon(s) && cancel_deadline(c) - now >= OAUTH_FINISH_MS &&
	       !(failed && now - failed < AGAIN_MS && s->until_ms > clock_now_ms());
}

/* Another token for the one that was shown as access, unless there is one already.  E_NOENT:
 * there is no way to get one without a person. */
static int renew(struct mcp_auth *au, str access, struct arena *a, struct oauth_state *out,
		 const struct cancel *c, struct err *e)
{
	SCOPED(work_done) struct work w = { .lock = -1 };
	int rc = work_begin(&w, au, a, c, e);

	if (rc < 0)
		return rc;
	if (w.s.access.n && !str_eq(w.s.access, access)) { /* somebody was faster */
		*out = w.s;
		return OK;
	}
	if (!w.s.refresh.n)
		return E_NOENT;
	rc = oauth_refresh(&w.o, &w.s, a, c, e);
	if (rc == OK || rc == E_DENIED)
		rc = work_end(&w, au, rc, e);
	if (rc == OK)
		*out = w.s;
	return rc;
}

static int show_state(struct mcp_auth *au, const struct oauth_state *s, const char *method,
		      struct arena *a, struct mcp_auth_show *out, struct err *e)
{
	bool bound = str_eq(s->type, S("DPoP"));
	str proof;
	int rc;

	if (!s->access.n)
		return OK;
	if (bound) {
		rc = oauth_proof(s, method, au->oauth.server.text, s->access, s->nonce, a,
				 &proof, e);
		if (rc < 0)
			return rc;
		out->v[out->n++] = (struct http_header){ S("DPoP"), proof };
	}
	out->v[out->n++] =
		(struct http_header){ S("Authorization"),
				      arena_fmt(a, "%s %.*s", bound ? "DPoP" : "Bearer",
						STRF(s->access)) };
	return OK;
}

static int show(struct mcp_auth *au, const char *method, struct arena *a,
		struct mcp_auth_show *out, const struct cancel *c, struct err *e)
{
	struct oauth_state s;
	struct err why = { 0 };

	if (fixed(au))
		return show_fixed(au, a, out, e);
	recall(au, a, &s);
	if (renews(au, &s, c)) {
		int rc = renew(au, s.access, a, &s, c, &why);

		if (rc < 0 && rc != E_NOENT && cancel_reason(c) == CANCEL_NONE)
			atomic_store(&au->failed_ms, clock_mono_ms());
		if (rc < 0 && cancel_reason(c) != CANCEL_NONE)
			return err_set(e, rc, "%s", why.msg);
		if (rc == E_DENIED)
			return ask(au, "the sign-in has ended", e);
		/* It may still do; else the server says so. */
		if (rc < 0 && s.until_ms <= clock_now_ms())
			s.access = S("");
		if (rc < 0 && rc != E_NOENT && !s.access.n)
			return err_set(e, rc, "%s", why.msg);
	}
	return show_state(au, &s, method, a, out, e);
}

int mcp_auth_show(struct mcp_auth *au, const char *method, struct arena *a,
		  struct mcp_auth_show *out, const struct cancel *c, struct err *e)
{
	struct mcp_auth_show now = { 0 };
	int rc = cancel_check(c, e);

	if (rc == OK)
		rc = named(au, show(au, method, a, &now, c, e), e);
	if (rc == OK)
		*out = now;
	return rc;
}

static str authorization(const struct mcp_auth_show *used)
{
	for (size_t i = 0; i < used->n; i++)
		if (str_eq(used->v[i].name, S("Authorization")))
			return used->v[i].value;
	return S("");
}

static int challenge_fixed(struct mcp_auth *au, int status, str used, struct arena *a,
			   struct err *e)
{
	const struct mcp_auth_cfg *cfg = &au->oauth.cfg;
	struct mcp_auth_show now = { 0 };

	/* Another one may have been put there since. */
	if (show_fixed(au, a, &now, NULL) == OK && !str_eq(authorization(&now), used))
		return OK;
	return err_set(e, E_DENIED, "it %s the token in %.*s; put a valid one there",
		       status == 403 ? "does not let in" : "does not take",
		       STRF(cfg->bearer_file.n ? cfg->bearer_file : cfg->bearer_env));
}

/* Keep what it asks for.  Under the lock. */
static void want(struct work *w, const struct oauth_challenge *ch, struct arena *a)
{
	w->s.wanted = 1;
	w->s.wanted_metadata = ch->metadata;
	w->s.wanted_scope = ch->scope;
	w->s.wanted_proof = ch->dpop && !ch->bearer;
	if (str_eq(ch->error, S("insufficient_scope")))
		w->s.wanted_scope = oauth_scope_join(a, w->s.scope, ch->scope);
}

/* Does the token that was refused have all that is asked for already? */
static bool has_all(const struct oauth_state *s, str scope)
{
	while (scope.n) {
		str word = str_cut(&scope, ' ');

		if (word.n && !oauth_scope_has(s->scope, word))
			return false;
	}
	return true;
}

static int challenge(struct mcp_auth *au, const struct http_resp *resp, str used,
		     struct arena *a, const struct cancel *c, struct err *e)
{
	SCOPED(work_done) struct work w = { .lock = -1 };
	struct oauth_challenge ch;
	bool more, known, fresh;
	str access = used;
	int rc = work_begin(&w, au, a, c, e);

	if (rc < 0)
		return rc;
	(void)str_cut(&access, ' ');
	oauth_challenge_read(&ch, a, resp);
	more = str_eq(ch.error, S("insufficient_scope"));
	if (w.s.access.n && !str_eq(w.s.access, access))
		return OK; /* there is a newer one */
	if (str_eq(ch.error, S("use_dpop_nonce")) && used.n) {
		str nonce = http_header(resp, "dpop-nonce");

		if (!nonce.n)
			return err_set(e, E_DENIED, "it wants a nonce and gives none");
		/* The one that is kept: another call was faster. */
		w.s.nonce = nonce;
		return work_end(&w, au, OK, e);
	}
	if (resp->status == 403 && !more)
		return err_set(e, E_DENIED, "it does not allow that to whoever signed in");
	if (resp->status == 403 && has_all(&w.s, ch.scope) && ch.scope.n)
		return err_set(e, E_DENIED,
			       "it wants rights that were granted already; it does not let in");
	known = used.n > 0;
	fresh = w.s.renewed_ms && clock_now_ms() - w.s.renewed_ms < FRESH_MS;
	want(&w, &ch, a);
	if (!more && known && w.s.refresh.n && !fresh) {
		rc = oauth_refresh(&w.o, &w.s, a, c, e);
		if (rc != E_DENIED && rc != OK)
			return rc;
	} else if (oauth_unattended(&w.o)) {
		rc = oauth_grant(&w.o, &w.s, a, c, e);
		if (rc == E_CANCELED || rc == E_TIMEOUT)
			return rc;
		return work_end(&w, au, rc, e);
	} else {
		rc = E_DENIED;
	}
	/* A refresh token ends by a word of who gave it, never of the server. */
	if (rc == E_DENIED && !more && !fresh && !w.s.refresh.n)
		w.s.access = S("");
	if (rc == E_DENIED)
		rc = ask(au,
			 more ? "it wants more rights than were granted"
			 : known && fresh && w.s.refresh.n
				 ? "it does not take a token that has just come"
			 : known ? "the sign-in has ended"
				 : "it wants to know who you are",
			 e);
	return work_end(&w, au, rc, e);
}

int mcp_auth_challenge(struct mcp_auth *au, const struct http_resp *resp,
		       const struct mcp_auth_show *used, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str shown = authorization(used);
	int rc = fixed(au) ? challenge_fixed(au, resp->status, shown, &a, e)
			   : challenge(au, resp, shown, &a, c, e);

	return named(au, rc, e);
}

#define HELLO                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"                 \
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"                              \
	"\"clientInfo\":{\"name\":\"gantry\",\"version\":\"1\"}}}"

/* Nobody was refused yet: be refused, to hear what it wants.  No answer is as good as none. */
static int hello(struct work *w, struct arena *a, const struct cancel *c, struct err *e)
{
	static const struct http_header accept = {
		{ "Accept", 6 }, { "application/json, text/event-stream", 35 }
	};
	struct oauth_challenge ch;
	struct http_resp resp;
	struct err why = { 0 };
	struct oauth_ask ask = { &w->o.server,       "initialize", S(HELLO),
				 "application/json", &accept,      1 };
	int rc = oauth_http(&w->o, &ask, a, &resp, c, &why);

	if (rc == E_CANCELED || rc == E_TIMEOUT)
		return err_set(e, rc, "%s", why.msg);
	if (resp.status == 401) {
		oauth_challenge_read(&ch, a, &resp);
		want(w, &ch, a);
	}
	w->o.open = rc == OK && resp.status / 100 == 2;
	return OK;
}

static int begin(struct mcp_auth *au, bool device, struct arena *a, struct mcp_auth_step *out,
		 const struct cancel *c, struct err *e)
{
	SCOPED(work_done) struct work w = { .lock = -1 };
	struct oauth_device d = { 0 };
	int rc;

	if (fixed(au) || oauth_unattended(&au->oauth))
		return err_set(e, E_DENIED,
			       "nobody signs in to it: its token comes as \"auth\" in the "
			       "manifest says");
	if ((rc = work_begin(&w, au, a, c, e)) < 0)
		return rc;
	if (!w.s.wanted && (rc = hello(&w, a, c, e)) < 0)
		return rc;
	rc = device ? oauth_device_begin(&w.o, &w.s, a, &d, c, e)
		    : oauth_begin(&w.o, &w.s, a, &out->link, c, e);
	if (rc == OK)
		rc = work_end(&w, au, OK, e);
	if (rc < 0)
		return rc;
	if (device)
		*out = (struct mcp_auth_step){ d.page, d.code, d.whole, S("") };
	else
		out->redirect = w.s.client_redirect;
	return OK;
}

int mcp_auth_begin(struct mcp_auth *au, bool device, struct arena *a, struct mcp_auth_step *out,
		   const struct cancel *c, struct err *e)
{
	struct mcp_auth_step step = { 0 };
	int rc = named(au, begin(au, device, a, &step, c, e), e);

	if (rc == OK)
		*out = step;
	return rc;
}

int mcp_auth_finish(struct mcp_auth *au, str paste, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(work_done) struct work w = { .lock = -1 };
	int rc = work_begin(&w, au, &a, c, e);

	if (rc == OK)
		rc = work_end(&w, au, oauth_finish(&w.o, &w.s, paste, &a, c, e), e);
	return named(au, rc, e);
}

int mcp_auth_poll(struct mcp_auth *au, int64_t *pause_ms, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(work_done) struct work w = { .lock = -1 };
	int rc = work_begin(&w, au, &a, c, e);

	if (rc == OK) {
		rc = work_end(&w, au, oauth_device_poll(&w.o, &w.s, &a, c, e), e);
		*pause_ms = w.s.pending_pause_ms;
	}
	return named(au, rc, e);
}

enum mcp_auth_fit mcp_auth_expects(const struct mcp_auth *au, str paste)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct oauth_paste p;
	struct oauth_state s;

	recall(au, &a, &s);
	if (!s.client_redirect.n || !str_starts(paste, s.client_redirect) ||
	    paste.n <= s.client_redirect.n || paste.p[s.client_redirect.n] != '?' ||
	    !(str_has(paste, S("code=")) || str_has(paste, S("error="))))
		return MCP_AUTH_ELSEWHERE;
	if (s.pending_state.n &&
	    oauth_paste_read(&p, &a, paste, s.client_redirect, NULL) == OK && p.has_state &&
	    str_eq(p.state, s.pending_state))
		return MCP_AUTH_OURS;
	return MCP_AUTH_ALIKE;
}

int mcp_auth_forget(struct mcp_auth *au, const struct cancel *c, struct err *e)
{
	SCOPED(fd_drop) int lock = -1;
	int rc = oauth_store_lock(&lock, au->path, c, e);

	if (rc == OK)
		rc = oauth_store_remove(au->path, e);
	return named(au, rc, e);
}

void mcp_auth_status(const struct mcp_auth *au, struct arena *a, struct mcp_auth_status *out)
{
	const struct mcp_auth_cfg *cfg = &au->oauth.cfg;
	struct mcp_auth_show shown = { 0 };
	struct oauth_state s;
	int64_t now = clock_now_ms();

	*out = (struct mcp_auth_status){ .kind = "bearer" };
	if (fixed(au)) {
		out->token = show_fixed(au, a, &shown, NULL) == OK;
		return;
	}
	recall(au, a, &s);
	out->kind = cfg->grant.n ? cfg->grant.p : "code";
	out->renewable = s.refresh.n > 0;
	out->token = s.refresh.n || (s.access.n && (!s.until_ms || s.until_ms > now));
	out->pending = s.pending_until_ms > now;
	out->wanted = s.wanted;
	out->until_ms = s.access.n ? s.until_ms : 0;
	out->issuer = s.issuer;
	out->scope = s.scope;
}

/*
 * The thread of a server: live, die, pause, live again.  What counts as a failure is only the
 * end of the transport; a tool that fails is none.
 *
 * A server that had worked and died is expected back soon, so calls wait for it; one
 * that does not come up fails its calls at once, with the reason, until it does.
 */
#include "mcp/server.h"

#include "base/version.h"
#include "mcp/child.h"
#include "mcp/client.h"
#include "mcp/tasks.h"
#include "mcp/http.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/wait.h"

#include <stdio.h>
#include <string.h>

#define PAUSE_MS 500
#define PAUSE_MAX_MS 30000
#define LIVED_MS 30000
#define SOON_TRIES 3
#define START_MS 30000
#define AGAIN_MS 50
#define AGAIN_MAX 8
#define STALL_MS 600000
#define LINE_MAX_BYTES ((size_t)16 << 20)

static void copy_cfg(struct arena *a, struct mcp_server_cfg *to,
		     const struct mcp_server_cfg *from)
{
	*to = *from;
	to->name = arena_dup(a, from->name);
	to->command = arena_dup(a, from->command);
	to->args = str_list_copy(a, from->args);
	to->env = str_list_copy(a, from->env);
	to->tools = str_list_copy(a, from->tools);
	to->exclude = str_list_copy(a, from->exclude);
	to->tools_prefix = arena_dup(a, from->tools_prefix);
	to->cwd = arena_dup(a, from->cwd);
	to->box.profile = arena_dup(a, from->box.profile);
	to->box.network = arena_dup(a, from->box.network);
	to->box.read = str_list_copy(a, from->box.read);
	to->box.write = str_list_copy(a, from->box.write);
	to->box.grants = str_list_copy(a, from->box.grants);
	/* Not the server's business. */
	to->auth_command = (str){ 0 };
	to->auth_args = (struct str_list){ 0 };
	mcp_http_cfg_copy(a, &to->http, &from->http);
	mcp_auth_cfg_copy(a, &to->auth, &from->auth);
	to->sampling.policy = arena_dup(a, from->sampling.policy);
	to->log_level = arena_dup(a, from->log_level);
	to->roots = str_list_copy(a, from->roots);
}

static const char *const *copy_env(struct arena *a, const char *const *env)
{
	const char **v;
	size_t n = 0;

	while (env[n])
		n++;
	v = NEWN(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		v[i] = arena_cstr(a, str_of(env[i]));
	return v;
}

static bool same_box(const struct sandbox_cfg *x, const struct sandbox_cfg *y)
{
	return str_eq(x->profile, y->profile) && str_eq(x->network, y->network) &&
	       x->require == y->require && str_list_eq(x->read, y->read) &&
	       str_list_eq(x->write, y->write) && str_list_eq(x->grants, y->grants);
}

void mcp_server_terms(const struct mcp_server *s, struct mcp_call *call, struct arena *a)
{
	const struct mcp_listing *l = &s->known.listing;
	const struct mcp_peer *peer = &s->known.peer;

	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->tools[i].tool, call->tool)) {
			call->output = arena_dup(a, l->tools[i].output);
			/* Of a server that is not there yet its list is known. */
			call->as_task = l->tools[i].as_task && (peer->tasks || !peer->revision);
		}
}

bool mcp_server_first_mismatch(struct mcp_server *s, str tool)
{
	struct mcp_known *k = &s->known;
	uint64_t hash = str_hash(STR_HASH, tool);

	for (size_t i = 0; i < k->told_n; i++)
		if (k->told[i] == hash)
			return false;
	if (k->told_n == COUNT(k->told))
		return false;
	k->told[k->told_n++] = hash;
	return true;
}

/* But for roots. */
static bool same(const struct mcp_server_cfg *x, const struct mcp_server_cfg *y)
{
	return str_eq(x->name, y->name) && str_eq(x->command, y->command) &&
	       str_list_eq(x->args, y->args) && str_list_eq(x->env, y->env) &&
	       str_list_eq(x->tools, y->tools) && str_list_eq(x->exclude, y->exclude) &&
	       str_eq(x->tools_prefix, y->tools_prefix) && str_eq(x->cwd, y->cwd) &&
	       same_box(&x->box, &y->box) && mcp_http_cfg_same(&x->http, &y->http) &&
	       mcp_auth_cfg_same(&x->auth, &y->auth) &&
	       mcp_sampling_cfg_same(&x->sampling, &y->sampling) &&
	       str_eq(x->log_level, y->log_level) && x->timeout_ms == y->timeout_ms &&
	       x->trusted == y->trusted && x->inherit_env == y->inherit_env &&
	       x->has_inherit_env == y->has_inherit_env;
}

void mcp_server_warn(const struct mcp_server *s, const struct mcp_listing *l)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (l->dropped)
		log_warn("mcp.tools",
			 "server=%.*s note=\"tools are left out: no name, too long a one, "
			 "or one that was there\" count=%zu",
			 STRF(s->link.label), l->dropped);
	for (size_t i = 0; i < s->cfg.tools.n; i++)
		if (!map_get(&l->seen, s->cfg.tools.v[i]))
			log_warn("mcp.tools",
				 "server=%.*s note=\"it has no such tool\" tool=%.*s",
				 STRF(s->link.label), STRF(log_q(&a, s->cfg.tools.v[i])));
}

static void on_tools(void *arg, const struct mcp_session *session, struct mcp_listing *listing)
{
	struct mcp_server *s = arg;

	s->link.session.era = session->peer.stateless ? MCP_ERA_STATELESS : MCP_ERA_INITIALIZE;
	s->opt.on_tools(s->opt.arg, s, session, listing);
	if (!s->open)
		mcp_calls_open(s->calls);
	s->open = true;
}

static void on_notice(void *arg, str method, const struct json *params)
{
	struct mcp_server *s = arg;

	s->opt.on_notice(s->opt.arg, s, method, params);
}

/* The name as it is, or quoted when that would not read as one value. */
static str label_of(struct mcp_server *s)
{
	str name = s->cfg.name;

	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == ' ' || name.p[i] == '=' || name.p[i] == '\\')
			return log_q(&s->a, name);
	return name;
}

/* Does the name of a variable say that its value is a secret? */
static bool is_secret(str name)
{
	static const char *const words[] = { "KEY",  "TOKEN", "SECRET", "PASS",
					     "AUTH", "CRED",  "PWD",    "PRIVATE" };

	for (size_t i = 0; i < COUNT(words); i++)
		for (size_t at = 0; at < name.n; at++)
			if (str_ieq(str_sub(name, at, at + strlen(words[i])), str_of(words[i])))
				return true;
	return false;
}

/* What the manifest gives the server is unknown to the log's own list of secrets. */
static void find_secrets(struct mcp_server *s)
{
	str *v = NEWN(&s->a, str, s->cfg.env.n);

	s->link.secrets = v;
	for (size_t i = 0; i < s->cfg.env.n; i++) {
		str value = s->cfg.env.v[i], name = str_cut(&value, '=');

		if (is_secret(name))
			v[s->link.secrets_n++] = value;
	}
}

/* Nobody is asked for what the manifest does not allow. */
static struct mcp_offer offer_of(const struct mcp_server *s)
{
	struct mcp_offer offer = s->opt.offer;

	offer.sampling &= mcp_sampling_cfg_on(&s->cfg.sampling);
	offer.sampling_tools = offer.sampling && s->cfg.sampling.tools;
	return offer;
}

/* What the entry says, else the one of the host. */
static struct str_list roots_of(const struct mcp_server *s, const struct mcp_server_cfg *cfg)
{
	return cfg->roots.n || !s->opt.root.n ? cfg->roots
					      : (struct str_list){ &s->opt.root, 1 };
}

/* One that was told of no roots does not ask for them. */
bool mcp_server_keeps(const struct mcp_server *s, const struct mcp_server_cfg *cfg)
{
	bool had = atomic_load(&s->roots)->n, has = roots_of(s, cfg).n;

	return same(&s->cfg, cfg) && had == has;
}

/* Its thread looks at what it is to tell. */
static void wake(struct mcp_server *s)
{
	bell_ring(mcp_calls_bell(s->calls));
}

void mcp_server_roots(struct mcp_server *s, const struct mcp_server_cfg *cfg)
{
	const struct str_list *now = atomic_load(&s->roots);
	struct str_list *next;

	if (now && str_list_eq(*now, roots_of(s, cfg)))
		return;
	next = NEW(&s->a, struct str_list);
	*next = str_list_copy(&s->a, roots_of(s, cfg));
	atomic_store(&s->roots, next);
	wake(s);
}

void mcp_server_level(struct mcp_server *s, const struct config *config)
{
	static const char *const ours[] = { "debug", "info", "warn", "error" };
	static const char *const theirs[] = { "debug", "info", "warning", "error" };
	const char *level = "info";

	for (size_t i = 0; i < COUNT(ours); i++)
		if (str_is(config->log.level, ours[i]))
			level = theirs[i];
	if (s->cfg.log_level.n)
		level = s->cfg.log_level.p;
	if (atomic_exchange(&s->level, level) != level)
		wake(s);
}

static void fill_link(struct mcp_server *s)
{
	const struct mcp_cfg *mcp = &s->opt.config->mcp;
	int64_t call_ms = s->cfg.timeout_ms ? s->cfg.timeout_ms : mcp->call_timeout_ms;

	s->link = (struct mcp_link_opt){
		.server = &s->cfg,
		.calls = s->calls,
		.label = label_of(s),
		.env = s->opt.env,
		.cwd = s->opt.cwd,
		.box = mcp_child_box(&s->a, s->opt.config, s->opt.vars, &s->cfg.box,
				     s->cfg.command),
		.session = { .version = version_text(),
			     .roots = &s->roots,
			     .level = &s->level,
			     .offer = offer_of(s),
			     .start_ms =
				     mcp->start_timeout_ms ? mcp->start_timeout_ms : START_MS,
			     .ping_ms = mcp->ping_interval_ms,
			     .ids = &s->ids },
		.watches = s->watches,
		.line_max = mcp->line_max ? (size_t)mcp->line_max : LINE_MAX_BYTES,
		.stall_ms = call_ms ? call_ms : STALL_MS,
		.on_tools = on_tools,
		.on_notice = on_notice,
		.arg = s,
	};
}

int mcp_server_new(struct mcp_server **out, const struct mcp_server_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct mcp_server *s = NEW(&a, struct mcp_server);
	int rc;

	copy_cfg(&a, &s->cfg, opt->cfg);
	s->opt = *opt;
	s->opt.cfg = &s->cfg;
	s->opt.env = copy_env(&a, opt->env);
	s->opt.cwd = arena_cstr(&a, str_of(opt->cwd));
	s->a = a;
	s->stop.fd = -1;
	if ((rc = mcp_watches_new(&s->watches, e)) == OK &&
	    (rc = cancel_init(&s->stop, NULL, 0, e)) == OK &&
	    (rc = mcp_calls_new(&s->calls, s->cfg.name, &s->ids, e)) == OK) {
		mcp_server_level(s, opt->config);
		mcp_server_roots(s, &s->cfg);
		fill_link(s);
		find_secrets(s);
		if (s->cfg.http.url.n)
			rc = mcp_http_new(&s->http, &s->link, opt->config, opt->vars, e);
	}
	if (rc < 0) {
		mcp_server_free(s);
		return rc;
	}
	s->opt.config = NULL;
	s->opt.vars = NULL;
	s->open = true;
	*out = s;
	return OK;
}

static int64_t pause_ms(int failures)
{
	int64_t ms = PAUSE_MS;

	for (int i = 1; i < failures && ms < PAUSE_MAX_MS; i++)
		ms *= 2;
	return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

/* What was remembered may be wrong, and some die of being probed: then the other way of
 * beginning is tried at once, before anybody hears of it, but never twice in a row. */
static bool try_other(struct mcp_server *s, int rc, const struct mcp_ended *ended, bool second)
{
	enum mcp_era *era = &s->link.session.era;
	bool probed = *era == MCP_ERA_UNKNOWN;
	bool doubtful = probed ? ended->probed : rc == E_PROTO || rc == E_IO;

	if (ended->was_ready)
		return false;
	*era = probed && doubtful && !second ? MCP_ERA_INITIALIZE : MCP_ERA_UNKNOWN;
	return doubtful && !second;
}

static void *server_main(void *arg)
{
	struct mcp_server *s = arg;
	bool at_once = false;
	int failures = 0;

	for (;;) {
		struct mcp_ended ended;
		int64_t began = clock_mono_ms();
		bool soon;
		int rc;

		if (!at_once)
			s->opt.on_start(s->opt.arg, s);
		rc = s->http ? mcp_http_live(s->http, &s->stop, &ended)
			     : mcp_client_live(&s->link, &s->stop, &ended);
		if (rc == E_CANCELED)
			break;
		if ((at_once = try_other(s, rc, &ended, at_once)))
			continue;
		if (ended.was_ready && clock_mono_ms() - began >= LIVED_MS)
			failures = 0;
		failures++;
		soon = ended.was_ready && failures <= SOON_TRIES;
		if (!soon) {
			s->open = false;
			mcp_calls_shut(s->calls, ended.why);
		}
		s->opt.on_end(s->opt.arg, s, &ended, soon, pause_ms(failures));
		if (wait_ms(pause_ms(failures), &s->stop, NULL) < 0)
			break;
	}
	mcp_calls_shut(s->calls, "it was stopped");
	return NULL;
}

int mcp_server_start(struct mcp_server *s, struct err *e)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "mcp %.*s", STRF(str_sub(s->cfg.name, 0, 11)));
	return thread_start(&s->thread, name, server_main, s, e);
}

str mcp_server_kept(const struct mcp_server *s, const struct mcp_session *session,
		    const struct mcp_listing *listing, struct arena *a)
{
	const struct mcp_peer *peer = &session->peer;
	str list = mcp_listing_text(listing, a);
	struct buf b = buf_in(a, list.n + 1000);

	buf_add(&b, S("{"));
	/* Another server, or another version of it, may begin in another way. */
	if (session->probed || !s->known.kept_peer.n ||
	    str_eq(s->known.kept_peer, str_of(peer->server))) {
		buf_json_member(&b, "revision", str_of(peer->revision));
		buf_json_member(&b, "peer", str_of(peer->server));
		buf_add(&b, S(","));
	}
	buf_add(&b, str_sub(list, 1, list.n));
	return buf_str(&b);
}

void mcp_server_recall(struct mcp_server *s, const struct json *kept)
{
	str revision = json_str(kept, "revision");

	s->known.kept_peer = arena_dup(&s->a, json_str(kept, "peer"));
	if (mcp_session_revision(revision))
		s->link.session.era = MCP_ERA_INITIALIZE;
	else if (revision.n)
		s->link.session.era = MCP_ERA_STATELESS;
}

static int request(void *arg, const struct mcp_request *rq, const struct mcp_limit *limit,
		   struct arena *a, const struct json **result, const struct cancel *c,
		   struct err *e)
{
	return mcp_calls_request(arg, rq, limit, a, result, c, e);
}

static int linger(void *arg, struct mcp_linger *l, int64_t ms, const struct cancel *c,
		  struct err *e)
{
	return mcp_calls_linger(arg, l, ms, c, e);
}

/* A server without a handshake may only want the call to be made again with its state, say
 * because it goes on elsewhere: that is nobody's business above. */
/* The call in as many parts as it takes. */
static int call_parts(struct mcp_server *s, const struct mcp_call *call,
		      const struct mcp_limit *limit, struct arena *a, struct mcp_result *result,
		      const struct cancel *c, struct err *e)
{
	const struct mcp_asker asker = { request, linger, s->calls };
	struct mcp_call again = *call;
	int64_t pause = AGAIN_MS;
	bool ran = call->state.n || call->answers.n;
	int rc;

	for (int i = 0; i < AGAIN_MAX; i++, pause *= 2) {
		rc = mcp_calls_do(s->calls, &again, limit, a, result, c, e);
		/* It began in the leg before: this one is no proof that nothing was done. */
		if (rc < 0 && ran) {
			result->not_sent = false;
			return rc == E_NOENT ? err_wrap(e, E_IO, "after the call began") : rc;
		}
		ran = true;
		if (rc == OK && result->task)
			return mcp_tasks_await(&asker, call, limit, a, result, c, e);
		if (rc < 0 || !result->needs_input || result->questions_n)
			return rc;
		again.state = result->state;
		again.answers = (str){ 0 };
		result->not_sent = false;
		if ((rc = wait_ms(pause, c, e)) < 0)
			return rc;
	}
	return err_set(e, E_LIMIT, "server \"%.*s\" wants the call to be made again and again",
		       STRF(s->cfg.name));
}

int mcp_server_call(struct mcp_server *s, const struct mcp_call *call,
		    const struct mcp_limit *limit, struct arena *a, struct mcp_result *result,
		    const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	struct err why = { 0 };
	int rc = call_parts(s, call, limit, a, result, c, &why);

	if (rc == OK)
		return OK;
	/* A child that fails a call is named otherwise; behind a URL nothing else tells. */
	if (s->cfg.http.url.n && !result->not_sent && cancel_reason(c) == CANCEL_NONE)
		log_warn("mcp.call", "server=%.*s tool=%.*s reason=%.*s", STRF(s->link.label),
			 STRF(log_q(&tmp, call->tool)), STRF(log_q(&tmp, str_of(why.msg))));
	return err_set(e, rc, "%s", why.msg);
}

/* To a server with a handshake it is a request like any other; of one without it is part of
 * the stream of changes, which the server's thread asks for. */
int mcp_server_watch(struct mcp_server *s, const struct mcp_request *request,
		     const struct mcp_peer *peer, const struct mcp_limit *limit,
		     struct arena *a, const struct json **result, const struct cancel *c,
		     struct err *e)
{
	bool on = strcmp(request->method, "resources/subscribe") == 0;
	struct json *v;
	str uri;
	int rc = json_read(&v, a, request->params, e);

	if (rc < 0)
		return err_wrap(e, E_INVAL, "the params of %s", request->method);
	uri = json_str(v, "uri");
	if (on && peer->stateless && !peer->caps.subscribe)
		return err_set(e, E_PROTO, "server \"%.*s\" tells of no updates",
			       STRF(s->cfg.name));
	if (!on)
		mcp_watches_remove(s->watches, uri);
	if (!peer->stateless &&
	    (rc = mcp_calls_request(s->calls, request, limit, a, result, c, e)) < 0)
		return rc;
	if (on && (rc = mcp_watches_add(s->watches, uri, e)) < 0)
		return rc;
	wake(s);
	if (peer->stateless && (rc = json_read(&v, a, S("{}"), e)) == OK)
		*result = v;
	return rc;
}

void mcp_server_ask_stop(struct mcp_server *s)
{
	cancel_fire(&s->stop, CANCEL_SHUTDOWN);
}

void mcp_server_join(struct mcp_server *s)
{
	thread_join(&s->thread);
}

void mcp_server_free(struct mcp_server *s)
{
	struct arena a;

	if (!s)
		return;
	mcp_http_free(s->http);
	mcp_calls_free(s->calls);
	mcp_watches_free(s->watches);
	mcp_listing_done(&s->known.listing);
	cancel_done(&s->stop);
	a = s->a;
	arena_free(&a);
}

int mcp_server_sample(struct mcp_server *s, const struct mcp_question *q, struct arena *a,
		      struct mcp_sampling_cfg *out, struct err *e)
{
	*out = s->cfg.sampling;
	out->policy = arena_dup(a, out->policy);
	if (!mcp_sampling_cfg_on(out))
		return err_set(e, E_DENIED,
			       "the manifest does not let this server ask the model");
	if (!mcp_sampled_add(&s->known.sampled, out, q->before, clock_mono_ms()))
		return err_set(e, E_BUSY,
			       "it asked the model more than %lld times in a call or %lld in a "
			       "minute",
			       (long long)out->per_call, (long long)out->per_minute);
	return OK;
}

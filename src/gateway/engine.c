/*
 * Opening and closing the parts in order.  Every part copes with being closed when it was
 * never opened, so a failed start unwinds through the same function as a clean stop.
 */
#include "gateway/engine.h"

#include "agent/self_notes.h"
#include "config/confine.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/proc.h"
#include "store/audit.h"
#include "store/resource.h"
#include "store/state.h"
#include "tools/mcp_source.h"

/* The host keeps a server's last good tool list through these. */
static int save_tools(void *arg, str server, str json, struct err *e)
{
	struct engine *g = arg;
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, g->store, &g->root, e)) < 0 ||
	    (rc = store_tools_set(&tx, server, json, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static str load_tools(void *arg, str server, struct arena *a)
{
	struct engine *g = arg;
	struct err e = { 0 };
	str json = { 0 };

	if (store_tools_get(g->store, server, a, &json, &e) < 0)
		log_warn("mcp.tools_unread", "server=%.*s err=%.*s", STRF(server),
			 STRF(log_q(a, str_of(e.msg))));
	return json;
}

/* A resource that a chat subscribed to changed; lists are asked for each time, and nothing of
 * them is kept. */
static void on_notice(void *arg, str server, str method, const struct json *params)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	SCOPED(arena_free) struct arena a = { 0 };
	struct engine *g = arg;
	struct err e = { 0 };
	int64_t n = 0;
	int rc;

	if (!g->daemon || !g->cfg->mcp.resources ||
	    !str_eq(method, S("notifications/resources/updated")))
		return;
	if ((rc = store_begin(&tx, g->store, &g->root, &e)) == OK &&
	    (rc = store_resource_changed(&tx, server, json_str(params, "uri"), &n, &e)) == OK &&
	    n > 0)
		rc = store_commit(&tx, &e);
	if (rc < 0)
		log_warn("resource.missed", "server=%.*s err=%.*s", STRF(log_q(&a, server)),
			 STRF(log_q(&a, str_of(e.msg))));
	else if (n > 0)
		bell_ring(&g->system);
}

/* What chats subscribed to in an earlier process is asked for again, by the system worker. */
static int resubscribe(struct engine *g, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if (!g->daemon || !g->cfg->mcp.resources)
		return OK;
	if ((rc = store_begin(&tx, g->store, &g->root, e)) < 0 ||
	    (rc = store_resource_again(&tx, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static bool own_file(void *arg, uint64_t dev, uint64_t ino)
{
	return store_is_own_file(((struct engine *)arg)->store, dev, ino);
}

#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* An old yes is none any more. */
static bool granted(void *arg, str tool, str hash, bool *changed)
{
	struct engine *g = arg;
	struct err e = { 0 };
	enum grant_found found = GRANT_NONE;
	int64_t days = g->cfg->policy.grant_days;
	int64_t since = days ? clock_now_ms() - days * DAY_MS : 0;

	if (store_grant_find(g->store, tool, hash, since, &found, &e) < 0)
		log_warn("grant.unread", "code=%s", err_word(e.code));
	*changed = found == GRANT_CHANGED;
	return found == GRANT_YES;
}

static int load_manifest(struct mcp_manifest *m, struct arena *a, const struct config *cfg,
			 struct err *e)
{
	*m = (struct mcp_manifest){ 0 };
	if (cfg->mcp.manifest.n == 0)
		return OK;
	int rc = mcp_manifest_load(m, a, cfg->mcp.manifest.p, cfg->mcp.manifest_optional, e);
	for (size_t i = 0; rc == OK && i < m->warnings.n; i++)
		log_warn("mcp.manifest", "warning=%.*s", STRF(log_q(a, m->warnings.v[i])));
	return rc;
}

/* The server that is to remember must be one of the manifest's. */
static int check_memory(const struct mcp_manifest *m, const struct config *cfg, struct err *e)
{
	str server = memory_server(&cfg->memory);

	for (size_t i = 0; i < m->n; i++)
		if (str_eq(m->servers[i].name, server))
			return OK;
	if (server.n == 0 || !cfg->memory.enabled)
		return OK;
	return err_set(e, E_INVAL, "MEMORY_BACKEND: the manifest has no server \"%.*s\"",
		       STRF(server));
}

static int open_host(struct engine *g, struct err *e)
{
	struct mcp_host_opt opt = {
		.config = g->cfg,
		.env = g->env,
		.save_tools = save_tools,
		.load_tools = load_tools,
		.on_notice = on_notice,
		.arg = g,
		.roots = g->cfg->agent.workspace,
		.offer = { .form = true, .url = true, .sampling = g->model != NULL },
	};
	struct mcp_manifest m;
	int rc = load_manifest(&m, &g->arena, g->cfg, e);

	if (rc < 0 || (rc = check_memory(&m, g->cfg, e)) < 0)
		return rc;
	return mcp_host_start(&g->host, &opt, &m, e);
}

/* What the kernel enforces, for whoever reads the log. */
static void log_sandbox(struct engine *g)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str commands = tools_sandbox_text(g->tools, &a);

	if (commands.n)
		log_info("sandbox.commands", "state=%.*s", STRF(log_q(&a, commands)));
	log_debug("sandbox.self", "state=%.*s", STRF(log_q(&a, str_of(sandbox_self_text()))));
}

static int open_tools(struct engine *g, struct err *e)
{
	struct tools_opt opt = {
		.store = g->store,
		.fs = &g->cfg->fs,
		.exec = &g->cfg->exec,
		.child_env = config_child_env(&g->arena, g->cfg, g->env, true, NULL, 0),
		.box = config_sandbox(&g->arena, g->cfg, g->env, &g->cfg->exec.sandbox, S("")),
		.memory = &g->cfg->memory,
		.web = &g->cfg->web,
		.http = &g->cfg->http,
		.dynamic = g->cfg->agent.dynamic_tools,
		.self_path = self_notes_path(&g->arena, g->cfg),
		.self_lock = self_notes_lock(&g->arena, g->cfg),
		.policy = &g->cfg->policy,
		.limits = &g->cfg->limits,
		.cron = &g->cfg->cron,
		.watch = &g->cfg->watch,
		.workspace = g->cfg->agent.workspace,
		.home = env_get(g->env, "HOME"),
		.own_path = g->cfg->store.dsn,
		.own_file = own_file,
		.own_arg = g,
		.mcp = &g->mcp_source,
		.host = g->host,
		.resources = g->cfg->mcp.resources,
		.granted = granted,
		.granted_arg = g,
		.secrets = g->cfg->secrets,
		.secrets_n = g->cfg->secrets_n,
	};

	tools_mcp_source(&g->mcp_source, g->host);
	int rc = tools_open(&g->tools, &opt, e);
	if (rc == OK)
		log_sandbox(g);
	return rc;
}

static int open_model(struct engine *g, struct err *e)
{
	const struct http_cfg *h = &g->cfg->http;
	struct http_opt opt = {
		.ca_file = h->ca_file.p,
		.http_proxy = h->http_proxy.p,
		.https_proxy = h->https_proxy.p,
		.all_proxy = h->all_proxy.p,
		.no_proxy = h->no_proxy.p,
		.user_agent = "gantry",
	};
	int rc = http_pool_open(&g->pool, &opt, e);

	if (rc < 0 || (rc = model_open(&g->model, &g->cfg->model, g->pool, e)) < 0)
		return rc;
	if (!g->cfg->exec.enabled || !str_eq(g->cfg->policy.mode, S("auto")))
		return OK;
	/* Asked once: a person waits behind it. */
	g->classifier_cfg = g->cfg->model;
	g->classifier_cfg.max_retries = 0;
	if (g->cfg->policy.auto_model.n)
		g->classifier_cfg.name = g->cfg->policy.auto_model;
	return model_open(&g->classifier, &g->classifier_cfg, g->pool, e);
}

/* A daemon takes over what an earlier one left: children first, then turns. */
static int recover(struct engine *g, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct stale_child *v;
	size_t n;
	int64_t turns;
	int rc = store_stale_children(g->store, &a, &v, &n, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (proc_kill_stale(v[i].boot_id, v[i].pid, v[i].start_time))
			log_info("child.killed", "pid=%lld", (long long)v[i].pid);
	if ((rc = store_recover(g->store, &g->root, &turns, e)) < 0)
		return rc;
	if (turns)
		log_info("turns.recovered", "n=%lld", (long long)turns);
	return OK;
}

static int open_parts(struct engine *g, const struct engine_opt *opt, struct err *e)
{
	int rc;

	if ((rc = store_open(&g->store, &g->cfg->store, opt->mode, &g->root, e)) < 0)
		return rc;
	store_secrets(g->store, g->cfg->secrets, g->cfg->secrets_n);
	if (opt->mode == STORE_DAEMON && (rc = recover(g, e)) < 0)
		return rc;
	if (opt->store_only)
		return OK;
	if (opt->model && (rc = open_model(g, e)) < 0)
		return rc;
	if (!opt->no_tools && ((rc = open_host(g, e)) < 0 || (rc = open_tools(g, e)) < 0 ||
			       (rc = resubscribe(g, e)) < 0))
		return rc;
	struct agent_opt ag = {
		.cfg = g->cfg,
		.store = g->store,
		.model = g->model,
		.classifier = g->classifier,
		.tools = g->tools,
		.host = g->host,
		.env = g->env,
	};
	return agent_open(&g->agent, &ag, e);
}

static void closed(struct engine *g)
{
	g->root.fd = g->stop.fd = g->inbox.fd = g->outbox.fd = g->control.fd = -1;
	g->clock.fd = g->system.fd = -1;
}

int engine_open(struct engine *g, const struct config *cfg, const struct env *env,
		const struct engine_opt *opt, struct err *e)
{
	int rc;

	*g = (struct engine){ .cfg = cfg, .env = env, .daemon = opt->mode == STORE_DAEMON };
	closed(g);
	turns_init(&g->turns);
	if ((rc = cancel_init(&g->root, NULL, 0, e)) < 0 ||
	    (rc = cancel_init(&g->stop, &g->root, 0, e)) < 0 ||
	    (rc = bell_init(&g->inbox, e)) < 0 || (rc = bell_init(&g->outbox, e)) < 0 ||
	    (rc = bell_init(&g->control, e)) < 0 || (rc = bell_init(&g->clock, e)) < 0 ||
	    (rc = bell_init(&g->system, e)) < 0 || (rc = open_parts(g, opt, e)) < 0)
		engine_close(g);
	return rc;
}

void engine_close(struct engine *g)
{
	agent_close(g->agent);
	tools_close(g->tools);
	mcp_host_stop(g->host);
	model_close(g->classifier);
	model_close(g->model);
	http_pool_close(g->pool);
	store_close(g->store);
	bell_done(&g->system);
	bell_done(&g->clock);
	bell_done(&g->control);
	bell_done(&g->outbox);
	bell_done(&g->inbox);
	cancel_done(&g->stop);
	cancel_done(&g->root);
	turns_done(&g->turns);
	arena_free(&g->arena);
	*g = (struct engine){ 0 };
	closed(g); /* closing twice is fine */
}

int engine_reload(struct engine *g, struct config *cfg, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(agent_reload_drop) struct agent_reload fresh = { 0 };
	struct mcp_manifest m;
	int rc = load_manifest(&m, &a, cfg, e);

	/* All that can be wrong is looked at before anything changes. */
	if (rc < 0 || (rc = agent_reload_begin(&fresh, cfg, e)) < 0 ||
	    (rc = mcp_host_reload(g->host, cfg, &m, e)) < 0)
		return rc;
	if (g->model)
		model_set_key(g->model, cfg->model.api_key);
	tools_hide(g->tools, cfg->secrets, cfg->secrets_n);
	store_secrets(g->store, cfg->secrets, cfg->secrets_n);
	agent_reload_take(g->agent, &fresh, cfg);
	return OK;
}

int engine_check_schema(struct engine *g, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t max = g->cfg->limits.tool_schema_max_tokens;
	struct toolset set;

	if (max <= 0)
		return OK;
	int rc = mcp_host_ready(g->host, clock_mono_ms() + g->cfg->mcp.start_timeout_ms,
				&g->root, e);
	if (rc < 0 && rc != E_TIMEOUT)
		return rc;
	tools_snapshot(g->tools, &a, &set);
	int64_t est = toolset_tokens(&set);
	log_info("tools.schema", "tools=%zu est_tokens=%lld max_tokens=%lld", set.n,
		 (long long)est, (long long)max);
	if (est > max)
		return err_set(e, E_LIMIT,
			       "TOOL_SCHEMA_MAX_TOKENS: the published tools need about %lld "
			       "tokens, the "
			       "limit is %lld; publish fewer (tools/exclude in the manifest) "
			       "or raise it",
			       (long long)est, (long long)max);
	return OK;
}

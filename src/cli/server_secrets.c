/*
 * The secrets of tool servers, known from the beginning.
 */
#include "cli/server_secrets.h"

#include "mcp/manifest.h"

#include <string.h>

#define TOKEN_MIN 6 /* shorter ones are hidden nowhere */

static void add(struct config *cfg, const struct env *env, str name)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str value = name.n ? str_trim(env_get(env, arena_cstr(&a, name))) : S("");
	str *v;

	for (size_t i = 0; i < cfg->secrets_n; i++)
		if (str_eq(cfg->secrets[i], value))
			return;
	if (value.n < TOKEN_MIN)
		return;
	v = NEWN(&cfg->arena, str, cfg->secrets_n + 1);
	if (cfg->secrets_n)
		memcpy(v, cfg->secrets, cfg->secrets_n * sizeof(*v));
	v[cfg->secrets_n++] = arena_dup(&cfg->arena, value);
	cfg->secrets = v;
}

static void add_file(struct config *cfg, str path)
{
	struct str_list *l = &cfg->secret_files;
	str *v;

	if (!path.n)
		return;
	v = NEWN(&cfg->arena, str, l->n + 1);
	if (l->n)
		memcpy(v, l->v, l->n * sizeof(*v));
	v[l->n++] = arena_dup(&cfg->arena, path);
	l->v = v;
}

static void add_auth(struct config *cfg, const struct env *env, const struct mcp_auth_cfg *auth)
{
	add(cfg, env, auth->bearer_env);
	add(cfg, env, auth->client_secret_env);
	add(cfg, env, auth->assertion_env);
	add(cfg, env, auth->key_env);
	add_file(cfg, auth->bearer_file);
	add_file(cfg, auth->client_secret_file);
	add_file(cfg, auth->assertion_file);
	add_file(cfg, auth->key_file);
}

static void add_headers(struct config *cfg, const struct env *env,
			const struct mcp_http_cfg *http)
{
	str before, name;

	for (size_t i = 0; i < http->headers.n; i++)
		for (str rest = http->headers.v[i]; mcp_http_variable(&rest, &before, &name);)
			add(cfg, env, name);
	for (size_t i = 0; i < http->headers_env.n; i++) {
		str variable = http->headers_env.v[i];

		(void)str_cut(&variable, '=');
		add(cfg, env, variable);
	}
	for (size_t i = 0; i < http->headers_file.n; i++) {
		str path = http->headers_file.v[i];

		(void)str_cut(&path, '=');
		add_file(cfg, path);
	}
}

void server_secrets_add(struct config *cfg, const struct env *env)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_manifest m;

	if (!cfg->mcp.manifest.n ||
	    mcp_manifest_load(&m, &a, cfg->mcp.manifest.p, true, NULL) < 0)
		return;
	for (size_t i = 0; i < m.n; i++) {
		add_auth(cfg, env, &m.servers[i].auth);
		add_headers(cfg, env, &m.servers[i].http);
	}
}

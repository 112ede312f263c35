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

void server_secrets_add(struct config *cfg, const struct env *env)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_manifest m;

	if (!cfg->mcp.manifest.n ||
	    mcp_manifest_load(&m, &a, cfg->mcp.manifest.p, true, NULL) < 0)
		return;
	for (size_t i = 0; i < m.n; i++) {
		const struct mcp_server_cfg *s = &m.servers[i];

		add(cfg, env, s->auth.bearer_env);
		add(cfg, env, s->auth.client_secret_env);
		add(cfg, env, s->auth.assertion_env);
		add(cfg, env, s->auth.key_env);
		for (size_t k = 0; k < s->http.headers_env.n; k++) {
			str variable = s->http.headers_env.v[k];

			(void)str_cut(&variable, '=');
			add(cfg, env, variable);
		}
	}
}
